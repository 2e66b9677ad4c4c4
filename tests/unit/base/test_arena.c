// SPDX-License-Identifier: Apache-2.0
//
// The arena: alignment, its limit, what a reset keeps, trimming, failing allocations.
#include "helpers/test.h"

#include "base/sanitize.h"

static void memory_is_aligned_and_apart(void **state) {
  (void)state;
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 256, SIZE_MAX);
  unsigned char *last = NULL;
  size_t last_size = 0;
  for (size_t size = 0; size < 200; size += 7) {
    for (size_t alignment = 1; alignment <= 64; alignment *= 2) {
      unsigned char *memory = fc_arena_alloc(&arena, size, alignment);
      assert_non_null(memory);
      assert_int_equal((uintptr_t)memory % alignment, 0);
      memset(memory, (int)(size & 0xFF), size);
      for (size_t i = 0; i < last_size; i++) {
        assert_int_equal(last[i], last_size & 0xFF);
      }
      last = memory;
      last_size = size;
    }
  }
  fc_arena_deinit(&arena);
  fc_arena_deinit(&arena);
}

static void the_cap_holds_to_the_byte(void **state) {
  (void)state;
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 64, 100);
  assert_non_null(fc_arena_alloc(&arena, 60, 1));
  assert_null(fc_arena_alloc(&arena, 41, 1));
  assert_non_null(fc_arena_alloc(&arena, 40, 1));
  assert_null(fc_arena_alloc(&arena, 1, 1));
  assert_null(fc_arena_alloc(&arena, SIZE_MAX, 1));
  fc_arena_reset(&arena);
  assert_non_null(fc_arena_alloc(&arena, 100, 64));
  fc_arena_deinit(&arena);
}

static void huge_sizes_are_refused(void **state) {
  (void)state;
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 64, SIZE_MAX);
  assert_null(fc_arena_alloc(&arena, SIZE_MAX - 8, 1));
  assert_null(fc_arena_alloc_array(&arena, SIZE_MAX / 2, 4));
  assert_null(fc_arena_copy(&arena, (fc_str_t){"x", SIZE_MAX}).data);
  fc_arena_deinit(&arena);
}

static void a_warm_arena_allocates_nothing(void **state) {
  (void)state;
  fc_test_allocator_t counter;
  fc_arena_t arena;
  fc_arena_init(&arena, fc_test_allocator_init(&counter, 0), 1024, SIZE_MAX);
  for (int i = 0; i < 10; i++) {
    assert_non_null(fc_arena_alloc(&arena, 500, 16));
    assert_non_null(fc_arena_alloc(&arena, 500, 16));
    fc_arena_reset(&arena);
  }
  assert_int_equal(atomic_load(&counter.allocated), 1);
  // A block that was made for one large request is not kept.
  assert_non_null(fc_arena_alloc(&arena, 100000, 16));
  fc_arena_reset(&arena);
  assert_true(atomic_load(&counter.live) <= 1);
  fc_arena_deinit(&arena);
  assert_int_equal(atomic_load(&counter.live), 0);

  fc_arena_init(&arena, fc_test_allocator_init(&counter, 0), 1024, SIZE_MAX);
  assert_non_null(fc_arena_alloc(&arena, 100000, 16));
  fc_arena_reset(&arena);
  assert_int_equal(atomic_load(&counter.live), 0);
  assert_non_null(fc_arena_alloc(&arena, 10, 16));
  fc_arena_deinit(&arena);
}

static void arrays_are_zeroed_and_copies_terminated(void **state) {
  (void)state;
  fc_test_allocator_t counter;
  fc_arena_t arena;
  fc_arena_init(&arena, fc_test_allocator_init(&counter, 0), 64, SIZE_MAX);
  unsigned char *array = fc_arena_alloc_array(&arena, 10, 10);
  for (size_t i = 0; i < 100; i++) assert_int_equal(array[i], 0);
  fc_str_t copy = fc_arena_copy(&arena, FC_STR("abc"));
  assert_int_equal(copy.size, 3);
  assert_string_equal(copy.data, "abc");
  copy = fc_arena_copy(&arena, (fc_str_t){0});
  assert_int_equal(copy.size, 0);
  assert_string_equal(copy.data, "");
  fc_arena_deinit(&arena);
}

static void only_the_newest_is_trimmed(void **state) {
  (void)state;
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 256, 100);
  char *first = fc_arena_alloc(&arena, 60, 1);
  fc_arena_trim(&arena, first, 60, 20);
  char *second = fc_arena_alloc(&arena, 80, 1);
  assert_in_range(second - first, 20, 40);  // after the rest of `first`
  fc_arena_trim(&arena, first, 20, 0);      // not the newest
  assert_null(fc_arena_alloc(&arena, 1, 1));
  fc_arena_trim(&arena, NULL, 0, 0);
  fc_arena_deinit(&arena);
}

static fc_status_t use_arena(fc_allocator_t allocator, void *context,
                             fc_error_t *err) {
  (void)context;
  fc_arena_t arena;
  fc_status_t status = FC_OK;
  fc_arena_init(&arena, allocator, 64, SIZE_MAX);
  for (size_t i = 0; i < 20 && status == FC_OK; i++) {
    if (!fc_arena_alloc(&arena, 40, 8)) status = fc_fail_memory(err);
  }
  fc_arena_deinit(&arena);
  return status;
}

static void it_survives_failing_allocations(void **state) {
  (void)state;
  assert_int_equal(fc_test_allocation_sweep(use_arena, NULL), 20);
}

// Bytes are poisoned only with a sanitizer. Without one no byte is.
static void what_is_not_handed_out_is_forbidden(void **state) {
  (void)state;
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 256, SIZE_MAX);
  char *first = fc_arena_alloc(&arena, 24, 1);
  char *second = fc_arena_alloc(&arena, 24, 1);
  assert_false(FC_IS_POISONED(first));
  assert_false(FC_IS_POISONED(first + 23));
  assert_int_equal(FC_IS_POISONED(first + 24), FC_ASAN);
  assert_int_equal(FC_IS_POISONED(second - 1), FC_ASAN);
  assert_int_equal(FC_IS_POISONED(second + 24), FC_ASAN);
  fc_arena_trim(&arena, second, 24, 8);
  assert_false(FC_IS_POISONED(second + 7));
  assert_int_equal(FC_IS_POISONED(second + 8), FC_ASAN);
  fc_arena_reset(&arena);
  assert_int_equal(FC_IS_POISONED(first), FC_ASAN);
  fc_arena_deinit(&arena);
}

static void only_the_newest_is_extended(void **state) {
  (void)state;
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 256, 200);
  char *first = fc_arena_alloc(&arena, 16, 16);
  assert_true(fc_arena_extend(&arena, first, 16, 64));
  memset(first, 1, 64);
  char *second = fc_arena_alloc(&arena, 8, 16);
  assert_false(fc_arena_extend(&arena, first, 64, 65));
  assert_true(fc_arena_extend(&arena, second, 8, 8));
  assert_false(fc_arena_extend(&arena, second, 8, 137));  // over the limit
  assert_true(fc_arena_extend(&arena, second, 8, 136));
  assert_int_equal(arena.used, 200);
  assert_false(fc_arena_extend(&arena, NULL, 0, 1));
  fc_arena_deinit(&arena);
  fc_arena_init(&arena, fc_allocator_system(), 256, SIZE_MAX);
  first = fc_arena_alloc(&arena, 16, 16);
  assert_false(fc_arena_extend(&arena, first, 16, 257));  // over the block
  assert_true(fc_arena_extend(&arena, first, 16, 256));
  fc_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(memory_is_aligned_and_apart),
      FC_TEST(the_cap_holds_to_the_byte),
      FC_TEST(huge_sizes_are_refused),
      FC_TEST(a_warm_arena_allocates_nothing),
      FC_TEST(arrays_are_zeroed_and_copies_terminated),
      FC_TEST(only_the_newest_is_trimmed),
      FC_TEST(only_the_newest_is_extended),
      FC_TEST(it_survives_failing_allocations),
      FC_TEST(what_is_not_handed_out_is_forbidden),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
