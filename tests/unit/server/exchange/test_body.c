// SPDX-License-Identifier: Apache-2.0
//
// Bodies of many lengths that arrive in many ways: their contents, how much memory
// counts while they arrive, and how many bytes are copied.
#include "exchange/body.h"

#include <stdlib.h>

#include "helpers/test.h"
#include "config/limits.h"

#define MIB ((uint64_t)1 << 20)

static const fc_owner_t kOwner = {.bytes = {1}};

static fc_blocks_t *make(uint64_t limit, uint64_t share, uint64_t budget) {
  fc_blocks_t *blocks;
  fc_error_t error;
  assert_int_equal(
      fc_blocks_create(fc_allocator_system(), limit, budget, &blocks, &error),
      FC_OK);
  fc_blocks_set_share(blocks, share);
  return blocks;
}

static char byte_at(uint64_t at) { return (char)(at * 7 + at / 251); }

typedef enum way_t {
  WAY_IN_PLACE,  // read to where it belongs
  WAY_BESIDE,    // copied from a read that began with other bytes
  WAY_MIXED,     // the first piece came with the head
  WAY_CHUNKS,    // the length is not known
} way_t;

static const struct row_t {
  const char *name;
  uint64_t length;
  size_t piece;
  way_t way;
  uint32_t lead;  // bytes left out in front
} rows[] = {
    {"one byte", 1, 1, WAY_IN_PLACE, 0},
    {"a small body", 100, 7, WAY_BESIDE, 0},
    {"the smallest block, full", 4096, 4096, WAY_IN_PLACE, 0},
    {"one byte more", 4097, 4096, WAY_MIXED, 0},
    {"one read", FC_LIMIT_READ, FC_LIMIT_READ, WAY_IN_PLACE, 0},
    {"one byte more than a read", FC_LIMIT_READ + 1, FC_LIMIT_READ,
     WAY_IN_PLACE, 0},
    {"the same, beside", FC_LIMIT_READ + 1, FC_LIMIT_READ, WAY_BESIDE, 0},
    {"nearly two reads", 2 * FC_LIMIT_READ - 1, 60000, WAY_MIXED, 0},
    {"two reads", 2 * FC_LIMIT_READ, FC_LIMIT_READ, WAY_MIXED, 0},
    {"a megabyte in small pieces", MIB, 1000, WAY_IN_PLACE, 0},
    {"a megabyte in small chunks", MIB, 1000, WAY_CHUNKS, 0},
    {"a megabyte and a byte", MIB + 1, 65000, WAY_MIXED, 0},
    {"in large chunks", 3 * MIB + 5, FC_LIMIT_READ, WAY_CHUNKS, 0},
    {"all the socket has", 64 * MIB, 6 * MIB, WAY_IN_PLACE, 0},
    {"the largest body", 64 * MIB, 200000, WAY_MIXED, 0},
    {"small, not from the begin on", 4090, 1000, WAY_MIXED, 33},
    {"large, not from the begin on", 3 * MIB + 1, 65000, WAY_MIXED, 63},
    {"in place", MIB + 77, 65000, WAY_IN_PLACE, 1},
    {"beside", MIB + 77, 1000, WAY_BESIDE, 7},
    {"of unknown length", MIB + 77, 1000, WAY_CHUNKS, 40},
};

// Fills the body as the row says. Returns how many bytes were copied from one block to
// another.
static uint64_t fill(const struct row_t *row, fc_blocks_t *blocks,
                     fc_piece_t *body) {
  static char beside[FC_LIMIT_READ];
  uint64_t copied = 0;
  const bool known = row->way != WAY_CHUNKS;
  assert_int_equal(fc_body_open(body, blocks, &kOwner, FC_AUDIENCE_NONE,
                                known ? row->length + row->lead : 0, NULL),
                   FC_OK);
  body->offset = row->lead;
  while (body->size < row->length) {
    uint64_t left = row->length - body->size;
    fc_span_t room = fc_body_room(body, blocks, left);
    assert_true(!known || room.size > 0);
    bool in_place =
        row->way == WAY_IN_PLACE || (row->way == WAY_MIXED && body->size > 0);
    char *to = in_place ? (char *)room.data : beside;
    size_t most = in_place ? room.size : sizeof beside;
    size_t size = row->piece < left ? row->piece : (size_t)left;
    if (size > most) size = most;
    for (size_t i = 0; i < size; i++) to[i] = byte_at(body->size + i);
    uint32_t block = body->block;
    uint64_t before = in_place ? body->size + size : body->size;
    assert_int_equal(fc_body_put(body, blocks, &kOwner, fc_str_make(to, size),
                                 known ? left - size : 0, NULL),
                     FC_OK);
    if (body->block != block) copied += row->lead + before;
    assert_int_equal(body->offset, row->lead);
    // Memory is counted only as bytes arrive.
    uint64_t taken = fc_blocks_usage(blocks).taken;
    uint64_t most_taken = 3 * body->size;
    assert_true(taken <= FC_LIMIT_READ || taken <= most_taken + row->lead);
  }
  return copied;
}

static void bodies_arrive_whole_and_are_rarely_copied(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(1024 * MIB, 512 * MIB, 0);
  FC_TEST_EACH_ROW(const struct row_t, row, rows) {
    fc_piece_t body;
    uint64_t copied = fill(row, blocks, &body);
    assert_int_equal(body.size, row->length);
    // Less than twice the length is copied, and less than once the length if doubling
    // ends exactly at it.
    assert_true(copied < 2 * row->length);
    if ((row->length & (row->length - 1)) == 0) {
      assert_true(copied < row->length);
    }
    if (row->length <= FC_LIMIT_READ && row->way != WAY_CHUNKS) {
      assert_int_equal(copied, 0);
    }
    // Addresses were reserved for the whole body, so it was never moved.
    if (row->length >= MIB && row->way != WAY_CHUNKS) {
      assert_int_equal(copied, 0);
    }
    const char *data =
        (const char *)fc_block_data(blocks, body.block) + row->lead;
    for (uint64_t i = 0; i < body.size; i++) {
      if (data[i] != byte_at(i)) fail_msg("byte %llu", (unsigned long long)i);
    }
    // At most the next power of two is counted.
    uint64_t taken = fc_blocks_usage(blocks).taken;
    assert_true(taken < 2 * (row->length + row->lead) ||
                taken == FC_BLOCK_SMALLEST);
    fc_block_give(blocks, body.block);
    assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  }
  fc_blocks_destroy(blocks);
}

// If the block of an earlier body was kept, nothing is copied, and as much memory
// counts as before.
static void a_second_body_lies_where_the_first_was(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(1024 * MIB, 512 * MIB, 64 * MIB);
  static const struct row_t kRow = {"8 MiB", 8 * MIB, 8 * MIB, WAY_MIXED, 0};
  fc_piece_t body;
  (void)fill(&kRow, blocks, &body);
  fc_block_give(blocks, body.block);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(fill(&kRow, blocks, &body), 0);
    assert_int_equal(fc_blocks_usage(blocks).taken, 8 * MIB);
    fc_block_give(blocks, body.block);
  }
  fc_blocks_destroy(blocks);
}

static void what_is_announced_costs_nothing(void **state) {
  (void)state;
  enum { BODIES = 100 };
  fc_blocks_t *blocks = make(64 * MIB, 64 * MIB, 0);
  fc_piece_t bodies[BODIES];
  for (int i = 0; i < BODIES; i++) {
    assert_int_equal(fc_body_open(&bodies[i], blocks, &kOwner, FC_AUDIENCE_NONE,
                                  32 * MIB, NULL),
                     FC_OK);
  }
  assert_int_equal(fc_blocks_usage(blocks).taken,
                   (uint64_t)BODIES * FC_LIMIT_READ);
  for (int i = 0; i < BODIES; i++) fc_block_give(blocks, bodies[i].block);
  fc_blocks_destroy(blocks);
}

static void what_cannot_come_is_refused_at_once(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(4 * MIB, 2 * MIB, 0);
  const fc_owner_t other = {.bytes = {2}};
  fc_piece_t body, refused;
  fc_error_t error;
  assert_int_not_equal(fc_body_open(&refused, blocks, &kOwner, FC_AUDIENCE_NONE,
                                    5 * MIB, &error),
                       FC_OK);
  assert_int_equal(error.code, FC_CODE_OVERLOADED);
  // A single body may be larger than the client's share.
  assert_int_equal(
      fc_body_open(&body, blocks, &kOwner, FC_AUDIENCE_NONE, 4 * MIB, &error),
      FC_OK);
  assert_int_not_equal(fc_body_open(&refused, blocks, &kOwner, FC_AUDIENCE_NONE,
                                    2 * MIB, &error),
                       FC_OK);
  assert_int_equal(error.code, FC_CODE_TOO_MANY_REQUESTS);
  assert_int_not_equal(
      fc_body_open(&refused, blocks, &other, FC_AUDIENCE_NONE, 4 * MIB, &error),
      FC_OK);
  assert_int_equal(error.code, FC_CODE_OVERLOADED);
  fc_block_give(blocks, body.block);
  fc_blocks_destroy(blocks);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(bodies_arrive_whole_and_are_rarely_copied),
      FC_TEST(a_second_body_lies_where_the_first_was),
      FC_TEST(what_is_announced_costs_nothing),
      FC_TEST(what_cannot_come_is_refused_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
