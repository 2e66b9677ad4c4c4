// SPDX-License-Identifier: Apache-2.0
//
// The calls of a batch (host.h), on their worker's thread: each is decoded on a frame of
// its own, those that stack (marshal/stack.h) are computed as one, and each is answered by
// itself. What fails together is made again one by one, at once; what does not stack, or
// fails to decode, is a call like any other.
#ifndef FARCALL_SERVER_POOL_TOGETHER_H_
#define FARCALL_SERVER_POOL_TOGETHER_H_

#include "pool/worker.h"

// One batch in so many has a call that is computed by itself, too, and compared; and so
// have the first ones of a worker, in which each function is tried for the rows.
#define FC_TOGETHER_CHECKED 1024
#define FC_TOGETHER_FIRST 16

// What a host does for the slots of a batch.
typedef struct fc_mates_t {
  fc_slot_t *slots[FC_BATCH_CALLS];
  uint32_t count;
  // Before and after the answer of a slot is written. NULL: nothing.
  void (*open)(void *context, fc_slot_t *slot);
  void (*close)(void *context, const fc_slot_t *slot);
  // The slot has its outcome: it is the loop's. Called for each.
  bool in_order;
  void (*done)(void *context, const fc_slot_t *slot);
  void *context;
} fc_mates_t;

// Begins the slots of a batch, those that the loop has not taken back, and runs them.
void fc_worker_run_mates(fc_worker_t *worker, const fc_mates_t *mates);
// The same for the batch of the region's slot `first`.
void fc_worker_run_batch(fc_worker_t *worker, uint32_t first);
// Frees what the worker keeps for batches, if anything. No batch runs.
void fc_seats_destroy(fc_worker_t *worker);

#endif  // FARCALL_SERVER_POOL_TOGETHER_H_
