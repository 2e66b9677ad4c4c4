// SPDX-License-Identifier: Apache-2.0
//
// Prints bytecode in the form of iree-dump-module, for `farcall dump` and tests. Also
// reads modules that do not verify, as far as they can be decoded.
#ifndef FARCALL_CLI_BYTECODE_DISASM_H_
#define FARCALL_CLI_BYTECODE_DISASM_H_

#include "module/vm/vmfb.h"
#include "module/vm/ops.h"

// Writes one function, a "[offset]" and an instruction on each line; a block marker is
// written as "^bbN:".
fc_status_t fc_vm_disassemble(const fc_vm_module_t *module, uint32_t function,
                              fc_sink_t *sink, fc_error_t *err) FC_MUST_CHECK;

// Writes the module's name, dependencies, types, imports and constants, then every
// function with its exports.
fc_status_t fc_vm_dump(const fc_vm_module_t *module, fc_sink_t *sink,
                       fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CLI_BYTECODE_DISASM_H_
