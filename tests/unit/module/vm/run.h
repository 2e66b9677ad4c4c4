// SPDX-License-Identifier: Apache-2.0
//
// Opens a module file and calls its functions in a test.
#ifndef FARCALL_TESTS_MODULE_VM_RUN_H_
#define FARCALL_TESTS_MODULE_VM_RUN_H_

#include "module/vm/context.h"
#include "module/vm/files.h"
#include "module/vm/verify.h"
#include "module/vm/yieldable_test.h"

typedef struct vm_t {
  fc_vm_module_t *module;
  fc_vm_stack_t stack;
  fc_vm_invocation_t invocation;
  fc_vm_context_t *context;
} vm_t;

static const fc_vm_native_module_t *const test_natives[] = {&yieldable_test,
                                                            NULL};

// If it fails, vm_close still closes whatever was opened before.
static inline fc_status_t vm_open(vm_t *vm, const uint8_t *data, size_t size,
                                  fc_allocator_t allocator, fc_error_t *err) {
  *vm = (vm_t){0};
  fc_vm_stack_init(&vm->stack, allocator, FC_VM_STACK_SIZE, FC_VM_STACK_DEPTH);
  vm->invocation =
      (fc_vm_invocation_t){.stack = &vm->stack, .fuel = UINT64_MAX};
  FC_TRY(fc_vm_module_create(data, size, allocator, &vm->module, err));
  FC_TRY(fc_vm_verify(vm->module, err));
  return fc_vm_context_create(vm->module, test_natives, allocator,
                              (size_t)64 << 20, &vm->invocation, &vm->context,
                              err);
}

static inline void vm_close(vm_t *vm) {
  fc_vm_context_destroy(vm->context, &vm->invocation);
  fc_vm_module_destroy(vm->module);
  fc_vm_stack_deinit(&vm->stack);
}

static inline fc_status_t vm_call(vm_t *vm, const char *function,
                                  const fc_vm_raw_t *arguments,
                                  fc_vm_raw_t *results, fc_error_t *err) {
  const fc_vm_export_t *export =
      fc_vm_module_find(vm->module, fc_str(function));
  assert_non_null(export);
  return fc_vm_call(vm->context, &vm->invocation, export->function, arguments,
                    results, err);
}

#endif  // FARCALL_TESTS_MODULE_VM_RUN_H_
