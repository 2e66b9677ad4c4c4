// SPDX-License-Identifier: Apache-2.0
//
// A module made ready to run: imports bound, globals allocated, __init done.
// Calls of a stateless module (analysis.h) may share one context from several
// threads, each with its own invocation. Calls of a stateful module run one at
// a time.
#ifndef FARCALL_CORE_MODULE_VM_CONTEXT_H_
#define FARCALL_CORE_MODULE_VM_CONTEXT_H_

#include "module/vm/vmfb.h"
#include "module/vm/natives.h"
#include "module/vm/stack.h"

// The most bytes that calls may hold in addition to the memory that __init keeps.
#define FC_VM_HEAP_SIZE ((size_t)1 << 30)
// Fuel of __deinit, which runs when a context is closed and has no deadline.
#define FC_VM_DEINIT_FUEL 1000000

typedef struct fc_vm_binding_t {
  const fc_vm_native_function_t *function;  // NULL: optional and not provided
  void *state;
} fc_vm_binding_t;

struct fc_vm_context_t {
  const fc_vm_module_t *module;
  fc_allocator_t allocator;
  fc_vm_heap_t heap;
  uint8_t *globals;  // module->global_bytes bytes
  fc_vm_object_t **global_refs;
  fc_vm_binding_t *bindings;                    // one for each import
  const fc_vm_native_module_t *const *natives;  // NULL-terminated
  void **native_states;
  size_t native_count;
  bool initialized;
};

// Finds the function to which an import is bound: the one with its module, its name and
// its calling convention. NULL when `natives` have no such function.
const fc_vm_native_function_t *fc_vm_native_find(
    const fc_vm_import_t *import, const fc_vm_native_module_t *const *natives);

// Checks that every import can be bound. FC_CODE_VMFB_IMPORT names the import that is
// missing or has another calling convention, or the native module that is missing or
// too old.
fc_status_t fc_vm_bind(const fc_vm_module_t *module,
                       const fc_vm_native_module_t *const *natives,
                       fc_error_t *err) FC_MUST_CHECK;

// Binds the imports, then runs __init under `invocation`. `module` must be
// verified. The module and the NULL-terminated `natives` must outlive the context.
fc_status_t fc_vm_context_create(const fc_vm_module_t *module,
                                 const fc_vm_native_module_t *const *natives,
                                 fc_allocator_t allocator, size_t heap_size,
                                 fc_vm_invocation_t *invocation,
                                 fc_vm_context_t **out_context,
                                 fc_error_t *err) FC_MUST_CHECK;
// Does the same as fc_vm_context_create for a module inside another one, with the
// allocator and the limit of `parent`, which must outlive the context. The module's
// allocations also count in `parent`.
fc_status_t fc_vm_context_create_inner(
    const fc_vm_module_t *module, const fc_vm_native_module_t *const *natives,
    fc_vm_heap_t *parent, fc_vm_invocation_t *invocation,
    fc_vm_context_t **out_context, fc_error_t *err) FC_MUST_CHECK;
// Runs __deinit if __init succeeded. Frees the context, even if __deinit fails. NULL is
// allowed.
void fc_vm_context_destroy(fc_vm_context_t *context,
                           fc_vm_invocation_t *invocation);
// Does the same as fc_vm_context_destroy when no call is running: __deinit gets its own
// stack and FC_VM_DEINIT_FUEL. NULL is allowed.
void fc_vm_context_close(fc_vm_context_t *context);

// Calls a function. `arguments` and `results` have one value for each letter of its
// convention. Argument refs are borrowed; result refs belong to the caller. When the
// call fails, all results are zero.
fc_status_t fc_vm_call(fc_vm_context_t *context, fc_vm_invocation_t *invocation,
                       uint32_t function, const fc_vm_raw_t *arguments,
                       fc_vm_raw_t *results, fc_error_t *err) FC_MUST_CHECK;

// Does the same as fc_vm_call, and notes in invocation->profile where the time goes.
fc_status_t fc_vm_call_profiled(fc_vm_context_t *context,
                                fc_vm_invocation_t *invocation,
                                uint32_t function, const fc_vm_raw_t *arguments,
                                fc_vm_raw_t *results,
                                fc_error_t *err) FC_MUST_CHECK;

// Returns the number of objects that are alive, without constants.
size_t fc_vm_context_live_objects(const fc_vm_context_t *context);

#endif  // FARCALL_CORE_MODULE_VM_CONTEXT_H_
