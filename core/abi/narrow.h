// SPDX-License-Identifier: Apache-2.0
//
// Tells whether a function may take the place of another one without its
// callers noticing. It must take every argument that the old function took, and
// give no result that the old one would not have given. Any thread.
#ifndef FARCALL_CORE_ABI_NARROW_H_
#define FARCALL_CORE_ABI_NARROW_H_

#include "farcall/type.h"

// FC_CODE_SIGNATURE_NARROWED when, by their types, a call of `before` may fail with
// `after` or may get an answer of another type. When types differ, the message has the
// number of the argument or result and both types. A dynamic dim counts as one that
// takes any size, unless the signature has sizes for it. Not compared: which dims must
// be equal. If `before` was not callable, any `after` may replace it.
fc_status_t fc_signature_check_replaces(const fc_signature_t *before,
                                        const fc_signature_t *after,
                                        fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_ABI_NARROW_H_
