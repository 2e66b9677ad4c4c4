// SPDX-License-Identifier: Apache-2.0
//
// Dialects that other compilers lower, and farcall compile does not.
#ifndef FARCALL_CLI_COMPILE_FOREIGN_H_
#define FARCALL_CLI_COMPILE_FOREIGN_H_

#include "farcall/base.h"

// What to do about such a dialect that the source text names outside of comments, for
// the end of an error message; "" when it names none. Of several, onnx comes first,
// then torch, stablehlo, tosa and gpu, wherever they stand.
const char *fc_mlir_foreign_hint(fc_str_t source);

#endif  // FARCALL_CLI_COMPILE_FOREIGN_H_
