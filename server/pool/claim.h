// SPDX-License-Identifier: Apache-2.0
//
// A claim: what the calls of one session have in common for the pool. They are made one
// after another, in the order they came: one call holds the claim, from when it may be
// given to a worker until it has left the worker; the others are parked in their
// generation's queue, but in no flow. A call that is made in turns (turn.h) holds it until
// the last one is over, or nobody waits for it. A claim also stands for what the worker may
// change: its desk is laid before the call, and taken after it. Lies in the session
// (state/session.h). The loop's thread.
#ifndef FARCALL_SERVER_POOL_CLAIM_H_
#define FARCALL_SERVER_POOL_CLAIM_H_

#include "pool/slot.h"
#include "state/store.h"

typedef struct fc_claim_t fc_claim_t;

// How a call that a worker has begun ended without an outcome.
typedef enum fc_loss_t {
  FC_LOSS_CRASH,     // or its process was ended from outside
  FC_LOSS_DEADLINE,  // the operator's
  FC_LOSS_LIE,       // what the worker wrote cannot be
  FC_LOSS_COUNT
} fc_loss_t;

typedef struct fc_claim_class_t {
  // A worker is about to get the call: fills in its desk.
  void (*lay)(fc_claim_t *claim, fc_store_desk_t *out_desk);
  // The call has ended as `outcome` says, and nobody writes to the places it was granted
  // any more, unless the worker lies. `desk` is memory that a worker can still write to.
  // False and `err`: no honest worker leaves such a desk, and the values are lost. If
  // there is no memory to note what the call left, or no room for it by now, `outcome` is
  // changed to an error, and it keeps nothing.
  bool (*take)(fc_claim_t *claim, const fc_store_desk_t *desk,
               fc_outcome_t *outcome, fc_error_t *err);
  // The call of `function` was begun, and may have left anything: the values are lost.
  void (*lose)(fc_claim_t *claim, fc_str_t function, fc_loss_t why);
  // The same, but a thread may still write to them and to what the call was granted: all
  // of it stays as it is until `lose`.
  void (*condemn)(fc_claim_t *claim, fc_str_t function, fc_loss_t why);
  // True and `err`: calls that wait are not made any more.
  bool (*refuse)(const fc_claim_t *claim, fc_error_t *err);
  // No call holds the claim or waits for it. It may be freed.
  void (*idle)(fc_claim_t *claim);
} fc_claim_class_t;

// What a worker must have for the desk: a file, and which of all files that ever were.
typedef struct fc_claim_slab_t {
  int file;
  uint64_t serial;  // from 1
  // Bytes that may lie in it: of places, and of grants of calls that run.
  uint64_t allowed;
} fc_claim_slab_t;

// What a worker has of a call of a session.
typedef struct fc_desk_t {
  fc_store_desk_t *desk;
  int slab;         // -1: it did not come
  uint64_t serial;  // of the slab, among those that the worker has had
} fc_desk_t;

struct fc_claim_t {
  const fc_claim_class_t *class_;
  const fc_claim_slab_t *slab;
  // The pool's
  bool
      held;  // by the call whose turn it is, whether somebody waits for that or not
  // Its values are condemned: calls that come do not wait for it, and are refused.
  bool condemned;
  bool later;  // the worker has a later turn of the call
  // The session's: of this step, if its calls can be made again when they have ended their
  // process; 0: they cannot.
  uint64_t salt;
  struct fc_claim_t *next;  // in pool->passed
  struct fc_job_t *first;   // of those parked, in the order they came
  struct fc_job_t *last;
};

// For pool.c alone. Gives the claim to the call, unless that has it from its last turn, or
// parks the call behind others: false. A call of a claim that is condemned gets nothing.
bool fc_claim_enter(fc_claim_t *claim, struct fc_job_t *job);
// Takes out a call that is parked.
void fc_claim_unpark(fc_claim_t *claim, struct fc_job_t *job);

// What a call of the function is blamed as (blame.h). NULL: it is of no session.
static inline uint64_t fc_claim_blamed(const fc_claim_t *claim,
                                       uint32_t function) {
  return claim ? function ^ claim->salt : function;
}

static inline bool fc_claim_is_idle(const fc_claim_t *claim) {
  return !claim->held && !claim->first;
}

#endif  // FARCALL_SERVER_POOL_CLAIM_H_
