// SPDX-License-Identifier: Apache-2.0
//
// Which machine made the load, and when. Figures of one machine say little about another.
#ifndef FARCALL_CLI_BENCH_MACHINE_H_
#define FARCALL_CLI_BENCH_MACHINE_H_

#include "farcall/base.h"

typedef struct fc_bench_machine_t {
  char cpu[128];        // the model; "": the system does not say
  unsigned processors;  // that are online
  char kernel[160];     // "Linux 6.1.0"
  char date[24];        // UTC, RFC 3339
} fc_bench_machine_t;

void fc_bench_machine_read(fc_bench_machine_t *out_machine);

#endif  // FARCALL_CLI_BENCH_MACHINE_H_
