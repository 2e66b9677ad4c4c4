// SPDX-License-Identifier: Apache-2.0
//
// A fc_state_t (farcall/call.h) around a call. For call.c and tests; the state's thread.
#ifndef FARCALL_CORE_MODULE_STATE_H_
#define FARCALL_CORE_MODULE_STATE_H_

#include "farcall/call.h"
#include "state/store.h"

// A call begins with the values as they are, and ends.
fc_store_t *fc_state_begin(fc_state_t *state);
void fc_state_end(fc_state_t *state, bool succeeded);
// Bytes of values that calls have copied so far.
uint64_t fc_state_copied(const fc_state_t *state);

#endif  // FARCALL_CORE_MODULE_STATE_H_
