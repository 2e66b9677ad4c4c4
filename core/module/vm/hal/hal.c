// SPDX-License-Identifier: Apache-2.0
//
// The table of the `hal` module and its state in a context. create_state makes the only
// device and its allocator (objects.h).
#include "module/vm/hal/hal.h"

#include "module/vm/context.h"
#include "module/vm/hal/calls.h"

#define HAL_VERSION 7

static const fc_vm_native_function_t functions[] = {
#define FC_HAL(name, cconv, effect, function) \
  {name, cconv, FC_VM_EFFECT_##effect, fc_hal_call_##function},
#include "module/vm/hal/hal.def"
#undef FC_HAL
};

void fc_hal_state_destroy(fc_vm_context_t *context, void *state_pointer) {
  fc_hal_state_t *state = state_pointer;
  if (!state) return;
  fc_vm_release(state->device);
  fc_vm_release(state->allocator);
  fc_free(context->allocator, state);
}

static fc_status_t create_state(fc_vm_context_t *context, bool allow_native,
                                void **out_state, fc_error_t *err) {
  fc_hal_state_t *state = fc_alloc(context->allocator, sizeof *state);
  if (!state) return fc_fail_memory(err);
  state->allow_native = allow_native;
  fc_cpu_read(&state->cpu);
  fc_status_t status = fc_hal_handle_create(
      &context->heap, FC_VM_TYPE_HAL_DEVICE, &state->device, err);
  if (status == FC_OK) {
    status = fc_hal_handle_create(&context->heap, FC_VM_TYPE_HAL_ALLOCATOR,
                                  &state->allocator, err);
  }
  if (status != FC_OK) {
    fc_hal_state_destroy(context, state);
    return status;
  }
  *out_state = state;
  return FC_OK;
}

fc_status_t fc_hal_state_create(fc_vm_context_t *context, void **out_state,
                                fc_error_t *err) {
  return create_state(context, true, out_state, err);
}

fc_status_t fc_hal_state_create_sandboxed(fc_vm_context_t *context,
                                          void **out_state, fc_error_t *err) {
  return create_state(context, false, out_state, err);
}

const fc_vm_native_module_t fc_vm_hal = {
    .name = "hal",
    .version = HAL_VERSION,
    .functions = functions,
    .function_count = FC_ARRAY_COUNT(functions),
    .state_create = fc_hal_state_create,
    .state_destroy = fc_hal_state_destroy};

const fc_vm_native_module_t fc_vm_hal_sandboxed = {
    .name = "hal",
    .version = HAL_VERSION,
    .functions = functions,
    .function_count = FC_ARRAY_COUNT(functions),
    .state_create = fc_hal_state_create_sandboxed,
    .state_destroy = fc_hal_state_destroy};
