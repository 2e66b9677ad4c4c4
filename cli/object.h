// SPDX-License-Identifier: Apache-2.0
//
// Reads the size of stack frames from a relocatable ELF file that llc wrote.
#ifndef FARCALL_CLI_OBJECT_H_
#define FARCALL_CLI_OBJECT_H_

#include "farcall/base.h"

// The largest fixed stack frame of any function in bytes, from the section that
// `llc --stack-size-section` writes; what a function allocates beyond it is not
// known. 0 when the file has no such section.
uint64_t fc_object_max_frame(fc_str_t file);

#endif  // FARCALL_CLI_OBJECT_H_
