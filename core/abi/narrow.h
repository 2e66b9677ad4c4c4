// SPDX-License-Identifier: Apache-2.0
//
// Tells whether a new function may replace an old one without its callers noticing. The
// new function must accept every argument that the old one accepted, and must not give
// a result that the old one could not give. Any thread.
#ifndef FARCALL_CORE_ABI_NARROW_H_
#define FARCALL_CORE_ABI_NARROW_H_

#include "farcall/type.h"

// FC_CODE_SIGNATURE_NARROWED when, by their types, a call of `before` may fail with
// `after` or may get an answer of another type. When types differ, the message has the
// number of the argument or result and both types. A dynamic dim counts as one that
// may have any size, unless the signature has sizes for it. Which dims must be equal is
// not compared. If `before` was not callable, any `after` may replace it.
fc_status_t fc_signature_check_replaces(const fc_signature_t *before,
                                        const fc_signature_t *after,
                                        fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_ABI_NARROW_H_
