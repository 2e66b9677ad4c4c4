// SPDX-License-Identifier: Apache-2.0
//
// Results as one HTML page. It has no script and needs no other file.
#ifndef FARCALL_CLI_BENCH_HTML_H_
#define FARCALL_CLI_BENCH_HTML_H_

#include "bench/document.h"

// Writes the page of one result, or of two that are compared.
fc_status_t fc_bench_print_html(const fc_bench_document_t *documents,
                                size_t count, fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_CLI_BENCH_HTML_H_
