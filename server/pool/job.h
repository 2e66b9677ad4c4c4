// SPDX-License-Identifier: Apache-2.0
//
// A call as the loop sees it, from its request until its outcome was taken. It is
// embedded in the struct of its requester: an exchange, a trial, or a thread host that
// loads its module. Loop thread.
#ifndef FARCALL_SERVER_POOL_JOB_H_
#define FARCALL_SERVER_POOL_JOB_H_

#include "config/priority.h"
#include "pool/claim.h"
#include "pool/owner.h"
#include "pool/slot.h"

typedef enum fc_job_state_t {
  FC_JOB_NEW,
  FC_JOB_QUEUED,   // waits in its module's queue
  FC_JOB_RUNNING,  // a host has the call, or its outcome is being read
} fc_job_state_t;

// The data of a flow, kept in its first job (flow.h).
typedef struct fc_flow_head_t {
  struct fc_job_t *last;
  // Links of a ring of first jobs: the flow whose turn is next, and the previous one.
  struct fc_job_t *next_turn;
  struct fc_job_t *previous_turn;
  struct fc_job_t *next_alike;  // first job of the next flow in the chain
  int64_t credit;               // ns: the turn goes on while it is above 0
  uint32_t count;               // jobs
} fc_flow_head_t;

// A zeroed job is new.
typedef struct fc_job_t {
  fc_invocation_t call;  // the job owns its body, until a host takes it over
  fc_owner_t caller;     // the client: clients take turns
  // The operator's deadline (--timeout), at which the call's process may be ended. The
  // deadline of the call itself, which a client may have shortened, only ends the wait.
  // 0: none.
  uint64_t limit_ns;
  // Counts the call for its caller, if calls are limited. A call that runs on although
  // nobody waits for it takes the count along, until it ends.
  fc_owner_count_t count;
  int8_t priority;  // FC_PRIORITY_MIN to _MAX
  // The claim of the call's session, with FC_CALL_SESSION; NULL: the call has no session.
  fc_claim_t *claim;
  // Borrowed, from on_done or fc_pool_try_inline until fc_pool_finish.
  fc_outcome_t *outcome;
  // For a failed call: the seconds after which the client may try again; 0: not known.
  uint32_t retry_s;
  // Members of the pool
  uint8_t state;
  bool parked;  // the call waits for its turn in its session, and is in no flow
  bool keeps_claim;  // the call keeps its claim until its next turn
  // When it was queued, if calls of its function wait for others to join them.
  uint64_t came_ns;
  struct fc_job_t *next;
  struct fc_job_t *previous;
  struct fc_job_t *flow_next;
  struct fc_job_t *flow_previous;
  fc_flow_head_t flow;  // used while the job is the first of its flow
  // Members of the host
  uint8_t attempts;  // how many processes crashed before they began the call
  bool alone;  // the call was in a batch that failed, so it joins no other
  uint32_t looked_up;  // fc_blame_t.changes at the last look-up, 0: none yet
  // The slot that holds the call in the thread host; FC_SLOT_NONE: none.
  uint32_t slot;
  struct fc_child_t *child;  // the process that has the call; NULL: none
} fc_job_t;

#endif  // FARCALL_SERVER_POOL_JOB_H_
