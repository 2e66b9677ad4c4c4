// SPDX-License-Identifier: Apache-2.0
//
// yieldable_test (IREE runtime/src/iree/vm/testing/yieldable_test_module.h) is a native
// module that only IREE's bytecode tests import. Its functions suspend several times
// and count that. Nothing suspends here: a yield is only counted.
#ifndef FARCALL_TESTS_MODULE_VM_YIELDABLE_TEST_H_
#define FARCALL_TESTS_MODULE_VM_YIELDABLE_TEST_H_

#include "module/vm/natives.h"

// The value after `yields` suspensions, each of which adds one. A negative number
// counts as 0.
static inline int32_t after_yields(uint32_t value, int32_t yields) {
  return (int32_t)(value + (yields > 0 ? (uint32_t)yields : 0));
}

// (argument, yields) -> argument + yields
static inline fc_status_t yield_n(fc_vm_native_call_t *call, fc_error_t *err) {
  (void)err;
  call->results[0].i32 =
      after_yields((uint32_t)call->arguments[0].i32, call->arguments[1].i32);
  return FC_OK;
}

// (values…, yields) -> sum + yields
static inline fc_status_t yield_variadic_sum(fc_vm_native_call_t *call,
                                             fc_error_t *err) {
  (void)err;
  uint32_t sum = 0, count = call->spans[0];
  for (uint32_t i = 0; i < count; i++) {
    sum += (uint32_t)call->arguments[i].i32;
  }
  call->results[0].i32 = after_yields(sum, call->arguments[count].i32);
  return FC_OK;
}

static const fc_vm_native_function_t yieldable_functions[] = {
    {"yield_n", "0ii_i", FC_VM_EFFECT_NONE, yield_n},
    {"yield_variadic_sum", "0CiDi_i", FC_VM_EFFECT_NONE, yield_variadic_sum},
};

static const fc_vm_native_module_t yieldable_test = {
    .name = "yieldable_test",
    .functions = yieldable_functions,
    .function_count = FC_ARRAY_COUNT(yieldable_functions)};

#endif  // FARCALL_TESTS_MODULE_VM_YIELDABLE_TEST_H_
