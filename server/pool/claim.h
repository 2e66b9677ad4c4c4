// SPDX-License-Identifier: Apache-2.0
//
// A claim represents one session in the pool. The calls of a session are made one after
// another, in the order of their arrival. One call holds the claim, from when it may be
// given to a worker until it has left the worker; the others are parked in their
// generation's queue, but in no flow. A call that is made in turns (turn.h) holds the
// claim until its last turn is over, or until nobody waits for the call. The claim also
// manages the values that the worker may change: its desk is laid before the call, and
// taken after it. It is stored in the session (state/session.h). Loop thread.
#ifndef FARCALL_SERVER_POOL_CLAIM_H_
#define FARCALL_SERVER_POOL_CLAIM_H_

#include "pool/home.h"
#include "pool/slot.h"
#include "state/store.h"

typedef struct fc_claim_t fc_claim_t;

// How values were lost: mostly by a call that a worker had begun and that ended without an
// outcome.
typedef enum fc_loss_t {
  FC_LOSS_CRASH,     // the worker's process crashed, or was ended from outside
  FC_LOSS_DEADLINE,  // the operator's
  FC_LOSS_LIE,       // no honest worker writes what this worker wrote
  FC_LOSS_WORKER,    // not in a call: the worker that had references has ended
  FC_LOSS_COUNT
} fc_loss_t;

typedef struct fc_claim_class_t {
  // Fills in the desk of a worker that is about to get the call.
  void (*lay)(fc_claim_t *claim, fc_store_desk_t *out_desk);
  // The call has ended with `outcome`, and nobody writes to the granted places any more,
  // unless the worker lies. `desk` is in memory that a worker can still change. False and
  // `err`: no honest worker leaves such a desk, and the values are lost. If there is no
  // memory to store what the call left, or no room for it by now, `outcome` is changed to
  // an error, and nothing of it is kept.
  bool (*take)(fc_claim_t *claim, const fc_store_desk_t *desk,
               fc_outcome_t *outcome, fc_error_t *err);
  // The call of `function` was begun and did not end normally: the values are lost.
  void (*lose)(fc_claim_t *claim, fc_str_t function, fc_loss_t why);
  // The same, but a thread may still write to the values and to the places granted to the
  // call: all of them stay until `lose`.
  void (*condemn)(fc_claim_t *claim, fc_str_t function, fc_loss_t why);
  // True and `err`: waiting calls are not made any more.
  bool (*refuse)(const fc_claim_t *claim, fc_error_t *err);
  // No call holds the claim or waits for it. The claim may be freed.
  void (*idle)(fc_claim_t *claim);
} fc_claim_class_t;

// What a worker needs for the desk: a file, and its number among all files that ever
// existed.
typedef struct fc_claim_slab_t {
  int file;
  uint64_t serial;  // from 1
  // Bytes that may be used in the file: by places, and by grants of running calls.
  uint64_t allowed;
} fc_claim_slab_t;

// A worker's view of a session for one call.
typedef struct fc_desk_t {
  fc_store_desk_t *desk;
  int slab;         // -1: the worker has none
  uint64_t serial;  // its number among the slabs that the worker has had
} fc_desk_t;

struct fc_claim_t {
  const fc_claim_class_t *class_;
  const fc_claim_slab_t *slab;
  // Members of the pool
  // The call whose turn it is holds the claim, even if nobody waits for that call.
  bool held;
  // The session's values are condemned: new calls do not wait, but are refused.
  bool condemned;
  bool later;  // the worker has a later turn of the call
  // Set by the session: identifies the present step, if calls of the session can be made
  // again after they ended their process; 0: they cannot.
  uint64_t salt;
  // `generation`, `refusal` and `owner` are set by the session.
  fc_bond_t bond;
  struct fc_claim_t *next;  // in pool->passed
  // The first of the parked calls, in the order of their arrival.
  struct fc_job_t *first;
  struct fc_job_t *last;
};

// Only for pool.c. Gives the claim to the call, unless the call has it from its last
// turn. False: the call was parked behind others. A call of a condemned claim gets
// nothing.
bool fc_claim_enter(fc_claim_t *claim, struct fc_job_t *job);
// Only for pool.c. Parks the call that holds the claim, and is in no flow any more, until
// its home has room (fc_pool_pass_claim). If it leaves before, the next call gets its turn
// then.
void fc_claim_wait(fc_claim_t *claim, struct fc_job_t *job);
// Removes a parked call.
void fc_claim_unpark(fc_claim_t *claim, struct fc_job_t *job);

// Returns the number under which a call of the function is blamed (blame.h). `claim`
// NULL: the call has no session.
static inline uint64_t fc_claim_blamed(const fc_claim_t *claim,
                                       uint32_t function) {
  return claim ? function ^ claim->salt : function;
}

static inline bool fc_claim_is_idle(const fc_claim_t *claim) {
  return !claim->held && !claim->first;
}

#endif  // FARCALL_SERVER_POOL_CLAIM_H_
