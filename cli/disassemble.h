// SPDX-License-Identifier: Apache-2.0
//
// Prints machine code as text, with the source lines that it was compiled from, using the
// disassembler of LLVM or GNU.
#ifndef FARCALL_CLI_DISASSEMBLE_H_
#define FARCALL_CLI_DISASSEMBLE_H_

#include "cli.h"

// One run of `farcall dump`, which may disassemble several files.
typedef struct fc_disassembly_t {
  const fc_args_t *args;
  const char *tool;
  const char *work;  // a directory for the tool's output
} fc_disassembly_t;

// Finds the tool and makes the directory. FC_CODE_NOT_FOUND: there is no tool; the
// message says how to install one.
fc_status_t fc_disassembly_begin(const fc_args_t *args,
                                 fc_disassembly_t *out_disassembly,
                                 fc_error_t *err) FC_MUST_CHECK;
// Accepts a zeroed struct.
void fc_disassembly_end(fc_disassembly_t *disassembly);

// Prints the code of an ELF file, or of its function `name` if that is not NULL. Also
// prints the source lines, if the source is found: a relative name is looked up in the
// working directory. FC_CODE_FUNCTION_NOT_FOUND: there is no code of that name.
// FC_CODE_MODULE_LOAD: the tool has failed; the message is the tool's.
fc_status_t fc_disassemble(const fc_disassembly_t *disassembly,
                           const char *path, const char *name, fc_error_t *err);

#endif  // FARCALL_CLI_DISASSEMBLE_H_
