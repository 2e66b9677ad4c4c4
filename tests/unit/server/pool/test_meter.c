// SPDX-License-Identifier: Apache-2.0
//
// Memory that a worker allocates beyond an allowance counts as used until it is
// released.
#include "pool/meter.h"

#include "helpers/test.h"

#define MIB ((size_t)1 << 20)

static fc_blocks_t *make_blocks(uint64_t limit) {
  fc_blocks_t *blocks;
  assert_int_equal(
      fc_blocks_create(fc_allocator_system(), limit, 0, &blocks, NULL), FC_OK);
  return blocks;
}

static void memory_counts_until_it_is_released(void **state) {
  (void)state;
  fc_blocks_t *blocks = make_blocks(4 * MIB);
  fc_meter_t meter;
  fc_meter_init(&meter, fc_allocator_system(), blocks);
  const fc_allocator_t allocator = fc_meter_allocator(&meter);
  char *small = fc_alloc_aligned(allocator, 1000, 64);
  assert_non_null(small);
  assert_int_equal((uintptr_t)small % 64, 0);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  char *large = fc_alloc(allocator, 3 * MIB);
  assert_non_null(large);
  assert_in_range(fc_blocks_usage(blocks).taken, 3 * MIB + 1000,
                  3 * MIB + 2000);
  assert_null(fc_alloc(allocator, MIB));
  assert_true(meter.refused);
  uint32_t block = 0;
  assert_int_equal(fc_block_take(blocks, MIB, &block, NULL),
                   FC_RESOURCE_EXHAUSTED);
  fc_free(allocator, large);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  large = fc_alloc(allocator, MIB);
  assert_non_null(large);
  fc_free(allocator, small);
  fc_free(allocator, large);
  fc_free(allocator, NULL);
  assert_int_equal(meter.held, 0);
  fc_blocks_destroy(blocks);
}

static void huge_sizes_are_refused(void **state) {
  (void)state;
  fc_blocks_t *blocks = make_blocks(UINT64_MAX);
  fc_meter_t meter;
  fc_meter_init(&meter, fc_allocator_system(), blocks);
  const fc_allocator_t allocator = fc_meter_allocator(&meter);
  assert_null(fc_alloc_aligned(allocator, SIZE_MAX, 16));
  assert_null(fc_alloc_aligned(allocator, (size_t)1 << 62, 16));
  assert_int_equal(meter.held, 0);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  fc_blocks_destroy(blocks);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(memory_counts_until_it_is_released),
      FC_TEST(huge_sizes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
