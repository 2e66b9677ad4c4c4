// SPDX-License-Identifier: Apache-2.0
//
// Binds imports, makes globals, and runs __init and __deinit when a context is
// made and closed. fc_vm_call runs on workers.
#include "module/vm/context.h"

#include <inttypes.h>

#include "module/vm/interp.h"

static const fc_vm_native_module_t *find_native(
    const fc_vm_native_module_t *const *natives, fc_str_t name,
    size_t *out_index) {
  for (size_t i = 0; natives && natives[i]; i++) {
    if (fc_str_equal(name, fc_str(natives[i]->name))) {
      *out_index = i;
      return natives[i];
    }
  }
  return NULL;
}

// Finds the function to which an import is bound. If there is none, *out_same_name is a
// function of that name with another convention, or NULL.
static const fc_vm_native_function_t *find_function(
    const fc_vm_native_module_t *native, const fc_vm_import_t *import,
    const fc_vm_native_function_t **out_same_name) {
  *out_same_name = NULL;
  for (size_t i = 0; native && i < native->function_count; i++) {
    const fc_vm_native_function_t *function = &native->functions[i];
    if (!fc_str_equal(import->name, fc_str(function->name))) continue;
    if (fc_str_equal(import->cconv_text, fc_str(function->cconv))) {
      return function;
    }
    *out_same_name = function;
  }
  return NULL;
}

const fc_vm_native_function_t *fc_vm_native_find(
    const fc_vm_import_t *import, const fc_vm_native_module_t *const *natives) {
  size_t index;
  const fc_vm_native_function_t *same_name;
  return find_function(find_native(natives, import->module, &index), import,
                       &same_name);
}

static fc_status_t bind_import(const fc_vm_import_t *import,
                               const fc_vm_native_module_t *const *natives,
                               const fc_vm_native_function_t **out_function,
                               size_t *out_native, fc_error_t *err) {
  const fc_vm_native_module_t *native =
      find_native(natives, import->module, out_native);
  const fc_vm_native_function_t *same_name;
  *out_function = find_function(native, import, &same_name);
  if (*out_function || import->optional) return FC_OK;
  if (same_name) {
    return fc_fail(err, FC_CODE_VMFB_IMPORT,
                   "import '%.*s' is called as %.*s, provided as %s",
                   FC_STR_ARG(import->full_name),
                   FC_STR_ARG(import->cconv_text), same_name->cconv);
  }
  return fc_fail(err, FC_CODE_VMFB_IMPORT, "import '%.*s' is not provided",
                 FC_STR_ARG(import->full_name));
}

static fc_status_t check_dependencies(
    const fc_vm_module_t *module, const fc_vm_native_module_t *const *natives,
    fc_error_t *err) {
  for (uint32_t i = 0; i < module->dependency_count; i++) {
    const fc_vm_dependency_t *dependency = &module->dependencies[i];
    size_t index;
    const fc_vm_native_module_t *native =
        find_native(natives, dependency->name, &index);
    if (!native && !dependency->optional) {
      return fc_fail(err, FC_CODE_VMFB_IMPORT, "module '%.*s' is not provided",
                     FC_STR_ARG(dependency->name));
    }
    if (native && native->version < dependency->minimum_version) {
      return fc_fail(err, FC_CODE_VMFB_IMPORT,
                     "module '%.*s' of version %" PRIu32
                     " or later is needed, %" PRIu32 " is provided",
                     FC_STR_ARG(dependency->name), dependency->minimum_version,
                     native->version);
    }
  }
  return FC_OK;
}

fc_status_t fc_vm_bind(const fc_vm_module_t *module,
                       const fc_vm_native_module_t *const *natives,
                       fc_error_t *err) {
  for (uint32_t i = 0; i < module->import_count; i++) {
    const fc_vm_native_function_t *function;
    size_t native;
    FC_TRY(bind_import(&module->imports[i], natives, &function, &native, err));
  }
  return check_dependencies(module, natives, err);
}

static fc_status_t create_states(fc_vm_context_t *context, fc_error_t *err) {
  size_t count = 0;
  while (context->natives && context->natives[count]) count++;
  context->native_states =
      fc_alloc_array(context->allocator, count, sizeof(void *));
  if (!context->native_states) return fc_fail_memory(err);
  for (size_t i = 0; i < count; i++) {
    const fc_vm_native_module_t *native = context->natives[i];
    context->native_states[i] = native->shared;
    if (native->state_create) {
      FC_TRY(native->state_create(context, &context->native_states[i], err));
    }
    context->native_count = i + 1;
  }
  return FC_OK;
}

static fc_status_t bind_all(fc_vm_context_t *context, fc_error_t *err) {
  const fc_vm_module_t *module = context->module;
  FC_TRY(check_dependencies(module, context->natives, err));
  context->bindings = fc_alloc_array(context->allocator, module->import_count,
                                     sizeof *context->bindings);
  if (!context->bindings) return fc_fail_memory(err);
  for (uint32_t i = 0; i < module->import_count; i++) {
    size_t native = 0;
    fc_vm_binding_t *binding = &context->bindings[i];
    FC_TRY(bind_import(&module->imports[i], context->natives,
                       &binding->function, &native, err));
    if (binding->function) binding->state = context->native_states[native];
  }
  return FC_OK;
}

static fc_status_t run_hook(fc_vm_context_t *context,
                            fc_vm_invocation_t *invocation, fc_str_t name,
                            fc_error_t *err) {
  const fc_vm_export_t *hook = fc_vm_module_find(context->module, name);
  if (!hook) return FC_OK;
  const fc_vm_cconv_t *cconv =
      &context->module->functions[hook->function].cconv;
  if (cconv->arguments.size || cconv->results.size) {
    return fc_fail(err, FC_CODE_VMFB_INVALID, "'%.*s' takes or returns values",
                   FC_STR_ARG(name));
  }
  fc_vm_raw_t none[1];
  return fc_vm_interpret(context, invocation, hook->function, none, none, err);
}

static size_t refs_size(const fc_vm_module_t *module) {
  return module->global_refs * sizeof(fc_vm_object_t *);
}

static fc_status_t prepare(fc_vm_context_t *context,
                           fc_vm_invocation_t *invocation, fc_error_t *err) {
  const fc_vm_module_t *module = context->module;
  context->globals =
      fc_vm_heap_alloc(&context->heap, module->global_bytes, 16, err);
  if (!context->globals) return FC_RESOURCE_EXHAUSTED;
  context->global_refs =
      fc_vm_heap_alloc(&context->heap, refs_size(module), 16, err);
  if (!context->global_refs) return FC_RESOURCE_EXHAUSTED;
  FC_TRY(create_states(context, err));
  FC_TRY(bind_all(context, err));
  FC_TRY(run_hook(context, invocation, FC_STR("__init"), err));
  context->initialized = true;
  return FC_OK;
}

static fc_status_t create(const fc_vm_module_t *module,
                          const fc_vm_native_module_t *const *natives,
                          fc_allocator_t allocator, size_t heap_size,
                          fc_vm_heap_t *parent, fc_vm_invocation_t *invocation,
                          fc_vm_context_t **out_context, fc_error_t *err) {
  fc_vm_context_t *context = fc_alloc(allocator, sizeof *context);
  if (!context) return fc_fail_memory(err);
  context->module = module;
  context->allocator = allocator;
  context->natives = natives;
  fc_vm_heap_init(&context->heap, allocator, heap_size);
  context->heap.parent = parent;
  fc_status_t status = prepare(context, invocation, err);
  if (status != FC_OK) {
    fc_vm_context_destroy(context, invocation);
    return status;
  }
  *out_context = context;
  return FC_OK;
}

fc_status_t fc_vm_context_create(const fc_vm_module_t *module,
                                 const fc_vm_native_module_t *const *natives,
                                 fc_allocator_t allocator, size_t heap_size,
                                 fc_vm_invocation_t *invocation,
                                 fc_vm_context_t **out_context,
                                 fc_error_t *err) {
  return create(module, natives, allocator, heap_size, NULL, invocation,
                out_context, err);
}

fc_status_t fc_vm_context_create_inner(
    const fc_vm_module_t *module, const fc_vm_native_module_t *const *natives,
    fc_vm_heap_t *parent, fc_vm_invocation_t *invocation,
    fc_vm_context_t **out_context, fc_error_t *err) {
  return create(module, natives, parent->allocator, parent->limit, parent,
                invocation, out_context, err);
}

void fc_vm_context_destroy(fc_vm_context_t *context,
                           fc_vm_invocation_t *invocation) {
  if (!context) return;
  const fc_vm_module_t *module = context->module;
  if (context->initialized) {
    (void)run_hook(context, invocation, FC_STR("__deinit"), NULL);
  }
  for (uint32_t i = 0; context->global_refs && i < module->global_refs; i++) {
    fc_vm_release(context->global_refs[i]);
  }
  fc_vm_heap_free(&context->heap, context->global_refs, refs_size(module));
  fc_vm_heap_free(&context->heap, context->globals, module->global_bytes);
  fc_vm_heap_deinit(&context->heap);
  for (size_t i = context->native_count; i > 0; i--) {
    const fc_vm_native_module_t *native = context->natives[i - 1];
    if (native->state_destroy) {
      native->state_destroy(context, context->native_states[i - 1]);
    }
  }
  fc_free(context->allocator, context->native_states);
  fc_free(context->allocator, context->bindings);
  fc_free(context->allocator, context);
}

void fc_vm_context_close(fc_vm_context_t *context) {
  if (!context) return;
  fc_vm_stack_t stack;
  fc_vm_stack_init(&stack, context->allocator, FC_VM_STACK_SIZE,
                   FC_VM_STACK_DEPTH);
  fc_vm_invocation_t invocation = {.stack = &stack, .fuel = FC_VM_DEINIT_FUEL};
  fc_vm_context_destroy(context, &invocation);
  fc_vm_stack_deinit(&stack);
}

fc_status_t fc_vm_call(fc_vm_context_t *context, fc_vm_invocation_t *invocation,
                       uint32_t function, const fc_vm_raw_t *arguments,
                       fc_vm_raw_t *results, fc_error_t *err) {
  FC_ASSERT(context->initialized && function < context->module->function_count);
  return fc_vm_interpret(context, invocation, function, arguments, results,
                         err);
}

fc_status_t fc_vm_call_profiled(fc_vm_context_t *context,
                                fc_vm_invocation_t *invocation,
                                uint32_t function, const fc_vm_raw_t *arguments,
                                fc_vm_raw_t *results, fc_error_t *err) {
  FC_ASSERT(context->initialized && function < context->module->function_count);
  return fc_vm_interpret_profiled(context, invocation, function, arguments,
                                  results, err);
}

size_t fc_vm_context_live_objects(const fc_vm_context_t *context) {
  return atomic_load_explicit(&context->heap.objects, memory_order_relaxed);
}
