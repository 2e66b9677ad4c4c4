// SPDX-License-Identifier: Apache-2.0
//
// The body of a POST while it is received. It is in one block, because its readers need
// contiguous bytes. Memory is counted as bytes arrive, not by the announced length. In
// three cases a body of known length is read directly into its final place: it has at
// most FC_LIMIT_READ bytes; or a free block of its size is kept; or it is so large that
// addresses for all of it are reserved (block.c). Any other body, and one in chunks, is
// copied whenever its block doubles: less than twice its length in total. Loop thread.
#ifndef FARCALL_SERVER_EXCHANGE_BODY_H_
#define FARCALL_SERVER_EXCHANGE_BODY_H_

#include "pool/block.h"

// Opens a body of `length` bytes, 0 if the length is not known. The body may be passed to
// `audience` (fc_block_take_shared). Counts at most FC_LIMIT_READ bytes, but fails like
// fc_block_take_for if `length` bytes are not available now.
fc_status_t fc_body_open(fc_piece_t *body, fc_blocks_t *blocks,
                         const fc_owner_t *owner, uint64_t audience,
                         uint64_t length, fc_error_t *err) FC_MUST_CHECK;
// Returns the place to which the next bytes of the body may be read. `left` bytes are
// still to come; the place is empty only if `left` is 0.
fc_span_t fc_body_room(const fc_piece_t *body, const fc_blocks_t *blocks,
                       uint64_t left);
// Adds received bytes, which are in fc_body_room or elsewhere. `left` bytes are still to
// come, 0 if that is not known. After a failure the body cannot be used.
fc_status_t fc_body_put(fc_piece_t *body, fc_blocks_t *blocks,
                        const fc_owner_t *owner, fc_str_t bytes, uint64_t left,
                        fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_EXCHANGE_BODY_H_
