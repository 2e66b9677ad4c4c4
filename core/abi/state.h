// SPDX-License-Identifier: Apache-2.0
//
// Names of values that stay from call to call. Any thread.
#ifndef FARCALL_ABI_STATE_H_
#define FARCALL_ABI_STATE_H_

#include "farcall/type.h"

// True for 1 to FC_STATE_NAME_SIZE_MAX letters, digits, `_`, `-` and `.` that begin
// with neither `-` nor `.`.
bool fc_state_name_is_valid(fc_str_t name);

#endif  // FARCALL_ABI_STATE_H_
