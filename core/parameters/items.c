// SPDX-License-Identifier: Apache-2.0
//
// The list of an archive's parameters. The reader of an index adds them; modules look
// them up.
#include "parameters/parameters.h"

fc_status_t fc_parameters_append(fc_parameters_t *archive,
                                 const fc_parameter_t *item, fc_error_t *err) {
  if (archive->count == archive->capacity) {
    const size_t capacity = archive->capacity ? archive->capacity * 2 : 16;
    fc_parameter_t *moved =
        fc_realloc(archive->allocator, archive->items,
                   archive->capacity * sizeof *moved, capacity * sizeof *moved);
    if (!moved) return fc_fail_memory(err);
    archive->items = moved;
    archive->capacity = capacity;
  }
  archive->items[archive->count++] = *item;
  return FC_OK;
}

const fc_parameter_t *fc_parameters_find(const fc_parameters_t *archive,
                                         fc_str_t key) {
  for (size_t i = 0; i < archive->count; i++) {
    if (fc_str_equal(archive->items[i].key, key)) return &archive->items[i];
  }
  return NULL;
}
