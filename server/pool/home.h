// SPDX-License-Identifier: Apache-2.0
//
// The home of opaque references: the worker that keeps those of sessions
// (core/state/references.h). It is one process; or the threads of a generation, which share
// its instance. A session that has references is bound to their home: its calls go there
// alone, and it is lost when the home ends. The loop gives out the numbers of references,
// each once, and says which have gone. Loop thread.
#ifndef FARCALL_SERVER_POOL_HOME_H_
#define FARCALL_SERVER_POOL_HOME_H_

#include "state/store.h"

struct fc_claim_t;
typedef struct fc_home_t fc_home_t;

typedef struct fc_home_class_t {
  // The worker is to free a reference; it may not have it.
  void (*drop)(fc_home_t *home, uint64_t number);
  // References that the worker has, those that are dropped and not freed yet included.
  uint32_t (*count)(const fc_home_t *home);
} fc_home_class_t;

struct fc_home_t {
  const fc_home_class_t *class_;
  uint32_t generation;       // its index
  uint32_t refusal;          // fc_store_refusal_t: why it keeps none
  uint64_t next;             // the number that is granted next
  uint32_t kept;             // references of all claims
  uint32_t granted;          // beside these, to calls that run
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
  fc_home_grant_t grant;
  struct fc_claim_t *next_waiting;
  struct fc_claim_t *next;  // of the same home
  struct fc_claim_t **at;   // what points to this claim
} fc_bond_t;

void fc_home_init(fc_home_t *home, const fc_home_class_t *class_,
                  uint32_t generation, uint32_t refusal);
// The worker has ended: the sessions of all its claims are lost.
void fc_home_end(fc_home_t *home);
// The home is freed with the server: nothing is lost by that.
void fc_home_leave(fc_home_t *home);

// The call that holds the claim waits for room at its home; and the first claim that does,
// which waits no longer. NULL: none does.
void fc_home_wait(struct fc_claim_t *claim);
struct fc_claim_t *fc_home_pop(fc_home_t *home);

// A call that may keep `wanted` references gets a desk.
void fc_home_grant(fc_home_t *home, struct fc_claim_t *claim, uint32_t wanted,
                   fc_store_desk_t *desk);
// Was the number granted to the call, and is it its first use? `seen` begins as 0.
bool fc_home_is_granted(const struct fc_claim_t *claim, uint64_t number,
                        uint64_t *seen);
// A value of the call's session has this number from now on.
void fc_home_keep(struct fc_claim_t *claim, uint64_t number);
// No value has it any more. 0, a null reference, is allowed.
void fc_home_drop(struct fc_claim_t *claim, uint64_t number);
// The call has left the worker, which has used numbers up to `used`, or none if that is 0:
// drops those that did not come to stay. Does nothing if there is no grant.
void fc_home_end_grant(struct fc_claim_t *claim, uint64_t used);

#endif  // FARCALL_SERVER_POOL_HOME_H_
