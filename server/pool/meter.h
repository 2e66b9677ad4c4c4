// SPDX-License-Identifier: Apache-2.0
//
// Memory that a worker takes while it decodes a call, counted against the memory for
// calls in flight (block.h): values, tensors, a body that came compressed. The worker's
// thread.
#ifndef FARCALL_SERVER_POOL_METER_H_
#define FARCALL_SERVER_POOL_METER_H_

#include "pool/block.h"

// So many bytes a worker has for nothing: small calls are not counted, and what is kept
// between calls is less.
#define FC_METER_FREE ((size_t)256 << 10)

typedef struct fc_meter_t {
  fc_allocator_t inner;
  fc_blocks_t *blocks;
  size_t held;       // bytes allocated and not released
  uint64_t charged;  // of them, bytes that count as in use
  bool refused;  // an allocation failed at the limit; the caller sets it back
} fc_meter_t;

// `blocks` is borrowed.
void fc_meter_init(fc_meter_t *meter, fc_allocator_t inner,
                   fc_blocks_t *blocks);
// An allocator whose memory is counted; it refers to `meter`, which must not move. Of
// alignments up to 64. All must be released before the blocks are destroyed.
fc_allocator_t fc_meter_allocator(fc_meter_t *meter);

#endif  // FARCALL_SERVER_POOL_METER_H_
