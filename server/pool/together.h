// SPDX-License-Identifier: Apache-2.0
//
// Runs the calls of a batch (host.h) on their worker's thread. Each call is decoded on
// a frame of its own. Calls that can be stacked (marshal/stack.h) are computed as one,
// and each is answered separately. If they fail together, they are made again one by
// one, at once. A call that cannot be stacked, or fails to decode, is made alone.
#ifndef FARCALL_SERVER_POOL_TOGETHER_H_
#define FARCALL_SERVER_POOL_TOGETHER_H_

#include "pool/worker.h"

// In one of this many batches, and in a worker's first FC_TOGETHER_FIRST batches, one
// call is also computed alone, and the results are compared. In a worker's first
// batches each function is tried for the rows.
#define FC_TOGETHER_CHECKED 1024
#define FC_TOGETHER_FIRST 16
// How long the loop may sleep on while a worker writes the answers of what it has computed
// together. To wake it for each costs more than a short answer.
#define FC_TOGETHER_TELL_NS 50000u

// The slots of a batch, and the functions by which a host handles them.
typedef struct fc_mates_t {
  fc_slot_t *slots[FC_BATCH_CALLS];
  uint32_t count;
  // Called before and after the answer of a slot is written. NULL: nothing is called.
  void (*open)(void *context, fc_slot_t *slot);
  void (*close)(void *context, const fc_slot_t *slot);
  // Called for each slot when it has its outcome: it belongs to the loop from then on.
  bool in_order;
  void (*done)(void *context, const fc_slot_t *slot);
  // Wakes the loop if slots are done since the last time and it sleeps. Called before the
  // worker computes again, and at the end.
  void (*tell)(void *context);
  void *context;
} fc_mates_t;

// Begins and runs the slots of a batch, except those that the loop has taken back.
void fc_worker_run_mates(fc_worker_t *worker, const fc_mates_t *mates);
// Does the same for the batch that begins with slot `first` of the region.
void fc_worker_run_batch(fc_worker_t *worker, uint32_t first);
// Frees what the worker keeps for batches, if anything. No batch may run.
void fc_seats_destroy(fc_worker_t *worker);

#endif  // FARCALL_SERVER_POOL_TOGETHER_H_
