// SPDX-License-Identifier: Apache-2.0
//
// The input of a call, from ADMIT to ENCODE. It is written into the job of the call
// (job.h) and copied into the slot that a worker reads. It has no pointers, so a worker
// may be another process.
#ifndef FARCALL_SERVER_POOL_INVOCATION_H_
#define FARCALL_SERVER_POOL_INVOCATION_H_

#include "pool/block.h"

enum {
  FC_CALL_VALIDATE = 1 << 0,  // DECODE only: the function is not called
  FC_CALL_PREPARE = 1 << 1,   // runs fc_worker_prepare and no function
  FC_CALL_OWN = 1 << 2,       // made by a trial (modules/trial.h)
  FC_CALL_PROFILE = 1 << 3,   // the answer says where the time went
  FC_CALL_TRACED = 1 << 4,    // spans of the dispatches follow the answer
  FC_CALL_LATER = 1 << 5,     // a later turn (turn.h): the body is the carry
  FC_CALL_TIMED = 1 << 6,     // the last part has the times of the stages
  FC_CALL_SESSION = 1 << 7,   // the call has the desk of a session (claim.h)
  // Frees the references that have gone (home.h), and runs no function.
  FC_CALL_FREE = FC_CALL_PREPARE | FC_CALL_LATER,
};

// What is known about the rows of a function for batching (marshal/batch.h).
enum {
  FC_ROWS_AS_THEY_ARE,  // nothing is known, or the function has no rows
  FC_ROWS_BATCHED,
  FC_ROWS_APART,  // batched, but only by the smallest bucket
  FC_ROWS_PROVE,  // a call of a trial: the answer is a verdict (module/prove.h)
};

#define FC_CALL_PARAMETERS 32

typedef struct fc_invocation_t {
  // Index of the generation; 0 in a worker process, which has only one.
  uint32_t generation;
  // A number past the last function: the call runs none (order.h).
  uint32_t function;
  uint8_t dialect;
  uint8_t flags;          // FC_CALL_*
  uint8_t body_coding;    // fc_coding_t of the body
  uint8_t answer_coding;  // fc_coding_t that the answer may have
  uint8_t parts;  // fc_part_form_t (turn.h); 0: the answer is not in parts
  uint8_t rows;   // FC_ROWS_*
  // The number of turns that still have one step each (turn.h).
  uint8_t singles;
  uint64_t body_max;  // most bytes that the body may become when decompressed
  uint64_t deadline_ns;  // on fc_clock_ns' clock, 0: none
  // A batch is given up after this long; 0: never.
  uint64_t batch_ns;
  uint64_t steps;  // steps that earlier turns have made
  // The body for the loop and its threads. The slot of a process has instead the body's
  // place in its ring, or says that the body is in a file.
  fc_piece_t body;
  // The dialect's data: its admit writes them, its other functions read them.
  uint8_t parameters[FC_CALL_PARAMETERS];
} fc_invocation_t;

#endif  // FARCALL_SERVER_POOL_INVOCATION_H_
