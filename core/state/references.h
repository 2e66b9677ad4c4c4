// SPDX-License-Identifier: Apache-2.0
//
// The opaque references of a module that sessions keep, by number. A worker looks them up;
// whoever owns the values says which numbers it may use, and which have gone. Objects that
// have gone are freed by a worker, because that may take long. Any thread, but for init and
// deinit.
#ifndef FARCALL_STATE_REFERENCES_H_
#define FARCALL_STATE_REFERENCES_H_

#include <pthread.h>

#include "farcall/value.h"

// The most references of one table.
#define FC_REFERENCES_MAX 4096u
// The most of them that one client may have, so that none can take all.
#define FC_REFERENCES_SHARE (FC_REFERENCES_MAX / 8)

typedef struct fc_reference_t {
  uint64_t number;
  void *object;
  void (*count)(void *object, int change);
  bool gone;
} fc_reference_t;

typedef struct fc_references_t {
  fc_allocator_t allocator;
  pthread_mutex_t lock;
  fc_reference_t *items;  // by number
  uint32_t count, capacity;
  uint32_t gone;  // of these, have gone and are not freed
} fc_references_t;

void fc_references_init(fc_references_t *all, fc_allocator_t allocator);
// Frees what is left. The instances whose objects these are must still exist.
void fc_references_deinit(fc_references_t *all);
// Keeps an object, and counts it. FC_CODE_OUT_OF_MEMORY; FC_CODE_TOO_MANY_REQUESTS when
// there are FC_REFERENCES_MAX.
fc_status_t fc_references_add(fc_references_t *all, uint64_t number,
                              const fc_opaque_t *opaque,
                              fc_error_t *err) FC_MUST_CHECK;
// Gives object and count of a reference, which stays while a call of its session runs.
// False: there is none of this number, or it has gone.
bool fc_references_find(fc_references_t *all, uint64_t number,
                        fc_opaque_t *out);
// The reference is found no more. True: fc_references_free has to be called.
bool fc_references_drop(fc_references_t *all, uint64_t number);
// Frees what has gone.
void fc_references_free(fc_references_t *all);
// How many objects it keeps, those that have gone included; and how many have gone.
uint32_t fc_references_count(fc_references_t *all);
uint32_t fc_references_gone(fc_references_t *all);

#endif  // FARCALL_STATE_REFERENCES_H_
