// SPDX-License-Identifier: Apache-2.0
//
// Finds out which alignment of memory the code expects.
#ifndef FARCALL_CLI_COMPILE_ALIGNMENT_H_
#define FARCALL_CLI_COMPILE_ALIGNMENT_H_

#include "farcall/base.h"

// True if the code of `ir`, a module of LLVM IR, works with memory of callers that is
// aligned to 8 bytes only: no line has a larger alignment or an assumption ("align").
// Lines of the module's own globals do not count. False may be too strict: the line may
// be about memory that the code allocates itself.
bool fc_ir_is_plainly_aligned(fc_str_t ir);

#endif  // FARCALL_CLI_COMPILE_ALIGNMENT_H_
