// SPDX-License-Identifier: Apache-2.0
//
// Counts the memory that a worker takes to decode a call against the limit for calls in
// flight (block.h): values, tensors, a decompressed body. The worker's thread.
#ifndef FARCALL_SERVER_POOL_METER_H_
#define FARCALL_SERVER_POOL_METER_H_

#include "pool/block.h"

// The bytes that a worker has without counting: small calls are not counted, and the
// memory that is kept between calls is less.
#define FC_METER_FREE ((size_t)256 << 10)

typedef struct fc_meter_t {
  fc_allocator_t inner;
  fc_blocks_t *blocks;
  size_t held;       // bytes allocated and not released
  uint64_t charged;  // the part of `held` that counts as in use
  bool refused;      // an allocation failed at the limit; reset by the caller
} fc_meter_t;

// `blocks` is borrowed.
void fc_meter_init(fc_meter_t *meter, fc_allocator_t inner,
                   fc_blocks_t *blocks);
// Returns an allocator whose memory is counted, for alignments up to 64. It refers to
// `meter`, which must not move. All its memory must be released before the blocks are
// destroyed.
fc_allocator_t fc_meter_allocator(fc_meter_t *meter);

#endif  // FARCALL_SERVER_POOL_METER_H_
