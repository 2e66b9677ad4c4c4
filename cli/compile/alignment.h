// SPDX-License-Identifier: Apache-2.0
//
// How aligned the code expects memory to be.
#ifndef FARCALL_CLI_COMPILE_ALIGNMENT_H_
#define FARCALL_CLI_COMPILE_ALIGNMENT_H_

#include "farcall/base.h"

// True when memory from outside need not be aligned to more than 8 bytes: no line of
// `ir`, a module of LLVM IR, names a larger alignment or assumes any ("align"), except
// lines of the module's own globals. A line about memory that the code makes itself can
// make the result false, too.
bool fc_ir_is_plainly_aligned(fc_str_t ir);

#endif  // FARCALL_CLI_COMPILE_ALIGNMENT_H_
