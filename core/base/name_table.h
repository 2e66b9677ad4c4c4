// SPDX-License-Identifier: Apache-2.0
//
// A hash table from names to numbers. One thread at a time may write; many may read
// while no thread writes.
#ifndef FARCALL_BASE_NAME_TABLE_H_
#define FARCALL_BASE_NAME_TABLE_H_

#include "farcall/base.h"

#define FC_NAME_NONE UINT32_MAX

typedef struct fc_name_cell_t {
  fc_str_t name;  // data NULL: the cell is free
  uint32_t hash;  // of the name, so that growing need not read it again
  uint32_t value;
} fc_name_cell_t;

// An empty table is all zeroes except for its allocator. The bytes of a name are
// borrowed: they must stay where they are until the name is removed or put again.
typedef struct fc_name_table_t {
  fc_allocator_t allocator;
  fc_name_cell_t *cells;
  size_t capacity;  // a power of two, 0: no cells yet
  size_t count;
} fc_name_table_t;

void fc_name_table_deinit(fc_name_table_t *names);
// Gives `name` a value, or replaces its value. From now on the table borrows these
// bytes of the name. `name.data` is not NULL, `value` is not FC_NAME_NONE. When it
// fails with FC_CODE_OUT_OF_MEMORY, nothing has changed. Replacing a value cannot fail.
fc_status_t fc_name_table_put(fc_name_table_t *names, fc_str_t name,
                              uint32_t value, fc_error_t *err) FC_MUST_CHECK;
// Finds the value of a name, compared by bytes; FC_NAME_NONE when the name has no value.
uint32_t fc_name_table_find(const fc_name_table_t *names, fc_str_t name);
// Removes a name and its value. The name may be absent.
void fc_name_table_remove(fc_name_table_t *names, fc_str_t name);

#endif  // FARCALL_BASE_NAME_TABLE_H_
