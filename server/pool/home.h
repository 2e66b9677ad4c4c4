// SPDX-License-Identifier: Apache-2.0
//
// The home of opaque references: the worker that keeps those of sessions
// (core/state/references.h). It is one process; or the threads of a generation, which share
// its instance. A session that has references is bound to their home: its calls go there
// alone, and it is lost when the home ends. The loop gives out the numbers of references,
// each once, and says which have gone. Loop thread.
//
// A home may have thousands of sessions. So when it ends, fc_home_end only notes that, and
// each of its sessions counts as lost from then on (fc_home_has_ended). fc_home_lose, which
// tells the sessions, is called in several turns of the loop.
#ifndef FARCALL_SERVER_POOL_HOME_H_
#define FARCALL_SERVER_POOL_HOME_H_

#include "pool/owner.h"
#include "state/store.h"

struct fc_claim_t;
typedef struct fc_home_t fc_home_t;

typedef struct fc_home_class_t {
  // Makes the worker free a reference. Perhaps the worker does not have it.
  void (*drop)(fc_home_t *home, uint64_t number);
  // Returns how many references the worker has, including those that are dropped and not
  // freed yet.
  uint32_t (*count)(const fc_home_t *home);
} fc_home_class_t;

struct fc_home_t {
  const fc_home_class_t *class_;
  uint32_t generation;  // its index
  uint32_t refusal;     // fc_store_refusal_t: why it keeps none
  uint64_t next;        // the number that is granted next
  uint32_t kept;        // references of all claims
  uint32_t granted;     // numbers that calls which run may still use
  fc_owners_t owners;   // both, of each owner of sessions
  bool ended;
  struct fc_claim_t *first;  // of those that have references here
  // Claims whose next call waits for room here, in the order in which they came.
  struct fc_claim_t *waits_first;
  struct fc_claim_t *waits_last;
};

// Numbers that the call which holds a claim may use.
typedef struct fc_home_grant_t {
  fc_home_t *home;  // NULL: there is no grant
  uint64_t first;
  uint32_t count;  // at most FC_STORE_ROWS
  uint64_t kept;   // a bit for each number that came to stay
} fc_home_grant_t;

// What a claim has at its home.
typedef struct fc_bond_t {
  fc_home_t *home;      // NULL: it has no references
  uint32_t references;  // there
  uint32_t generation;  // of its session; another home than of this keeps none
  uint32_t refusal;     // fc_store_refusal_t: why its calls keep none
  const fc_owner_t *owner;  // of its session; borrowed
  uint32_t entry;  // of the owner in home->owners, while it has something there
  fc_home_grant_t grant;
  bool waited;  // its next call, for room there: it comes before others
  struct fc_claim_t *next_waiting;
  struct fc_claim_t *next;  // of the same home
  struct fc_claim_t **at;   // what points to this claim
} fc_bond_t;

void fc_home_init(fc_home_t *home, const fc_home_class_t *class_,
                  fc_allocator_t allocator, uint32_t generation,
                  uint32_t refusal);
// The worker has ended: it runs no call, and the sessions of all its claims are lost.
void fc_home_end(fc_home_t *home);
// Tells up to `most` sessions of a home that has ended. Returns how many; less than `most`:
// no session is left.
uint32_t fc_home_lose(fc_home_t *home, uint32_t most);
// Is the session of the claim lost because its home has ended?
bool fc_home_has_ended(const struct fc_claim_t *claim);
// The home is freed, perhaps with the server: nothing is lost by that.
void fc_home_leave(fc_home_t *home);

// Adds a claim to those whose next call waits for room at their home.
void fc_home_wait(struct fc_claim_t *claim);
// Takes the claim that has waited longest out of them. NULL: none waits.
struct fc_claim_t *fc_home_pop(fc_home_t *home);

// Grants numbers to the call that holds the claim, on its desk: `wanted`, or as many as
// there is room for, or are left of the share of its session's owner, or none if it may
// keep no references. fc_home_end_grant must follow.
void fc_home_grant(fc_home_t *home, struct fc_claim_t *claim, uint32_t wanted,
                   fc_store_desk_t *desk);
// True when the number was granted to the call and is used for the first time. `seen` is
// initially 0, and is for this function alone.
bool fc_home_is_granted(const struct fc_claim_t *claim, uint64_t number,
                        uint64_t *seen);
// A value of the call's session has this number from now on.
void fc_home_keep(struct fc_claim_t *claim, uint64_t number);
// No value has it any more. 0, a null reference, is allowed.
void fc_home_drop(struct fc_claim_t *claim, uint64_t number);
// Call it when the call has left the worker. Drops the granted numbers below `used` that no
// value has; the worker has used none of the others. Does nothing if there is no grant.
void fc_home_end_grant(struct fc_claim_t *claim, uint64_t used);

#endif  // FARCALL_SERVER_POOL_HOME_H_
