// SPDX-License-Identifier: Apache-2.0
//
// Priorities of calls. Among the calls that wait for one module, those of a higher
// priority are made first. The operator sets the range from which a client may choose by
// Farcall-Priority. No allocation; any thread.
#ifndef FARCALL_SERVER_CONFIG_PRIORITY_H_
#define FARCALL_SERVER_CONFIG_PRIORITY_H_

#include "farcall/base.h"

#define FC_PRIORITY_MIN (-4)
#define FC_PRIORITY_MAX 4

// A zeroed range allows only 0.
typedef struct fc_priorities_t {
  int8_t low, high;
} fc_priorities_t;

// Reads "-2..4", or a single number for both ends. False: the text is no range.
bool fc_priorities_parse(fc_str_t text, fc_priorities_t *out_range);
// Reads a digit, with an optional '-' before it. False: the text is no priority.
bool fc_priority_parse(fc_str_t text, int8_t *out_priority);
// Returns the priority of a call that asks for none: 0, or the nearest to 0 in the range.
int8_t fc_priorities_default(const fc_priorities_t *range);

#endif  // FARCALL_SERVER_CONFIG_PRIORITY_H_
