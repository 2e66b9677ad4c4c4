// SPDX-License-Identifier: Apache-2.0
//
// The body of a POST while it arrives: one block, because its readers want all of it in
// one place. Memory is counted in step with what arrives, not for what was announced. A
// body of known length is read to where it stays in three cases: it has at most
// FC_LIMIT_READ bytes; a free block of its size is kept; or it is large enough that
// addresses for all of it are reserved (block.c). Any other body, and one in chunks, is
// copied whenever its block doubles: less than twice its length in all. Loop thread.
#ifndef FARCALL_SERVER_EXCHANGE_BODY_H_
#define FARCALL_SERVER_EXCHANGE_BODY_H_

#include "pool/block.h"

// Opens a body of `length` bytes, 0 if that is not known, which `audience` may be
// given (fc_block_take_shared). Counts at most FC_LIMIT_READ bytes, but fails as
// fc_block_take_for does when `length` bytes could not be had now.
fc_status_t fc_body_open(fc_piece_t *body, fc_blocks_t *blocks,
                         const fc_owner_t *owner, uint64_t audience,
                         uint64_t length, fc_error_t *err) FC_MUST_CHECK;
// Where the next bytes of the body may be read to. `left` bytes are still to
// come; the room is empty only if `left` is 0.
fc_span_t fc_body_room(const fc_piece_t *body, const fc_blocks_t *blocks,
                       uint64_t left);
// `bytes` have arrived, in fc_body_room or anywhere else. `left` are still to
// come, 0 if that is not known. On failure the body is of no use any more.
fc_status_t fc_body_put(fc_piece_t *body, fc_blocks_t *blocks,
                        const fc_owner_t *owner, fc_str_t bytes, uint64_t left,
                        fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_EXCHANGE_BODY_H_
