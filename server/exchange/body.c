// SPDX-License-Identifier: Apache-2.0
#include "exchange/body.h"

#include "config/limits.h"

#define LEAST_ROOM (16u << 10)  // a smaller room would cost more reads

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

fc_status_t fc_body_open(fc_piece_t *body, fc_blocks_t *blocks,
                         const fc_owner_t *owner, uint64_t audience,
                         uint64_t length, fc_error_t *err) {
  // A body that is too large for the memory is refused before most of it is sent.
  if (length > FC_LIMIT_READ) {
    FC_TRY(fc_blocks_check(blocks, owner, length, err));
  }
  uint32_t block;
  FC_TRY(fc_block_take_shared(blocks, owner, audience,
                              smaller(length, FC_LIMIT_READ), length, &block,
                              err));
  *body = (fc_piece_t){.block = block};
  return FC_OK;
}

// Returns the offset in the block at which the received bytes end.
static uint64_t end_of(const fc_piece_t *body) {
  return body->offset + body->size;
}

static uint8_t *tail_of(const fc_piece_t *body, const fc_blocks_t *blocks) {
  return fc_block_data(blocks, body->block) + end_of(body);
}

fc_span_t fc_body_room(const fc_piece_t *body, const fc_blocks_t *blocks,
                       uint64_t left) {
  uint64_t room = fc_block_size(blocks, body->block) - end_of(body);
  if (room > FC_LIMIT_READ_BODY) room = FC_LIMIT_READ_BODY;
  return (fc_span_t){tail_of(body, blocks), (size_t)smaller(room, left)};
}

fc_status_t fc_body_put(fc_piece_t *body, fc_blocks_t *blocks,
                        const fc_owner_t *owner, fc_str_t bytes, uint64_t left,
                        fc_error_t *err) {
  const bool in_place = (const uint8_t *)bytes.data == tail_of(body, blocks);
  const uint64_t used = end_of(body) + (in_place ? bytes.size : 0);
  const uint64_t end = end_of(body) + bytes.size;
  const uint64_t counted = fc_block_counted(blocks, body->block);
  const uint64_t room = fc_block_size(blocks, body->block);
  body->size += in_place ? bytes.size : 0;
  if (end > counted || end + smaller(left, LEAST_ROOM) > room) {
    uint64_t now = smaller(end + left, 2 * counted);
    FC_TRY(fc_block_grow(blocks, owner, &body->block, used,
                         now > end ? now : end, end + left, err));
  }
  if (in_place) return FC_OK;
  memcpy(tail_of(body, blocks), bytes.data, bytes.size);
  body->size += bytes.size;
  return FC_OK;
}
