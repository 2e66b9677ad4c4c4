// SPDX-License-Identifier: Apache-2.0
//
// A call of a function of a module: converts its arguments, makes the call, and
// converts its results. On a worker.
#include "base/width.h"
#include "module/vm/cache.h"
#include "module/vm/hal/objects.h"
#include "module/vm/opened.h"

// What one call keeps until its results have been encoded.
typedef struct state_t {
  fc_vm_raw_t *arguments;
  fc_vm_raw_t *results;
  fc_hal_loans_t loans;
} state_t;

static void release_refs(fc_str_t letters, fc_vm_raw_t *values) {
  for (size_t i = 0; i < letters.size; i++) {
    if (letters.data[i] != 'r') continue;
    fc_vm_release(values[i].ref);
    values[i].ref = NULL;
  }
}

// Adds the two fences of an async function, its last arguments. The wait fence stays
// null, since there is nothing to wait for. The function signals the other fence.
static fc_status_t add_fences(const fc_vm_instance_t *instance,
                              const fc_backend_call_t *call, state_t *state,
                              fc_error_t *err) {
  fc_hal_fence_t *fence;
  FC_TRY(fc_hal_fence_create(&instance->context->heap, &fence, err));
  state->arguments[call->argument_count + 1].ref = &fence->object;
  return FC_OK;
}

static fc_status_t check_fence(const fc_backend_call_t *call,
                               const state_t *state, fc_error_t *err) {
  const fc_hal_fence_t *fence =
      (const fc_hal_fence_t *)state->arguments[call->argument_count + 1].ref;
  if (fence->failure != FC_OK) {
    return fc_hal_fail(err, fence->failure, "the call failed");
  }
  if (fence->signaled) return FC_OK;
  return fc_hal_fail(err, FC_INTERNAL,
                     "the function returned without signalling its fence");
}

// Makes scratch memory of the size that the module states or computes. The other
// arguments must be set before.
static fc_status_t make_transients(const fc_vm_instance_t *instance,
                                   const fc_vm_listed_t *listed,
                                   const fc_backend_call_t *call,
                                   fc_vm_invocation_t *invocation,
                                   state_t *state, fc_hal_buffer_t **out,
                                   fc_error_t *err) {
  const fc_vm_export_t *sizer = listed->transients.size_function;
  int64_t size = listed->transients.size;
  if (sizer) {
    const fc_vm_cconv_t *cconv =
        &instance->module->module->functions[sizer->function].cconv;
    fc_vm_raw_t *arguments = fc_arena_alloc_array(
        call->arena, cconv->arguments.size, sizeof *arguments);
    if (!arguments) return fc_fail_memory(err);
    memcpy(arguments, state->arguments,
           call->argument_count * sizeof *arguments);
    fc_vm_raw_t result;
    FC_TRY(fc_vm_call(instance->context, invocation, sizer->function, arguments,
                      &result, err));
    size = cconv->results.data[0] == 'I' ? result.i64 : result.i32;
  }
  return fc_hal_buffer_create_in(invocation, &instance->context->heap, size,
                                 out, err);
}

// Makes a view without elements over a buffer, for a module that expects a view.
static fc_status_t view_of(fc_hal_buffer_t *take_buffer, fc_vm_object_t **out,
                           fc_error_t *err) {
  static const int64_t kNone[] = {0};
  fc_hal_view_t *view;
  const fc_status_t status =
      fc_hal_view_create(take_buffer, 0, 0, 1, kNone, &view, err);
  fc_vm_release(&take_buffer->object);
  if (status == FC_OK) *out = &view->object;
  return status;
}

static fc_status_t make_argument(const fc_vm_instance_t *instance, size_t index,
                                 size_t raw, const fc_backend_call_t *call,
                                 fc_vm_invocation_t *invocation, state_t *state,
                                 fc_error_t *err) {
  const fc_vm_listed_t *listed = &instance->module->listed[index];
  const fc_type_t *type = fc_signature_node(instance->module->signatures[index],
                                            listed->argument_nodes[raw]);
  fc_hal_buffer_t *buffer;
  if (listed->roles[raw] == FC_ROLE_TRANSIENT) {
    FC_TRY(make_transients(instance, listed, call, invocation, state, &buffer,
                           err));
  } else {
    FC_TRY(
        fc_hal_buffer_create_awaited(&instance->context->heap, &buffer, err));
  }
  if (type->kind != FC_TYPE_OPAQUE) {
    return view_of(buffer, &state->arguments[raw].ref, err);
  }
  state->arguments[raw].ref = &buffer->object;
  return FC_OK;
}

static bool is_made(const fc_vm_listed_t *listed, size_t raw) {
  return FC_UNLIKELY(listed->roles) && listed->roles[raw];
}

// Makes the arguments that callers do not send. The other arguments must be set before.
static __attribute__((noinline)) fc_status_t make_arguments(
    const fc_vm_instance_t *instance, size_t index,
    const fc_backend_call_t *call, fc_vm_invocation_t *invocation,
    state_t *state, fc_error_t *err) {
  const fc_vm_listed_t *listed = &instance->module->listed[index];
  for (size_t i = 0; i < call->argument_count; i++) {
    if (!is_made(listed, i)) continue;
    FC_TRY(make_argument(instance, index, i, call, invocation, state, err));
  }
  return FC_OK;
}

// True when elements are narrower than a byte and thus packed in the view. Then the view
// has its own memory, so the function's writes do not reach the caller's tensor.
static bool is_packed(const fc_value_t *value) {
  return fc_width_is_odd(fc_dtype_info(value->tensor.dtype));
}

// Gets the final contents of the arguments into which the function may have written.
static fc_status_t get_finals(fc_vm_invocation_t *invocation,
                              const fc_signature_t *signature,
                              fc_backend_call_t *call, const state_t *state,
                              fc_error_t *err) {
  size_t next = signature->raw_result_count;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (!fc_role_is_answered(param->role)) continue;
    const fc_value_t *value = &call->arguments[param->raw_index];
    fc_value_t *out = &call->results[next++];
    *out = *value;
    if (value->kind != FC_VALUE_TENSOR || !is_packed(value)) continue;
    FC_TRY(fc_vm_result(invocation, call->arena,
                        state->arguments[param->raw_index], 'r', signature,
                        param->type, false, out, err));
  }
  return FC_OK;
}

static fc_status_t run(fc_vm_instance_t *instance, size_t index,
                       fc_backend_call_t *call, state_t *state,
                       fc_error_t *err) {
  fc_vm_opened_t *m = instance->module;
  const fc_vm_listed_t *listed = &m->listed[index];
  const fc_signature_t *signature = m->signatures[index];
  const fc_vm_cconv_t *cconv = &m->module->functions[listed->function].cconv;
  fc_vm_invocation_t invocation = {.stack = &instance->stack,
                                   .cancel = call->cancel,
                                   .deadline_ns = call->deadline_ns,
                                   .fuel = UINT64_MAX,
                                   .budget = call->budget,
                                   .pool = instance->pool,
                                   .guard = call->guard,
                                   .tiles = call->tiles,
                                   .profile = instance->profile};
  state->loans.invocation = &invocation;
  for (size_t i = 0; i < call->argument_count; i++) {
    if (is_made(listed, i)) continue;
    FC_TRY(fc_vm_argument(&instance->context->heap, &call->arguments[i],
                          cconv->arguments.data[i], signature,
                          listed->argument_nodes[i], &state->loans,
                          &state->arguments[i], err));
  }
  if (FC_UNLIKELY(listed->roles)) {
    FC_TRY(make_arguments(instance, index, call, &invocation, state, err));
  }
  if (signature->async) FC_TRY(add_fences(instance, call, state, err));
  if (FC_UNLIKELY(instance->profile)) {
    FC_TRY(fc_vm_call_profiled(instance->context, &invocation, listed->function,
                               state->arguments, state->results, err));
  } else {
    FC_TRY(fc_vm_call(instance->context, &invocation, listed->function,
                      state->arguments, state->results, err));
  }
  if (signature->async) FC_TRY(check_fence(call, state, err));
  for (size_t i = 0; i < cconv->results.size; i++) {
    FC_TRY(fc_vm_result(&invocation, call->arena, state->results[i],
                        cconv->results.data[i], signature,
                        listed->result_nodes[i], m->info.serial,
                        &call->results[i], err));
  }
  return get_finals(&invocation, signature, call, state, err);
}

// Makes one call. Not inlined, so that its code exists only once; `run` is inlined into
// it.
__attribute__((noinline)) fc_status_t fc_vm_backend_call(
    void *handle, size_t index, fc_backend_call_t *call, fc_error_t *err) {
  fc_vm_instance_t *instance = handle;
  fc_vm_opened_t *m = instance->module;
  const fc_signature_t *signature = m->signatures[index];
  const fc_vm_cconv_t *cconv =
      &m->module->functions[m->listed[index].function].cconv;
  call->state = NULL;
  if (!signature->callable) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "%.*s",
                   FC_STR_ARG(fc_signature_text(signature, signature->reason)));
  }
  const size_t fences = signature->async ? 2 : 0;
  if (call->argument_count + fences != cconv->arguments.size ||
      call->result_count < cconv->results.size) {
    return fc_fail(err, FC_CODE_INTERNAL,
                   "%zu arguments and %zu results for a function of %zu and "
                   "%zu",
                   call->argument_count + fences, call->result_count,
                   cconv->arguments.size, cconv->results.size);
  }
  state_t *state = fc_arena_alloc_array(call->arena, 1, sizeof *state);
  if (!state) return fc_fail_memory(err);
  state->arguments = fc_arena_alloc_array(
      call->arena, cconv->arguments.size + cconv->results.size + 1,
      sizeof(fc_vm_raw_t));
  if (!state->arguments) return fc_fail_memory(err);
  state->results = state->arguments + cconv->arguments.size;
  state->loans.arena = call->arena;
  call->state = state;
  fc_vm_cache_t *before = fc_vm_cache_use(&instance->cache);
  if (m->info.serial) pthread_mutex_lock(&m->lock);
  fc_status_t status = run(instance, index, call, state, err);
  if (m->info.serial) {
    // An argument's bytes belong to this call. If the module has kept the argument, the
    // argument gets a copy of these bytes now, while the lock is held and no other call
    // can see it.
    release_refs(cconv->arguments, state->arguments);
    fc_hal_loans_end(&state->loans);
    pthread_mutex_unlock(&m->lock);
  }
  fc_vm_cache_use(before);
  return status;
}

fc_status_t fc_vm_backend_call_profiled(void *handle, size_t index,
                                        fc_backend_call_t *call,
                                        fc_profile_t *profile,
                                        fc_error_t *err) {
  fc_vm_instance_t *instance = handle;
  instance->profile = profile;
  const fc_status_t status = fc_vm_backend_call(handle, index, call, err);
  instance->profile = NULL;
  return status;
}

void fc_vm_backend_call_end(void *handle, size_t index,
                            fc_backend_call_t *call) {
  fc_vm_instance_t *instance = handle;
  const fc_vm_opened_t *m = instance->module;
  const fc_vm_cconv_t *cconv =
      &m->module->functions[m->listed[index].function].cconv;
  state_t *state = call->state;
  if (!state) return;
  call->state = NULL;
  fc_vm_cache_t *before = fc_vm_cache_use(&instance->cache);
  release_refs(cconv->arguments, state->arguments);
  release_refs(cconv->results, state->results);
  fc_hal_loans_end(&state->loans);
  fc_vm_cache_use(before);
}
