// SPDX-License-Identifier: Apache-2.0
//
// Expectations on values and buffer views (IREE modules/check). If an expectation is not
// met, the call ends with FAILED_PRECONDITION and reports the first difference.
#include "bytecode/check.h"

#include <inttypes.h>
#include <math.h>

#include "base/float_format.h"
#include "base/width.h"
#include "module/vm/hal/objects.h"

static fc_status_t failed(fc_error_t *err, const char *what) {
  return fc_hal_fail(err, FC_FAILED_PRECONDITION, "expected %s", what);
}

static fc_status_t expect_true(fc_vm_native_call_t *call, fc_error_t *err) {
  return call->arguments[0].i32 ? FC_OK : failed(err, "true, have false");
}

static fc_status_t expect_false(fc_vm_native_call_t *call, fc_error_t *err) {
  return call->arguments[0].i32 ? failed(err, "false, have true") : FC_OK;
}

// The elements of a view.
typedef struct elements_t {
  const fc_hal_view_t *view;
  const uint8_t *data;
  uint64_t size;  // bytes
  uint64_t count;
  uint32_t width;  // bytes of an element; 0: elements are packed
} elements_t;

static fc_status_t elements_of(fc_vm_native_call_t *call, uint32_t index,
                               elements_t *out, fc_error_t *err) {
  const fc_hal_view_t *view;
  FC_TRY(fc_hal_argument(call, index, FC_VM_TYPE_HAL_BUFFER_VIEW, false, &view,
                         err));
  uint64_t size;
  if (!fc_hal_elements_size(view->element_type, view->rank, view->dims,
                            &size)) {
    return failed(err, "a view of a countable size");
  }
  uint8_t *data;
  FC_TRY(
      fc_hal_buffer_range(view->buffer, 0, (int64_t)size, &data, &size, err));
  const uint32_t width = (view->element_type & 0xFF) / 8;
  *out = (elements_t){.view = view,
                      .data = data,
                      .size = size,
                      .count = width ? size / width : size,
                      .width = width};
  return FC_OK;
}

static fc_status_t expect_all_true(fc_vm_native_call_t *call, fc_error_t *err) {
  elements_t elements;
  FC_TRY(elements_of(call, 1, &elements, err));
  const uint32_t width = elements.width ? elements.width : 1;
  for (uint64_t i = 0; i < elements.count; i++) {
    bool any = false;
    for (uint32_t byte = 0; byte < width; byte++) {
      any |= elements.data[i * width + byte] != 0;
    }
    if (any) continue;
    return fc_hal_fail(err, FC_FAILED_PRECONDITION,
                       "expected all to be true, element %" PRIu64 " is not",
                       i);
  }
  return FC_OK;
}

static fc_status_t same_shape(const elements_t *left, const elements_t *right,
                              fc_error_t *err) {
  if (left->view->element_type != right->view->element_type) {
    return failed(err, "equal element types");
  }
  if (left->view->rank != right->view->rank ||
      memcmp(left->view->dims, right->view->dims,
             left->view->rank * sizeof left->view->dims[0]) != 0) {
    return failed(err, "equal shapes");
  }
  return FC_OK;
}

static fc_status_t expect_eq(fc_vm_native_call_t *call, fc_error_t *err) {
  elements_t left, right;
  FC_TRY(elements_of(call, 1, &left, err));
  FC_TRY(elements_of(call, 2, &right, err));
  FC_TRY(same_shape(&left, &right, err));
  for (uint64_t i = 0; i < left.size; i++) {
    if (left.data[i] == right.data[i]) continue;
    return fc_hal_fail(err, FC_FAILED_PRECONDITION,
                       "expected equal values, element %" PRIu64 " differs",
                       left.width ? i / left.width : i);
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Almost equal

static bool almost_equal(double left, double right, double absolute,
                         double relative) {
  if (isnan(left) || isnan(right)) return isnan(left) && isnan(right);
  if (left == right) return true;  // equal infinities too
  // No other value is near an infinity. The formula below would accept any value if
  // `right` is infinite, because it computes inf <= inf.
  if (isinf(left) || isinf(right)) return false;
  return fabs(left - right) <= absolute + relative * fabs(right);
}

static fc_status_t expect_almost_eq(fc_vm_native_call_t *call,
                                    fc_error_t *err) {
  elements_t left, right;
  FC_TRY(elements_of(call, 1, &left, err));
  FC_TRY(elements_of(call, 2, &right, err));
  FC_TRY(same_shape(&left, &right, err));
  const fc_dtype_t dtype = fc_dtype_from_hal(left.view->element_type);
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  const fc_float_format_t *format = &fc_float_formats[dtype];
  if (left.count && !format->bias) return failed(err, "floats to compare");
  for (uint64_t i = 0; i < left.count; i++) {
    const double a =
        fc_float_value(format, fc_width_load(info, left.data + i * left.width));
    const double b = fc_float_value(
        format, fc_width_load(info, right.data + i * right.width));
    if (almost_equal(a, b, (double)call->arguments[3].f32,
                     (double)call->arguments[4].f32)) {
      continue;
    }
    return fc_hal_fail(err, FC_FAILED_PRECONDITION,
                       "expected almost equal values, element %" PRIu64
                       " is %.9g and %.9g",
                       i, a, b);
  }
  return FC_OK;
}

static const fc_vm_native_function_t functions[] = {
    {"expect_true", "0i_v", FC_VM_EFFECT_NONE, expect_true},
    {"expect_false", "0i_v", FC_VM_EFFECT_NONE, expect_false},
    {"expect_all_true", "0rr_v", FC_VM_EFFECT_NONE, expect_all_true},
    {"expect_eq", "0rrr_v", FC_VM_EFFECT_NONE, expect_eq},
    {"expect_almost_eq", "0rrrff_v", FC_VM_EFFECT_NONE, expect_almost_eq},
};

const fc_vm_native_module_t fc_vm_check = {
    .name = "check",
    .functions = functions,
    .function_count = FC_ARRAY_COUNT(functions)};
