// SPDX-License-Identifier: Apache-2.0
//
// References on their way out: a queue in the ring, which the loop writes and the worker
// reads. A worker that lies about how far it is reads wrong numbers of its own references.
#include "pool/ring.h"

void fc_ring_drop(fc_ring_t *ring, uint64_t number) {
  ring->head->drops[ring->dropped % FC_REFERENCES_MAX] = number;
  atomic_store(&ring->head->dropped, ++ring->dropped);
}

uint32_t fc_ring_drops(const fc_ring_t *ring) {
  const uint32_t left = ring->dropped - atomic_load(&ring->head->freed);
  return left < FC_REFERENCES_MAX ? left : FC_REFERENCES_MAX;
}

bool fc_ring_has_drops(const fc_ring_t *ring) {
  return atomic_load(&ring->head->dropped) != ring->freed;
}

bool fc_ring_take_drop(fc_ring_t *ring, uint64_t *out_number) {
  if (!fc_ring_has_drops(ring)) return false;
  *out_number = ring->head->drops[ring->freed++ % FC_REFERENCES_MAX];
  return true;
}

void fc_ring_note_freed(fc_ring_t *ring) {
  atomic_store(&ring->head->freed, ring->freed);
}
