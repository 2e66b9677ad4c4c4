// SPDX-License-Identifier: Apache-2.0
//
// A .vmfb file is opened, verified and then interpreted with fuel. A file that verifies
// must not trip a sanitizer. fuzz_bytecode tests bytecode alone.
#include <stdlib.h>
#include <string.h>

#include "module/vm/verify.h"
#include "../unit/module/vm/yieldable_test.h"
#include "vm_run.h"

#define FUEL 500
#define HEAP ((size_t)32 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const fc_vm_native_module_t *const natives[] = {&yieldable_test, NULL};

static void call(fc_vm_context_t *context, fc_vm_stack_t *stack,
                 uint32_t function) {
  const fc_vm_cconv_t *cconv = &context->module->functions[function].cconv;
  fc_vm_raw_t *arguments = calloc(cconv->arguments.size + 1, sizeof *arguments);
  fc_vm_raw_t *results = calloc(cconv->results.size + 1, sizeof *results);
  if (!arguments || !results) abort();
  make_arguments(context, cconv->arguments, arguments);
  fc_vm_invocation_t invocation = {.stack = stack, .fuel = FUEL};
  fc_error_t err;
  fc_status_t status =
      fc_vm_call(context, &invocation, function, arguments, results, &err);
  if (status == FC_OK) release_refs(cconv->results, results);
  release_refs(cconv->arguments, arguments);
  if (stack->depth || stack->size) abort();  // the stack must be empty
  free(arguments);
  free(results);
}

static void run(const fc_vm_module_t *module) {
  fc_vm_stack_t stack;
  fc_vm_context_t *context = NULL;
  fc_vm_stack_init(&stack, fc_allocator_system(), 64 << 10, 64);
  fc_vm_invocation_t invocation = {.stack = &stack, .fuel = FUEL};
  fc_error_t err;
  if (fc_vm_context_create(module, natives, fc_allocator_system(), HEAP,
                           &invocation, &context, &err) == FC_OK) {
    for (uint32_t i = 0; i < module->function_count && i < 64; i++) {
      call(context, &stack, i);
    }
    invocation.fuel = FUEL;
    fc_vm_context_destroy(context, &invocation);
  }
  fc_vm_stack_deinit(&stack);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fc_error_t err;
  fc_vm_module_t *module = NULL;
  if (fc_vm_module_create(data, size, fc_allocator_system(), &module, &err)) {
    return 0;
  }
  if (fc_vm_verify(module, &err) == FC_OK) {
    analyse(module);
    run(module);
  }
  fc_vm_module_destroy(module);
  return 0;
}
