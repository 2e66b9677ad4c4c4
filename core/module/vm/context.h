// SPDX-License-Identifier: Apache-2.0
//
// A module made ready to run: imports bound, globals allocated, __init done.
// Calls that store no global may share one context from several threads, each
// with its own invocation; others one at a time.
#ifndef FARCALL_CORE_MODULE_VM_CONTEXT_H_
#define FARCALL_CORE_MODULE_VM_CONTEXT_H_

#include "module/vm/module.h"
#include "module/vm/native.h"
#include "module/vm/stack.h"

#define FC_VM_HEAP_SIZE ((size_t)1 << 30)
// Of __deinit, which runs where nobody can wait for it.
#define FC_VM_DEINIT_FUEL 1000000

typedef struct fc_vm_binding_t {
  const fc_vm_native_function_t *function;  // NULL: optional and not there
  void *state;
} fc_vm_binding_t;

struct fc_vm_context_t {
  const fc_vm_module_t *module;
  fc_allocator_t allocator;
  fc_vm_heap_t heap;
  uint8_t *globals;  // module->global_bytes
  fc_vm_object_t **global_refs;
  fc_vm_binding_t *bindings;                    // one an import
  const fc_vm_native_module_t *const *natives;  // NULL-terminated
  void **native_states;
  size_t native_count;
  bool initialized;
};

// What an import is bound to, by (module, name, cconv). FC_CODE_VMFB_IMPORT
// names the one that is missing, differs or is too old.
fc_status_t fc_vm_bind(const fc_vm_module_t *module,
                       const fc_vm_native_module_t *const *natives,
                       fc_error_t *err) FC_MUST_CHECK;

// `module` must be verified and outlive the context, like the NULL-terminated
// `natives`. Binds and runs __init under `invocation`.
fc_status_t fc_vm_context_create(const fc_vm_module_t *module,
                                 const fc_vm_native_module_t *const *natives,
                                 fc_allocator_t allocator, size_t heap_size,
                                 fc_vm_invocation_t *invocation,
                                 fc_vm_context_t **out_context,
                                 fc_error_t *err) FC_MUST_CHECK;
// The same of a module inside another: what its calls allocate counts in
// `parent` too, which must outlive it.
fc_status_t fc_vm_context_create_inner(
    const fc_vm_module_t *module, const fc_vm_native_module_t *const *natives,
    fc_vm_heap_t *parent, fc_vm_invocation_t *invocation,
    fc_vm_context_t **out_context, fc_error_t *err) FC_MUST_CHECK;
// Runs __deinit if __init was done; its failure is dropped.
void fc_vm_context_destroy(fc_vm_context_t *context,
                           fc_vm_invocation_t *invocation);

// Calls a function; `arguments` and `results` have a slot for each letter of its
// convention. Argument refs are borrowed; result refs are the caller's, results
// are zero when it fails.
fc_status_t fc_vm_call(fc_vm_context_t *context, fc_vm_invocation_t *invocation,
                       uint32_t function, const fc_vm_slot_t *arguments,
                       fc_vm_slot_t *results, fc_error_t *err) FC_MUST_CHECK;

// Objects alive beyond those that constants are.
size_t fc_vm_context_live_objects(const fc_vm_context_t *context);

#endif  // FARCALL_CORE_MODULE_VM_CONTEXT_H_
