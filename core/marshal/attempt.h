// SPDX-License-Identifier: Apache-2.0
//
// Attempts: calls with a budget (fc_budget_t). An attempt that takes too long is given
// up, and the call is made again elsewhere. Private to the library and its programs.
#ifndef FARCALL_MARSHAL_ATTEMPT_H_
#define FARCALL_MARSHAL_ATTEMPT_H_

#include "farcall/codec.h"

// From the next invoke on, calls have this budget; the frame borrows it. With NULL, the
// initial value, they have no budget.
void fc_frame_set_budget(fc_frame_t *frame, fc_budget_t *budget);

// True when the size of the results is at most `most`, so that encoding them takes
// limited time. The size is the bytes of all elements; an element, or a row of a tensor
// without elements, counts at least 1.
bool fc_frame_results_fit(const fc_frame_t *frame, size_t most);

#endif  // FARCALL_MARSHAL_ATTEMPT_H_
