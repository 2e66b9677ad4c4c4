// SPDX-License-Identifier: Apache-2.0
//
// The check of `farcall compile` before it runs a compiler.
#ifndef FARCALL_CLI_DOCTOR_DOCTOR_H_
#define FARCALL_CLI_DOCTOR_DOCTOR_H_

#include "farcall/base.h"

// Complains and returns true if a compiler would certainly refuse the source. False for
// MLIR text, which its compiler checks itself. `path` is NULL for standard input; `input`
// is the name of the source in messages.
bool fc_doctor_refuses(fc_arena_t *arena, const char *path, const char *input,
                       fc_str_t bytes);

#endif  // FARCALL_CLI_DOCTOR_DOCTOR_H_
