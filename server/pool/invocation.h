// SPDX-License-Identifier: Apache-2.0
//
// The input of a call, from ADMIT to ENCODE. Whoever asks for the call writes it
// into its job; the job's hand-over copies it once, into the slot a worker
// reads. It holds no pointer, so it means the same in another process.
#ifndef FARCALL_SERVER_POOL_INVOCATION_H_
#define FARCALL_SERVER_POOL_INVOCATION_H_

#include "pool/block.h"

enum {
  FC_CALL_VALIDATE = 1 << 0,  // DECODE only: the function is not called
  FC_CALL_PREPARE = 1 << 1,   // no call: fc_worker_prepare
  FC_CALL_OWN = 1 << 2,       // no client's: the server's own (modules/trial.h)
};

#define FC_CALL_PARAMETERS 32

typedef struct fc_invocation_t {
  uint32_t generation;  // of a module, by index in the region
  uint32_t function;
  uint8_t dialect;
  uint8_t flags;          // FC_CALL_*
  uint8_t body_coding;    // fc_coding_t of the body
  uint8_t answer_coding;  // and of the answer, where it is worth it
  uint64_t body_max;  // most bytes that the body may become when decompressed
  uint64_t deadline_ns;  // on fc_clock_ns' clock, 0: none
  // Where the body is for the loop and its threads. For a process it is
  // replaced by the place in the ring.
  fc_piece_t body;
  // The dialect's own: written when the head is admitted, read by its decode and
  // encode.
  uint8_t parameters[FC_CALL_PARAMETERS];
} fc_invocation_t;

#endif  // FARCALL_SERVER_POOL_INVOCATION_H_
