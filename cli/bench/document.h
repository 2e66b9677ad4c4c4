// SPDX-License-Identifier: Apache-2.0
//
// Reads the JSON document of a load (written by bench/report.h).
#ifndef FARCALL_CLI_BENCH_DOCUMENT_H_
#define FARCALL_CLI_BENCH_DOCUMENT_H_

#include <yyjson.h>

#include "farcall/base.h"

typedef struct fc_bench_document_t {
  const char *name;  // for people: the name of the file
  yyjson_doc *doc;
  yyjson_val *root;
} fc_bench_document_t;

// A figure and its 95 % confidence interval, which assumes that requests are independent.
typedef struct fc_bench_figure_t {
  double value;
  double low;
  double high;
} fc_bench_figure_t;

// Reads `json`. Fails if it is not the document of a load.
fc_status_t fc_bench_document_read(fc_str_t json, const char *name,
                                   fc_bench_document_t *out_document,
                                   fc_error_t *err);
// A zeroed document is allowed.
void fc_bench_document_deinit(fc_bench_document_t *document);

double fc_bench_number(yyjson_val *object, const char *key);
const char *fc_bench_text(yyjson_val *object, const char *key);

// Are there enough answers for this quantile?
bool fc_bench_knows(const fc_bench_document_t *document, double share);
// Returns a quantile of "latency" in ns. The interval ends at the values whose ranks are
// the ends of the quantile's 95 % interval.
fc_bench_figure_t fc_bench_quantile(const fc_bench_document_t *document,
                                    double share);
// Returns the answers per second. The width of the interval comes from the differences
// between the slices.
fc_bench_figure_t fc_bench_answers(const fc_bench_document_t *document);

#endif  // FARCALL_CLI_BENCH_DOCUMENT_H_
