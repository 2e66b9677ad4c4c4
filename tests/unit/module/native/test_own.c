// SPDX-License-Identifier: Apache-2.0
#include "helpers/test.h"

#include <stdlib.h>

#include "module/native/own.h"

#define POINTERS 500

// Compares the table with a plain array of flags.
static void it_agrees_with_a_plain_set(void **state) {
  (void)state;
  static char memory[POINTERS * 16];
  bool in[POINTERS] = {false};
  size_t count = 0;
  fc_own_t own;
  fc_own_init(&own, fc_allocator_system());
  uint32_t seed = 1;
  for (int step = 0; step < 20000; step++) {
    seed = seed * 1664525 + 1013904223;
    const size_t i = (seed >> 8) % POINTERS;
    void *data = memory + i * 16;
    fc_own_block_t *block = fc_own_find(&own, data);
    assert_int_equal(block != NULL, in[i]);
    if (block) assert_int_equal(block->size, i);
    if (in[i]) {
      assert_true(fc_own_remove(&own, data));
      count--;
    } else {
      assert_true(fc_own_add(&own, data, i));
      count++;
    }
    in[i] = !in[i];
    assert_int_equal(own.count, count);
  }
  for (size_t i = 0; i < POINTERS; i++) {
    assert_int_equal(fc_own_find(&own, memory + i * 16) != NULL, in[i]);
  }
  fc_own_deinit(&own);
}

static void count_block(void *context, const fc_own_block_t *block) {
  size_t *seen = context;
  assert_int_equal(block->size, 7);
  ++*seen;
}

static void clearing_hands_out_each_block_once(void **state) {
  (void)state;
  static char memory[4000];
  fc_own_t own;
  fc_own_init(&own, fc_allocator_system());
  for (int round = 0; round < 2; round++) {
    const size_t sizes[] = {0, 1, 3000};
    for (size_t k = 0; k < FC_ARRAY_COUNT(sizes); k++) {
      for (size_t i = 0; i < sizes[k]; i++) {
        assert_true(fc_own_add(&own, memory + i, 7));
      }
      size_t seen = 0;
      fc_own_clear(&own, count_block, &seen);
      assert_int_equal(seen, sizes[k]);
      assert_int_equal(own.count, 0);
      assert_null(fc_own_find(&own, memory));
    }
  }
  fc_own_deinit(&own);
}

// A block was freed without our notice, and malloc returned its address again.
static void an_address_that_comes_again_is_one_block(void **state) {
  (void)state;
  static char memory[100];
  fc_own_t own;
  fc_own_init(&own, fc_allocator_system());
  for (size_t i = 0; i < sizeof memory; i++) {
    assert_true(fc_own_add(&own, memory + i, 5));
    fc_own_find(&own, memory + i)->returned = true;
    assert_true(fc_own_add(&own, memory + i, 7));
    assert_false(fc_own_find(&own, memory + i)->returned);
    assert_int_equal(own.count, i + 1);
  }
  assert_true(fc_own_remove(&own, memory));
  assert_null(fc_own_find(&own, memory));
  size_t seen = 0;
  fc_own_clear(&own, count_block, &seen);
  assert_int_equal(seen, sizeof memory - 1);
  assert_int_equal(own.count, 0);
  fc_own_deinit(&own);
}

static void what_is_not_in_is_neither_found_nor_removed(void **state) {
  (void)state;
  int here;
  fc_own_t own;
  fc_own_init(&own, fc_allocator_system());
  assert_null(fc_own_find(&own, &here));
  assert_null(fc_own_find(&own, NULL));
  assert_false(fc_own_remove(&own, &here));
  assert_true(fc_own_add(&own, &here, 4));
  assert_null(fc_own_find(&own, NULL));
  assert_true(fc_own_remove(&own, &here));
  assert_false(fc_own_remove(&own, &here));
  fc_own_deinit(&own);
}

static fc_status_t add_many(fc_allocator_t allocator, void *context,
                            fc_error_t *err) {
  char *memory = context;
  fc_own_t own;
  fc_own_init(&own, allocator);
  fc_status_t status = FC_OK;
  for (size_t i = 0; i < 200 && status == FC_OK; i++) {
    if (!fc_own_add(&own, memory + i, i)) status = fc_fail_memory(err);
    // A table that cannot grow keeps its entries.
    assert_int_equal(own.count, status ? i : i + 1);
    if (i) assert_non_null(fc_own_find(&own, memory + i - 1));
  }
  fc_own_deinit(&own);
  return status;
}

static void growing_survives_any_failed_allocation(void **state) {
  (void)state;
  static char memory[200];
  assert_true(fc_test_allocation_sweep(add_many, memory) > 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(it_agrees_with_a_plain_set),
      FC_TEST(clearing_hands_out_each_block_once),
      FC_TEST(an_address_that_comes_again_is_one_block),
      FC_TEST(what_is_not_in_is_neither_found_nor_removed),
      FC_TEST(growing_survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
