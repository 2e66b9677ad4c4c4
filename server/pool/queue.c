// SPDX-License-Identifier: Apache-2.0
//
// The expensive part of a hand-over is the wake-up, not the lock (docs/architecture.md).
// So a batch wakes no more workers than it has slots, and the loop is woken once for all
// slots that it has not taken yet.
#include "pool/queue.h"

void fc_ready_init(fc_ready_t *ready) {
  *ready = (fc_ready_t){.head = FC_SLOT_NONE, .tail = FC_SLOT_NONE};
  pthread_mutex_init(&ready->lock, NULL);
  pthread_cond_init(&ready->bell, NULL);
}

void fc_ready_deinit(fc_ready_t *ready) {
  pthread_cond_destroy(&ready->bell);
  pthread_mutex_destroy(&ready->lock);
}

static uint32_t head_of(const fc_ready_t *ready) {
  return atomic_load_explicit(&ready->head, memory_order_relaxed);
}

static void set_head(fc_ready_t *ready, uint32_t slot) {
  atomic_store_explicit(&ready->head, slot, memory_order_relaxed);
}

void fc_ready_submit(fc_ready_t *ready, fc_slot_t *slots, uint32_t first,
                     uint32_t last, uint32_t count) {
  slots[last].next = FC_SLOT_NONE;
  pthread_mutex_lock(&ready->lock);
  if (ready->tail == FC_SLOT_NONE) set_head(ready, first);
  else slots[ready->tail].next = first;
  ready->tail = last;
  ready->waiting += count;
  // Each polling worker takes one slot, maybe one that was waiting before.
  uint32_t left =
      ready->waiting > ready->looking ? ready->waiting - ready->looking : 0;
  if (left > count) left = count;
  uint32_t wake = ready->idle < left ? ready->idle : left;
  pthread_mutex_unlock(&ready->lock);
  while (wake-- > 0) pthread_cond_signal(&ready->bell);
}

// Polls for a slot without the lock, which the caller holds before and after.
// fc_ready_submit wakes nobody for a slot that a polling worker may take; so such a
// worker checks once more, under the lock, before it waits.
static void look_for(fc_ready_t *ready, fc_spin_t *spin) {
  ready->looking++;
  pthread_mutex_unlock(&ready->lock);
  for (bool on = true; on; on = fc_spin_more(spin)) {
    if (head_of(ready) != FC_SLOT_NONE && fc_spin_hit(spin)) break;
  }
  pthread_mutex_lock(&ready->lock);
  ready->looking--;
}

uint32_t fc_ready_take(fc_ready_t *ready, fc_slot_t *slots, fc_spin_t *spin) {
  pthread_mutex_lock(&ready->lock);
  bool none = head_of(ready) == FC_SLOT_NONE && !ready->stopped;
  if (none && fc_spin_begin(spin)) look_for(ready, spin);
  while (head_of(ready) == FC_SLOT_NONE && !ready->stopped) {
    ready->idle++;
    pthread_cond_wait(&ready->bell, &ready->lock);
    ready->idle--;
  }
  uint32_t slot = head_of(ready);
  if (slot != FC_SLOT_NONE) {
    ready->waiting--;
    set_head(ready, slots[slot].next);
    if (slots[slot].next == FC_SLOT_NONE) ready->tail = FC_SLOT_NONE;
  }
  pthread_mutex_unlock(&ready->lock);
  return slot;
}

void fc_ready_stop(fc_ready_t *ready) {
  pthread_mutex_lock(&ready->lock);
  ready->stopped = true;
  pthread_mutex_unlock(&ready->lock);
  pthread_cond_broadcast(&ready->bell);
}

void fc_done_init(fc_done_t *done) {
  atomic_init(&done->head, FC_SLOT_NONE);
  atomic_init(&done->notified, false);
}

bool fc_done_push(fc_done_t *done, fc_slot_t *slots, uint32_t slot) {
  uint32_t head = atomic_load_explicit(&done->head, memory_order_relaxed);
  do {
    slots[slot].next = head;
  } while (!atomic_compare_exchange_weak_explicit(
      &done->head, &head, slot, memory_order_release, memory_order_relaxed));
  // Ordered after the push: either a taker that clears `notified` sees the slot, or this
  // push sees `notified` cleared.
  return !atomic_exchange_explicit(&done->notified, true, memory_order_acq_rel);
}

uint32_t fc_done_take(fc_done_t *done, fc_slot_t *slots, bool awake) {
  if (awake)
    atomic_exchange_explicit(&done->notified, false, memory_order_acq_rel);
  uint32_t slot =
      atomic_exchange_explicit(&done->head, FC_SLOT_NONE, memory_order_acquire);
  uint32_t oldest = FC_SLOT_NONE;
  while (slot != FC_SLOT_NONE) {
    uint32_t next = slots[slot].next;
    slots[slot].next = oldest;
    oldest = slot;
    slot = next;
  }
  return oldest;
}
