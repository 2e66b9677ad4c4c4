// SPDX-License-Identifier: Apache-2.0
//
// The stash: bytes come out as they were put in, in whichever block they are, and no
// block is larger than necessary.
#include "http1/stash.h"

#include "helpers/test.h"

static fc_blocks_t *make(fc_allocator_t allocator) {
  fc_blocks_t *blocks;
  fc_error_t error;
  assert_int_equal(
      fc_blocks_create(allocator, 1u << 20, 1u << 20, &blocks, &error), FC_OK);
  return blocks;
}

static char byte_at(size_t at) { return (char)(at * 7 + at / 251); }

// Puts the next `size` bytes of an endless text, and adds `size` to *put.
static void put(fc_stash_t *stash, fc_blocks_t *blocks, size_t size,
                size_t *put) {
  static char text[100000];
  assert_true(size <= sizeof text);
  for (size_t i = 0; i < size; i++) text[i] = byte_at((*put)++);
  assert_int_equal(
      fc_stash_put(stash, blocks, NULL, fc_str_make(text, size), NULL), FC_OK);
}

static void expect_bytes(const fc_stash_t *stash, const fc_blocks_t *blocks,
                         size_t from, size_t to) {
  fc_str_t bytes = fc_stash_bytes(stash, blocks);
  assert_int_equal(bytes.size, to - from);
  assert_int_equal(fc_stash_size(stash), to - from);
  for (size_t i = 0; i < bytes.size; i++) {
    assert_int_equal(bytes.data[i], byte_at(from + i));
  }
}

typedef struct step_t {
  size_t put;
  size_t drop;
} step_t;

static const struct row_t {
  const char *name;
  step_t steps[6];
  uint64_t taken;  // bytes of blocks after the last step
} rows[] = {
    {"nothing", {{0, 0}}, 0},
    {"one piece", {{100, 0}}, 4096},
    {"a block is given back when it is empty", {{100, 40}, {0, 60}}, 0},
    {"behind what is kept", {{100, 40}, {3900, 0}}, 4096},
    {"kept bytes move to the front", {{4096, 4086}, {4086, 0}}, 4096},
    {"they may overlap with where they were", {{4096, 10}, {10, 0}}, 4096},
    {"the block is full to its last byte", {{4000, 0}, {96, 0}}, 4096},
    {"a larger block", {{4000, 0}, {97, 0}}, 8192},
    {"only what is kept goes to the larger block",
     {{4000, 1000}, {3000, 0}},
     8192},
    {"one request and a piece of the next, again and again",
     {{4000, 3990}, {3990, 3990}, {3990, 3990}, {3990, 3990}, {3990, 3990}},
     4096},
};

static void bytes_come_out_as_they_went_in(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(fc_allocator_system());
  FC_TEST_EACH_ROW(const struct row_t, row, rows) {
    fc_stash_t stash = FC_STASH_EMPTY;
    size_t in = 0, out = 0;
    for (size_t i = 0; i < FC_ARRAY_COUNT(row->steps); i++) {
      put(&stash, blocks, row->steps[i].put, &in);
      expect_bytes(&stash, blocks, out, in);
      fc_stash_drop(&stash, blocks, row->steps[i].drop);
      out += row->steps[i].drop;
      expect_bytes(&stash, blocks, out, in);
    }
    assert_int_equal(fc_blocks_usage(blocks).taken, row->taken);
    fc_stash_clear(&stash, blocks);
    assert_int_equal(fc_stash_size(&stash), 0);
    assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  }
  fc_blocks_destroy(blocks);
}

static void without_memory_nothing_changes(void **state) {
  (void)state;
  fc_test_allocator_t memory;
  // Three allocations succeed: the store, its table, the first block. The larger block
  // fails.
  fc_blocks_t *blocks = make(fc_test_allocator_init(&memory, 4));
  fc_stash_t stash = FC_STASH_EMPTY;
  static const char kMore[5000] = "";
  fc_error_t error;
  size_t in = 0;
  put(&stash, blocks, 100, &in);
  fc_stash_drop(&stash, blocks, 1);
  assert_int_not_equal(fc_stash_put(&stash, blocks, NULL,
                                    fc_str_make(kMore, sizeof kMore), &error),
                       FC_OK);
  assert_int_equal(error.code, FC_CODE_OUT_OF_MEMORY);
  expect_bytes(&stash, blocks, 1, in);
  fc_stash_clear(&stash, blocks);
  fc_blocks_destroy(blocks);
  assert_int_equal(memory.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(bytes_come_out_as_they_went_in),
      FC_TEST(without_memory_nothing_changes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
