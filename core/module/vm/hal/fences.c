// SPDX-License-Identifier: Apache-2.0
//
// hal.fence.*. A fence that is null counts as signalled. On workers.
#include "module/vm/hal/calls.h"

static fc_status_t pending(fc_error_t *err) {
  // All operations finish before their call returns. So no operation is
  // left that could signal the fence, and waiting for it would never end.
  return fc_hal_fail(err, FC_FAILED_PRECONDITION,
                     "waits for a fence nobody has signalled");
}

fc_status_t fc_hal_await(const fc_hal_fence_t *fence, fc_error_t *err) {
  if (!fence) return FC_OK;
  if (fence->failure != FC_OK) {
    return fc_hal_fail(err, fence->failure, "the fence waited for has failed");
  }
  return fence->signaled ? FC_OK : pending(err);
}

void fc_hal_signal(fc_hal_fence_t *fence, fc_status_t status) {
  if (!fence) return;
  if (fence->failure == FC_OK) fence->failure = status;
  fence->signaled = true;
}

FC_HAL_CALL(fence_create) {
  fc_hal_fence_t *fence;
  FC_TRY(fc_hal_fence_create(call->heap, &fence, err));
  fc_hal_give(call, &fence->object);
  return FC_OK;
}

FC_HAL_CALL(fence_signal) {
  fc_hal_fence_t *fence;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_FENCE, false, &fence, err));
  fc_hal_signal(fence, FC_OK);
  return FC_OK;
}

// Operands: (fence, status)
FC_HAL_CALL(fence_fail) {
  fc_hal_fence_t *fence;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_FENCE, false, &fence, err));
  const fc_status_t status = (fc_status_t)(call->arguments[1].i32 & 31);
  fc_hal_signal(fence, status == FC_OK ? FC_UNKNOWN : status);
  return FC_OK;
}

FC_HAL_CALL(fence_query) {
  fc_hal_fence_t *fence;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_FENCE, true, &fence, err));
  fc_status_t status = FC_OK;
  if (fence) status = fence->signaled ? fence->failure : FC_DEFERRED;
  call->results[0].i32 = (int32_t)status;
  return FC_OK;
}

// Joins the fences from operand `first` on. The result is signalled if all of them are
// signalled now, and has the first failure among them. If all are null, the result is
// null, which counts as signalled.
static fc_status_t join(fc_vm_native_call_t *call, uint32_t first,
                        fc_error_t *err) {
  fc_hal_fence_t *joined = NULL;
  bool signaled = true;
  fc_status_t failure = FC_OK;
  uint32_t count = 0;
  for (uint32_t i = 0; i < call->spans[0]; i++) {
    const fc_hal_fence_t *fence;
    FC_TRY(fc_hal_argument(call, first + i, FC_VM_TYPE_HAL_FENCE, true, &fence,
                           err));
    if (!fence) continue;
    count++;
    signaled = signaled && fence->signaled;
    if (failure == FC_OK) failure = fence->failure;
  }
  if (!count) return FC_OK;
  FC_TRY(fc_hal_fence_create(call->heap, &joined, err));
  joined->signaled = signaled;
  joined->failure = failure;
  fc_hal_give(call, &joined->object);
  return FC_OK;
}

FC_HAL_CALL(fence_join_5) { return join(call, 0, err); }
FC_HAL_CALL(fence_join) { return join(call, 1, err); }

// Checks the fences in order. If a signalled fence has failed, the call fails
// here, where the reason is known. A fence that is not signalled now will not be
// signalled while the call waits. So if the timeout is not negative, the result is
// DEADLINE_EXCEEDED immediately; otherwise the call fails.
static fc_status_t await_all(fc_vm_native_call_t *call, uint32_t first,
                             fc_error_t *err) {
  call->results[0].i32 = 0;
  for (uint32_t i = 0; i < call->spans[0]; i++) {
    const fc_hal_fence_t *fence;
    FC_TRY(fc_hal_argument(call, first + i, FC_VM_TYPE_HAL_FENCE, true, &fence,
                           err));
    if (fence && !fence->signaled && call->arguments[0].i32 >= 0) {
      call->results[0].i32 = FC_DEADLINE_EXCEEDED;
      return FC_OK;
    }
    FC_TRY(fc_hal_await(fence, err));
  }
  return FC_OK;
}

// Operands: (timeout, fences…) in hal 5, later (timeout, flags, fences…)
FC_HAL_CALL(fence_await_5) { return await_all(call, 1, err); }
FC_HAL_CALL(fence_await) { return await_all(call, 2, err); }
