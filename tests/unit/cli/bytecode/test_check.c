// SPDX-License-Identifier: Apache-2.0
//
// The two comparisons of views that a self-checking program may make: equal, and almost
// equal.
#include "bytecode/check.h"

#include <math.h>

#include "helpers/test.h"
#include "module/vm/hal/objects.h"

#define F32 0x21000020
#define I32 0x10000020
#define COUNT 4

typedef struct view_t {
  uint32_t word;
  uint32_t rank;
  int64_t dims[2];
  float data[COUNT];  // or bits of an integer
} view_t;

static fc_hal_view_t *make_view(fc_vm_heap_t *heap, const view_t *said) {
  fc_hal_buffer_t *buffer;
  fc_hal_view_t *view;
  assert_int_equal(fc_hal_buffer_create(heap, sizeof said->data, &buffer, NULL),
                   FC_OK);
  memcpy(buffer->data, said->data, sizeof said->data);
  assert_int_equal(fc_hal_view_create(buffer, said->word, 1, said->rank,
                                      said->dims, &view, NULL),
                   FC_OK);
  fc_vm_release(&buffer->object);
  return view;
}

static fc_status_t expect(const char *name, const view_t *left,
                          const view_t *right, float absolute, float relative,
                          fc_error_t *err) {
  fc_vm_heap_t heap;
  fc_vm_heap_init(&heap, fc_allocator_system(), 1 << 20);
  fc_hal_view_t *views[] = {make_view(&heap, left), make_view(&heap, right)};
  const fc_vm_raw_t arguments[] = {{.ref = NULL},
                                   {.ref = &views[0]->object},
                                   {.ref = &views[1]->object},
                                   {.f32 = absolute},
                                   {.f32 = relative}};
  fc_vm_native_call_t call = {
      .heap = &heap, .arguments = arguments, .argument_count = 5};
  fc_status_t status = FC_NOT_FOUND;
  for (size_t i = 0; i < fc_vm_check.function_count; i++) {
    const fc_vm_native_function_t *function = &fc_vm_check.functions[i];
    if (strcmp(function->name, name) == 0) status = function->call(&call, err);
  }
  for (int i = 0; i < 2; i++) fc_vm_release(&views[i]->object);
  assert_int_equal(atomic_load(&heap.objects), 0);
  fc_vm_heap_deinit(&heap);
  return status;
}

static const struct {
  const char *name;
  view_t left, right;
  const char *equal, *almost;  // the message; NULL: the expectation is met
} rows[] = {
    {"the same",
     {F32, 2, {2, 2}, {1, 2, 3, 4}},
     {F32, 2, {2, 2}, {1, 2, 3, 4}},
     NULL,
     NULL},
    {"as near as is allowed",
     {F32, 2, {2, 2}, {1, 2, 3.25f, 4}},
     {F32, 2, {2, 2}, {1, 2, 3, 4}},
     "expected equal values, element 2 differs",
     NULL},
    {"not as near",
     {F32, 2, {2, 2}, {1, 2, 3.5f, 4}},
     {F32, 2, {2, 2}, {1, 2, 3, 4}},
     "expected equal values, element 2 differs",
     "expected almost equal values, element 2 is 3.5 and 3"},
    {"NaN on both sides",
     {F32, 1, {2}, {NAN, 1}},
     {F32, 1, {2}, {NAN, 1}},
     NULL,
     NULL},
    {"NaN on the left",
     {F32, 1, {2}, {1, NAN}},
     {F32, 1, {2}, {1, 1}},
     "expected equal values, element 1 differs",
     "expected almost equal values, element 1 is nan and 1"},
    {"NaN on the right",
     {F32, 1, {2}, {1, 1}},
     {F32, 1, {2}, {1, NAN}},
     "expected equal values, element 1 differs",
     "expected almost equal values, element 1 is 1 and nan"},
    {"infinities",
     {F32, 1, {2}, {INFINITY, -INFINITY}},
     {F32, 1, {2}, {INFINITY, -INFINITY}},
     NULL,
     NULL},
    {"infinities of two signs",
     {F32, 1, {1}, {INFINITY}},
     {F32, 1, {1}, {-INFINITY}},
     "expected equal values, element 0 differs",
     "expected almost equal values, element 0 is inf and -inf"},
    {"a number for an infinity",
     {F32, 1, {2}, {1, 5}},
     {F32, 1, {2}, {1, INFINITY}},
     "expected equal values, element 1 differs",
     "expected almost equal values, element 1 is 5 and inf"},
    {"other dims of as many elements",
     {F32, 2, {1, 4}, {1, 2, 3, 4}},
     {F32, 2, {4, 1}, {1, 2, 3, 4}},
     "expected equal shapes",
     "expected equal shapes"},
    {"another rank",
     {F32, 1, {4}, {1, 2, 3, 4}},
     {F32, 2, {4, 1}, {1, 2, 3, 4}},
     "expected equal shapes",
     "expected equal shapes"},
    {"another type",
     {F32, 1, {4}, {1, 2, 3, 4}},
     {I32, 1, {4}, {1, 2, 3, 4}},
     "expected equal element types",
     "expected equal element types"},
    // Only the first byte of each float counts: 2^-127 and 2^-126.
    {"floats that have no zero",
     {0x28000008, 1, {1}, {0}},
     {0x28000008, 1, {1}, {0x1.000002p0f}},
     "expected equal values, element 0 differs",
     NULL},
    {"no floats",
     {I32, 1, {4}, {1, 2, 3, 4}},
     {I32, 1, {4}, {1, 2, 3, 4}},
     NULL,
     "expected floats to compare"},
};

static void views_are_equal_or_almost(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const char *wanted[] = {row->equal, row->almost};
    const char *names[] = {"expect_eq", "expect_almost_eq"};
    for (int i = 0; i < 2; i++) {
      fc_error_t err = {0};
      // The tolerances allow a little more than 0.1 + 0.05 * 3 = 0.25.
      fc_status_t status =
          expect(names[i], &row->left, &row->right, 0.1f, 0.0501f, &err);
      assert_int_equal(status, wanted[i] ? FC_FAILED_PRECONDITION : FC_OK);
      if (!wanted[i]) continue;
      assert_string_equal(strchr(err.message, ':') + 2, wanted[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(views_are_equal_or_almost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
