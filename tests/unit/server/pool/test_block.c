// SPDX-License-Identifier: Apache-2.0
//
// Blocks, and the sink that writes into them: sizes, limits, reuse, several threads,
// and what happens when memory runs out.
#include "pool/block.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/sanitize.h"
#include "helpers/test.h"

static fc_blocks_t *make(uint64_t limit, uint64_t budget) {
  fc_blocks_t *blocks;
  fc_error_t error;
  assert_int_equal(
      fc_blocks_create(fc_allocator_system(), limit, budget, &blocks, &error),
      FC_OK);
  return blocks;
}

static uint32_t take(fc_blocks_t *blocks, uint64_t size) {
  uint32_t block = FC_BLOCK_NONE;
  fc_error_t error;
  assert_int_equal(fc_block_take(blocks, size, &block, &error), FC_OK);
  return block;
}

static void blocks_hold_what_was_asked_for(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(1u << 30, 1u << 30);
  static const uint64_t kSizes[] = {0,     1,     4096,  4097,    16384,
                                    16385, 65536, 65537, 1 << 20, 40 << 20};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSizes); i++) {
    uint32_t block = take(blocks, kSizes[i]);
    uint8_t *data = fc_block_data(blocks, block);
    assert_int_equal((uintptr_t)data % 64, 0);
    assert_true(fc_block_size(blocks, block) >= kSizes[i]);
    uint64_t taken = fc_blocks_usage(blocks).taken;
    assert_int_equal(taken, fc_block_size(blocks, block));
    assert_true(taken < 2 * kSizes[i] || taken == FC_BLOCK_SMALLEST);
    // A sanitizer would report these writes if the bytes were not the block's.
    data[0] = 1;
    data[fc_block_size(blocks, block) + FC_BLOCK_TAIL - 1] = 1;
    fc_block_give(blocks, block);
  }
  fc_block_give(blocks, FC_BLOCK_NONE);
  fc_blocks_destroy(blocks);
}

static void *note_size(void *context, size_t size, size_t alignment) {
  *(size_t *)context = size;
  // aligned_alloc accepts only multiples of the alignment.
  return aligned_alloc(alignment,
                       (size + alignment - 1) / alignment * alignment);
}

static void release(void *context, void *memory) {
  (void)context;
  free(memory);
}

static void a_block_has_room_behind_it(void **state) {
  (void)state;
  size_t noted = 0;
  const fc_allocator_t allocator = {&noted, note_size, release};
  fc_blocks_t *blocks;
  fc_error_t error;
  assert_int_equal(fc_blocks_create(allocator, 1u << 20, 0, &blocks, &error),
                   FC_OK);
  for (uint64_t size = FC_BLOCK_SMALLEST; size <= 1u << 18; size *= 2) {
    const uint32_t block = take(blocks, size);
    assert_int_equal(fc_block_size(blocks, block), size);
    assert_true(noted >= size + FC_BLOCK_TAIL);
    fc_block_give(blocks, block);
  }
  fc_blocks_destroy(blocks);
}

static void a_block_given_back_is_used_again(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(1u << 20, 1u << 20);
  uint32_t one = take(blocks, 100), two = take(blocks, 100);
  assert_int_not_equal(one, two);
  fc_block_give(blocks, one);
  assert_int_equal(fc_blocks_usage(blocks).kept, 4096);
  assert_int_equal(take(blocks, 200), one);
  assert_int_equal(fc_blocks_usage(blocks).kept, 0);
  assert_int_equal(fc_blocks_usage(blocks).taken, 8192);
  fc_block_give(blocks, one);
  fc_block_give(blocks, two);
  fc_blocks_trim(blocks, 4096);
  assert_int_equal(fc_blocks_usage(blocks).kept, 8192);
  fc_blocks_trim(blocks, 0);
  assert_int_equal(fc_blocks_usage(blocks).kept, 0);
  // The indices of blocks are reused, too.
  one = take(blocks, 100);
  two = take(blocks, 100);
  assert_int_equal(one + two, 1);
  fc_block_give(blocks, one);
  fc_block_give(blocks, two);
  fc_blocks_destroy(blocks);
}

static void the_budget_bounds_what_is_kept(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(1u << 30, 20000);
  uint32_t small = take(blocks, 100), large = take(blocks, 100000);
  fc_block_give(blocks, large);
  assert_int_equal(fc_blocks_usage(blocks).kept, 0);
  fc_block_give(blocks, small);
  assert_int_equal(fc_blocks_usage(blocks).kept, 4096);
  fc_blocks_destroy(blocks);
}

static void the_limit_is_kept_but_small_blocks_pass(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(100000, 1u << 20);
  uint32_t block = FC_BLOCK_NONE, large = take(blocks, 65000);
  fc_error_t error;
  assert_int_not_equal(fc_block_take(blocks, 65000, &block, &error), FC_OK);
  assert_int_equal(error.code, FC_CODE_OVERLOADED);
  assert_int_not_equal(fc_block_take(blocks, 1u << 20, &block, &error), FC_OK);
  assert_int_equal(error.code, FC_CODE_OVERLOADED);
  assert_int_not_equal(fc_block_take(blocks, UINT64_MAX / 2, &block, &error),
                       FC_OK);
  assert_int_equal(block, FC_BLOCK_NONE);
  uint32_t small[16];
  for (int i = 0; i < 16; i++) small[i] = take(blocks, 4000);
  for (int i = 0; i < 16; i++) fc_block_give(blocks, small[i]);
  fc_block_give(blocks, large);
  fc_blocks_destroy(blocks);
}

static void fill(fc_blocks_t *blocks, uint32_t block, int byte, size_t size) {
  memset(fc_block_data(blocks, block), byte, size);
}

static void a_block_that_grows_keeps_its_bytes(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(1u << 20, 1u << 20);
  uint32_t block = take(blocks, 4000);
  for (uint64_t size = 4096; size < 1u << 19; size *= 2) {
    fill(blocks, block, (int)(size >> 12), (size_t)size);
    assert_int_equal(
        fc_block_grow(blocks, NULL, &block, size, size + 1, size + 1, NULL),
        FC_OK);
    const uint8_t *data = fc_block_data(blocks, block);
    for (uint64_t i = 0; i < size; i++) {
      assert_int_equal(data[i], (uint8_t)(size >> 12));
    }
    assert_int_equal(fc_blocks_usage(blocks).taken, 2 * size);
  }
  fc_block_give(blocks, block);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  fc_blocks_destroy(blocks);
}

// A growing body has two blocks for a moment. It may still become as large as the
// limit.
static void growing_counts_the_difference(void **state) {
  (void)state;
  const fc_owner_t owner = {.bytes = {1}};
  fc_blocks_t *blocks = make(65536, 0);
  fc_blocks_set_share(blocks, 65536);
  fc_error_t error;
  uint32_t block, other = take(blocks, 100);
  assert_int_equal(
      fc_block_take_for(blocks, &owner, 8192, 8192, &block, &error), FC_OK);
  assert_int_equal(
      fc_block_grow(blocks, &owner, &block, 8192, 65536, 65536, &error),
      FC_RESOURCE_EXHAUSTED);
  assert_int_equal(error.code, FC_CODE_OVERLOADED);
  assert_int_equal(fc_block_size(blocks, block), 8192);
  fc_block_give(blocks, other);
  assert_int_equal(
      fc_block_grow(blocks, &owner, &block, 8192, 65536, 65536, &error), FC_OK);
  assert_int_equal(fc_blocks_usage(blocks).taken, 65536);
  fc_block_give(blocks, block);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  fc_blocks_destroy(blocks);
}

static void expect_take(fc_blocks_t *blocks, const fc_owner_t *owner,
                        uint64_t size, uint32_t *out_block, fc_code_t code) {
  fc_error_t error;
  fc_error_reset(&error);
  fc_status_t status =
      fc_block_take_for(blocks, owner, size, size, out_block, &error);
  assert_int_equal(status == FC_OK, code == FC_CODE_NONE);
  assert_int_equal(error.code, code);
}

static void an_owner_holds_its_share(void **state) {
  (void)state;
  const fc_owner_t one = {.bytes = {1}}, two = {.bytes = {2}};
  fc_blocks_t *blocks = make(1u << 20, 1u << 20);
  fc_blocks_set_share(blocks, 65536);
  uint32_t held[2], theirs, small, none = FC_BLOCK_NONE;
  fc_error_t error;
  expect_take(blocks, &one, 32768, &held[0], FC_CODE_NONE);
  expect_take(blocks, &one, 30000, &held[1], FC_CODE_NONE);
  expect_take(blocks, &one, 5000, &none, FC_CODE_TOO_MANY_REQUESTS);
  assert_int_not_equal(
      fc_block_grow(blocks, &one, &held[1], 1, 32769, 32769, &error), FC_OK);
  assert_int_equal(error.code, FC_CODE_TOO_MANY_REQUESTS);
  assert_int_not_equal(fc_blocks_check(blocks, &one, 5000, &error), FC_OK);
  assert_int_equal(error.code, FC_CODE_TOO_MANY_REQUESTS);
  // The smallest blocks are not counted, and other clients have their own shares.
  expect_take(blocks, &one, 4096, &small, FC_CODE_NONE);
  assert_int_equal(fc_blocks_check(blocks, &two, 65536, &error), FC_OK);
  expect_take(blocks, &two, 65536, &theirs, FC_CODE_NONE);
  fc_block_give(blocks, theirs);
  fc_block_give(blocks, small);
  fc_block_give(blocks, held[0]);
  expect_take(blocks, &one, 32768, &held[0], FC_CODE_NONE);
  fc_block_give(blocks, held[0]);
  fc_block_give(blocks, held[1]);
  // A client that holds nothing may take one block of any size.
  expect_take(blocks, &one, 1u << 20, &held[0], FC_CODE_NONE);
  expect_take(blocks, &one, 4097, &none, FC_CODE_TOO_MANY_REQUESTS);
  expect_take(blocks, &two, 4097, &none, FC_CODE_OVERLOADED);
  fc_block_give(blocks, held[0]);
  fc_blocks_destroy(blocks);
}

// A block may get its owner later.
static void what_is_nobodys_becomes_an_owners(void **state) {
  (void)state;
  const fc_owner_t one = {.bytes = {1}}, two = {.bytes = {2}};
  fc_blocks_t *blocks = make(1u << 20, 1u << 20);
  fc_blocks_set_share(blocks, 65536);
  fc_error_t error;
  uint32_t held[3], none = FC_BLOCK_NONE;
  for (int i = 0; i < 2; i++) {
    held[i] = take(blocks, 32768);
    assert_int_equal(fc_block_own(blocks, &one, held[i], &error), FC_OK);
    assert_int_equal(fc_block_own(blocks, &one, held[i], &error), FC_OK);
  }
  assert_int_equal(fc_blocks_usage(blocks).taken, 65536);
  expect_take(blocks, &one, 5000, &none, FC_CODE_TOO_MANY_REQUESTS);
  held[2] = take(blocks, 5000);
  fc_error_reset(&error);
  assert_int_not_equal(fc_block_own(blocks, &one, held[2], &error), FC_OK);
  assert_int_equal(error.code, FC_CODE_TOO_MANY_REQUESTS);
  assert_int_equal(fc_block_own(blocks, &two, held[2], &error), FC_OK);
  expect_take(blocks, &two, 65536, &none, FC_CODE_TOO_MANY_REQUESTS);
  for (int i = 0; i < 3; i++) fc_block_give(blocks, held[i]);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  // The owner may have one block of any size. The smallest blocks belong to nobody.
  held[0] = take(blocks, 1u << 19);
  held[1] = take(blocks, 100);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(fc_block_own(blocks, &one, held[i], &error), FC_OK);
    fc_block_give(blocks, held[i]);
  }
  expect_take(blocks, &one, 65536, &held[0], FC_CODE_NONE);
  fc_block_give(blocks, held[0]);
  fc_blocks_destroy(blocks);
}

static void a_kept_block_counts_as_it_fills(void **state) {
  (void)state;
  const fc_owner_t owner = {.bytes = {1}};
  fc_blocks_t *blocks = make(1u << 20, 1u << 20);
  fc_error_t error;
  uint32_t block = take(blocks, 1u << 19), other;
  fc_block_give(blocks, block);
  // The whole kept block is given: that needs no more memory than keeping it.
  assert_int_equal(
      fc_block_take_for(blocks, &owner, 5000, 1u << 19, &block, &error), FC_OK);
  assert_int_equal(fc_block_size(blocks, block), 1u << 19);
  assert_int_equal(fc_block_counted(blocks, block), 8192);
  assert_int_equal(fc_blocks_usage(blocks).taken, 8192);
  assert_int_equal(fc_blocks_usage(blocks).kept, (1u << 19) - 8192);
  uint8_t *data = fc_block_data(blocks, block);
  assert_int_equal(
      fc_block_grow(blocks, &owner, &block, 8192, 300000, 1u << 19, &error),
      FC_OK);
  assert_ptr_equal(fc_block_data(blocks, block), data);
  assert_int_equal(fc_block_counted(blocks, block), 1u << 19);
  assert_int_equal(fc_blocks_usage(blocks).kept, 0);
  // No other kept block is left, so this one is new.
  assert_int_equal(
      fc_block_take_for(blocks, &owner, 5000, 1u << 19, &other, &error), FC_OK);
  assert_int_equal(fc_block_size(blocks, other), 8192);
  fc_block_give(blocks, other);
  // A kept block that was given back unfilled is kept whole again.
  fc_block_give(blocks, block);
  assert_int_equal(
      fc_block_take_for(blocks, &owner, 5000, 1u << 19, &block, &error), FC_OK);
  assert_int_equal(fc_block_size(blocks, block), 1u << 19);
  fc_block_give(blocks, block);
  assert_int_equal(fc_blocks_usage(blocks).kept, (1u << 19) + 8192);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  fc_blocks_destroy(blocks);
}

static void a_sink_keeps_every_byte_where_it_was_written(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(1u << 30, 1u << 30);
  fc_block_sink_t out;
  fc_block_sink_init(&out, blocks, take(blocks, 100), 1000, 1u << 20);
  for (uint32_t i = 0; i < 100000; i++) {
    uint32_t word = i;
    assert_int_equal(
        fc_sink_put(&out.sink, fc_str_make((char *)&word, sizeof word), NULL),
        FC_OK);
  }
  assert_int_equal(fc_block_sink_finish(&out), 400000);
  assert_true(out.count > 1);
  assert_int_equal(out.pieces[0].offset, 1000);
  uint32_t next = 0;
  uint64_t total = 0;
  for (uint32_t i = 0; i < out.count; i++) {
    const fc_piece_t *piece = &out.pieces[i];
    const uint8_t *data = fc_block_data(blocks, piece->block) + piece->offset;
    assert_int_equal(piece->size % 4, 0);
    for (uint64_t at = 0; at < piece->size; at += 4) {
      uint32_t word;
      memcpy(&word, data + at, 4);
      assert_int_equal(word, next++);
    }
    total += piece->size;
  }
  assert_int_equal(total, 400000);
  fc_block_sink_drop(&out);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  fc_blocks_destroy(blocks);
}

// The sink is cut around each edge of its pieces. No piece after the first is then
// empty, and writing continues at the cut.
static void a_sink_is_cut(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(1u << 30, 1u << 30);
  uint64_t edges[FC_PIECES_MAX];
  for (uint32_t edge = 0, count = 1; edge < count; edge++) {
    for (int beside = -1; beside <= 1; beside++) {
      fc_block_sink_t out;
      fc_block_sink_init(&out, blocks, take(blocks, 100), 0, 1u << 20);
      uint64_t put = 0;
      for (; put < 400000; put++) {
        const char byte = (char)(put % 251);
        assert_int_equal(fc_sink_put(&out.sink, fc_str_make(&byte, 1), NULL),
                         FC_OK);
      }
      (void)fc_block_sink_finish(&out);
      count = out.count;
      edges[0] = 1;
      for (uint32_t i = 0; i + 1 < count; i++) {
        edges[i + 1] = (i ? edges[i] : 0) + out.pieces[i].size;
      }
      const uint64_t size = edges[edge] + (uint64_t)(int64_t)beside;
      fc_block_sink_cut(&out, size);
      assert_int_equal(fc_block_sink_finish(&out), size);
      assert_true(out.count == 1 || out.pieces[out.count - 1].size > 0);
      for (uint64_t i = size; i < size + 100000; i++) {
        const char byte = (char)(i % 251);
        assert_int_equal(fc_sink_put(&out.sink, fc_str_make(&byte, 1), NULL),
                         FC_OK);
      }
      assert_int_equal(fc_block_sink_finish(&out), size + 100000);
      uint64_t next = 0;
      for (uint32_t i = 0; i < out.count; i++) {
        const fc_piece_t *piece = &out.pieces[i];
        const uint8_t *data = fc_block_data(blocks, piece->block);
        for (uint64_t at = 0; at < piece->size; at++) {
          assert_int_equal(data[piece->offset + at], next++ % 251);
        }
      }
      fc_block_sink_drop(&out);
    }
  }
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  fc_blocks_destroy(blocks);
}

static void a_sink_stops_at_its_limit(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(1u << 30, 1u << 30);
  fc_block_sink_t out;
  fc_error_t error;
  fc_block_sink_init(&out, blocks, take(blocks, 100), 0, 10000);
  size_t written = 0;
  while (fc_sink_put(&out.sink, FC_STR("0123456789"), &error) == FC_OK) {
    written += 10;
  }
  assert_int_equal(error.code, FC_CODE_RESULT_TOO_LARGE);
  assert_true(written <= 10000 && written > 9900);
  fc_block_sink_drop(&out);
  fc_blocks_destroy(blocks);
}

#define THREADS 4

static void *take_and_give(void *context) {
  fc_blocks_t *blocks = context;
  for (int i = 0; i < 2000; i++) {
    uint32_t block, other;
    if (fc_block_take(blocks, (uint64_t)(i % 7) * 3000, &block, NULL) !=
            FC_OK ||
        fc_block_take(blocks, 10, &other, NULL) != FC_OK) {
      return context;
    }
    uint8_t *data = fc_block_data(blocks, block);
    memset(data, i & 0xff, 64);
    fc_block_give(blocks, other);
    for (int at = 0; at < 64; at++) {
      if (data[at] != (i & 0xff)) return context;
    }
    fc_block_give(blocks, block);
  }
  return NULL;
}

static void threads_do_not_share_a_block(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(1u << 30, 1u << 20);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, blocks),
                     0);
  }
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  fc_blocks_destroy(blocks);
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  (void)context;
  fc_blocks_t *blocks;
  FC_TRY(fc_blocks_create(allocator, 1u << 20, 1u << 20, &blocks, err));
  uint32_t one = FC_BLOCK_NONE, two = FC_BLOCK_NONE;
  const fc_owner_t owner = {.bytes = {1}};
  fc_blocks_set_share(blocks, 1u << 20);
  fc_status_t status = fc_block_take(blocks, 10, &one, err);
  if (status == FC_OK) {
    status = fc_block_take_for(blocks, &owner, 10000, 10000, &two, err);
  }
  if (status == FC_OK) {
    status = fc_block_grow(blocks, &owner, &two, 100, 20000, 20000, err);
  }
  fc_block_give(blocks, one);
  fc_block_give(blocks, two);
  fc_blocks_destroy(blocks);
  return status;
}

// The table of blocks is limited. If a block cannot be allocated, its index must become
// free again.
static void a_block_that_is_not_had_costs_no_index(void **state) {
  (void)state;
  fc_test_allocator_t counts;
  fc_error_t error;
  // Three allocations succeed: the store, its table, the block.
  const fc_allocator_t allocator = fc_test_allocator_init(&counts, 3);
  fc_blocks_t *blocks;
  assert_int_equal(
      fc_blocks_create(allocator, 1u << 20, 1u << 20, &blocks, &error), FC_OK);
  uint32_t block = FC_BLOCK_NONE;
  assert_int_not_equal(fc_block_take(blocks, 10, &block, &error), FC_OK);
  assert_int_equal(error.code, FC_CODE_OUT_OF_MEMORY);
  assert_int_equal(take(blocks, 10), 0);
  fc_block_give(blocks, 0);
  fc_blocks_destroy(blocks);
}

static void running_out_of_memory_is_an_error(void **state) {
  (void)state;
  // The allocations: the store, its table, a block; a block and two tables of owners; a
  // block.
  assert_int_equal(fc_test_allocation_sweep(attempt, NULL), 7);
}

static void fixed_blocks_are_where_they_were_put(void **state) {
  (void)state;
  static uint8_t one[1000], two[FC_BLOCK_TAIL + 1];
  const fc_span_t spans[] = {{one, sizeof one}, {two, sizeof two}};
  fc_blocks_t *blocks;
  fc_error_t error;
  assert_int_equal(fc_blocks_create_fixed(fc_allocator_system(), 0, spans, 2,
                                          &blocks, &error),
                   FC_OK);
  assert_ptr_equal(fc_block_data(blocks, 0), one);
  assert_ptr_equal(fc_block_data(blocks, 1), two);
  assert_int_equal(fc_block_size(blocks, 0), sizeof one - FC_BLOCK_TAIL);
  assert_int_equal(fc_block_size(blocks, 1), 1);
  uint32_t block;
  assert_int_equal(fc_block_take(blocks, 0, &block, &error),
                   FC_RESOURCE_EXHAUSTED);
  // An answer that outgrows its block fails, and no block is given back.
  fc_block_sink_t out;
  fc_block_sink_init(&out, blocks, 0, 100, 2000);
  memset(out.sink.cursor, 'x', (size_t)(out.sink.end - out.sink.cursor));
  out.sink.cursor = out.sink.end;
  assert_int_not_equal(fc_sink_put(&out.sink, FC_STR("y"), &error), FC_OK);
  assert_int_equal(one[99], 0);
  assert_int_equal(one[100], 'x');
  fc_block_sink_drop(&out);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  assert_int_equal(fc_blocks_usage(blocks).kept, 0);
  fc_blocks_destroy(blocks);
}

// Memory is poisoned only with a sanitizer.
static void a_kept_block_is_forbidden(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(1u << 20, 1u << 20);
  const uint32_t block = take(blocks, 100);
  uint8_t *data = fc_block_data(blocks, block);
  assert_false(FC_IS_POISONED(data));
  fc_block_give(blocks, block);
  assert_int_equal(FC_IS_POISONED(data), FC_ASAN);
  assert_int_equal(FC_IS_POISONED(data + 4095), FC_ASAN);
  assert_int_equal(take(blocks, 4000), block);
  assert_false(FC_IS_POISONED(data));
  assert_false(FC_IS_POISONED(data + 4095));
  fc_block_give(blocks, block);
  fc_blocks_destroy(blocks);
}

#define MIB ((uint64_t)1 << 20)

// A size that is only announced reserves addresses. Memory is counted as it is filled,
// and the bytes are never moved.
static void a_large_block_is_reserved(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(64 * MIB, 1u << 30);
  const fc_owner_t owner = {.bytes = {1}};
  uint32_t block, other;
  fc_error_t error;
  assert_int_equal(
      fc_block_take_for(blocks, &owner, 65536, 64 * MIB, &block, &error),
      FC_OK);
  assert_int_equal(fc_block_size(blocks, block), 64 * MIB);
  assert_int_equal(fc_blocks_usage(blocks).taken, 65536);
  assert_int_equal(fc_blocks_usage(blocks).kept, 0);
  uint8_t *data = fc_block_data(blocks, block);
  for (uint64_t now = 2 * MIB; now <= 64 * MIB; now *= 2) {
    memset(data + now / 2, 1, (size_t)(now - now / 2));
    assert_int_equal(
        fc_block_grow(blocks, &owner, &block, now / 2, now, 64 * MIB, &error),
        FC_OK);
    assert_ptr_equal(fc_block_data(blocks, block), data);
    assert_int_equal(fc_blocks_usage(blocks).taken, now);
  }
  assert_int_equal(fc_blocks_usage(blocks).copied, 0);
  // Memory that was filled is kept. Memory that was hardly used is not.
  fc_block_give(blocks, block);
  assert_int_equal(fc_blocks_usage(blocks).kept, 64 * MIB);
  assert_int_equal(
      fc_block_take_for(blocks, &owner, 65536, 32 * MIB, &other, &error),
      FC_OK);
  fc_block_give(blocks, other);
  assert_int_equal(fc_blocks_usage(blocks).kept, 64 * MIB);
  assert_int_equal(
      fc_block_take_for(blocks, &owner, 65536, 32 * MIB, &other, &error),
      FC_OK);
  assert_int_equal(fc_blocks_usage(blocks).kept, 64 * MIB);
  fc_block_give(blocks, other);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  fc_blocks_destroy(blocks);
}

static void a_large_block_is_released_bit_by_bit(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(64 * MIB, 0);
  uint32_t block = take(blocks, 16 * MIB), small = take(blocks, 65536);
  fill(blocks, block, 1, 16 * MIB);
  assert_false(fc_blocks_release(blocks, MIB));
  fc_block_give(blocks, small);
  assert_false(fc_blocks_release(blocks, MIB));
  fc_block_give(blocks, block);
  assert_int_equal(fc_blocks_usage(blocks).kept, 0);
  for (int i = 1; i < 16; i++) assert_true(fc_blocks_release(blocks, MIB));
  assert_false(fc_blocks_release(blocks, MIB));
  // The rest is released when the store is destroyed.
  block = take(blocks, 16 * MIB);
  fc_block_give(blocks, block);
  assert_true(fc_blocks_release(blocks, MIB));
  fc_blocks_destroy(blocks);
}

static void *refuse_large(void *context, size_t size, size_t alignment) {
  const fc_allocator_t system = fc_allocator_system();
  (void)context;
  if (size > 4 * MIB) return NULL;
  return system.allocate(system.context, size, alignment);
}

static void where_addresses_are_short_nothing_is_reserved(void **state) {
  (void)state;
  fc_allocator_t allocator = fc_allocator_system();
  allocator.allocate = refuse_large;
  fc_blocks_t *blocks;
  fc_error_t error;
  uint32_t block;
  assert_int_equal(fc_blocks_create(allocator, 64 * MIB, 0, &blocks, &error),
                   FC_OK);
  assert_int_equal(
      fc_block_take_for(blocks, NULL, 65536, 16 * MIB, &block, &error), FC_OK);
  assert_int_equal(fc_block_size(blocks, block), 65536);
  assert_int_equal(
      fc_block_grow(blocks, NULL, &block, 65536, 131072, 16 * MIB, &error),
      FC_OK);
  assert_int_equal(fc_blocks_usage(blocks).copied, 65536);
  fc_block_give(blocks, block);
  fc_blocks_destroy(blocks);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(fixed_blocks_are_where_they_were_put),
      FC_TEST(blocks_hold_what_was_asked_for),
      FC_TEST(a_block_has_room_behind_it),
      FC_TEST(a_block_given_back_is_used_again),
      FC_TEST(the_budget_bounds_what_is_kept),
      FC_TEST(the_limit_is_kept_but_small_blocks_pass),
      FC_TEST(a_block_that_grows_keeps_its_bytes),
      FC_TEST(growing_counts_the_difference),
      FC_TEST(an_owner_holds_its_share),
      FC_TEST(what_is_nobodys_becomes_an_owners),
      FC_TEST(a_kept_block_counts_as_it_fills),
      FC_TEST(a_sink_keeps_every_byte_where_it_was_written),
      FC_TEST(a_sink_is_cut),
      FC_TEST(a_sink_stops_at_its_limit),
      FC_TEST(threads_do_not_share_a_block),
      FC_TEST(a_block_that_is_not_had_costs_no_index),
      FC_TEST(running_out_of_memory_is_an_error),
      FC_TEST(a_kept_block_is_forbidden),
      FC_TEST(a_large_block_is_reserved),
      FC_TEST(a_large_block_is_released_bit_by_bit),
      FC_TEST(where_addresses_are_short_nothing_is_reserved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
