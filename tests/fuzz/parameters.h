// SPDX-License-Identifier: Apache-2.0
//
// The fuzz target of fuzz_irpa.c and fuzz_safetensors.c, which differ only in their
// input. A reader of parameter archives must not read outside the bytes that it is
// given, and the parameters that it returns must lie inside them.
#ifndef FARCALL_TESTS_FUZZ_PARAMETERS_H_
#define FARCALL_TESTS_FUZZ_PARAMETERS_H_

#include <stdlib.h>

#include "parameters/parameters.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void touch(const uint8_t *data, uint64_t size) {
  static volatile unsigned sum;
  unsigned total = 0;
  for (uint64_t i = 0; i < size; i++) total += data[i];
  sum = sum + total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The copy has the exact size, so that a read of one byte too many is noticed.
  uint8_t *bytes = malloc(size ? size : 1);
  if (!bytes) return 0;
  if (size) memcpy(bytes, data, size);
  fc_parameters_t archive;
  if (fc_parameters_parse(&archive, bytes, size, fc_allocator_system(), NULL) ==
      FC_OK) {
    for (size_t i = 0; i < archive.count && i < 64; i++) {
      const fc_parameter_t *item = &archive.items[i];
      touch((const uint8_t *)item->key.data, item->key.size);
      if (item->data) touch(item->data, item->size);
      else if (!item->pattern_size) abort();
      if (!fc_parameters_find(&archive, item->key)) abort();
    }
    fc_parameters_close(&archive);
  }
  free(bytes);
  return 0;
}

#endif  // FARCALL_TESTS_FUZZ_PARAMETERS_H_
