// SPDX-License-Identifier: Apache-2.0
//
// Buffers of the HAL: what a range of a range is, and what keeps its bytes alive.
#include "module/vm/hal/objects.h"

#include "helpers/test.h"

#define SIZE 64

// A buffer of the bytes 0 to 63.
static fc_hal_buffer_t *make_buffer(fc_vm_heap_t *heap) {
  fc_hal_buffer_t *buffer;
  assert_int_equal(fc_hal_buffer_create(heap, SIZE, &buffer, NULL), FC_OK);
  for (uint8_t i = 0; i < SIZE; i++) buffer->data[i] = i;
  return buffer;
}

typedef struct range_row_t {
  const char *name;
  int64_t outer[2];  // offset, size
  int64_t inner[2];  // of a range in it
  int64_t asked[2];  // of the inner one
  int first;         // byte there, -1: it is outside
  uint64_t size;
} range_row_t;

static const range_row_t ranges[] = {
    {"all", {0, -1}, {0, -1}, {0, -1}, 0, 64},
    {"a part of a part", {16, 32}, {4, 8}, {0, -1}, 20, 8},
    {"of three", {16, 32}, {4, 8}, {2, 3}, 22, 3},
    {"the rest of each", {10, -1}, {20, -1}, {30, -1}, 60, 4},
    {"an empty one at the end", {16, 32}, {32, 0}, {0, 0}, 48, 0},
    {"inside the outer one only", {16, 32}, {4, 8}, {0, 9}, -1, 0},
    {"behind the inner one", {16, 32}, {4, 8}, {9, 0}, -1, 0},
    {"before the inner one", {16, 32}, {4, 8}, {-1, 1}, -1, 0},
    {"a sum that wraps", {16, 32}, {4, 8}, {1, INT64_MAX}, -1, 0},
};

static void ranges_of_ranges_add_up(void **state) {
  (void)state;
  fc_vm_heap_t heap;
  fc_vm_heap_init(&heap, fc_allocator_system(), 1 << 20);
  FC_TEST_EACH_ROW(const range_row_t, row, ranges) {
    fc_hal_buffer_t *whole = make_buffer(&heap), *outer, *inner;
    fc_error_t err;
    assert_int_equal(fc_hal_buffer_subspan(whole, row->outer[0], row->outer[1],
                                           &outer, &err),
                     FC_OK);
    assert_int_equal(fc_hal_buffer_subspan(outer, row->inner[0], row->inner[1],
                                           &inner, &err),
                     FC_OK);
    // What is left keeps the bytes.
    fc_vm_release(&whole->object);
    fc_vm_release(&outer->object);
    uint8_t *data = NULL;
    uint64_t size = 0;
    fc_status_t status = fc_hal_buffer_range(inner, row->asked[0],
                                             row->asked[1], &data, &size, &err);
    assert_int_equal(status, row->first < 0 ? FC_OUT_OF_RANGE : FC_OK);
    if (status == FC_OK) {
      assert_int_equal(size, row->size);
      assert_int_equal(*data, row->first);
    }
    fc_vm_release(&inner->object);
    assert_int_equal(atomic_load(&heap.objects), 0);
  }
  fc_vm_heap_deinit(&heap);
}

static void storage_of_a_part_is_that_part(void **state) {
  (void)state;
  fc_vm_heap_t heap;
  fc_vm_heap_init(&heap, fc_allocator_system(), 1 << 20);
  fc_hal_buffer_t *whole = make_buffer(&heap), *outer, *inner;
  fc_vm_buffer_t *storage;
  assert_int_equal(fc_hal_buffer_subspan(whole, 16, 32, &outer, NULL), FC_OK);
  assert_int_equal(fc_hal_buffer_subspan(outer, 4, 8, &inner, NULL), FC_OK);
  assert_int_equal(fc_hal_buffer_storage(inner, &storage, NULL), FC_OK);
  assert_int_equal(storage->size, 8);
  assert_ptr_equal(storage->data, whole->data + 20);
  fc_vm_release(&inner->object);
  fc_vm_release(&outer->object);
  fc_vm_release(&whole->object);
  assert_int_equal(storage->data[0], 20);
  fc_vm_release(&storage->object);
  assert_int_equal(atomic_load(&heap.objects), 0);
  fc_vm_heap_deinit(&heap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(ranges_of_ranges_add_up),
      FC_TEST(storage_of_a_part_is_that_part),
  };
  return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
