// SPDX-License-Identifier: Apache-2.0
//
// Who holds how much: bytes of blocks, calls or connections, by the table. An owner is in
// the table while the owner holds anything; so the table has, rounded up to a power of
// two and at least 16, as many entries as owners have held something at one time. Not
// locked: the store of blocks has a lock around its own.
#ifndef FARCALL_SERVER_POOL_OWNER_H_
#define FARCALL_SERVER_POOL_OWNER_H_

#include "farcall/base.h"

// Names a client: an address, a token, or a user of a Unix socket (fc_exchange_client).
// Here the bytes are only compared and hashed.
typedef struct fc_owner_t {
  uint8_t bytes[16];
} fc_owner_t;

#define FC_OWNER_NONE UINT32_MAX

typedef struct fc_owners_t {
  fc_allocator_t allocator;
  struct fc_owner_entry_t *entries;
  uint32_t *buckets;  // as many as there are entries
  uint32_t capacity;  // entries, a power of two
  uint32_t count;     // entries in use
  uint32_t free;      // first of the entries given back
  uint32_t fresh;     // entries never used begin here
} fc_owners_t;

// Frees the table, which is empty then. A table is empty too if all but its allocator is
// zero.
void fc_owners_deinit(fc_owners_t *owners);
// Bytes (in other tables calls or connections, here and below) that an owner holds; 0 if
// the table does not have the owner.
uint64_t fc_owners_held(const fc_owners_t *owners, const fc_owner_t *owner);
// Counts `bytes` (above 0) more. Returns the owner's index, which stays the
// same while the owner holds anything; FC_OWNER_NONE when out of memory.
uint32_t fc_owners_charge(fc_owners_t *owners, const fc_owner_t *owner,
                          uint64_t bytes);
// Counts `bytes` less. FC_OWNER_NONE is allowed.
void fc_owners_release(fc_owners_t *owners, uint32_t index, uint64_t bytes);

// One call or connection that is counted for an owner. Zeroed: none is.
typedef struct fc_owner_count_t {
  bool counts;
  uint32_t entry;  // the owner's index
} fc_owner_count_t;

// Counts one more for the owner. False when out of memory: *out_count counts nothing.
bool fc_owners_count(fc_owners_t *owners, const fc_owner_t *owner,
                     fc_owner_count_t *out_count) FC_MUST_CHECK;
// Counts one less for its owner, if `count` counts anything, and zeroes it.
void fc_owners_uncount(fc_owners_t *owners, fc_owner_count_t *count);
// Hands a count on, and leaves a zeroed one.
fc_owner_count_t fc_owner_count_take(fc_owner_count_t *count);

#endif  // FARCALL_SERVER_POOL_OWNER_H_
