// SPDX-License-Identifier: Apache-2.0
//
// May a function take the place of another one without its callers noticing? It
// must take all that the other took, and give nothing that the other would not
// have given. Any thread.
#ifndef FARCALL_CORE_ABI_NARROW_H_
#define FARCALL_CORE_ABI_NARROW_H_

#include "farcall/type.h"

// FC_CODE_SIGNATURE_NARROWED names the argument or result, and has both types, when
// a call of `before` may fail or look otherwise with `after`. A dynamic dim takes
// static ones and named ones; what a function that cannot be called has does not
// matter.
fc_status_t fc_signature_check_replaces(const fc_signature_t *before,
                                        const fc_signature_t *after,
                                        fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_ABI_NARROW_H_
