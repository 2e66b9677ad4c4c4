// SPDX-License-Identifier: Apache-2.0
//
// Makes executables and runs dispatches, for all formats (executable_kind.h). The counts
// of a dispatch are checked here; the caller (command.c, loader.c) checks the
// ranges of buffers.
#include "module/vm/hal/executable_kind.h"

#include <inttypes.h>

#include "base/profile.h"
#include "module/vm/context.h"
#include "module/vm/hal/calls.h"

#define WORK_PER_BYTE 16  // work of reading and verifying an executable
#define WORK_PER_NAME 64  // work of comparing a kernel's name

static const fc_hal_kind_t *find_kind(fc_str_t format) {
  static const fc_hal_kind_t *const kinds[] = {&fc_hal_kind_elf,
                                               &fc_hal_kind_vmvx};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kinds); i++) {
    if (format.size && fc_str_equal(kinds[i]->format, format)) return kinds[i];
  }
  return NULL;
}

bool fc_hal_format_is_supported(fc_str_t format) {
  return find_kind(format) != NULL;
}

static void drop_file(fc_hal_executable_t *executable) {
  if (!executable->file) return;
  fc_vm_heap_free(executable->object.heap, executable->file,
                  executable->file_size);
  executable->file = NULL;
}

static void destroy_executable(fc_vm_object_t *object) {
  fc_hal_executable_t *executable = (fc_hal_executable_t *)object;
  executable->kind->close(executable);
  drop_file(executable);
  fc_vm_heap_free(object->heap, executable, executable->kind->size);
}

// Copies the bytes of the executable before they are verified. They may lie in a mapping
// of the module's file, and a write to the file would change bytes that were verified.
static fc_status_t copy_file(fc_hal_executable_t *executable, fc_str_t data,
                             fc_str_t *out, fc_error_t *err) {
  executable->file_size = data.size + 1;
  executable->file =
      fc_vm_heap_alloc(executable->object.heap, executable->file_size, 64, err);
  if (!executable->file) return FC_RESOURCE_EXHAUSTED;
  if (data.size) memcpy(executable->file, data.data, data.size);
  *out = fc_str_make((const char *)executable->file, data.size);
  return FC_OK;
}

static fc_status_t open_executable(const fc_hal_state_t *state,
                                   fc_hal_executable_t *executable,
                                   fc_vm_invocation_t *invocation,
                                   fc_str_t data, fc_str_t constants,
                                   fc_error_t *err) {
  FC_TRY(copy_file(executable, data, &data, err));
  FC_TRY(executable->kind->open(executable, state, invocation, data, constants,
                                err));
  if (!executable->kind->keeps_file) drop_file(executable);
  return FC_OK;
}

fc_status_t fc_hal_executable_create(
    const fc_hal_state_t *state, fc_vm_heap_t *heap,
    fc_vm_invocation_t *invocation, fc_str_t format, fc_str_t data,
    fc_str_t constants, fc_hal_executable_t **out, fc_error_t *err) {
  // The kind is looked up only once: the format lies in memory of the module, to which
  // another call of the module may write meanwhile.
  const fc_hal_kind_t *kind = find_kind(format);
  if (!kind || (kind->native && !state->allow_native)) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, format);
    return fc_hal_fail(err, FC_UNIMPLEMENTED,
                       "executables of format '%s' do not run here%s", shown,
                       state->allow_native ? "" : " (native code is off)");
  }
  if (constants.size % sizeof(uint32_t)) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "executable constants of %zu bytes are no 32-bit words",
                       constants.size);
  }
  FC_TRY(fc_vm_work(invocation, (uint64_t)data.size * WORK_PER_BYTE, err));
  fc_hal_executable_t *executable = fc_vm_heap_alloc(heap, kind->size, 16, err);
  if (!executable) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(&executable->object, FC_VM_TYPE_HAL_EXECUTABLE,
                    destroy_executable, heap);
  executable->kind = kind;
  fc_status_t status =
      open_executable(state, executable, invocation, data, constants, err);
  if (status != FC_OK) {
    fc_vm_release(&executable->object);
    return status;
  }
  *out = executable;
  return FC_OK;
}

fc_status_t fc_hal_executable_from_call(fc_vm_native_call_t *call,
                                        uint32_t first, fc_error_t *err) {
  fc_str_t format, data, constants;
  FC_TRY(fc_hal_text(call, first, &format, err));
  FC_TRY(fc_hal_text(call, first + 1, &data, err));
  FC_TRY(fc_hal_text(call, first + 2, &constants, err));
  const fc_vm_object_t *source = call->arguments[first + 1].ref;
  if (!source || !source->immortal) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "executables are made from constants of the module");
  }
  fc_hal_executable_t *executable;
  FC_TRY(fc_hal_executable_create(call->state, call->heap, call->invocation,
                                  format, data, constants, &executable, err));
  call->results[0].ref = &executable->object;
  return FC_OK;
}

static void enter_dispatch(const fc_hal_executable_t *executable,
                           fc_profile_t *profile,
                           const fc_hal_dispatch_t *dispatch) {
  const uint32_t index = (uint32_t)dispatch->function;
  fc_profile_place_t place = {
      .kind = FC_PROFILE_DISPATCH,
      .key = executable,
      .index = index,
      .name = executable->kind->at(executable, index).name};
  memcpy(place.grid, dispatch->count, sizeof place.grid);
  for (uint32_t i = 0; i < dispatch->binding_count; i++) {
    place.bytes += dispatch->binding_sizes[i];
  }
  fc_profile_enter(profile, &place);
}

static fc_status_t check_dispatch(const fc_hal_executable_t *executable,
                                  const fc_hal_dispatch_t *dispatch,
                                  fc_error_t *err) {
  const uint32_t count = executable->kind->count(executable);
  if (dispatch->function < 0 || dispatch->function >= (int64_t)count) {
    return fc_hal_fail(err, FC_OUT_OF_RANGE,
                       "dispatch of function %" PRId64 " of %" PRIu32,
                       dispatch->function, count);
  }
  const uint32_t index = (uint32_t)dispatch->function;
  const fc_hal_kernel_t kernel = executable->kind->at(executable, index);
  if (dispatch->constant_count != kernel.constant_count ||
      dispatch->binding_count != kernel.binding_count) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "dispatch of function %" PRIu32 " with %" PRIu32
                       " constants and %" PRIu32 " bindings, it takes %" PRIu32
                       " and %" PRIu32,
                       index, dispatch->constant_count, dispatch->binding_count,
                       kernel.constant_count, kernel.binding_count);
  }
  if (dispatch->count[2] > UINT16_MAX) {
    return fc_hal_fail(err, FC_OUT_OF_RANGE,
                       "dispatch of %" PRIu32 " workgroups in z, at most %d",
                       dispatch->count[2], UINT16_MAX);
  }
  return FC_OK;
}

fc_status_t fc_hal_executable_run(fc_hal_executable_t *executable,
                                  fc_vm_invocation_t *invocation,
                                  const fc_hal_dispatch_t *dispatch,
                                  fc_error_t *err) {
  FC_TRY(check_dispatch(executable, dispatch, err));
  const uint32_t *count = dispatch->count;
  // With a count of zero there is nothing to run. If it were run, a loop over the other
  // two counts could take 2^48 turns without checking the deadline.
  if (!count[0] || !count[1] || !count[2]) {
    return fc_vm_work(invocation, 0, err);
  }
  fc_profile_t *profile = invocation->profile;
  if (FC_UNLIKELY(profile)) enter_dispatch(executable, profile, dispatch);
  fc_status_t status =
      executable->kind->run(executable, invocation, dispatch, err);
  if (FC_UNLIKELY(profile)) fc_profile_leave(profile);
  return status;
}

// ---------------------------------------------------------------------------
// hal.executable.*

// Operands: (device, format, data, constants) in hal 5, later (device, affinity, format,
// …)
FC_HAL_CALL(executable_create_5) {
  return fc_hal_executable_from_call(call, 1, err);
}
FC_HAL_CALL(executable_create) {
  return fc_hal_executable_from_call(call, 2, err);
}

// Finds the number by which dispatches name the function: its place among the kernels.
// Costs fuel for the search.
static fc_status_t lookup(const fc_hal_executable_t *executable,
                          fc_vm_invocation_t *invocation, fc_str_t name,
                          int64_t *out_id, fc_error_t *err) {
  const uint32_t count = executable->kind->count(executable);
  FC_TRY(fc_vm_work(invocation, (uint64_t)count * WORK_PER_NAME, err));
  for (uint32_t i = 0; i < count; i++) {
    if (!fc_str_equal(executable->kind->at(executable, i).name, name)) continue;
    *out_id = i;
    return FC_OK;
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  return fc_hal_fail(err, FC_NOT_FOUND, "the executable has no function '%s'",
                     shown);
}

// Operands: (executable, name) -> id
FC_HAL_CALL(executable_lookup) {
  fc_hal_executable_t *executable;
  fc_str_t name;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_EXECUTABLE, false, &executable,
                         err));
  FC_TRY(fc_hal_text(call, 1, &name, err));
  return lookup(executable, call->invocation, name, &call->results[0].i64, err);
}
