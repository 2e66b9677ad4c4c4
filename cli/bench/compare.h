// SPDX-License-Identifier: Apache-2.0
//
// Compares two results, for people.
#ifndef FARCALL_CLI_BENCH_COMPARE_H_
#define FARCALL_CLI_BENCH_COMPARE_H_

#include <stdio.h>

#include "bench/document.h"

// Fails unless both runs made the same load: the same loop, connections, rate and
// arguments. FC_CODE_JSON_SCHEMA names the difference. A property that is missing in one
// file is not compared. Servers, versions and protocols may differ, because that is what
// is compared.
fc_status_t fc_bench_check_alike(const fc_bench_document_t *old,
                                 const fc_bench_document_t *new,
                                 fc_error_t *err) FC_MUST_CHECK;
// Prints the rate and the percentiles of both, the difference in percent, and whether it
// is larger than chance explains.
void fc_bench_compare(const fc_bench_document_t *old,
                      const fc_bench_document_t *new, FILE *stream);

#endif  // FARCALL_CLI_BENCH_COMPARE_H_
