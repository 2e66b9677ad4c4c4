// SPDX-License-Identifier: Apache-2.0
//
// The sink that fills blocks.
#include "pool/block.h"

static void close_piece(fc_block_sink_t *out) {
  fc_piece_t *piece = &out->pieces[out->count - 1];
  const char *begin =
      (const char *)fc_block_data(out->blocks, piece->block) + piece->offset;
  piece->size = (uint64_t)(out->sink.cursor - begin);
}

// Sets the end of the last piece, and returns its beginning.
static char *bound_piece(fc_block_sink_t *out) {
  const fc_piece_t *piece = &out->pieces[out->count - 1];
  char *begin =
      (char *)fc_block_data(out->blocks, piece->block) + piece->offset;
  const size_t room = fc_block_size(out->blocks, piece->block) - piece->offset;
  const uint64_t left = out->limit - out->written;
  out->sink.end = begin + (room < left ? room : (size_t)left);
  return begin;
}

static void open_piece(fc_block_sink_t *out, uint32_t block, uint32_t offset) {
  out->pieces[out->count++] = (fc_piece_t){.block = block, .offset = offset};
  out->sink.cursor = bound_piece(out);
}

static void go_on(fc_block_sink_t *out, uint64_t written) {
  const uint32_t block = out->more->take(out->more->context);
  out->more = NULL;
  if (block == FC_BLOCK_NONE) {
    (void)bound_piece(out);
    return;
  }
  out->written = written;
  open_piece(out, block, 0);
}

static fc_status_t sink_grow(fc_sink_t *sink, size_t need, fc_error_t *err) {
  fc_block_sink_t *out = (fc_block_sink_t *)sink;
  close_piece(out);
  fc_piece_t *last = &out->pieces[out->count - 1];
  uint64_t written = out->written + last->size;
  if (need > out->limit - written || out->count == FC_PIECES_MAX) {
    return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                   "the answer exceeds %llu bytes",
                   (unsigned long long)out->limit);
  }
  if (out->more) {
    go_on(out, written);
    return FC_OK;
  }
  uint64_t size = 4 * (uint64_t)fc_block_size(out->blocks, last->block);
  if (size < need) size = need;
  uint32_t block;
  FC_TRY(fc_block_take_for(out->blocks, out->owner, size, size, &block, err));
  out->written = written;
  open_piece(out, block, 0);
  return FC_OK;
}

void fc_block_sink_init(fc_block_sink_t *out, fc_blocks_t *blocks,
                        uint32_t block, uint32_t reserve, uint64_t limit) {
  out->sink = (fc_sink_t){.grow = sink_grow};
  out->blocks = blocks;
  out->limit = limit;
  out->written = 0;
  out->more = NULL;
  out->owner = NULL;
  out->count = 0;
  open_piece(out, block, reserve);
}

void fc_block_sink_ask(fc_block_sink_t *out, const fc_block_more_t *more) {
  char *data = (char *)fc_block_data(out->blocks, out->pieces[0].block);
  if (data + more->first >= out->sink.end) return;
  out->more = more;
  out->sink.end = data + more->first;
}

void fc_block_sink_cut(fc_block_sink_t *out, uint64_t size) {
  while (out->count > 1 && size <= out->written) {
    fc_block_give(out->blocks, out->pieces[--out->count].block);
    out->written -= out->pieces[out->count - 1].size;
  }
  out->sink.cursor = bound_piece(out) + (size - out->written);
}

uint64_t fc_block_sink_finish(fc_block_sink_t *out) {
  close_piece(out);
  return out->written + out->pieces[out->count - 1].size;
}

void fc_block_sink_drop(fc_block_sink_t *out) {
  for (uint32_t i = 0; i < out->count; i++) {
    fc_block_give(out->blocks, out->pieces[i].block);
  }
  out->count = 0;
}
