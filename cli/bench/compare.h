// SPDX-License-Identifier: Apache-2.0
//
// Two results side by side, for people.
#ifndef FARCALL_CLI_BENCH_COMPARE_H_
#define FARCALL_CLI_BENCH_COMPARE_H_

#include <stdio.h>

#include "bench/document.h"

// Fails with FC_CODE_JSON_SCHEMA, which names what differs, unless both runs put the same
// load on: the loop, the connections, the rate, the arguments. What a file does not say
// is not compared. Servers, versions and protocols may differ: they are compared.
fc_status_t fc_bench_check_alike(const fc_bench_document_t *old,
                                 const fc_bench_document_t *new,
                                 fc_error_t *err) FC_MUST_CHECK;
// Prints rate and percentiles of both, by how much the second differs, and whether
// that is more than chance makes likely.
void fc_bench_compare(const fc_bench_document_t *old,
                      const fc_bench_document_t *new, FILE *stream);

#endif  // FARCALL_CLI_BENCH_COMPARE_H_
