// SPDX-License-Identifier: Apache-2.0
//
// Finds contractions in the text of a module (matrix products of every kind, and
// convolutions, which are some of them one after another) and puts calls of kernel.h
// in their place.
#ifndef FARCALL_CLI_COMPILE_MLIR_CONTRACT_H_
#define FARCALL_CLI_COMPILE_MLIR_CONTRACT_H_

#include "farcall/base.h"

// Writes `text`, a bufferized module in generic form without named operations of linalg,
// whose run-time checks are in it: linalg.generic that multiplies and adds becomes a
// call. Operations of other forms stay. *out_count is the number of calls.
// `vector_size`: bytes of the vector registers.
fc_status_t fc_mlir_contract(fc_arena_t *arena, fc_str_t text,
                             size_t vector_size, fc_text_t *out,
                             size_t *out_count, fc_error_t *err);

#endif  // FARCALL_CLI_COMPILE_MLIR_CONTRACT_H_
