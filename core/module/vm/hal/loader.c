// SPDX-License-Identifier: Apache-2.0
//
// The `hal_loader` module: executables for modules without a device. A dispatch runs
// immediately, on ranges of !vm.buffer. On workers.
#include <inttypes.h>

#include "module/vm/buffer.h"
#include "module/vm/context.h"
#include "module/vm/hal/calls.h"
#include "module/vm/hal/executable.h"
#include "module/vm/hal/hal.h"

#define LOADER_VERSION 1

// Operands: (format) -> 1 if this processor runs the format, even if it is machine
// code that is not allowed: then `load` fails.
static fc_status_t query_support(fc_vm_native_call_t *call, fc_error_t *err) {
  fc_str_t format;
  FC_TRY(fc_hal_text(call, 0, &format, err));
  call->results[0].i32 = fc_hal_format_is_supported(format);
  return FC_OK;
}

// Operands: (format, data, constants)
static fc_status_t load(fc_vm_native_call_t *call, fc_error_t *err) {
  return fc_hal_executable_from_call(call, 0, err);
}

static fc_status_t bindings_of(const fc_vm_native_call_t *call, uint32_t first,
                               void **bindings, size_t *sizes,
                               fc_error_t *err) {
  const fc_vm_raw_t *a = call->arguments;
  for (uint32_t i = 0; i < call->spans[1]; i++) {
    const uint32_t at = first + 3 * i;
    const int64_t offset = a[at + 1].i64, size = a[at + 2].i64;
    fc_vm_buffer_t *buffer;
    FC_TRY(fc_hal_argument(call, at, FC_VM_TYPE_BUFFER, false, &buffer, err));
    bindings[i] = fc_vm_buffer_at(buffer, offset, size, 1);
    if (!bindings[i]) {
      return fc_vm_buffer_range_error(buffer, offset, size, 1, err);
    }
    sizes[i] = (size_t)size;
  }
  return FC_OK;
}

// Operands: (executable, function, x, y, z, constants…, (buffer, offset, length)…)
static fc_status_t run(fc_vm_native_call_t *call, int64_t function,
                       fc_error_t *err) {
  const fc_vm_raw_t *a = call->arguments;
  const uint32_t constant_count = call->spans[0];
  fc_hal_executable_t *executable;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_EXECUTABLE, false, &executable,
                         err));
  if (constant_count > FC_DISPATCH_CONSTANTS_MAX ||
      call->spans[1] > FC_DISPATCH_BINDINGS_MAX) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "dispatch with %" PRIu32 " constants and %" PRIu32
                       " bindings",
                       constant_count, call->spans[1]);
  }
  uint32_t constants[FC_DISPATCH_CONSTANTS_MAX];
  void *bindings[FC_DISPATCH_BINDINGS_MAX];
  size_t sizes[FC_DISPATCH_BINDINGS_MAX];
  for (uint32_t i = 0; i < constant_count; i++) {
    constants[i] = (uint32_t)a[5 + i].i32;
  }
  FC_TRY(bindings_of(call, 5 + constant_count, bindings, sizes, err));
  const fc_hal_dispatch_t dispatch = {
      .function = function,
      .count = {(uint32_t)a[2].i32, (uint32_t)a[3].i32, (uint32_t)a[4].i32},
      .constants = constants,
      .constant_count = constant_count,
      .bindings = bindings,
      .binding_sizes = sizes,
      .binding_count = call->spans[1]};
  const uint64_t state = fc_cpu_denormals_flush();
  fc_status_t status =
      fc_hal_executable_run(executable, call->invocation, &dispatch, err);
  fc_cpu_denormals_restore(state);
  return status;
}

// Up to hal 6, `function` is the place in the export table; later it is the id
// from lookup.function. Here both are the same number.
static fc_status_t dispatch_index(fc_vm_native_call_t *call, fc_error_t *err) {
  return run(call, call->arguments[1].i32, err);
}

static fc_status_t dispatch(fc_vm_native_call_t *call, fc_error_t *err) {
  return run(call, call->arguments[1].i64, err);
}

static const fc_vm_native_function_t functions[] = {
    {"executable.dispatch", "0riiiiCiDCrIID_v", FC_VM_EFFECT_BUFFER,
     dispatch_index},
    {"executable.dispatch", "0rIiiiCiDCrIID_v", FC_VM_EFFECT_BUFFER, dispatch},
    {"executable.load", "0rrr_r", FC_VM_EFFECT_LONG, load},
    {"executable.lookup.function", "0rr_I", FC_VM_EFFECT_NONE,
     fc_hal_call_executable_lookup},
    {"executable.query_support", "0r_i", FC_VM_EFFECT_NONE, query_support},
};

const fc_vm_native_module_t fc_vm_hal_loader = {
    .name = "hal_loader",
    .version = LOADER_VERSION,
    .functions = functions,
    .function_count = FC_ARRAY_COUNT(functions),
    .state_create = fc_hal_state_create,
    .state_destroy = fc_hal_state_destroy};

const fc_vm_native_module_t fc_vm_hal_loader_sandboxed = {
    .name = "hal_loader",
    .version = LOADER_VERSION,
    .functions = functions,
    .function_count = FC_ARRAY_COUNT(functions),
    .state_create = fc_hal_state_create_sandboxed,
    .state_destroy = fc_hal_state_destroy};
