// SPDX-License-Identifier: Apache-2.0
//
// Two results side by side, for people.
#ifndef FARCALL_CLI_BENCH_COMPARE_H_
#define FARCALL_CLI_BENCH_COMPARE_H_

#include <stdio.h>

#include "bench/document.h"

// Prints rate and percentiles of both, by how much the second differs, and whether
// that is more than chance makes likely.
void fc_bench_compare(const fc_bench_document_t *old,
                      const fc_bench_document_t *new, FILE *stream);

#endif  // FARCALL_CLI_BENCH_COMPARE_H_
