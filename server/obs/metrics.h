// SPDX-License-Identifier: Apache-2.0
//
// The metrics for an operator, and their two text forms for Prometheus: its own (0.0.4)
// and OpenMetrics 1.0. The events are counted where they happen, and collected when
// /metrics is read (dialect/metrics.c). Loop thread.
#ifndef FARCALL_SERVER_OBS_METRICS_H_
#define FARCALL_SERVER_OBS_METRICS_H_

#include "farcall/base.h"
#include "obs/histogram.h"
#include "obs/trace.h"

#define FC_STATUS_FIRST 100
#define FC_STATUS_COUNT 500  // 100 to 599

// Counts of answers in parts.
typedef struct fc_parts_counts_t {
  uint64_t begun;
  uint64_t open;  // begun, but not ended yet
  uint64_t cut;   // ended by an error, or because the client left
  uint64_t parts;
  uint64_t bytes;
  // A sum: from the first byte of the request to the first part.
  uint64_t first_ns;
} fc_parts_counts_t;

typedef struct fc_metrics_t {
  uint64_t answers[FC_STATUS_COUNT];  // by status
  fc_parts_counts_t parts;
} fc_metrics_t;

static inline void fc_metrics_answer(fc_metrics_t *metrics, int status) {
  int index = status - FC_STATUS_FIRST;
  if (index >= 0 && index < FC_STATUS_COUNT) metrics->answers[index]++;
}

// ---------------------------------------------------------------------------
// Writing the text forms

typedef enum fc_metric_kind_t {
  FC_METRIC_COUNTER,
  FC_METRIC_GAUGE,
  FC_METRIC_SECONDS,  // a counter whose values are nanoseconds
  FC_METRIC_HISTOGRAM,
} fc_metric_kind_t;

// All samples of one name.
typedef struct fc_family_t {
  const char *name;  // the text from a '{' on is not part of the name
  fc_metric_kind_t kind;
  const char *help;
} fc_family_t;

// The labels of a sample, without their braces. Zeroed: no labels.
typedef struct fc_labels_t {
  size_t size;
  char text[2560];
} fc_labels_t;

// Adds a label. Characters that are not allowed in quotes are escaped, and too long a
// value is cut. Names of at most FC_LIMIT_LABEL bytes together always fit.
void fc_labels_add(fc_labels_t *labels, const char *name, fc_str_t value);

// Writes the lines HELP and TYPE of a family. `open`: in the form of OpenMetrics.
fc_status_t fc_metrics_put_family(const fc_family_t *family, bool open,
                                  fc_sink_t *sink, fc_error_t *err);
// Writes a sample. If `name` has labels of its own, `labels` must be empty.
fc_status_t fc_metrics_put(const char *name, fc_metric_kind_t kind,
                           const fc_labels_t *labels, uint64_t value,
                           fc_sink_t *sink, fc_error_t *err);
// The exemplar of a bucket: the last sampled request counted there, with its time and its
// trace.
typedef struct fc_exemplar_t {
  uint8_t trace[FC_TRACE_ID];
  uint64_t ns;
  uint64_t unix_ns;  // when it was noted; 0: there is none
} fc_exemplar_t;

// Writes the samples of one histogram. The first bucket stays single; of the others,
// every `every` are joined into one. `exemplars` has one for each bucket before joining.
// NULL: no exemplars are written, because Prometheus' text has none.
fc_status_t fc_metrics_put_histogram(const char *name,
                                     const fc_labels_t *labels,
                                     const fc_histogram_t *histogram,
                                     uint32_t every,
                                     const fc_exemplar_t *exemplars,
                                     fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_SERVER_OBS_METRICS_H_
