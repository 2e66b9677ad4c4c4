// SPDX-License-Identifier: Apache-2.0
//
// A slot: one call on its way through a worker and back. It has no pointers: modules,
// functions, dialects and blocks are named by index, so the same slot works between
// processes. Exactly one thread owns a slot at a time. While a worker has it, the loop
// may change only `cancel`, `left` and `begun`, which are atomic, and the deadline of a
// call with FC_CALL_PREPARE, which no worker reads.
#ifndef FARCALL_SERVER_POOL_SLOT_H_
#define FARCALL_SERVER_POOL_SLOT_H_

#include <stdatomic.h>

#include "farcall/base.h"
#include "pool/invocation.h"
#include "pool/stage.h"

#define FC_OUTCOME_NAME 64

// A value of fc_outcome_t.document: the whole answer was compressed as the call asks. No
// document before raw bytes is one byte long, so 1 is not a size.
#define FC_OUTCOME_CODED 1

// How a call with batchable rows was computed. Zeroed: the call has no such rows.
typedef struct fc_batched_t {
  uint32_t calls;  // calls in the batch; 1: the call was computed alone
  uint32_t rows;   // rows of all these calls
  // Rows that were computed: more than `rows` if padding was added.
  uint32_t computed;
  // 1: computed alone, the call had another result (together.h).
  uint32_t differs;
} fc_batched_t;

// Checks a worker's report about at most `most` calls, and zeroes it if it is impossible.
static inline void fc_batched_bound(fc_batched_t *batch, uint32_t most) {
  if (batch->calls > most || batch->rows < batch->calls ||
      batch->computed < batch->rows || batch->differs > (most > 1)) {
    *batch = (fc_batched_t){0};
  }
}

// How a call ended.
typedef struct fc_outcome_t {
  fc_status_t status;
  // fc_stage_t: the last stage that was begun. A failed call has failed in it.
  uint8_t stage;
  // The call goes on: its next turn needs the present body (turn.h).
  bool more;
  // Pieces of the answer; the first one has FC_LIMIT_HEAD bytes free in front.
  uint32_t piece_count;
  fc_piece_t pieces[FC_PIECES_MAX];
  // Bytes of the answer before its raw bytes; 0: it has no raw bytes; or
  // FC_OUTCOME_CODED.
  uint64_t document;
  // Bytes at the end of the answer that are for the loop and not for the client: at most
  // FC_SPANS_DISPATCHES of fc_dispatch_span_t. Read only for a call with FC_CALL_TRACED.
  uint32_t spans_size;
  uint64_t began_ns;  // when the worker took it
  uint64_t spent_ns[FC_STAGE_COUNT];
  fc_batched_t batch;
  fc_error_t error;  // if the status is not FC_OK
  // For a failed call: the client's name of its request, from the body; size 0: it is not
  // known.
  uint8_t name_size;
  char name[FC_OUTCOME_NAME];
} fc_outcome_t;

// Returns the time that a worker has spent on the call; for CALL, the call's share.
static inline uint64_t fc_outcome_worker_ns(const fc_outcome_t *outcome) {
  const uint64_t call_ns = outcome->spent_ns[FC_STAGE_CALL];
  return outcome->spent_ns[FC_STAGE_DECODE] +
         (outcome->batch.calls > 1 ? call_ns / outcome->batch.calls : call_ns) +
         outcome->spent_ns[FC_STAGE_ENCODE];
}

// Frees the blocks of the answer.
static inline void fc_outcome_drop(fc_outcome_t *outcome, fc_blocks_t *blocks) {
  for (uint32_t i = 0; i < outcome->piece_count; i++) {
    fc_block_give(blocks, outcome->pieces[i].block);
  }
  outcome->piece_count = 0;
}

#define FC_SLOT_NONE UINT32_MAX
// The most calls of a batch (host.h): as many as a ring has slots (ring.h).
#define FC_BATCH_CALLS 16

typedef enum fc_begun_t {
  FC_BEGUN_NOT,
  FC_BEGUN_YES,    // a worker has begun the call
  FC_BEGUN_NEVER,  // the loop has taken the call back: no worker may begin it
} fc_begun_t;

static inline bool fc_slot_begin(_Atomic uint32_t *begun, fc_begun_t as) {
  uint32_t not_yet = FC_BEGUN_NOT;
  return atomic_compare_exchange_strong(begun, &not_yet, (uint32_t)as);
}

typedef struct fc_slot_t {
  // Written by the loop before the hand-over
  // The loop to whose list the slot returns: 0, there is only one.
  uint32_t loop;
  fc_invocation_t call;
  // The next slot of its batch (host.h). One worker begins all slots of a batch before it
  // makes any of the calls. The slot's own index: it is the last one; FC_SLOT_NONE: it is
  // in no batch.
  uint32_t mate;
  // For the answer; FC_BLOCK_NONE: the worker takes a block.
  uint32_t answer_block;
  uint32_t carry_block;  // for the state that a turn leaves for the next one
  // Not zero: nobody waits for the answer any more. A worker that has not begun the call
  // drops it; while the call runs, its module checks the word.
  _Atomic uint32_t cancel;
  // The same for all calls of its batch: code that computes several calls checks this
  // word.
  _Atomic uint32_t left;
  _Atomic uint32_t begun;  // fc_begun_t; the first change of NOT decides
  // Steps that were done in all turns of the call. The worker counts them.
  _Atomic uint64_t steps;

  fc_outcome_t outcome;  // written by the worker before it hands the slot back

  uint32_t next;  // the next slot in the ready queue or the completion list
} fc_slot_t;

#endif  // FARCALL_SERVER_POOL_SLOT_H_
