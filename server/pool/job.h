// SPDX-License-Identifier: Apache-2.0
//
// A call as the loop sees it, from when it is asked for until its outcome has been
// taken. Lies in the struct of what asks for it: an exchange, a trial, or a thread host
// that loads its module. The loop's thread.
#ifndef FARCALL_SERVER_POOL_JOB_H_
#define FARCALL_SERVER_POOL_JOB_H_

#include "config/priority.h"
#include "pool/claim.h"
#include "pool/owner.h"
#include "pool/slot.h"

typedef enum fc_job_state_t {
  FC_JOB_NEW,
  FC_JOB_QUEUED,   // waits in its module's queue
  FC_JOB_RUNNING,  // a host has it, or its outcome is being read
} fc_job_state_t;

// What the first job of a flow knows of it (flow.h).
typedef struct fc_flow_head_t {
  struct fc_job_t *last;
  // Link a ring of first jobs: of the flow whose turn is next, and of the one before.
  struct fc_job_t *next_turn;
  struct fc_job_t *previous_turn;
  struct fc_job_t *next_alike;  // first job of the next flow in the chain
  int64_t credit;               // ns: the turn goes on while it is above 0
  uint32_t count;               // jobs
} fc_flow_head_t;

// Zeroed is new.
typedef struct fc_job_t {
  fc_invocation_t call;  // the job owns its body, until a host takes it over
  fc_owner_t caller;     // who makes it: callers take turns
  // The operator's deadline (--timeout): its process may be ended for it, while that of
  // the call itself, which a client may have shortened, only ends the wait. 0: none.
  uint64_t limit_ns;
  // Counts the call among its caller's, if these are limited. A call that runs on though
  // nobody waits for it takes the count along, until it ends.
  fc_owner_count_t count;
  int8_t priority;  // FC_PRIORITY_MIN to _MAX
  // Of the session that the call belongs to, with FC_CALL_SESSION; NULL: it belongs to
  // none.
  fc_claim_t *claim;
  // Borrowed, from on_done or fc_pool_try_inline until fc_pool_finish.
  fc_outcome_t *outcome;
  // Of a call that failed: seconds until the client may come back; 0: not known.
  uint32_t retry_s;
  // The pool's
  uint8_t state;
  bool parked;       // it waits for its turn in its session, and is in no flow
  bool keeps_claim;  // from one turn of its call to the next
  struct fc_job_t *next;
  struct fc_job_t *previous;
  struct fc_job_t *flow_next;
  struct fc_job_t *flow_previous;
  fc_flow_head_t flow;  // while it is the first of its flow
  // The host's
  uint8_t attempts;    // processes that crashed before they began it
  bool alone;          // it was begun in a batch that failed: it joins no other
  uint32_t looked_up;  // fc_blame_t.changes at the last look-up, 0: none yet
  uint32_t slot;  // the thread host's slot that holds it; FC_SLOT_NONE: none
  struct fc_child_t *child;  // the process that has it, NULL if none
} fc_job_t;

#endif  // FARCALL_SERVER_POOL_JOB_H_
