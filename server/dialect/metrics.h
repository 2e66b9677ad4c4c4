// SPDX-License-Identifier: Apache-2.0
//
// Writes /metrics: collects numbers that are counted elsewhere and writes them
// (obs/metrics.h) in parts, because there may be ten thousand functions. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_METRICS_H_
#define FARCALL_SERVER_DIALECT_METRICS_H_

#include "dialect/parts.h"

// Begins the document in the form that Accept asks for: OpenMetrics or Prometheus' text.
fc_status_t fc_metrics_document(const fc_server_t *server,
                                const fc_request_t *request,
                                fc_document_t *out_document,
                                fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_DIALECT_METRICS_H_
