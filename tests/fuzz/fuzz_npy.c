// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a .npy file. An accepted file has as many bytes as its shape needs, and
// is written and read back as itself.
#include <stdlib.h>

#include "value/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fc_arena_t arena;
  fc_npy_t array, back;
  fc_text_t file;
  fc_arena_init(&arena, fc_allocator_system(), 4096, (size_t)1 << 24);
  fc_text_init(&file, fc_allocator_system(), (size_t)1 << 24);
  fc_str_t text = fc_str_make((const char *)data, size);
  if (fc_npy_parse(&arena, text, NULL, &array, NULL) == FC_OK) {
    size_t count = fc_dtype_size(array.dtype);
    for (int32_t i = 0; i < array.rank; i++) count *= (size_t)array.shape[i];
    if (array.data.size != count) abort();
    if (fc_npy_print(&array, &file.sink, NULL) != FC_OK) abort();
    if (fc_npy_parse(&arena, fc_text_str(&file), NULL, &back, NULL) != FC_OK)
      abort();
    if (back.dtype != array.dtype || back.rank != array.rank) abort();
    if (!fc_str_equal(back.data, array.data)) abort();
  }
  fc_text_deinit(&file);
  fc_arena_deinit(&arena);
  return 0;
}
