// SPDX-License-Identifier: Apache-2.0
//
// The two ways in which a slot is passed between the loop and threads: the ready queue
// (loop to workers; a lock and a condition; filled in batches) and the completion list
// (workers to the loop; lock-free; many producers and one consumer). Both link slots by
// index through `next`.
#ifndef FARCALL_SERVER_POOL_QUEUE_H_
#define FARCALL_SERVER_POOL_QUEUE_H_

#include <pthread.h>

#include "pool/slot.h"
#include "pool/spin.h"

typedef struct fc_ready_t {
  pthread_mutex_t lock;
  pthread_cond_t bell;
  // The slot that is taken next. Changed under the lock. Polling workers read the head
  // without the lock, and read it again under the lock before they use it, so relaxed
  // order is enough.
  _Atomic uint32_t head;
  uint32_t tail;
  uint32_t waiting;  // slots that wait
  uint32_t idle;     // workers that wait for the bell
  uint32_t looking;  // workers that poll before they wait
  bool stopped;
} fc_ready_t;

void fc_ready_init(fc_ready_t *ready);
void fc_ready_deinit(fc_ready_t *ready);
// Appends the `count` slots linked from `first` to `last`. Wakes idle workers for the
// slots that polling workers will not take.
void fc_ready_submit(fc_ready_t *ready, fc_slot_t *slots, uint32_t first,
                     uint32_t last, uint32_t count);
// Waits for a slot; returns FC_SLOT_NONE when the queue is stopped and empty. `spin` is
// the worker's.
uint32_t fc_ready_take(fc_ready_t *ready, fc_slot_t *slots, fc_spin_t *spin);
void fc_ready_stop(fc_ready_t *ready);

// A list of finished slots, newest first.
typedef struct fc_done_t {
  // Released by producers, acquired by the consumer: the loop sees what the worker wrote
  // into the slot.
  _Atomic uint32_t head;
  // True from the push that wakes the consumer until the consumer has been woken, so that
  // at most one wake-up is outstanding (libuv 1.44 spins while there are two).
  _Atomic bool notified;
} fc_done_t;

void fc_done_init(fc_done_t *done);
// Adds a slot. True: the caller must wake the loop.
bool fc_done_push(fc_done_t *done, fc_slot_t *slots, uint32_t slot);
// Takes all finished slots. Returns the oldest, from which they are linked by `next`, or
// FC_SLOT_NONE. `awake` allows producers to wake the loop again: pass it when the wake-up
// has arrived.
uint32_t fc_done_take(fc_done_t *done, fc_slot_t *slots, bool awake);

#endif  // FARCALL_SERVER_POOL_QUEUE_H_
