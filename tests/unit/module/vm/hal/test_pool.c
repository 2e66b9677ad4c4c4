// SPDX-License-Identifier: Apache-2.0
//
// The pool of a worker's buffers: which blocks are reused, counted and kept.
#include "module/vm/hal/pool.h"

#include "base/sanitize.h"
#include "helpers/test.h"
#include "module/vm/hal/objects.h"

typedef struct fixture_t {
  fc_test_allocator_t counter;
  fc_vm_heap_t heap;
  fc_hal_pool_t *pool;
} fixture_t;

static void open(fixture_t *fixture, size_t limit) {
  fc_vm_heap_init(&fixture->heap, fc_test_allocator_init(&fixture->counter, 0),
                  limit);
  assert_int_equal(fc_hal_pool_create(&fixture->heap, &fixture->pool, NULL),
                   FC_OK);
}

static void close(fixture_t *fixture) {
  fc_hal_pool_release(fixture->pool);
  assert_int_equal(atomic_load(&fixture->heap.bytes), 0);
  assert_int_equal(atomic_load(&fixture->heap.kept), 0);
  fc_vm_heap_deinit(&fixture->heap);
  assert_int_equal(atomic_load(&fixture->counter.live), 0);
}

static void *take(fixture_t *fixture, size_t size, size_t *out_size) {
  return fc_hal_pool_take(fixture->pool, size, out_size, NULL);
}

static void blocks_fit_and_waste_at_most_a_quarter(void **state) {
  (void)state;
  fixture_t fixture;
  open(&fixture, (size_t)1 << 30);
  for (size_t size = 1; size < 3 << 20; size += size / 7 + 1) {
    size_t have;
    uint8_t *block = take(&fixture, size, &have);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % FC_HAL_ALIGNMENT, 0);
    assert_true(have >= size && (have == 256 || have <= size + size / 4));
    memset(block, 0xFF, size);
    fc_hal_pool_give(fixture.pool, block, have);
  }
  close(&fixture);
}

static void a_warm_pool_allocates_nothing(void **state) {
  (void)state;
  fixture_t fixture;
  open(&fixture, (size_t)1 << 30);
  static const size_t sizes[] = {1, 300, 4096, 4097, 1 << 20};
  size_t warm = 0;
  for (int round = 0; round < 3; round++) {
    void *blocks[FC_ARRAY_COUNT(sizes)];
    size_t have[FC_ARRAY_COUNT(sizes)];
    for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
      blocks[i] = take(&fixture, sizes[i], &have[i]);
    }
    for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
      fc_hal_pool_give(fixture.pool, blocks[i], have[i]);
    }
    if (!warm) warm = atomic_load(&fixture.counter.allocated);
  }
  assert_int_equal(atomic_load(&fixture.counter.allocated), warm);
  close(&fixture);
}

// A call must not see what another call left behind, whether its block is new or
// reused.
static void every_block_is_zeroed(void **state) {
  (void)state;
  fixture_t fixture;
  open(&fixture, (size_t)1 << 30);
  static const size_t sizes[] = {1000, 1000, 900, 1024, 4 << 20, 4 << 20};
  for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
    size_t have;
    uint8_t *block = take(&fixture, sizes[i], &have);
    for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(block[k], 0);
    memset(block, 0x55, sizes[i]);
    fc_hal_pool_give(fixture.pool, block, have);
  }
  close(&fixture);
}

static void a_quarter_of_the_limit_is_kept_at_most(void **state) {
  (void)state;
  fixture_t fixture;
  open(&fixture, 64 << 10);
  void *blocks[6];
  size_t have[6];
  for (size_t i = 0; i < 6; i++) blocks[i] = take(&fixture, 8 << 10, &have[i]);
  for (size_t i = 0; i < 6; i++) {
    fc_hal_pool_give(fixture.pool, blocks[i], have[i]);
  }
  assert_int_equal(atomic_load(&fixture.heap.kept), 16 << 10);
  assert_int_equal(atomic_load(&fixture.heap.bytes), 16 << 10);
  close(&fixture);
}

static void what_is_kept_does_not_make_a_call_fail(void **state) {
  (void)state;
  fixture_t fixture;
  open(&fixture, 64 << 10);
  size_t have;
  void *block = take(&fixture, 16 << 10, &have);
  fc_hal_pool_give(fixture.pool, block, have);
  assert_int_equal(atomic_load(&fixture.heap.kept), 16 << 10);
  // A size is not rounded up if that would exceed the limit.
  block = take(&fixture, (64 << 10) - 1, &have);
  assert_non_null(block);
  assert_int_equal(have, (64 << 10) - 1);
  fc_error_t err;
  size_t more;
  assert_null(fc_hal_pool_take(fixture.pool, 2, &more, &err));
  assert_int_equal(err.status, FC_RESOURCE_EXHAUSTED);
  fc_hal_pool_give(fixture.pool, block, have);
  assert_int_equal(atomic_load(&fixture.heap.bytes), 0);
  close(&fixture);
}

// A block smaller than its class must not serve a request for the whole class.
static void a_block_that_was_not_rounded_up_is_not_kept(void **state) {
  (void)state;
  fixture_t fixture;
  const size_t limit = 64 << 10, small = 1030, class = 1280;
  open(&fixture, limit);
  size_t have;
  void *most = fc_vm_heap_alloc(&fixture.heap, limit - small, 64, NULL);
  assert_non_null(most);
  void *block = take(&fixture, small, &have);
  assert_non_null(block);
  assert_int_equal(have, small);
  fc_hal_pool_give(fixture.pool, block, have);
  assert_int_equal(atomic_load(&fixture.heap.kept), 0);
  fc_vm_heap_free(&fixture.heap, most, limit - small);
  block = take(&fixture, class, &have);
  assert_int_equal(have, class);
  assert_int_equal(atomic_load(&fixture.heap.bytes), class);
  memset(block, 0xFF, have);
  fc_hal_pool_give(fixture.pool, block, have);
  close(&fixture);
}

// Blocks are poisoned only under the address sanitizer. In other builds this test
// expects that no byte is poisoned.
static void a_kept_block_is_forbidden(void **state) {
  (void)state;
  fixture_t fixture;
  size_t have;
  open(&fixture, (size_t)1 << 30);
  uint8_t *block = take(&fixture, 1000, &have);
  assert_false(FC_IS_POISONED(block));
  fc_hal_pool_give(fixture.pool, block, have);
  assert_int_equal(FC_IS_POISONED(block), FC_ASAN);
  assert_int_equal(FC_IS_POISONED(block + 999), FC_ASAN);
  assert_ptr_equal(take(&fixture, 904, &have), block);
  assert_false(FC_IS_POISONED(block + 903));
  assert_int_equal(FC_IS_POISONED(block + 904), FC_ASAN);
  fc_hal_pool_give(fixture.pool, block, have);
  close(&fixture);
}

typedef struct need_row_t {
  const char *name;
  bool pooled;  // or a block of the heap itself
  size_t size;
} need_row_t;

static const need_row_t needs[] = {
    {"all, of the pool", true, 64 << 10},
    {"all, of the heap", false, 64 << 10},
    {"a little more than is left", true, (48 << 10) + 1},
    {"what no pool keeps", false, 50 << 10},
};

static void what_other_workers_keep_does_not_make_a_call_fail(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const need_row_t, row, needs) {
    fixture_t fixture;
    open(&fixture, 64 << 10);
    fc_hal_pool_t *others[3];
    for (size_t i = 0; i < FC_ARRAY_COUNT(others); i++) {
      size_t have;
      assert_int_equal(fc_hal_pool_create(&fixture.heap, &others[i], NULL),
                       FC_OK);
      void *block = fc_hal_pool_take(others[i], 5 << 10, &have, NULL);
      fc_hal_pool_give(others[i], block, have);
    }
    fc_hal_pool_release(others[1]);
    assert_int_equal(atomic_load(&fixture.heap.kept), 10 << 10);
    size_t have = row->size;
    void *block = row->pooled ? take(&fixture, row->size, &have)
                              : fc_vm_heap_alloc(&fixture.heap, row->size,
                                                 FC_HAL_ALIGNMENT, NULL);
    assert_non_null(block);
    assert_int_equal(atomic_load(&fixture.heap.bytes),
                     have + atomic_load(&fixture.heap.kept));
    if (row->pooled) fc_hal_pool_give(fixture.pool, block, have);
    else fc_vm_heap_free(&fixture.heap, block, row->size);
    fc_hal_pool_release(others[0]);
    fc_hal_pool_release(others[2]);
    close(&fixture);
  }
}

// Four threads use a heap that has exactly the memory they need.
static void *take_and_give(void *context) {
  fixture_t *fixture = context;
  fc_hal_pool_t *pool;
  uintptr_t failures = fc_hal_pool_create(&fixture->heap, &pool, NULL) != FC_OK;
  for (size_t i = 0; i < 2000 && !failures; i++) {
    size_t have;
    uint8_t *block =
        fc_hal_pool_take(pool, (size_t)1024 << (i % 3), &have, NULL);
    failures += block == NULL;
    if (!block) continue;
    memset(block, (int)i, (size_t)1024 << (i % 3));
    fc_hal_pool_give(pool, block, have);
  }
  fc_hal_pool_release(pool);
  return (void *)failures;  // NOLINT(performance-no-int-to-ptr)
}

static void workers_at_the_limit_get_what_they_need(void **state) {
  (void)state;
  fixture_t fixture;
  pthread_t threads[4];
  open(&fixture, FC_ARRAY_COUNT(threads) * 4096);
  for (size_t i = 0; i < FC_ARRAY_COUNT(threads); i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &fixture),
                     0);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(threads); i++) {
    void *failures;
    pthread_join(threads[i], &failures);
    assert_null(failures);
  }
  close(&fixture);
}

static void a_block_may_come_back_after_its_worker_left(void **state) {
  (void)state;
  fixture_t fixture;
  open(&fixture, (size_t)1 << 30);
  size_t have;
  void *block = take(&fixture, 100, &have);
  fc_hal_pool_t *pool = fixture.pool;
  fc_hal_pool_release(pool);
  fixture.pool = NULL;
  fc_hal_pool_give(pool, block, have);
  close(&fixture);
}

static void buffers_come_from_the_invocation(void **state) {
  (void)state;
  fixture_t fixture;
  open(&fixture, (size_t)1 << 30);
  fc_vm_invocation_t invocation = {.pool = fixture.pool, .fuel = UINT64_MAX};
  for (int guard = 0; guard < 2; guard++) {
    invocation.guard = guard;
    fc_hal_buffer_t *buffer;
    assert_int_equal(
        fc_hal_buffer_create_in(&invocation, &fixture.heap, 100, &buffer, NULL),
        FC_OK);
    assert_int_equal(buffer->size, 100);
    assert_int_equal((uintptr_t)buffer->data % FC_HAL_ALIGNMENT, 0);
    // The block, with its padding, ends at the end of a page.
    if (guard) assert_int_equal(((uintptr_t)buffer->data + 128) % 4096, 0);
    memset(buffer->data, 1, 100);
    fc_vm_release(&buffer->object);
    assert_int_equal(atomic_load(&fixture.heap.objects), 0);
    assert_int_equal(
        fc_hal_buffer_create_in(&invocation, &fixture.heap, -1, &buffer, NULL),
        FC_INVALID_ARGUMENT);
    assert_int_equal(fc_hal_buffer_create_in(&invocation, &fixture.heap,
                                             INT64_MAX, &buffer, NULL),
                     FC_RESOURCE_EXHAUSTED);
  }
  close(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(blocks_fit_and_waste_at_most_a_quarter),
      FC_TEST(a_warm_pool_allocates_nothing),
      FC_TEST(every_block_is_zeroed),
      FC_TEST(a_quarter_of_the_limit_is_kept_at_most),
      FC_TEST(what_is_kept_does_not_make_a_call_fail),
      FC_TEST(a_block_that_was_not_rounded_up_is_not_kept),
      FC_TEST(a_kept_block_is_forbidden),
      FC_TEST(what_other_workers_keep_does_not_make_a_call_fail),
      FC_TEST(workers_at_the_limit_get_what_they_need),
      FC_TEST(a_block_may_come_back_after_its_worker_left),
      FC_TEST(buffers_come_from_the_invocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
