// SPDX-License-Identifier: Apache-2.0
//
// Used by the fuzz targets of the VM: makes arguments for the functions of a verified
// module, and runs everything else that reads such a module.
#ifndef FARCALL_TESTS_FUZZ_VM_RUN_H_
#define FARCALL_TESTS_FUZZ_VM_RUN_H_

#include "module/vm/analysis.h"
#include "module/vm/backend.h"
#include "module/vm/context.h"
#include "bytecode/disasm.h"
#include "module/vm/hal/preflight.h"
#include "module/vm/signature.h"

#define DUMP ((size_t)4 << 20)

static void make_arguments(fc_vm_context_t *context, fc_str_t letters,
                           fc_vm_raw_t *values) {
  for (size_t i = 0; i < letters.size; i++) {
    values[i].i64 = (int64_t)i * 3 - 1;
    if (letters.data[i] != 'r') continue;
    values[i].ref = NULL;
    fc_vm_list_t *list;
    fc_vm_buffer_t *buffer;
    if (i % 3 == 0 && !fc_vm_list_create(&context->heap, FC_VM_TYPE_VARIANT, 2,
                                         &list, NULL)) {
      values[i].ref = &list->object;
    } else if (i % 3 == 1 &&
               !fc_vm_buffer_create(&context->heap, 16, 16, &buffer, NULL)) {
      values[i].ref = &buffer->object;
    }
  }
}

static void release_refs(fc_str_t letters, fc_vm_raw_t *values) {
  for (size_t i = 0; i < letters.size; i++) {
    if (letters.data[i] == 'r') fc_vm_release(values[i].ref);
  }
}

// Runs everything else that reads verified modules.
static void analyse(const fc_vm_module_t *module) {
  bool stateful;
  fc_error_t err;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), DUMP);
  (void)!fc_vm_dump(module, &text.sink, &err);
  fc_text_deinit(&text);
  const fc_cpu_t bare = {{0}};
  (void)!fc_hal_check_formats(module, &err);
  (void)!fc_hal_check_features(module, &bare, &stateful, &err);
  (void)!fc_vm_module_is_stateful(module, fc_vm_natives, &stateful, &err);
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  size_t budget = 1 << 16;
  for (uint32_t i = 0; i < module->export_count && i < 64; i++) {
    fc_arena_t arena;
    fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
    fc_signature_t *signature = NULL;
    (void)!fc_vm_signature_create(module, &module->exports[i], (fc_str_t){0},
                                  true, NULL, builder, &budget, &arena,
                                  &signature, &err);
    fc_signature_destroy(signature);
    fc_arena_deinit(&arena);
  }
  fc_builder_destroy(builder);
}

#endif  // FARCALL_TESTS_FUZZ_VM_RUN_H_
