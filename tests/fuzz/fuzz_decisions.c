// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the file of --state-dir: an error, or decisions that are printed as they
// were read.
#include <stdlib.h>

#include "modules/decisions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const fc_allocator_t allocator = fc_allocator_system();
  const fc_str_t read = fc_str_make((const char *)data, size);
  fc_decision_t *list;
  fc_text_t text;
  if (fc_decisions_parse(read, allocator, &list, NULL) != FC_OK) return 0;
  fc_text_init(&text, allocator, SIZE_MAX);
  if (fc_decisions_print(list, &text.sink, NULL) != FC_OK) abort();
  // The printed text equals the text that was read, except for a missing final newline.
  const fc_str_t printed = fc_text_str(&text);
  if (!fc_str_starts(printed, read)) abort();
  fc_text_deinit(&text);
  fc_decisions_free(list, allocator);
  return 0;
}
