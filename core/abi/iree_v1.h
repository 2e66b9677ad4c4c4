// SPDX-License-Identifier: Apache-2.0
//
// Functions of the V1 reader that are not public (farcall/abi.h): for the code
// that opens IREE's modules. Any thread.
#ifndef FARCALL_ABI_IREE_V1_H_
#define FARCALL_ABI_IREE_V1_H_

#include "farcall/abi.h"

// Does the same as fc_v1_parse. But with `one_list` a single structure that has one child
// is not taken as inlined: the function returns the structure itself, as a list of one.
// Use `one_list` for functions whose only result may be a list.
fc_status_t fc_v1_read(fc_str_t text, fc_raw_counts_t counts, bool one_list,
                       fc_builder_t *builder, fc_error_t *err) FC_MUST_CHECK;

// True for i or f with digits after it, such as i24, even if there is no such type.
bool fc_v1_is_numbered(fc_str_t text);

#endif  // FARCALL_ABI_IREE_V1_H_
