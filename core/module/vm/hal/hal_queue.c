// SPDX-License-Identifier: Apache-2.0
//
// hal.device*, hal.command_buffer.*, hal.executable.*, hal.fence.*. A queue operation
// looks at its wait fence, does its work, and says on its signal fence how it went. Two
// do not: `write` is not supported and fails, `flush` has nothing to do. A null fence
// counts as signalled. Lists in parentheses name the operands of the function below. On
// workers.
#include <inttypes.h>

#include "module/vm/buffer.h"
#include "module/vm/hal/calls.h"
#include "module/vm/hal/command.h"
#include "module/vm/stack.h"

static void give(fc_vm_native_call_t *call, fc_vm_object_t *object) {
  call->results[0].ref = object;
}

static const fc_hal_state_t *state_of(const fc_vm_native_call_t *call) {
  return call->state;
}

// ---------------------------------------------------------------------------
// Fences

static fc_status_t pending(fc_error_t *err) {
  // Every operation here is finished when its call returns. So no operation is left
  // that could signal the fence, and waiting for it would never end.
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
  give(call, &fence->object);
  return FC_OK;
}

FC_HAL_CALL(fence_signal) {
  fc_hal_fence_t *fence;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_FENCE, false, &fence, err));
  fc_hal_signal(fence, FC_OK);
  return FC_OK;
}

// (fence, status)
FC_HAL_CALL(fence_fail) {
  fc_hal_fence_t *fence;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_FENCE, false, &fence, err));
  const fc_status_t status = (fc_status_t)(call->arguments[1].i32 & 31);
  fc_hal_signal(fence, status == FC_OK ? FC_UNKNOWN : status);
  return FC_OK;
}

// Gives a status: of a signalled fence OK or why it failed, of another fence DEFERRED, of
// null OK.
FC_HAL_CALL(fence_query) {
  fc_hal_fence_t *fence;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_FENCE, true, &fence, err));
  fc_status_t status = FC_OK;
  if (fence) status = fence->signaled ? fence->failure : FC_DEFERRED;
  call->results[0].i32 = (int32_t)status;
  return FC_OK;
}

// Joins the fences from operand `first` on. The result is signalled if all of them are by
// now, and has the first failure among them. If all are null, the result is null, which
// counts as signalled.
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
  give(call, &joined->object);
  return FC_OK;
}

FC_HAL_CALL(fence_join_5) { return join(call, 0, err); }
FC_HAL_CALL(fence_join) { return join(call, 1, err); }

// Looks at the fences in order. A signalled fence that has failed makes the call fail
// here, where the reason is known. A fence that is not signalled will not be while the
// call waits: if the timeout is not negative, the result is DEADLINE_EXCEEDED at once,
// otherwise the call fails.
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

// (timeout, fences…) in hal 5, later (timeout, flags, fences…)
FC_HAL_CALL(fence_await_5) { return await_all(call, 1, err); }
FC_HAL_CALL(fence_await) { return await_all(call, 2, err); }

// ---------------------------------------------------------------------------
// Devices

FC_HAL_CALL(devices_count) {
  (void)err;
  call->results[0].i32 = 1;
  return FC_OK;
}

FC_HAL_CALL(devices_get) {
  (void)err;
  if (call->arguments[0].i32 == 0)
    give(call, fc_vm_retain(state_of(call)->device));
  return FC_OK;
}

FC_HAL_CALL(device_allocator) {
  (void)err;
  give(call, fc_vm_retain(state_of(call)->allocator));
  return FC_OK;
}

// '*' stands for any text, '?' for any character. After a later star an earlier
// one is never tried again, so the time is bounded by the product of both
// sizes.
static bool glob(fc_str_t pattern, fc_str_t text) {
  size_t p = 0, t = 0, star = SIZE_MAX, mark = 0;
  while (t < text.size) {
    if (p < pattern.size && pattern.data[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size &&
               (pattern.data[p] == '?' || pattern.data[p] == text.data[t])) {
      p++;
      t++;
    } else if (star != SIZE_MAX) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size && pattern.data[p] == '*') p++;
  return p == pattern.size;
}

// (device, category, key) -> (known, value); what is unknown is no error.
FC_HAL_CALL(device_query) {
  fc_str_t category, key;
  FC_TRY(fc_hal_text(call, 1, &category, err));
  FC_TRY(fc_hal_text(call, 2, &key, err));
  const fc_hal_state_t *state = state_of(call);
  bool known = true;
  int64_t value = 0;
  if (fc_str_equal(category, FC_STR("hal.device.id"))) {
    value = glob(key, FC_STR("local-sync"));
  } else if (fc_str_equal(category, FC_STR("hal.executable.format"))) {
    value = fc_hal_format_is_supported(key);
  } else if (fc_str_equal(category, FC_STR("hal.cpu"))) {
    const fc_cpu_answer_t answer = fc_cpu_has(&state->cpu, key);
    known = answer != FC_CPU_UNKNOWN;
    value = answer == FC_CPU_YES;
  } else {
    known = fc_str_equal(key, FC_STR("concurrency"));
    value = known;
  }
  call->results[0].i32 = known;
  call->results[1].i64 = value;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Executables

// (device, format, data, constants) in hal 5, later (device, affinity, format, …)
FC_HAL_CALL(executable_create_5) {
  return fc_hal_executable_from_call(call, 1, err);
}
FC_HAL_CALL(executable_create) {
  return fc_hal_executable_from_call(call, 2, err);
}

// (executable, name) -> id
FC_HAL_CALL(executable_lookup) {
  fc_hal_executable_t *executable;
  fc_str_t name;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_EXECUTABLE, false, &executable,
                         err));
  FC_TRY(fc_hal_text(call, 1, &name, err));
  return fc_hal_executable_lookup(executable, call->invocation, name,
                                  &call->results[0].i64, err);
}

// ---------------------------------------------------------------------------
// Command buffers

static fc_status_t commands_argument(const fc_vm_native_call_t *call,
                                     fc_hal_command_buffer_t **out,
                                     fc_error_t *err) {
  return fc_hal_argument(call, 0, FC_VM_TYPE_HAL_COMMAND_BUFFER, false, out,
                         err);
}

// Makes a binding of a buffer operand, or of the slot when the buffer is null.
static fc_status_t binding_argument(const fc_vm_native_call_t *call,
                                    uint32_t buffer, int32_t slot,
                                    int64_t offset, int64_t size,
                                    fc_hal_binding_t *out, fc_error_t *err) {
  *out = (fc_hal_binding_t){.slot = slot, .offset = offset, .size = size};
  return fc_hal_argument(call, buffer, FC_VM_TYPE_HAL_BUFFER, true,
                         &out->buffer, err);
}

FC_HAL_CALL(command_buffer_create) {
  fc_hal_command_buffer_t *commands;
  FC_TRY(fc_hal_command_buffer_create(call->heap, &commands, err));
  give(call, (fc_vm_object_t *)commands);
  return FC_OK;
}

FC_HAL_CALL(command_buffer_finalize) {
  fc_hal_command_buffer_t *commands;
  FC_TRY(commands_argument(call, &commands, err));
  return fc_hal_command_buffer_finalize(commands, err);
}

// (commands, target, offset, length, slot, pattern, pattern size, flags)
static fc_status_t record_fill(fc_vm_native_call_t *call, uint32_t pattern,
                               fc_error_t *err) {
  const fc_vm_raw_t *a = call->arguments;
  fc_hal_command_buffer_t *commands;
  fc_hal_binding_t target;
  FC_TRY(commands_argument(call, &commands, err));
  FC_TRY(binding_argument(call, 1, a[4].i32, a[2].i64, a[3].i64, &target, err));
  return fc_hal_record_fill(commands, &target, pattern, a[6].i32, err);
}

FC_HAL_CALL(command_buffer_fill_i32) {
  return record_fill(call, (uint32_t)call->arguments[5].i32, err);
}

FC_HAL_CALL(command_buffer_fill) {
  return record_fill(call, (uint32_t)call->arguments[5].i64, err);
}

// (commands, source, offset, target, offset, length, slot, flags)
FC_HAL_CALL(command_buffer_update) {
  const fc_vm_raw_t *a = call->arguments;
  fc_hal_command_buffer_t *commands;
  fc_vm_buffer_t *source;
  fc_hal_binding_t target;
  FC_TRY(commands_argument(call, &commands, err));
  FC_TRY(fc_hal_argument(call, 1, FC_VM_TYPE_BUFFER, false, &source, err));
  FC_TRY(binding_argument(call, 3, a[6].i32, a[4].i64, a[5].i64, &target, err));
  const uint8_t *data = fc_vm_buffer_at(source, a[2].i64, a[5].i64, 1);
  if (!data) {
    return fc_vm_buffer_range_error(source, a[2].i64, a[5].i64, 1, err);
  }
  FC_TRY(fc_vm_work(call->invocation, (uint64_t)a[5].i64, err));
  return fc_hal_record_update(commands, data, &target, err);
}

// (commands, slot, slot, source, offset, target, offset, length, flags)
FC_HAL_CALL(command_buffer_copy) {
  const fc_vm_raw_t *a = call->arguments;
  fc_hal_command_buffer_t *commands;
  fc_hal_binding_t source, target;
  FC_TRY(commands_argument(call, &commands, err));
  FC_TRY(binding_argument(call, 3, a[1].i32, a[4].i64, a[7].i64, &source, err));
  FC_TRY(binding_argument(call, 5, a[2].i32, a[6].i64, a[7].i64, &target, err));
  return fc_hal_record_copy(commands, &source, &target, err);
}

FC_HAL_CALL(command_buffer_collective) {
  (void)call;
  return fc_hal_fail(err, FC_UNIMPLEMENTED,
                     "hal.command_buffer.collective is not supported");
}

enum {
  DISPATCH_CUSTOM_ARGUMENTS = 1 << 2,
  DISPATCH_INDIRECT_ARGUMENTS = 1 << 3 | 1 << 4,
};

// From operand 6 on both kinds of dispatch agree: flags, constants…, bindings…
static fc_status_t record_dispatch(fc_vm_native_call_t *call, int64_t function,
                                   const fc_hal_binding_t *count_source,
                                   fc_error_t *err) {
  const fc_vm_raw_t *a = call->arguments;
  fc_hal_command_buffer_t *commands;
  fc_hal_recorded_dispatch_t dispatch = {.function = function,
                                         .count_source = count_source};
  FC_TRY(commands_argument(call, &commands, err));
  FC_TRY(fc_hal_argument(call, 1, FC_VM_TYPE_HAL_EXECUTABLE, false,
                         &dispatch.executable, err));
  const int64_t unsupported =
      DISPATCH_CUSTOM_ARGUMENTS | DISPATCH_INDIRECT_ARGUMENTS;
  if (a[6].i64 & unsupported) {
    return fc_hal_fail(err, FC_UNIMPLEMENTED,
                       "dispatch flags %" PRIx64 " are not supported",
                       (uint64_t)(a[6].i64 & unsupported));
  }
  const uint32_t constant_count = call->spans[0];
  const uint32_t binding_count = call->spans[1];
  if (constant_count > FC_DISPATCH_CONSTANTS_MAX ||
      binding_count > FC_DISPATCH_BINDINGS_MAX) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "dispatch with %" PRIu32 " constants and %" PRIu32
                       " bindings",
                       constant_count, binding_count);
  }
  uint32_t constants[FC_DISPATCH_CONSTANTS_MAX];
  fc_hal_binding_t bindings[FC_DISPATCH_BINDINGS_MAX];
  for (uint32_t i = 0; i < constant_count; i++) {
    constants[i] = (uint32_t)a[7 + i].i32;
  }
  // Each binding is (reserved, slot, buffer, offset, length).
  uint32_t at = 7 + constant_count;
  for (uint32_t i = 0; i < binding_count; i++, at += 5) {
    FC_TRY(binding_argument(call, at + 2, a[at + 1].i32, a[at + 3].i64,
                            a[at + 4].i64, &bindings[i], err));
  }
  dispatch.constants = constants;
  dispatch.constant_count = constant_count;
  dispatch.bindings = bindings;
  dispatch.binding_count = binding_count;
  if (!count_source) {
    for (uint32_t i = 0; i < 3; i++) {
      dispatch.count[i] = (uint32_t)a[3 + i].i32;
    }
  }
  return fc_hal_record_dispatch(commands, &dispatch, err);
}

// (commands, executable, function, x, y, z, flags, …): the function is an index
// of the export table up to hal 6, an id of executable.lookup.function later;
// here both are the same number.
FC_HAL_CALL(command_buffer_dispatch_index) {
  return record_dispatch(call, call->arguments[2].i32, NULL, err);
}

FC_HAL_CALL(command_buffer_dispatch) {
  return record_dispatch(call, call->arguments[2].i64, NULL, err);
}

// (commands, executable, function, slot, buffer, offset, flags, …)
static fc_status_t record_indirect(fc_vm_native_call_t *call, int64_t function,
                                   fc_error_t *err) {
  const fc_vm_raw_t *a = call->arguments;
  fc_hal_binding_t counts;
  FC_TRY(binding_argument(call, 4, a[3].i32, a[5].i64, 3 * sizeof(uint32_t),
                          &counts, err));
  return record_dispatch(call, function, &counts, err);
}

FC_HAL_CALL(command_buffer_dispatch_indirect_index) {
  return record_indirect(call, call->arguments[2].i32, err);
}

FC_HAL_CALL(command_buffer_dispatch_indirect) {
  return record_indirect(call, call->arguments[2].i64, err);
}

// ---------------------------------------------------------------------------
// Queues: (device, affinity, wait, signal, …)

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

// (…, pool, memory types, usage, size, [flags])
FC_HAL_CALL(queue_alloca) {
  queue_t queue;
  FC_TRY(begin(call, &queue, err));
  fc_hal_buffer_t *buffer = NULL;
  fc_status_t status = fc_hal_buffer_create_in(
      call->invocation, call->heap, call->arguments[7].i64, &buffer, err);
  if (status == FC_OK) give(call, &buffer->object);
  return end(&queue, status);
}

// (…, target, offset, length, pattern, pattern size, flags)
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

// (…, source, offset, target, offset, length, flags)
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

// (device, affinity, wait, signal, file, offset in it, target, offset in it, length,
//  flags)
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

// (…, commands, flags)
FC_HAL_CALL(queue_execute) {
  static const fc_hal_table_t empty = {0};
  queue_t queue;
  FC_TRY(begin(call, &queue, err));
  return end(&queue, run_commands(call, call->arguments[4].ref, &empty, err));
}

// (…, commands…): one command buffer, or none; without one this is a barrier.
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

// (…, commands, [flags,] (buffer, offset, length)…)
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
    status = binding_argument(call, at, 0, a[at + 1].i64, a[at + 2].i64,
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

// ---------------------------------------------------------------------------
// Collectives

static fc_status_t no_channels(const char *name, fc_error_t *err) {
  return fc_hal_fail(err, FC_UNIMPLEMENTED, "hal.%s is not supported", name);
}

FC_HAL_CALL(channel_create) {
  (void)call;
  return no_channels("channel.create", err);
}

FC_HAL_CALL(channel_rank_and_count) {
  (void)call;
  return no_channels("channel.rank_and_count", err);
}

FC_HAL_CALL(channel_split) {
  (void)call;
  return no_channels("channel.split", err);
}
