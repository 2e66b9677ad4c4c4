// SPDX-License-Identifier: Apache-2.0
//
// The body of a call while it arrives: one block, because decoders want all of it
// in one place. What counts, and what is allocated, follows what has come and not
// what was announced. A body up to FC_LIMIT_READ, or for which a block is kept,
// stays where it was read to; of another less than twice its length is copied in
// all, as its block doubles. Loop thread.
#ifndef FARCALL_SERVER_EXCHANGE_BODY_H_
#define FARCALL_SERVER_EXCHANGE_BODY_H_

#include "pool/block.h"

// A body of `length` bytes, 0 if that is not known. Fails as fc_block_take_for
// does, also when so much could not be had now, but holds FC_LIMIT_READ at most.
fc_status_t fc_body_open(fc_piece_t *body, fc_blocks_t *blocks,
                         const fc_owner_t *owner, uint64_t length,
                         fc_error_t *err) FC_MUST_CHECK;
// Where some of the `left` bytes still to come may be read to; not empty if any
// are.
fc_span_t fc_body_room(const fc_piece_t *body, const fc_blocks_t *blocks,
                       uint64_t left);
// `bytes` have arrived, in fc_body_room or anywhere else. `left` are still to
// come, 0 if that is not known. On failure the body is of no use any more.
fc_status_t fc_body_put(fc_piece_t *body, fc_blocks_t *blocks,
                        const fc_owner_t *owner, fc_str_t bytes, uint64_t left,
                        fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_EXCHANGE_BODY_H_
