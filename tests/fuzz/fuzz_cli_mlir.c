// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as MLIR text, generic and source: farcall compile must not crash. If they
// read as a module, it can be annotated and guarded.
#include <stdlib.h>

#include "compile/mlir/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void annotate(fc_arena_t *arena, const fc_mlir_module_t *module) {
  fc_text_t guarded, annotated;
  fc_mlir_module_t again;
  fc_text_init(&guarded, fc_allocator_system(), (size_t)1 << 24);
  fc_text_init(&annotated, fc_allocator_system(), (size_t)1 << 24);
  if (fc_mlir_annotate(module, &annotated, NULL) != FC_OK) abort();
  (void)fc_mlir_guard_sizes(fc_text_str(&annotated), &guarded, NULL);
  (void)fc_mlir_read(arena, fc_text_str(&guarded), &again, NULL);
  fc_text_deinit(&annotated);
  fc_text_deinit(&guarded);
}

static void keep_arguments(fc_arena_t *arena, const fc_mlir_module_t *module) {
  fc_text_t kept;
  fc_mlir_module_t again;
  fc_text_init(&kept, fc_allocator_system(), (size_t)1 << 24);
  if (fc_mlir_keep_arguments(module, &kept, NULL) != FC_OK) abort();
  (void)fc_mlir_read(arena, fc_text_str(&kept), &again, NULL);
  fc_text_deinit(&kept);
}

static void guard_divisions(fc_arena_t *arena, fc_str_t text) {
  fc_text_t renamed, guarded;
  fc_text_init(&renamed, fc_allocator_system(), (size_t)1 << 24);
  fc_text_init(&guarded, fc_allocator_system(), (size_t)1 << 24);
  if (fc_mlir_rename_divisions(text, &renamed, NULL) != FC_OK) abort();
  (void)fc_mlir_guard_divisions(arena, fc_text_str(&renamed), &guarded, NULL);
  fc_text_deinit(&renamed);
  fc_text_deinit(&guarded);
}

static void batch(fc_arena_t *arena, fc_str_t text) {
  fc_text_t batched;
  size_t count;
  fc_text_init(&batched, fc_allocator_system(), (size_t)1 << 24);
  (void)fc_mlir_batch(arena, text, FC_STR("4,1"), &batched, &count, NULL);
  fc_text_deinit(&batched);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 16384) return 0;
  fc_arena_t arena;
  fc_mlir_module_t module;
  fc_mlir_argument_t arguments[4];
  fc_str_t operation, place;
  fc_arena_init(&arena, fc_allocator_system(), 4096, (size_t)1 << 26);
  fc_str_t text = fc_str_make((const char *)data, size);
  if (fc_mlir_read(&arena, text, &module, NULL) == FC_OK) {
    annotate(&arena, &module);
    keep_arguments(&arena, &module);
    (void)fc_mlir_find_stores(&arena, &module, NULL);
    (void)fc_mlir_function_at(&module, FC_MLIR_SPOT(3, 1));
  }
  guard_divisions(&arena, text);
  batch(&arena, text);
  (void)fc_mlir_leftover(text, &operation, &place);
  (void)fc_mlir_arguments(&arena, text, FC_STR("f"), 4, arguments, NULL);
  fc_arena_deinit(&arena);
  return 0;
}
