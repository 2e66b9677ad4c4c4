// SPDX-License-Identifier: Apache-2.0
//
// Run-time checks that MLIR's own verification lacks, put into the text of a
// module. A check that fails prints its reason in the form of MLIR's own checks
// and calls abort. Where a call of the module can be left half-way (fc_hook_t), the
// call then fails with call_failed; elsewhere the process ends.
#ifndef FARCALL_CLI_COMPILE_MLIR_GUARD_H_
#define FARCALL_CLI_COMPILE_MLIR_GUARD_H_

#include "farcall/base.h"

// Writes `text`, a bufferized module in generic form, with a check before every
// memref.alloc and memref.alloca that none of its sizes is negative. A negative
// size would pass every later check.
fc_status_t fc_mlir_guard_sizes(fc_arena_t *arena, fc_str_t text,
                                fc_text_t *out, fc_error_t *err);

// Writes `text`, a module in generic form whose operations are all of the llvm
// dialect, with a check before every integer division and remainder: the
// divisor is not 0 and the quotient fits. Nothing else divides at this point: the
// divisions of the source and those that passes made, on tensors, vectors and index
// too, have all been lowered to these. `out` stays empty when there is no division.
// FC_CODE_ABI_METADATA when a division is written in a form not known here.
fc_status_t fc_mlir_guard_divisions(fc_arena_t *arena, fc_str_t text,
                                    fc_text_t *out, fc_error_t *err);

// Writes `text`, a module in generic form, with index.ceildivs, index.ceildivu
// and index.floordivs replaced by the operations of arith that mean the same.
// MLIR's own lowering of these three divides numbers that the source does not
// divide, and that can overflow where the quotient fits (the greatest index by
// -1).
fc_status_t fc_mlir_rename_divisions(fc_str_t text, fc_text_t *out,
                                     fc_error_t *err);

#endif  // FARCALL_CLI_COMPILE_MLIR_GUARD_H_
