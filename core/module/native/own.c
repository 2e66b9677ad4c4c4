// SPDX-License-Identifier: Apache-2.0
//
// The table of blocks that are not freed yet. It is used inside a module's malloc and
// free, so the usual case examines only one place of the table.
#include "module/native/own.h"

#define FIRST_CAPACITY 32
#define KEPT_CAPACITY 1024  // a larger table is given back after the call

void fc_own_init(fc_own_t *own, fc_allocator_t allocator) {
  *own = (fc_own_t){.allocator = allocator};
}

void fc_own_deinit(fc_own_t *own) {
  fc_free(own->allocator, own->blocks);
  own->blocks = NULL;
  own->capacity = own->count = own->lowest = 0;
}

static size_t home_of(const fc_own_t *own, const void *data) {
  uint64_t bits = (uint64_t)(uintptr_t)data >> 4;
  return (size_t)((bits * UINT64_C(0x9E3779B97F4A7C15)) >> 32) &
         (own->capacity - 1);
}

// Finds the place that holds `data`, or the free place where it belongs. The table
// must not be full.
static size_t place_of(const fc_own_t *own, const void *data) {
  size_t at = home_of(own, data);
  while (own->blocks[at].data && own->blocks[at].data != data) {
    at = (at + 1) & (own->capacity - 1);
  }
  return at;
}

static bool grow(fc_own_t *own) {
  fc_own_t bigger = *own;
  bigger.capacity = own->capacity ? own->capacity * 2 : FIRST_CAPACITY;
  bigger.blocks =
      fc_alloc_array(own->allocator, bigger.capacity, sizeof *bigger.blocks);
  if (!bigger.blocks) return false;
  bigger.lowest = 0;
  for (size_t i = 0; i < own->capacity; i++) {
    const fc_own_block_t *block = &own->blocks[i];
    if (block->data) bigger.blocks[place_of(&bigger, block->data)] = *block;
  }
  fc_free(own->allocator, own->blocks);
  *own = bigger;
  return true;
}

bool fc_own_add(fc_own_t *own, void *data, size_t size) {
  if (own->count >= own->capacity / 2 && !grow(own)) return false;
  const size_t at = place_of(own, data);
  fc_own_block_t *block = &own->blocks[at];
  if (!own->count || at < own->lowest) own->lowest = at;
  if (!block->data) own->count++;
  *block = (fc_own_block_t){data, size, false};
  return true;
}

fc_own_block_t *fc_own_find(const fc_own_t *own, const void *data) {
  if (!own->count || !data) return NULL;
  fc_own_block_t *block = &own->blocks[place_of(own, data)];
  return block->data ? block : NULL;
}

// Moves later blocks into the free place where necessary, so that searches still find
// them.
bool fc_own_remove(fc_own_t *own, const void *data) {
  fc_own_block_t *block = fc_own_find(own, data);
  if (!block) return false;
  const size_t mask = own->capacity - 1;
  size_t gap = (size_t)(block - own->blocks);
  for (size_t at = (gap + 1) & mask; own->blocks[at].data;
       at = (at + 1) & mask) {
    size_t home = home_of(own, own->blocks[at].data);
    if (((at - home) & mask) < ((at - gap) & mask)) continue;
    own->blocks[gap] = own->blocks[at];
    gap = at;
  }
  own->blocks[gap] = (fc_own_block_t){0};
  own->count--;
  return true;
}

void fc_own_clear(fc_own_t *own,
                  void (*visit)(void *context, const fc_own_block_t *block),
                  void *context) {
  for (size_t i = own->lowest; i < own->capacity && own->count; i++) {
    if (!own->blocks[i].data) continue;
    fc_own_block_t block = own->blocks[i];
    own->blocks[i] = (fc_own_block_t){0};
    own->count--;
    visit(context, &block);
  }
  if (own->capacity > KEPT_CAPACITY) fc_own_deinit(own);
}
