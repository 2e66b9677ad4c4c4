// SPDX-License-Identifier: Apache-2.0
//
// The imports hal.command_buffer.*: each reads its operands and records a command. On
// workers.
#include <inttypes.h>

#include "module/vm/hal/calls.h"
#include "module/vm/hal/command.h"

static fc_status_t commands_argument(const fc_vm_native_call_t *call,
                                     fc_hal_command_buffer_t **out,
                                     fc_error_t *err) {
  return fc_hal_argument(call, 0, FC_VM_TYPE_HAL_COMMAND_BUFFER, false, out,
                         err);
}

fc_status_t fc_hal_binding_argument(const fc_vm_native_call_t *call,
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
  fc_hal_give(call, (fc_vm_object_t *)commands);
  return FC_OK;
}

FC_HAL_CALL(command_buffer_finalize) {
  fc_hal_command_buffer_t *commands;
  FC_TRY(commands_argument(call, &commands, err));
  return fc_hal_command_buffer_finalize(commands, err);
}

// Operands: (commands, target, offset, length, slot, pattern, pattern size, flags)
static fc_status_t record_fill(fc_vm_native_call_t *call, uint32_t pattern,
                               fc_error_t *err) {
  const fc_vm_raw_t *a = call->arguments;
  fc_hal_command_buffer_t *commands;
  fc_hal_binding_t target;
  FC_TRY(commands_argument(call, &commands, err));
  FC_TRY(fc_hal_binding_argument(call, 1, a[4].i32, a[2].i64, a[3].i64, &target,
                                 err));
  return fc_hal_record_fill(commands, &target, pattern, a[6].i32, err);
}

FC_HAL_CALL(command_buffer_fill_i32) {
  return record_fill(call, (uint32_t)call->arguments[5].i32, err);
}

FC_HAL_CALL(command_buffer_fill) {
  return record_fill(call, (uint32_t)call->arguments[5].i64, err);
}

// Operands: (commands, source, offset, target, offset, length, slot, flags)
FC_HAL_CALL(command_buffer_update) {
  const fc_vm_raw_t *a = call->arguments;
  fc_hal_command_buffer_t *commands;
  fc_vm_buffer_t *source;
  fc_hal_binding_t target;
  FC_TRY(commands_argument(call, &commands, err));
  FC_TRY(fc_hal_argument(call, 1, FC_VM_TYPE_BUFFER, false, &source, err));
  FC_TRY(fc_hal_binding_argument(call, 3, a[6].i32, a[4].i64, a[5].i64, &target,
                                 err));
  const uint8_t *data = fc_vm_buffer_at(source, a[2].i64, a[5].i64, 1);
  if (!data) {
    return fc_vm_buffer_range_error(source, a[2].i64, a[5].i64, 1, err);
  }
  FC_TRY(fc_vm_work(call->invocation, (uint64_t)a[5].i64, err));
  return fc_hal_record_update(commands, data, &target, err);
}

// Operands: (commands, slot, slot, source, offset, target, offset, length, flags)
FC_HAL_CALL(command_buffer_copy) {
  const fc_vm_raw_t *a = call->arguments;
  fc_hal_command_buffer_t *commands;
  fc_hal_binding_t source, target;
  FC_TRY(commands_argument(call, &commands, err));
  FC_TRY(fc_hal_binding_argument(call, 3, a[1].i32, a[4].i64, a[7].i64, &source,
                                 err));
  FC_TRY(fc_hal_binding_argument(call, 5, a[2].i32, a[6].i64, a[7].i64, &target,
                                 err));
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

// Records a dispatch. From operand 6 on, both kinds of dispatch have the same operands:
// flags, constants…, bindings…
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
    FC_TRY(fc_hal_binding_argument(call, at + 2, a[at + 1].i32, a[at + 3].i64,
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

// Operands: (commands, executable, function, x, y, z, flags, …). Up to hal 6 the function
// is an index of the export table, later an id from executable.lookup.function.
// Here both are the same number.
FC_HAL_CALL(command_buffer_dispatch_index) {
  return record_dispatch(call, call->arguments[2].i32, NULL, err);
}

FC_HAL_CALL(command_buffer_dispatch) {
  return record_dispatch(call, call->arguments[2].i64, NULL, err);
}

// Operands: (commands, executable, function, slot, buffer, offset, flags, …)
static fc_status_t record_indirect(fc_vm_native_call_t *call, int64_t function,
                                   fc_error_t *err) {
  const fc_vm_raw_t *a = call->arguments;
  fc_hal_binding_t counts;
  FC_TRY(fc_hal_binding_argument(call, 4, a[3].i32, a[5].i64,
                                 3 * sizeof(uint32_t), &counts, err));
  return record_dispatch(call, function, &counts, err);
}

FC_HAL_CALL(command_buffer_dispatch_indirect_index) {
  return record_indirect(call, call->arguments[2].i32, err);
}

FC_HAL_CALL(command_buffer_dispatch_indirect) {
  return record_indirect(call, call->arguments[2].i64, err);
}
