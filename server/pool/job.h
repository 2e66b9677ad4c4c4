// SPDX-License-Identifier: Apache-2.0
//
// A call as the loop sees it, from the moment somebody asks for it until its
// outcome has been taken. Embedded in whoever asks. The loop's thread.
#ifndef FARCALL_SERVER_POOL_JOB_H_
#define FARCALL_SERVER_POOL_JOB_H_

#include "pool/slot.h"

typedef enum fc_job_state_t {
  FC_JOB_NEW,
  FC_JOB_QUEUED,   // waits in its module's queue
  FC_JOB_RUNNING,  // a host has it
} fc_job_state_t;

// Zeroed is new.
typedef struct fc_job_t {
  fc_invocation_t call;   // the job owns its body, except while a thread has it
  fc_outcome_t *outcome;  // borrowed, from on_done until fc_pool_finish
  // Of an error: seconds until the client may come back; 0: as its code says.
  uint32_t retry_s;
  // The pool's
  uint8_t state;
  struct fc_job_t *next;
  struct fc_job_t *previous;
  // The host's
  uint8_t attempts;    // processes that crashed before they began it
  uint32_t looked_up;  // fc_blame_t.changes at the last look-up, 0: none yet
  uint32_t slot;  // the thread host's slot that holds it; FC_SLOT_NONE: none
  struct fc_child_t *child;  // the process that has it, NULL if none
} fc_job_t;

#endif  // FARCALL_SERVER_POOL_JOB_H_
