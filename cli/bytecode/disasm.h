// SPDX-License-Identifier: Apache-2.0
//
// Bytecode as text, in the form iree-dump-module prints it. For `farcall dump`
// and tests; reads modules that failed to verify too, as far as they decode.
#ifndef FARCALL_CLI_BYTECODE_DISASM_H_
#define FARCALL_CLI_BYTECODE_DISASM_H_

#include "module/vm/vmfb.h"
#include "module/vm/ops.h"

// Writes one function: a "[offset]" and one instruction a line; block markers read
// "^bbN:".
fc_status_t fc_vm_disassemble(const fc_vm_module_t *module, uint32_t function,
                              fc_sink_t *sink, fc_error_t *err) FC_MUST_CHECK;

// Writes the module's name, dependencies, types, imports and constants, then every
// function with its exports.
fc_status_t fc_vm_dump(const fc_vm_module_t *module, fc_sink_t *sink,
                       fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CLI_BYTECODE_DISASM_H_
