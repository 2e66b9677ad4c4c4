// SPDX-License-Identifier: Apache-2.0
//
// Attempts: calls with a budget (fc_budget_t), which are given up when they take too
// long, and made again elsewhere. Private to the library and its programs.
#ifndef FARCALL_MARSHAL_ATTEMPT_H_
#define FARCALL_MARSHAL_ATTEMPT_H_

#include "farcall/codec.h"

// From the next invoke on, calls have the budget; the frame borrows it. NULL, the initial
// value: they have none.
void fc_frame_set_budget(fc_frame_t *frame, fc_budget_t *budget);

// Is encoding the results of the call bounded by `most`? They count by their bytes, one
// at least for each element and for each row of a tensor without elements.
bool fc_frame_results_fit(const fc_frame_t *frame, size_t most);

#endif  // FARCALL_MARSHAL_ATTEMPT_H_
