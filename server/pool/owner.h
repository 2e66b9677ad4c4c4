// SPDX-License-Identifier: Apache-2.0
//
// How much each owner holds: bytes of blocks, calls or connections; a table counts one of
// these. An owner is in the table while it holds anything. So the number of entries is
// the most owners that held something at one time, rounded up to a power of two and at
// least 16. Not locked: the store of blocks has its own lock.
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

// Frees the table, which must be empty. A table that is zeroed except its allocator is
// empty too.
void fc_owners_deinit(fc_owners_t *owners);
// Returns the bytes (in other tables calls or connections, here and below) that an owner
// holds; 0 if the owner is not in the table.
uint64_t fc_owners_held(const fc_owners_t *owners, const fc_owner_t *owner);
// Adds `bytes` (above 0). Returns the owner's index, which stays the same while the owner
// holds anything; FC_OWNER_NONE: no memory.
uint32_t fc_owners_charge(fc_owners_t *owners, const fc_owner_t *owner,
                          uint64_t bytes);
// Subtracts `bytes`. FC_OWNER_NONE is allowed.
void fc_owners_release(fc_owners_t *owners, uint32_t index, uint64_t bytes);

// One call or connection that counts for an owner. Zeroed: nothing counts.
typedef struct fc_owner_count_t {
  bool counts;
  uint32_t entry;  // the owner's index
} fc_owner_count_t;

// Adds one for the owner. False: no memory, and *out_count counts nothing.
bool fc_owners_count(fc_owners_t *owners, const fc_owner_t *owner,
                     fc_owner_count_t *out_count) FC_MUST_CHECK;
// Subtracts one for its owner, if `count` counts anything, and zeroes it.
void fc_owners_uncount(fc_owners_t *owners, fc_owner_count_t *count);
// Moves a count, and leaves a zeroed one.
fc_owner_count_t fc_owner_count_take(fc_owner_count_t *count);

#endif  // FARCALL_SERVER_POOL_OWNER_H_
