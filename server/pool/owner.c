// SPDX-License-Identifier: Apache-2.0
//
// A hash table with chains, in arrays that double. The hash needs no secret: a chain has
// at most one entry for each connection and for each call that outlives its connection.
#include "pool/owner.h"

#define FIRST_CAPACITY 16u

typedef struct fc_owner_entry_t {
  fc_owner_t owner;
  uint64_t bytes;
  uint32_t next;  // the next entry of its bucket, or of the free ones
} entry_t;

static bool is_same(const fc_owner_t *a, const fc_owner_t *b) {
  return !memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

static uint32_t *bucket_of(const fc_owners_t *owners, const fc_owner_t *owner) {
  uint64_t high, low;
  memcpy(&high, owner->bytes, sizeof high);
  memcpy(&low, owner->bytes + sizeof high, sizeof low);
  uint64_t hash = (high ^ low * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  return &owners->buckets[(hash >> 32) & (owners->capacity - 1)];
}

static uint32_t find(const fc_owners_t *owners, const fc_owner_t *owner) {
  if (owners->count == 0) return FC_OWNER_NONE;
  uint32_t index = *bucket_of(owners, owner);
  while (index != FC_OWNER_NONE &&
         !is_same(&owners->entries[index].owner, owner)) {
    index = owners->entries[index].next;
  }
  return index;
}

void fc_owners_deinit(fc_owners_t *owners) {
  fc_free(owners->allocator, owners->entries);
  fc_free(owners->allocator, owners->buckets);
  *owners = (fc_owners_t){.allocator = owners->allocator};
}

uint64_t fc_owners_held(const fc_owners_t *owners, const fc_owner_t *owner) {
  uint32_t index = find(owners, owner);
  return index == FC_OWNER_NONE ? 0 : owners->entries[index].bytes;
}

static void link_entry(fc_owners_t *owners, uint32_t index) {
  uint32_t *bucket = bucket_of(owners, &owners->entries[index].owner);
  owners->entries[index].next = *bucket;
  *bucket = index;
}

// Called when all entries are in use, so the list of free entries is empty.
static bool grow(fc_owners_t *owners) {
  uint32_t capacity = owners->capacity ? owners->capacity * 2 : FIRST_CAPACITY;
  uint32_t *buckets =
      fc_alloc_array(owners->allocator, capacity, sizeof *buckets);
  entry_t *entries = buckets ? fc_realloc(owners->allocator, owners->entries,
                                          owners->capacity * sizeof *entries,
                                          capacity * sizeof *entries)
                             : NULL;
  if (!entries) {
    fc_free(owners->allocator, buckets);
    return false;
  }
  fc_free(owners->allocator, owners->buckets);
  owners->entries = entries;
  owners->buckets = buckets;
  owners->capacity = capacity;
  owners->free = FC_OWNER_NONE;
  for (uint32_t i = 0; i < capacity; i++) buckets[i] = FC_OWNER_NONE;
  for (uint32_t i = 0; i < owners->count; i++) link_entry(owners, i);
  return true;
}

static uint32_t add(fc_owners_t *owners, const fc_owner_t *owner) {
  if (owners->count == owners->capacity && !grow(owners)) return FC_OWNER_NONE;
  uint32_t index = owners->free;
  if (index != FC_OWNER_NONE) owners->free = owners->entries[index].next;
  else index = owners->fresh++;
  owners->count++;
  owners->entries[index] = (entry_t){.owner = *owner};
  link_entry(owners, index);
  return index;
}

uint32_t fc_owners_charge(fc_owners_t *owners, const fc_owner_t *owner,
                          uint64_t bytes) {
  uint32_t index = find(owners, owner);
  if (index == FC_OWNER_NONE) index = add(owners, owner);
  if (index != FC_OWNER_NONE) owners->entries[index].bytes += bytes;
  return index;
}

static void forget(fc_owners_t *owners, uint32_t index) {
  entry_t *entry = &owners->entries[index];
  uint32_t *at = bucket_of(owners, &entry->owner);
  while (*at != index) at = &owners->entries[*at].next;
  *at = entry->next;
  entry->next = owners->free;
  owners->free = index;
  owners->count--;
}

void fc_owners_release(fc_owners_t *owners, uint32_t index, uint64_t bytes) {
  if (index == FC_OWNER_NONE) return;
  entry_t *entry = &owners->entries[index];
  FC_ASSERT(entry->bytes >= bytes);
  entry->bytes -= bytes;
  if (entry->bytes == 0) forget(owners, index);
}

bool fc_owners_count(fc_owners_t *owners, const fc_owner_t *owner,
                     fc_owner_count_t *out_count) {
  const uint32_t entry = fc_owners_charge(owners, owner, 1);
  *out_count = (fc_owner_count_t){entry != FC_OWNER_NONE, entry};
  return out_count->counts;
}

void fc_owners_uncount(fc_owners_t *owners, fc_owner_count_t *count) {
  if (count->counts) fc_owners_release(owners, count->entry, 1);
  *count = (fc_owner_count_t){0};
}

fc_owner_count_t fc_owner_count_take(fc_owner_count_t *count) {
  const fc_owner_count_t taken = *count;
  *count = (fc_owner_count_t){0};
  return taken;
}
