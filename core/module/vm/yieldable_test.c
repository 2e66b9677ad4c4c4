// SPDX-License-Identifier: Apache-2.0
//
// yieldable_test (IREE runtime/src/iree/vm/testing/yieldable_test_module.h):
// functions that suspend a number of times and count each. Nothing suspends
// here, so a yield is only counted.
#include "module/vm/yieldable_test.h"

// What `yields` suspensions add; a negative number of them is none.
static int32_t after_yields(uint32_t value, int32_t yields) {
  return (int32_t)(value + (yields > 0 ? (uint32_t)yields : 0));
}

// (argument, yields) -> argument + yields
static fc_status_t yield_n(fc_vm_native_call_t *call, fc_error_t *err) {
  (void)err;
  call->results[0].i32 =
      after_yields((uint32_t)call->arguments[0].i32, call->arguments[1].i32);
  return FC_OK;
}

// (values…, yields) -> sum + yields
static fc_status_t yield_variadic_sum(fc_vm_native_call_t *call,
                                      fc_error_t *err) {
  (void)err;
  uint32_t sum = 0, count = call->spans[0];
  for (uint32_t i = 0; i < count; i++) {
    sum += (uint32_t)call->arguments[i].i32;
  }
  call->results[0].i32 = after_yields(sum, call->arguments[count].i32);
  return FC_OK;
}

static const fc_vm_native_function_t functions[] = {
    {"yield_n", "0ii_i", yield_n},
    {"yield_variadic_sum", "0CiDi_i", yield_variadic_sum},
};

const fc_vm_native_module_t fc_vm_yieldable_test = {
    .name = "yieldable_test",
    .functions = functions,
    .function_count = FC_ARRAY_COUNT(functions)};
