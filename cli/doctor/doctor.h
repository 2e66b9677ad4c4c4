// SPDX-License-Identifier: Apache-2.0
//
// What `farcall compile` asks before it asks a compiler.
#ifndef FARCALL_CLI_DOCTOR_DOCTOR_H_
#define FARCALL_CLI_DOCTOR_DOCTOR_H_

#include "farcall/base.h"

// True, after complaints, when a compiler is certain to refuse the source. False for MLIR
// as text, which its compiler checks itself. `path` is NULL for standard input; `input`
// is what messages call the source.
bool fc_doctor_refuses(fc_arena_t *arena, const char *path, const char *input,
                       fc_str_t bytes);

#endif  // FARCALL_CLI_DOCTOR_DOCTOR_H_
