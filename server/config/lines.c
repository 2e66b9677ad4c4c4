// SPDX-License-Identifier: Apache-2.0
#include "config/lines.h"

fc_status_t fc_lines_init(fc_lines_t *lines, fc_str_t text, fc_error_t *err) {
  size_t count = 1;
  for (size_t i = 0; i < text.size; i++) count += text.data[i] == '\n';
  *lines = (fc_lines_t){.size = (uint32_t)text.size};
  lines->begins =
      fc_alloc_array(fc_allocator_system(), count, sizeof *lines->begins);
  if (!lines->begins) return fc_fail_memory(err);
  lines->begins[lines->count++] = 0;
  for (uint32_t i = 0; i < lines->size; i++) {
    if (text.data[i] == '\n') lines->begins[lines->count++] = i + 1;
  }
  return FC_OK;
}

void fc_lines_deinit(fc_lines_t *lines) {
  fc_free(fc_allocator_system(), lines->begins);
  *lines = (fc_lines_t){0};
}

fc_origin_t fc_lines_find(const fc_lines_t *lines, uint64_t offset) {
  const uint32_t at = offset < lines->size ? (uint32_t)offset : lines->size;
  uint32_t low = 0, high = lines->count;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (lines->begins[middle] <= at) low = middle;
    else high = middle;
  }
  return (fc_origin_t){FC_ORIGIN_FILE, low + 1, at - lines->begins[low] + 1};
}
