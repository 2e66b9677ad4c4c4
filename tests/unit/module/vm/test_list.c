// SPDX-License-Identifier: Apache-2.0
//
// VM lists: how numbers are converted when they are stored and loaded, and who holds
// the references.
#include "module/vm/list.h"

#include "helpers/test.h"

typedef struct fixture_t {
  fc_test_allocator_t counter;
  fc_vm_heap_t heap;
  fc_vm_list_t *list;
} fixture_t;

static void open(fixture_t *fixture, fc_vm_type_t element, uint32_t count) {
  fc_vm_heap_init(&fixture->heap, fc_test_allocator_init(&fixture->counter, 0),
                  (size_t)1 << 20);
  assert_int_equal(
      fc_vm_list_create(&fixture->heap, element, count, &fixture->list, NULL),
      FC_OK);
  assert_int_equal(fc_vm_list_resize(fixture->list, count, NULL), FC_OK);
}

static void close(fixture_t *fixture) {
  fc_vm_release(&fixture->list->object);
  assert_int_equal(atomic_load(&fixture->heap.objects), 0);
  assert_int_equal(atomic_load(&fixture->heap.bytes), 0);
  fc_vm_heap_deinit(&fixture->heap);
  assert_int_equal(atomic_load(&fixture->counter.live), 0);
}

#define VALUE(type_, member, value) \
  { .type = FC_VM_TYPE_##type_, .member = value }

static const struct {
  const char *name;
  fc_vm_value_t set;
  fc_vm_type_t list;
  fc_vm_value_t got;
} conversions[] = {
    {"i32", VALUE(I32, i32, -7), FC_VM_TYPE_I32, VALUE(I32, i32, -7)},
    {"an i32 is widened with its sign", VALUE(I32, i32, -7), FC_VM_TYPE_I64,
     VALUE(I64, i64, -7)},
    {"an i64 loses what is above", VALUE(I64, i64, INT64_C(0x1234567880000001)),
     FC_VM_TYPE_I32, VALUE(I32, i32, INT32_MIN + 1)},
    {"an i16 in bytes", VALUE(I16, i16, 0x1280), FC_VM_TYPE_I8,
     VALUE(I8, i8, -128)},
    {"a byte in an i16", VALUE(I8, i8, -128), FC_VM_TYPE_I16,
     VALUE(I16, i16, -128)},
    {"an f32 is an f64 as it is", VALUE(F32, f32, 0.1f), FC_VM_TYPE_F64,
     VALUE(F64, f64, (double)0.1f)},
    {"an f64 is rounded to f32", VALUE(F64, f64, 0.1), FC_VM_TYPE_F32,
     VALUE(F32, f32, 0.1f)},
    {"no integer of a float", VALUE(F64, f64, 2.5), FC_VM_TYPE_I32,
     VALUE(I32, i32, 0)},
    {"no float of an integer", VALUE(I32, i32, 2), FC_VM_TYPE_F32,
     VALUE(F32, f32, 0)},
};

static uint64_t bits_of(fc_vm_value_t value) {
  uint64_t bits = 0;
  memcpy(&bits, &value.i64, fc_vm_type_info(value.type)->size);
  return bits;
}

static void numbers_take_the_type_of_the_list(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(conversions[0]), row, conversions) {
    fixture_t fixture;
    open(&fixture, row->list, 1);
    fc_vm_value_t got;
    assert_int_equal(fc_vm_list_set(fixture.list, 0, row->set, NULL), FC_OK);
    assert_int_equal(fc_vm_list_get(fixture.list, 0, row->got.type, &got, NULL),
                     FC_OK);
    assert_int_equal(got.type, row->got.type);
    assert_int_equal(bits_of(got), bits_of(row->got));
    close(&fixture);
  }
}

static fc_vm_object_t *new_object(fixture_t *fixture) {
  fc_vm_list_t *made;
  assert_int_equal(
      fc_vm_list_create(&fixture->heap, FC_VM_TYPE_I8, 0, &made, NULL), FC_OK);
  return &made->object;
}

// The number of live objects, not counting the list itself.
static size_t live(fixture_t *fixture) {
  return atomic_load(&fixture->heap.objects) - 1;
}

static void what_is_written_over_is_released(void **state) {
  (void)state;
  static const fc_vm_type_t elements[] = {FC_VM_TYPE_ANY_REF, FC_VM_TYPE_LIST,
                                          FC_VM_TYPE_VARIANT};
  for (size_t i = 0; i < FC_ARRAY_COUNT(elements); i++) {
    fixture_t fixture;
    open(&fixture, elements[i], 2);
    fc_vm_list_t *list = fixture.list;
    for (int k = 0; k < 3; k++) {
      assert_int_equal(fc_vm_list_set_ref(list, 0, new_object(&fixture), NULL),
                       FC_OK);
      assert_int_equal(live(&fixture), 1);
    }
    assert_int_equal(fc_vm_list_set_ref(list, 0, NULL, NULL), FC_OK);
    assert_int_equal(live(&fixture), 0);
    if (elements[i] == FC_VM_TYPE_VARIANT) {
      assert_int_equal(fc_vm_list_set_ref(list, 1, new_object(&fixture), NULL),
                       FC_OK);
      const fc_vm_value_t number = VALUE(I32, i32, 5);
      assert_int_equal(fc_vm_list_set(list, 1, number, NULL), FC_OK);
      assert_int_equal(live(&fixture), 0);
    }
    assert_int_equal(fc_vm_list_set_ref(list, 1, new_object(&fixture), NULL),
                     FC_OK);
    assert_int_equal(fc_vm_list_resize(list, 1, NULL), FC_OK);
    assert_int_equal(live(&fixture), 0);
    close(&fixture);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(numbers_take_the_type_of_the_list),
      FC_TEST(what_is_written_over_is_released),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
