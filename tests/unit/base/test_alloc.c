// SPDX-License-Identifier: Apache-2.0
//
// The functions that work with any allocator, and checked arithmetic.
#include "helpers/test.h"

static void blocks_are_zeroed_and_aligned(void **state) {
  (void)state;
  fc_test_allocator_t counter;
  fc_allocator_t allocator = fc_test_allocator_init(&counter, 0);
  unsigned char *memory = fc_alloc(allocator, 100);
  for (size_t i = 0; i < 100; i++) assert_int_equal(memory[i], 0);
  assert_int_equal((uintptr_t)memory % 16, 0);
  fc_free(allocator, memory);
  memory = fc_alloc_array(allocator, 7, 13);
  for (size_t i = 0; i < 91; i++) assert_int_equal(memory[i], 0);
  fc_free(allocator, memory);
  fc_free(allocator, NULL);
  assert_int_equal(atomic_load(&counter.live), 0);
}

static void the_system_allocator_aligns(void **state) {
  (void)state;
  fc_allocator_t allocator = fc_allocator_system();
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    void *memory = fc_alloc_aligned(allocator, 3, alignment);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % alignment, 0);
    memset(memory, 0xFF, 3);
    fc_free(allocator, memory);
  }
  void *empty = fc_alloc(allocator, 0);
  assert_non_null(empty);
  fc_free(allocator, empty);
  assert_null(fc_alloc_aligned(allocator, SIZE_MAX - 10, 64));
  assert_null(fc_alloc_array(allocator, SIZE_MAX / 2, 3));
}

static void growing_keeps_what_was_there(void **state) {
  (void)state;
  fc_test_allocator_t counter;
  fc_allocator_t allocator = fc_test_allocator_init(&counter, 4);
  char *memory = fc_realloc(allocator, NULL, 0, 4);
  memcpy(memory, "abcd", 4);
  memory = fc_realloc(allocator, memory, 4, 1000);
  assert_memory_equal(memory, "abcd", 4);
  memory = fc_realloc(allocator, memory, 1000, 2);
  assert_memory_equal(memory, "ab", 2);
  // The fourth allocation fails and leaves the block as it was.
  assert_null(fc_realloc(allocator, memory, 2, 50));
  assert_memory_equal(memory, "ab", 2);
  fc_free(allocator, memory);
  assert_int_equal(atomic_load(&counter.live), 0);
}

static void sizes_do_not_wrap(void **state) {
  (void)state;
  size_t size = 77;
  assert_true(fc_size_add(SIZE_MAX - 1, 1, &size));
  assert_true(size == SIZE_MAX);
  assert_true(fc_size_mul(SIZE_MAX / 3, 3, &size));
  assert_true(fc_size_align(65, 64, &size));
  assert_int_equal(size, 128);
  assert_true(fc_size_align(0, 64, &size));
  assert_int_equal(size, 0);
  int64_t number;
  assert_true(fc_i64_mul(INT64_MIN, 1, &number));
  assert_true(fc_i64_add(INT64_MAX, INT64_MIN, &number));
  assert_true(number == -1);
  assert_false(fc_size_add(SIZE_MAX, 1, &size));
  assert_false(fc_size_mul(SIZE_MAX / 2, 3, &size));
  assert_false(fc_size_align(SIZE_MAX - 5, 64, &size));
  assert_false(fc_i64_add(INT64_MAX, 1, &number));
  assert_false(fc_i64_mul(INT64_MIN, -1, &number));
}

static void time_goes_on(void **state) {
  (void)state;
  uint64_t before = fc_clock_ns(), after = fc_clock_ns();
  assert_true(before > 0 && after >= before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(blocks_are_zeroed_and_aligned),
      FC_TEST(the_system_allocator_aligns),
      FC_TEST(growing_keeps_what_was_there),
      FC_TEST(sizes_do_not_wrap),
      FC_TEST(time_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
