// SPDX-License-Identifier: Apache-2.0
//
// hal.device.queue.*. A queue operation checks its wait fence, does its work, and
// signals its signal fence with the outcome. Two operations do not: `write` is not
// supported and fails, `flush` has nothing to do. The first operands are always (device,
// affinity, wait, signal, …). On workers.
#include <inttypes.h>

#include "module/vm/buffer.h"
#include "module/vm/hal/calls.h"
#include "module/vm/hal/command.h"
#include "module/vm/stack.h"

typedef struct queue_t {
  fc_hal_fence_t *wait;
  fc_hal_fence_t *signal;
} queue_t;

static fc_status_t begin(fc_vm_native_call_t *call, queue_t *queue,
                         fc_error_t *err) {
  FC_TRY(
      fc_hal_argument(call, 2, FC_VM_TYPE_HAL_FENCE, true, &queue->wait, err));
  FC_TRY(fc_hal_argument(call, 3, FC_VM_TYPE_HAL_FENCE, true, &queue->signal,
                         err));
  fc_status_t status = fc_hal_await(queue->wait, err);
  if (status != FC_OK) fc_hal_signal(queue->signal, status);
  return status;
}

static fc_status_t end(const queue_t *queue, fc_status_t status) {
  fc_hal_signal(queue->signal, status);
  return status;
}

FC_HAL_CALL(queue_barrier) {
  queue_t queue;
  FC_TRY(begin(call, &queue, err));
  return end(&queue, FC_OK);
}

// Operands: (…, pool, memory types, usage, size, [flags])
FC_HAL_CALL(queue_alloca) {
  queue_t queue;
  FC_TRY(begin(call, &queue, err));
  fc_hal_buffer_t *buffer = NULL;
  fc_status_t status = fc_hal_buffer_create_in(
      call->invocation, call->heap, call->arguments[7].i64, &buffer, err);
  if (status == FC_OK) fc_hal_give(call, &buffer->object);
  return end(&queue, status);
}

// Operands: (…, target, offset, length, pattern, pattern size, flags)
FC_HAL_CALL(queue_fill) {
  const fc_vm_raw_t *a = call->arguments;
  queue_t queue;
  fc_hal_buffer_t *target;
  FC_TRY(begin(call, &queue, err));
  fc_status_t status =
      fc_hal_argument(call, 4, FC_VM_TYPE_HAL_BUFFER, false, &target, err);
  if (status == FC_OK) {
    status = fc_hal_fill(call->invocation, target, a[5].i64, a[6].i64,
                         (uint32_t)a[7].i64, a[8].i32, err);
  }
  return end(&queue, status);
}

static fc_status_t update(const fc_vm_native_call_t *call, fc_error_t *err) {
  const fc_vm_raw_t *a = call->arguments;
  fc_vm_buffer_t *source;
  fc_hal_buffer_t *target;
  FC_TRY(fc_hal_argument(call, 4, FC_VM_TYPE_BUFFER, false, &source, err));
  FC_TRY(fc_hal_argument(call, 6, FC_VM_TYPE_HAL_BUFFER, false, &target, err));
  const uint8_t *data = fc_vm_buffer_at(source, a[5].i64, a[8].i64, 1);
  if (!data) {
    return fc_vm_buffer_range_error(source, a[5].i64, a[8].i64, 1, err);
  }
  return fc_hal_update(call->invocation, data, target, a[7].i64, a[8].i64, err);
}

// Operands: (…, source, offset, target, offset, length, flags)
FC_HAL_CALL(queue_update) {
  queue_t queue;
  FC_TRY(begin(call, &queue, err));
  return end(&queue, update(call, err));
}

static fc_status_t copy(const fc_vm_native_call_t *call, fc_error_t *err) {
  const fc_vm_raw_t *a = call->arguments;
  fc_hal_buffer_t *source, *target;
  FC_TRY(fc_hal_argument(call, 4, FC_VM_TYPE_HAL_BUFFER, false, &source, err));
  FC_TRY(fc_hal_argument(call, 6, FC_VM_TYPE_HAL_BUFFER, false, &target, err));
  return fc_hal_copy(call->invocation, source, a[5].i64, target, a[7].i64,
                     a[8].i64, err);
}

FC_HAL_CALL(queue_copy) {
  queue_t queue;
  FC_TRY(begin(call, &queue, err));
  return end(&queue, copy(call, err));
}

static fc_status_t read_file(const fc_vm_native_call_t *call, fc_error_t *err) {
  const fc_vm_raw_t *a = call->arguments;
  fc_hal_file_t *file;
  fc_hal_buffer_t *target;
  FC_TRY(fc_hal_argument(call, 4, FC_VM_TYPE_HAL_FILE, false, &file, err));
  FC_TRY(fc_hal_argument(call, 6, FC_VM_TYPE_HAL_BUFFER, false, &target, err));
  const int64_t offset = a[5].i64, size = a[8].i64;
  if (offset < 0 || size < 0 || (uint64_t)offset > file->size ||
      (uint64_t)size > file->size - (uint64_t)offset) {
    return fc_hal_fail(err, FC_OUT_OF_RANGE,
                       "read of %" PRId64 " bytes at %" PRId64
                       " of a file of %" PRIu64,
                       size, offset, file->size);
  }
  return fc_hal_update(call->invocation, file->data + offset, target, a[7].i64,
                       size, err);
}

// Operands: (device, affinity, wait, signal, file, offset in it, target, offset in it,
// length, flags)
FC_HAL_CALL(queue_read) {
  queue_t queue;
  FC_TRY(begin(call, &queue, err));
  return end(&queue, read_file(call, err));
}

FC_HAL_CALL(queue_write) {
  (void)call;
  return fc_hal_fail(err, FC_UNIMPLEMENTED,
                     "hal.device.queue.write is not supported");
}

static fc_status_t run_commands(fc_vm_native_call_t *call,
                                fc_vm_object_t *object,
                                const fc_hal_table_t *table, fc_error_t *err) {
  const fc_hal_command_buffer_t *commands;
  FC_TRY(fc_hal_expect(object, FC_VM_TYPE_HAL_COMMAND_BUFFER, false, &commands,
                       err));
  return fc_hal_command_buffer_run(commands, call->invocation, table, err);
}

// Operands: (…, commands, flags)
FC_HAL_CALL(queue_execute) {
  static const fc_hal_table_t empty = {0};
  queue_t queue;
  FC_TRY(begin(call, &queue, err));
  return end(&queue, run_commands(call, call->arguments[4].ref, &empty, err));
}

// Operands: (…, commands…): one command buffer, or none; without one this is only a
// barrier.
FC_HAL_CALL(queue_execute_span) {
  static const fc_hal_table_t empty = {0};
  queue_t queue;
  FC_TRY(begin(call, &queue, err));
  if (call->spans[0] > 1) {
    return end(&queue, fc_hal_fail(err, FC_INVALID_ARGUMENT,
                                   "%" PRIu32 " command buffers in one execute",
                                   call->spans[0]));
  }
  fc_status_t status = FC_OK;
  if (call->spans[0]) {
    status = run_commands(call, call->arguments[4].ref, &empty, err);
  }
  return end(&queue, status);
}

#define TABLE_MAX 256

// Operands: (…, commands, [flags,] (buffer, offset, length)…)
static fc_status_t execute_indirect(fc_vm_native_call_t *call, uint32_t first,
                                    fc_error_t *err) {
  const fc_vm_raw_t *a = call->arguments;
  const uint32_t count = call->spans[0];
  if (count > TABLE_MAX) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "binding table of %" PRIu32 " entries, at most %d",
                       count, TABLE_MAX);
  }
  fc_vm_stack_t *stack = call->invocation->stack;
  const size_t size = count * sizeof(fc_hal_binding_t);
  fc_hal_binding_t *entries = fc_vm_stack_alloc(stack, size, err);
  if (!entries) return FC_RESOURCE_EXHAUSTED;
  fc_status_t status = FC_OK;
  for (uint32_t i = 0; i < count && status == FC_OK; i++) {
    const uint32_t at = first + 3 * i;
    status = fc_hal_binding_argument(call, at, 0, a[at + 1].i64, a[at + 2].i64,
                                     &entries[i], err);
  }
  const fc_hal_table_t table = {entries, count};
  if (status == FC_OK) status = run_commands(call, a[4].ref, &table, err);
  fc_vm_stack_free(stack, entries, size);
  return status;
}

FC_HAL_CALL(queue_execute_indirect_5) {
  queue_t queue;
  FC_TRY(begin(call, &queue, err));
  return end(&queue, execute_indirect(call, 5, err));
}

FC_HAL_CALL(queue_execute_indirect) {
  queue_t queue;
  FC_TRY(begin(call, &queue, err));
  return end(&queue, execute_indirect(call, 6, err));
}
