// SPDX-License-Identifier: Apache-2.0
//
// A hash table with linear probing, at most half full. Removing a name moves
// later cells of the same run back. So no cell needs a mark that its name was
// removed, and a search ends at the first free cell.
#include "base/name_table.h"

#define CAPACITY_MIN 16

// FNV-1a. The names come from files that the operator chose, not from a client,
// so nobody can make collisions on purpose.
static uint32_t hash_of(fc_str_t name) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < name.size; i++) {
    hash = (hash ^ (uint8_t)name.data[i]) * 16777619u;
  }
  return hash;
}

void fc_name_table_deinit(fc_name_table_t *names) {
  fc_free(names->allocator, names->cells);
  *names = (fc_name_table_t){.allocator = names->allocator};
}

// Finds the cell of the name, or the free cell where it belongs. The table must
// have cells, and one of them must be free.
static size_t find_cell(const fc_name_table_t *names, fc_str_t name,
                        uint32_t hash) {
  size_t at = hash & (names->capacity - 1);
  for (;; at = (at + 1) & (names->capacity - 1)) {
    const fc_name_cell_t *cell = &names->cells[at];
    if (!cell->name.data) return at;
    if (cell->hash == hash && fc_str_equal(cell->name, name)) return at;
  }
}

static fc_status_t grow(fc_name_table_t *names, fc_error_t *err) {
  fc_name_table_t grown = *names;
  grown.capacity = names->capacity ? names->capacity * 2 : CAPACITY_MIN;
  grown.cells =
      fc_alloc_array(names->allocator, grown.capacity, sizeof *grown.cells);
  if (!grown.cells) return fc_fail_memory(err);
  for (size_t i = 0; i < names->capacity; i++) {
    const fc_name_cell_t *cell = &names->cells[i];
    if (!cell->name.data) continue;
    grown.cells[find_cell(&grown, cell->name, cell->hash)] = *cell;
  }
  fc_free(names->allocator, names->cells);
  *names = grown;
  return FC_OK;
}

fc_status_t fc_name_table_put(fc_name_table_t *names, fc_str_t name,
                              uint32_t value, fc_error_t *err) {
  FC_ASSERT(name.data && value != FC_NAME_NONE);
  const uint32_t hash = hash_of(name);
  fc_name_cell_t *had =
      names->capacity ? &names->cells[find_cell(names, name, hash)] : NULL;
  if (had && had->name.data) {
    had->name = name;
    had->value = value;
    return FC_OK;
  }
  if (names->count * 2 >= names->capacity) FC_TRY(grow(names, err));
  fc_name_cell_t *cell = &names->cells[find_cell(names, name, hash)];
  names->count++;
  *cell = (fc_name_cell_t){.name = name, .hash = hash, .value = value};
  return FC_OK;
}

uint32_t fc_name_table_find(const fc_name_table_t *names, fc_str_t name) {
  if (names->count == 0) return FC_NAME_NONE;
  const fc_name_cell_t *cell =
      &names->cells[find_cell(names, name, hash_of(name))];
  return cell->name.data ? cell->value : FC_NAME_NONE;
}

void fc_name_table_remove(fc_name_table_t *names, fc_str_t name) {
  if (names->count == 0) return;
  const size_t mask = names->capacity - 1;
  size_t hole = find_cell(names, name, hash_of(name));
  if (!names->cells[hole].name.data) return;
  names->count--;
  for (size_t at = (hole + 1) & mask; names->cells[at].name.data;
       at = (at + 1) & mask) {
    // A cell may move back to the hole if a search for its name passes the hole.
    const size_t home = names->cells[at].hash & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    names->cells[hole] = names->cells[at];
    hole = at;
  }
  names->cells[hole] = (fc_name_cell_t){0};
}
