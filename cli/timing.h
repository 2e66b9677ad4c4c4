// SPDX-License-Identifier: Apache-2.0
//
// --repeat, --time and --save of `farcall run`: report how long each call took.
#ifndef FARCALL_CLI_TIMING_H_
#define FARCALL_CLI_TIMING_H_

#include "cli.h"

typedef struct fc_timing_t {
  uint64_t *ns;  // of each call
  size_t count;
} fc_timing_t;

// Allocates room for the number of calls that --repeat gives. Returns an exit code, after
// a complaint if it isn't 0.
int fc_timing_init(const fc_args_t *args, fc_timing_t *out_timing);
void fc_timing_deinit(fc_timing_t *timing);

// Prints the report of --time on standard error, and writes the file of --save. Sorts the
// times. Returns an exit code, after a complaint if it isn't 0.
int fc_timing_report(const fc_args_t *args, fc_timing_t *timing);

#endif  // FARCALL_CLI_TIMING_H_
