// SPDX-License-Identifier: Apache-2.0
//
// The uses of a .vmfb on the command line, other than calls. One thread.
#ifndef FARCALL_CLI_BYTECODE_SELFTEST_H_
#define FARCALL_CLI_BYTECODE_SELFTEST_H_

#include "farcall/base.h"

// The result of one of a module's own tests. Valid until `each` returns.
typedef struct fc_vm_test_t {
  fc_str_t name;
  bool ok;
  const fc_error_t *err;  // why the call failed, NULL: it did not
} fc_vm_test_t;

// `farcall test`: calls every exported function without arguments and results, except
// those whose name begins with "__", and reports each call to `each`. A function named
// "fail_x" is ok if the module itself fails; others are ok if they succeed. The native
// functions are the server's and those of `check`, which IREE's tests import. Fails only
// if the file cannot be opened, verified or initialized. *out_count is the number of
// calls, *out_wrong the number that were not ok.
fc_status_t fc_vm_test_file(const char *path, fc_allocator_t allocator,
                            void (*each)(void *context,
                                         const fc_vm_test_t *test),
                            void *context, size_t *out_count, size_t *out_wrong,
                            fc_error_t *err) FC_MUST_CHECK;

// `farcall dump`: writes the disassembly of a file. The file need not verify.
fc_status_t fc_vm_dump_file(const char *path, fc_allocator_t allocator,
                            fc_sink_t *sink, fc_error_t *err) FC_MUST_CHECK;

// Passes every constant of a file that is machine code to `each`: its number among the
// constants and its bytes, an ELF file. Ends with the first status that is not FC_OK. The
// file need not verify.
fc_status_t fc_vm_each_kernel(const char *path, fc_allocator_t allocator,
                              fc_status_t (*each)(void *context,
                                                  uint32_t constant,
                                                  fc_str_t elf,
                                                  fc_error_t *err),
                              void *context, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CLI_BYTECODE_SELFTEST_H_
