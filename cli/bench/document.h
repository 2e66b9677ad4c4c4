// SPDX-License-Identifier: Apache-2.0
//
// The JSON document of a load (bench/report.h), read again.
#ifndef FARCALL_CLI_BENCH_DOCUMENT_H_
#define FARCALL_CLI_BENCH_DOCUMENT_H_

#include <yyjson.h>

#include "farcall/base.h"

typedef struct fc_bench_document_t {
  const char *name;  // what people call it: the file
  yyjson_doc *doc;
  yyjson_val *root;
} fc_bench_document_t;

// A figure and its confidence interval of 95 %, as if the requests were independent.
typedef struct fc_bench_figure_t {
  double value;
  double low;
  double high;
} fc_bench_figure_t;

// Reads `json`. Fails when that is no document of a load.
fc_status_t fc_bench_document_read(fc_str_t json, const char *name,
                                   fc_bench_document_t *out_document,
                                   fc_error_t *err);
// A zeroed document is allowed.
void fc_bench_document_deinit(fc_bench_document_t *document);

double fc_bench_number(yyjson_val *object, const char *key);
const char *fc_bench_text(yyjson_val *object, const char *key);

// Whether it has answers enough for this quantile.
bool fc_bench_knows(const fc_bench_document_t *document, double share);
// A quantile of "latency" in ns, and the values of the ranks between which it lies.
fc_bench_figure_t fc_bench_quantile(const fc_bench_document_t *document,
                                    double share);
// Answers a second. The interval is as wide as that of their mean over the slices.
fc_bench_figure_t fc_bench_answers(const fc_bench_document_t *document);

#endif  // FARCALL_CLI_BENCH_DOCUMENT_H_
