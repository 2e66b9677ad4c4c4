// SPDX-License-Identifier: Apache-2.0
//
// A sorted array: numbers are given out upwards, so a new one nearly always comes last.
#include "state/references.h"

#define CAPACITY_AT_FIRST 16u
#define FREED 64u  // objects that are taken out of the table at a time

void fc_references_init(fc_references_t *all, fc_allocator_t allocator) {
  *all = (fc_references_t){.allocator = allocator};
  pthread_mutex_init(&all->lock, NULL);
}

void fc_references_deinit(fc_references_t *all) {
  for (uint32_t i = 0; i < all->count; i++) {
    all->items[i].count(all->items[i].object, -1);
  }
  fc_free(all->allocator, all->items);
  pthread_mutex_destroy(&all->lock);
}

// The place of a number, or where it would be.
static uint32_t place_of(const fc_references_t *all, uint64_t number) {
  uint32_t low = 0, high = all->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (all->items[middle].number < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

static fc_reference_t *find(const fc_references_t *all, uint64_t number) {
  const uint32_t at = place_of(all, number);
  if (at == all->count || all->items[at].number != number) return NULL;
  return all->items[at].gone ? NULL : &all->items[at];
}

static fc_status_t make_room(fc_references_t *all, fc_error_t *err) {
  if (all->count < all->capacity) return FC_OK;
  if (all->capacity >= FC_REFERENCES_MAX) {
    return fc_fail(err, FC_CODE_TOO_MANY_REQUESTS,
                   "%u opaque references are kept, as many as may be",
                   all->count);
  }
  const uint32_t capacity =
      all->capacity ? 2 * all->capacity : CAPACITY_AT_FIRST;
  fc_reference_t *items =
      fc_realloc(all->allocator, all->items, all->capacity * sizeof *items,
                 capacity * sizeof *items);
  if (!items) return fc_fail_memory(err);
  all->items = items;
  all->capacity = capacity;
  return FC_OK;
}

static void insert(fc_references_t *all, uint64_t number,
                   const fc_opaque_t *opaque) {
  const uint32_t at = place_of(all, number);
  fc_reference_t *item = &all->items[at];
  memmove(item + 1, item, (all->count++ - at) * sizeof *item);
  *item = (fc_reference_t){number, opaque->object, opaque->count, false};
  item->count(item->object, 1);
}

fc_status_t fc_references_add(fc_references_t *all, uint64_t number,
                              const fc_opaque_t *opaque, fc_error_t *err) {
  pthread_mutex_lock(&all->lock);
  FC_ASSERT(!find(all, number));
  const fc_status_t status = make_room(all, err);
  if (status == FC_OK) insert(all, number, opaque);
  pthread_mutex_unlock(&all->lock);
  return status;
}

bool fc_references_find(fc_references_t *all, uint64_t number,
                        fc_opaque_t *out) {
  pthread_mutex_lock(&all->lock);
  const fc_reference_t *item = find(all, number);
  const bool found = item != NULL;
  if (found) {
    out->object = item->object;
    out->count = item->count;
  }
  pthread_mutex_unlock(&all->lock);
  return found;
}

bool fc_references_drop(fc_references_t *all, uint64_t number) {
  pthread_mutex_lock(&all->lock);
  fc_reference_t *item = find(all, number);
  const bool found = item != NULL;
  if (found) {
    item->gone = true;
    all->gone++;
  }
  pthread_mutex_unlock(&all->lock);
  return found;
}

// Takes up to FREED of those that have gone out of the table.
static uint32_t take(fc_references_t *all, fc_reference_t *out) {
  uint32_t taken = 0, left = 0;
  for (uint32_t i = 0; i < all->count; i++) {
    if (all->items[i].gone && taken < FREED) out[taken++] = all->items[i];
    else all->items[left++] = all->items[i];
  }
  all->count = left;
  all->gone -= taken;
  return taken;
}

void fc_references_free(fc_references_t *all) {
  fc_reference_t gone[FREED];
  uint32_t count;
  do {
    pthread_mutex_lock(&all->lock);
    count = all->gone ? take(all, gone) : 0;
    pthread_mutex_unlock(&all->lock);
    for (uint32_t i = 0; i < count; i++) gone[i].count(gone[i].object, -1);
  } while (count);
}

static uint32_t read(fc_references_t *all, const uint32_t *number) {
  pthread_mutex_lock(&all->lock);
  const uint32_t value = *number;
  pthread_mutex_unlock(&all->lock);
  return value;
}

uint32_t fc_references_count(fc_references_t *all) {
  return read(all, &all->count);
}

uint32_t fc_references_gone(fc_references_t *all) {
  return read(all, &all->gone);
}
