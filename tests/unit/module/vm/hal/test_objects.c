// SPDX-License-Identifier: Apache-2.0
//
// HAL buffers: ranges of ranges, and who keeps their bytes alive.
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
    // The innermost range alone keeps the bytes alive.
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

static void constants_stay_so_in_their_storage(void **state) {
  (void)state;
  static const uint8_t bytes[8] = "constant";
  for (int k = 0; k < 2; k++) {
    fc_vm_heap_t heap;
    fc_vm_heap_init(&heap, fc_allocator_system(), 1 << 20);
    fc_vm_buffer_t constant, *made, *storage;
    fc_vm_buffer_init_constant(&constant, bytes, sizeof bytes);
    assert_int_equal(fc_vm_buffer_create(&heap, 8, 16, &made, NULL), FC_OK);
    fc_vm_buffer_t *owner = k ? &constant : made;
    fc_hal_buffer_t *buffer;
    assert_int_equal(fc_hal_buffer_wrap(&heap, owner->data, 8, &owner->object,
                                        &buffer, NULL),
                     FC_OK);
    assert_int_equal(fc_hal_buffer_storage(buffer, &storage, NULL), FC_OK);
    assert_int_equal(fc_vm_buffer_fill(storage, 0, 1, 1, 0, NULL),
                     k ? FC_PERMISSION_DENIED : FC_OK);
    fc_vm_release(&storage->object);
    fc_vm_release(&buffer->object);
    fc_vm_release(&made->object);
    assert_int_equal(atomic_load(&heap.objects), 0);
    fc_vm_heap_deinit(&heap);
  }
}

static void borrowed_bytes_are_copied_for_those_who_stay(void **state) {
  (void)state;
  for (int holders = 1; holders <= 2; holders++) {
    fc_vm_heap_t heap;
    fc_vm_heap_init(&heap, fc_allocator_system(), 1 << 20);
    uint8_t lent[8] = "the call";
    fc_hal_buffer_t *buffer;
    assert_int_equal(fc_hal_buffer_wrap(&heap, lent, 8, NULL, &buffer, NULL),
                     FC_OK);
    if (holders == 2) fc_vm_retain(&buffer->object);
    assert_true(fc_hal_buffer_keep(buffer));
    memset(lent, 'x', sizeof lent);
    if (holders == 2) {
      uint8_t *data;
      uint64_t size;
      fc_vm_release(&buffer->object);
      assert_int_equal(fc_hal_buffer_range(buffer, 0, -1, &data, &size, NULL),
                       FC_OK);
      assert_int_equal(size, 8);
      assert_memory_equal(data, "the call", 8);
    }
    fc_vm_release(&buffer->object);
    assert_int_equal(atomic_load(&heap.bytes), 0);
    fc_vm_heap_deinit(&heap);
  }
}

static void elements_below_a_byte_are_packed(void **state) {
  (void)state;
  // IREE's words for element types: a signless integer is 0x10000000 + bits.
  static const struct {
    const char *name;
    uint32_t word;
    int64_t dims[2], bytes;  // -1: it overflows
  } rows[] = {
      {"i32", 0x10000020, {2, 3}, 24},
      {"i4, even", 0x10000004, {2, 3}, 3},
      {"i4, odd", 0x10000004, {1, 5}, 3},
      {"i2", 0x10000002, {3, 3}, 3},
      {"one i1", 0x10000001, {1, 1}, 1},
      {"none", 0x10000004, {0, 5}, 0},
      {"too many", 0x10000008, {INT64_MAX, 3}, -1},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    uint64_t size = 0;
    assert_int_equal(fc_hal_elements_size(row->word, 2, row->dims, &size),
                     row->bytes >= 0);
    if (row->bytes >= 0) assert_int_equal(size, row->bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(ranges_of_ranges_add_up),
      FC_TEST(storage_of_a_part_is_that_part),
      FC_TEST(constants_stay_so_in_their_storage),
      FC_TEST(borrowed_bytes_are_copied_for_those_who_stay),
      FC_TEST(elements_below_a_byte_are_packed),
  };
  return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
