// SPDX-License-Identifier: Apache-2.0
//
// Writes the numbers of the server to /metrics: the rows of metrics.def that are about no
// module, the answers by status, and the conditions. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_SERVER_METRICS_H_
#define FARCALL_SERVER_DIALECT_SERVER_METRICS_H_

#include "dialect/dialect.h"
#include "obs/metrics.h"

// The kinds of metrics in metrics.def. Histograms are not among them, because they have
// no single value; those of functions are rows of kFunctions (metrics.c).
enum {
  FC_METRIC_ROW_COUNTER = FC_METRIC_COUNTER,
  FC_METRIC_ROW_GAUGE = FC_METRIC_GAUGE,
  FC_METRIC_ROW_SECONDS = FC_METRIC_SECONDS
};

// `open`: the document is OpenMetrics.
fc_status_t fc_server_metrics_put(const fc_server_t *server, bool open,
                                  fc_sink_t *sink,
                                  fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_DIALECT_SERVER_METRICS_H_
