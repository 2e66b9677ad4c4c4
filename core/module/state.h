// SPDX-License-Identifier: Apache-2.0
//
// Begins and ends a call that uses a fc_state_t (farcall/call.h). For call.c
// and tests; on the thread of the state.
#ifndef FARCALL_CORE_MODULE_STATE_H_
#define FARCALL_CORE_MODULE_STATE_H_

#include "farcall/call.h"
#include "state/store.h"

// fc_state_begin starts a call with the current values; fc_state_end ends it.
fc_store_t *fc_state_begin(fc_state_t *state);
void fc_state_end(fc_state_t *state, bool succeeded);
// Returns how many bytes of values calls have copied so far. For tests.
uint64_t fc_state_copied(const fc_state_t *state);

#endif  // FARCALL_CORE_MODULE_STATE_H_
