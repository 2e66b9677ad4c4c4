// SPDX-License-Identifier: Apache-2.0
//
// Reads the document of a load. The file may come from elsewhere: what is missing, or is
// not a number, counts as 0.
#include "bench/document.h"

#include "bench/histogram.h"

#include <math.h>

#define SIGMAS 1.96  // 95 %

double fc_bench_number(yyjson_val *object, const char *key) {
  return yyjson_get_num(yyjson_obj_get(object, key));
}

const char *fc_bench_text(yyjson_val *object, const char *key) {
  const char *text = yyjson_get_str(yyjson_obj_get(object, key));
  return text ? text : "";
}

fc_status_t fc_bench_document_read(fc_str_t json, const char *name,
                                   fc_bench_document_t *out_document,
                                   fc_error_t *err) {
  yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
  yyjson_val *root = yyjson_doc_get_root(doc);
  if (fc_bench_number(root, "farcall_bench") != 1) {
    yyjson_doc_free(doc);
    return fc_fail(err, FC_CODE_JSON_SCHEMA,
                   "%.200s is no result of farcall bench --save", name);
  }
  *out_document = (fc_bench_document_t){name, doc, root};
  return FC_OK;
}

void fc_bench_document_deinit(fc_bench_document_t *document) {
  yyjson_doc_free(document->doc);
}

// Returns the upper end of the bucket that has the value of this rank, counted from 1.
static double value_at(yyjson_val *latency, double rank) {
  yyjson_val *buckets = yyjson_obj_get(latency, "buckets"), *bucket;
  size_t index, count;
  double seen = 0, upper = 0;
  yyjson_arr_foreach(buckets, index, count, bucket) {
    upper = yyjson_get_num(yyjson_arr_get(bucket, 0));
    seen += yyjson_get_num(yyjson_arr_get(bucket, 1));
    if (seen >= rank) break;
  }
  const double most = fc_bench_number(latency, "max_ns");
  return upper < most ? upper : most;
}

bool fc_bench_knows(const fc_bench_document_t *document, double share) {
  yyjson_val *latency = yyjson_obj_get(document->root, "latency");
  return fc_bench_is_known(fc_bench_number(latency, "count"), share);
}

fc_bench_figure_t fc_bench_quantile(const fc_bench_document_t *document,
                                    double share) {
  yyjson_val *latency = yyjson_obj_get(document->root, "latency");
  const double count = fc_bench_number(latency, "count");
  const double rank = count * share;
  const double off = SIGMAS * sqrt(count * share * (1 - share));
  return (fc_bench_figure_t){value_at(latency, rank),
                             value_at(latency, rank - off),
                             value_at(latency, rank + off)};
}

fc_bench_figure_t fc_bench_answers(const fc_bench_document_t *document) {
  yyjson_val *slices = yyjson_obj_get(document->root, "slices"), *slice;
  size_t index, count;
  double sum = 0, squares = 0;
  yyjson_arr_foreach(slices, index, count, slice) {
    const double rate = fc_bench_number(slice, "answers_per_s");
    sum += rate;
    squares += rate * rate;
  }
  const double value = fc_bench_number(document->root, "answers_per_s");
  const double n = (double)count;
  const double spread = n > 1 ? (squares - sum * sum / n) / (n - 1) : 0;
  const double off = spread > 0 ? SIGMAS * sqrt(spread / n) : 0;
  return (fc_bench_figure_t){value, value - off, value + off};
}
