// SPDX-License-Identifier: Apache-2.0
//
//   bench_vm FILE.vmfb FUNCTION N
//
// Calls a function of one i32 for a third of a second and prints the processor
// time of one call in nanoseconds. bench/vm compares it with IREE's tool.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "module/snapshot.h"
#include "module/vm/context.h"
#include "module/vm/verify.h"

static double processor_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static fc_status_t measure(fc_vm_context_t *context,
                           fc_vm_invocation_t *invocation, const char *name,
                           int32_t count, double *out_ns, fc_error_t *err) {
  const fc_vm_export_t *export =
      fc_vm_module_find(context->module, fc_str(name));
  if (!export) return fc_fail(err, FC_CODE_FUNCTION_NOT_FOUND, "no %s", name);
  fc_vm_raw_t in[1] = {{.i32 = count}}, out[4];
  long calls = 0;
  double start = processor_ns(), spent = 0;
  while (spent < 0.3e9) {
    for (int i = 0; i < 16; i++, calls++) {
      FC_TRY(fc_vm_call(context, invocation, export->function, in, out, err));
    }
    spent = processor_ns() - start;
  }
  *out_ns = spent / (double)calls;
  return FC_OK;
}

int main(int argc, char **argv) {
  if (argc != 4) return 64;
  fc_allocator_t allocator = fc_allocator_system();
  fc_error_t err = {0};
  fc_snapshot_t file = FC_SNAPSHOT_NONE;
  fc_vm_module_t *module = NULL;
  fc_vm_context_t *context = NULL;
  fc_vm_stack_t stack;
  fc_vm_stack_init(&stack, allocator, FC_VM_STACK_SIZE, FC_VM_STACK_DEPTH);
  fc_vm_invocation_t invocation = {.stack = &stack, .fuel = UINT64_MAX};
  double ns = 0;
  int32_t count = (int32_t)strtol(argv[3], NULL, 10);
  fc_status_t status = fc_snapshot_open(argv[1], &file, &err);
  if (!status) {
    status = fc_vm_module_create((const uint8_t *)file.bytes.data,
                                 file.bytes.size, allocator, &module, &err);
  }
  if (!status) status = fc_vm_verify(module, &err);
  if (!status) {
    status = fc_vm_context_create(module, NULL, allocator, FC_VM_HEAP_SIZE,
                                  &invocation, &context, &err);
  }
  if (!status) {
    status = measure(context, &invocation, argv[2], count, &ns, &err);
  }
  if (status) fprintf(stderr, "bench_vm: %s\n", err.message);
  else printf("%.1f\n", ns);
  fc_vm_context_destroy(context, &invocation);
  fc_vm_module_destroy(module);
  fc_vm_stack_deinit(&stack);
  fc_snapshot_close(&file);
  return status ? 1 : 0;
}
