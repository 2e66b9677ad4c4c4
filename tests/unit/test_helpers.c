// SPDX-License-Identifier: Apache-2.0
//
// The test helpers themselves: a sweep must visit every allocation, and what was
// skipped must not look like what passed, nor hide what failed.
#include "helpers/test.h"

static void the_named_allocation_fails(void **state) {
  (void)state;
  fc_test_allocator_t counter;
  fc_allocator_t allocator = fc_test_allocator_init(&counter, 2);
  void *first = fc_alloc(allocator, 1);
  void *second = fc_alloc(allocator, 1);
  void *third = fc_alloc_aligned(allocator, 100, 64);
  assert_non_null(first);
  assert_null(second);
  assert_non_null(third);
  assert_int_equal((uintptr_t)third % 64, 0);
  assert_int_equal(((unsigned char *)third)[99], 0xA5);
  assert_int_equal(atomic_load(&counter.live), 2);
  fc_free(allocator, first);
  fc_free(allocator, third);
  assert_int_equal(atomic_load(&counter.live), 0);
}

static fc_status_t three_blocks(fc_allocator_t allocator, void *context,
                                fc_error_t *err) {
  size_t *attempts = context;
  ++*attempts;
  void *blocks[3] = {0};
  fc_status_t status = FC_OK;
  for (size_t i = 0; i < FC_ARRAY_COUNT(blocks) && status == FC_OK; i++) {
    blocks[i] = fc_alloc(allocator, 8);
    if (!blocks[i]) status = fc_fail_memory(err);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(blocks); i++) {
    fc_free(allocator, blocks[i]);
  }
  return status;
}

static void a_sweep_fails_each_allocation_once(void **state) {
  (void)state;
  size_t attempts = 0;
  assert_int_equal(fc_test_allocation_sweep(three_blocks, &attempts), 3);
  assert_int_equal(attempts, 4);
}

typedef struct status_row_t {
  const char *name;
  int failed;
  size_t skipped;
  int status;
} status_row_t;

static const status_row_t statuses[] = {
    {"all passed", 0, 0, 0},
    {"one was skipped", 0, 1, FC_TEST_SKIPPED},
    {"one failed", 1, 0, 1},
    {"one failed, one was skipped", 1, 1, 1},
    {"as many failed as the status of a skip", FC_TEST_SKIPPED, 0, 1},
    {"as many failed as a status has room for", 256, 0, 1},
};

static void a_skip_is_neither_passed_nor_failed(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const status_row_t, row, statuses) {
    assert_int_equal(fc_test_status(row->failed, row->skipped), row->status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(the_named_allocation_fails),
      FC_TEST(a_sweep_fails_each_allocation_once),
      FC_TEST(a_skip_is_neither_passed_nor_failed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
