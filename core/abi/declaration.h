// SPDX-License-Identifier: Apache-2.0
//
// `iree.abi.declaration`, a line that iree-compile writes for each export:
// `sync func @mul(%a: tensor<4xf32>) -> (%output0: tensor<4xf32>)`. The line is
// meant for people: names are not escaped, and a user may write any text
// instead. So it is believed only when all of it parses and fits the calling
// convention; otherwise it is just text. Used at load, any thread.
#ifndef FARCALL_ABI_DECLARATION_H_
#define FARCALL_ABI_DECLARATION_H_

#include "abi/cconv.h"

#define FC_DECLARATION_SIZE_MAX 65536

// Adds name, source, async, cconv, arguments and results to an empty builder; each
// argument and result is one raw value. With a `cconv`, each type must fit its
// register. Where the compiler narrowed a float or an index, the argument or result gets
// the type that the module uses, and the signature a warning. A failure means that the
// text is not a declaration (FC_CODE_ABI_METADATA with the byte offset), never that the
// module is bad: reset the builder and go on with the next source.
fc_status_t fc_declaration_build(fc_builder_t *builder, fc_str_t text,
                                 const fc_cconv_t *cconv, fc_error_t *err);

#endif  // FARCALL_ABI_DECLARATION_H_
