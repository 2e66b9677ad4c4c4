// SPDX-License-Identifier: Apache-2.0
//
// The `check` module of IREE's self-checking programs. They import its functions
// optionally: without this module they would run but check nothing. Only for `farcall
// test`.
#ifndef FARCALL_CLI_BYTECODE_CHECK_H_
#define FARCALL_CLI_BYTECODE_CHECK_H_

#include "module/vm/natives.h"

extern const fc_vm_native_module_t fc_vm_check;

#endif  // FARCALL_CLI_BYTECODE_CHECK_H_
