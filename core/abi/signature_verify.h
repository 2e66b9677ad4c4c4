// SPDX-License-Identifier: Apache-2.0
//
// Private to core/abi: the check of a signature that was built.
#ifndef FARCALL_CORE_ABI_SIGNATURE_VERIFY_H_
#define FARCALL_CORE_ABI_SIGNATURE_VERIFY_H_

#include "abi/named.h"
#include "farcall/type.h"

// How many entries `scratch` of fc_signature_verify must have: the number of names in the
// signature's largest list of names.
size_t fc_signature_most_names(const fc_signature_t *signature);
// Checks a signature that was built. Fails with FC_CODE_ABI_METADATA or
// FC_CODE_INTERNAL, and says what is wrong. If `counted` is false, it sets the raw
// counts. `size_count` is the number of sizes in all rows.
fc_status_t fc_signature_verify(fc_signature_t *signature, uint32_t size_count,
                                bool counted, fc_named_t *scratch,
                                fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_ABI_SIGNATURE_VERIFY_H_
