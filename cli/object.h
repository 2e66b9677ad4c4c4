// SPDX-License-Identifier: Apache-2.0
//
// Reads the sizes of stack frames from a relocatable ELF file by llc.
#ifndef FARCALL_CLI_OBJECT_H_
#define FARCALL_CLI_OBJECT_H_

#include "farcall/base.h"

// Returns the largest fixed stack frame of any function in bytes, from the section that
// `llc --stack-size-section` writes; further allocations on the stack are not known. 0:
// the file has no such section.
uint64_t fc_object_max_frame(fc_str_t file);

#endif  // FARCALL_CLI_OBJECT_H_
