// SPDX-License-Identifier: Apache-2.0
//
// Arguments: which types IREE has. Results: elements of less than a byte get a byte
// each, and bytes that other calls can reach are copied.
#include "module/vm/hal/tensor_view.h"

#include "helpers/arena.h"

static fc_vm_heap_t heap;

static fc_hal_view_t *make_view(uint32_t word, int64_t count,
                                const uint8_t *bytes, int64_t size) {
  fc_hal_buffer_t *buffer;
  fc_hal_view_t *view;
  assert_int_equal(fc_hal_buffer_create(&heap, size, &buffer, NULL), FC_OK);
  memcpy(buffer->data, bytes, (size_t)size);
  assert_int_equal(fc_hal_view_create(buffer, word, 1, 1, &count, &view, NULL),
                   FC_OK);
  fc_vm_release(&buffer->object);
  return view;
}

static void elements_below_a_byte_keep_their_sign(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t word;  // of IREE's element types
    fc_dtype_t dtype;
    uint8_t packed;
    int64_t count;
    int8_t wanted[4];
  } rows[] = {
      {"i4", 0x10000004, FC_DTYPE_I4, 0xF7, 2, {7, -1}},
      {"si4", 0x11000004, FC_DTYPE_SI4, 0x8F, 2, {-1, -8}},
      {"ui4", 0x12000004, FC_DTYPE_UI4, 0x8F, 2, {15, 8}},
      {"i2", 0x10000002, FC_DTYPE_I2, 0xE4, 4, {0, 1, -2, -1}},
      {"ui2", 0x12000002, FC_DTYPE_UI2, 0xE4, 4, {0, 1, 2, 3}},
  };
  fc_vm_heap_init(&heap, fc_allocator_system(), 1 << 20);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_hal_view_t *view = make_view(row->word, row->count, &row->packed, 1);
    fc_value_t out;
    assert_int_equal(fc_hal_tensor_out(&fc_test_arena, view, FC_DTYPE_NONE,
                                       false, &out, NULL),
                     FC_OK);
    assert_int_equal(out.tensor.dtype, row->dtype);
    assert_memory_equal(out.tensor.data, row->wanted, (size_t)row->count);
    fc_vm_release(&view->object);
  }
  fc_vm_heap_deinit(&heap);
}

// The table lists the types that IREE has; others are refused and not packed. Integers
// are passed as signless ones, an index as i64.
static void arguments_have_the_types_that_iree_has(void **state) {
  (void)state;
  const int64_t shape[] = {9};
  uint8_t bytes[9 * 16] = {0};
  fc_vm_invocation_t invocation = {.fuel = UINT64_MAX};
  fc_vm_heap_init(&heap, fc_allocator_system(), 1 << 20);
  for (unsigned i = 1; i < FC_DTYPE_COUNT; i++) {
    const fc_dtype_info_t *info = fc_dtype_info((fc_dtype_t)i);
    const bool index = info->class_ == FC_DTYPE_CLASS_INDEX;
    uint32_t word = info->hal_word;
    if (word && fc_dtype_is_integer(info)) word = 0x10000000u | info->bits;
    if (index) word = 0x10000040;
    fc_test_row(info->text);
    fc_hal_loans_t loans = {.arena = &fc_test_arena, .invocation = &invocation};
    const fc_tensor_t tensor = {
        .dtype = (fc_dtype_t)i, .rank = 1, .shape = shape, .data = bytes};
    fc_vm_object_t *object = NULL;
    fc_error_t error;
    const fc_status_t status =
        fc_hal_tensor_in(&heap, &tensor, &loans, &object, &error);
    if (!word) {
      assert_int_equal(error.code, FC_CODE_UNSUPPORTED_TYPE);
      continue;
    }
    assert_int_equal(status, FC_OK);
    const fc_hal_view_t *view = (const fc_hal_view_t *)object;
    assert_int_equal(view->element_type, word);
    assert_int_equal(view->buffer->size, (9 * (word & 0xFF) + 7) / 8);
    fc_vm_release(object);
    fc_hal_loans_end(&loans);
  }
  fc_test_row(NULL);
  assert_int_equal(atomic_load(&heap.objects), 0);
  fc_vm_heap_deinit(&heap);
}

// The next call may write into a buffer that the module keeps while this call's answer
// is still being sent.
static void what_the_module_keeps_is_copied(void **state) {
  (void)state;
  enum { NOTHING, THE_VIEW, ITS_BUFFER, THE_WHOLE };
  static const struct {
    const char *name;
    int kept;
    bool part, shared, copied;
  } rows[] = {
      {"nothing", NOTHING, false, true, false},
      {"nothing, of a part", NOTHING, true, true, false},
      {"the view", THE_VIEW, false, true, true},
      {"the buffer", ITS_BUFFER, false, true, true},
      {"the part", ITS_BUFFER, true, true, true},
      {"the whole", THE_WHOLE, true, true, true},
      {"the view, of this call alone", THE_VIEW, false, false, false},
      {"the buffer, of this call alone", ITS_BUFFER, false, false, false},
  };
  fc_vm_heap_init(&heap, fc_allocator_system(), 1 << 20);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const int64_t count = 4;
    fc_hal_buffer_t *whole, *buffer;
    fc_hal_view_t *view;
    assert_int_equal(fc_hal_buffer_create(&heap, 8, &whole, NULL), FC_OK);
    memcpy(whole->data, "abcdefgh", 8);
    assert_int_equal(
        fc_hal_buffer_subspan(whole, 0, row->part ? 4 : -1, &buffer, NULL),
        FC_OK);
    assert_int_equal(
        fc_hal_view_create(buffer, 0x10000008, 1, 1, &count, &view, NULL),
        FC_OK);
    fc_vm_object_t *kept = NULL;
    if (row->kept == THE_VIEW) kept = fc_vm_retain(&view->object);
    if (row->kept == ITS_BUFFER) kept = fc_vm_retain(&buffer->object);
    if (row->kept == THE_WHOLE) kept = fc_vm_retain(&whole->object);
    fc_vm_release(&whole->object);
    fc_vm_release(&buffer->object);
    fc_value_t out;
    assert_int_equal(fc_hal_tensor_out(&fc_test_arena, view, FC_DTYPE_I8,
                                       row->shared, &out, NULL),
                     FC_OK);
    assert_memory_equal(out.tensor.data, "abcd", 4);
    uint8_t *data;
    uint64_t size;
    assert_int_equal(
        fc_hal_buffer_range(view->buffer, 0, 4, &data, &size, NULL), FC_OK);
    assert_int_equal(out.tensor.data != data, row->copied);
    if (kept) fc_vm_release(kept);
    fc_vm_release(&view->object);
    assert_int_equal(atomic_load(&heap.objects), 0);
  }
  fc_vm_heap_deinit(&heap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_WITH_ARENA(elements_below_a_byte_keep_their_sign),
      FC_TEST_WITH_ARENA(arguments_have_the_types_that_iree_has),
      FC_TEST_WITH_ARENA(what_the_module_keeps_is_copied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
