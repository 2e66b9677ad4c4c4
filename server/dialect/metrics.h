// SPDX-License-Identifier: Apache-2.0
//
// /metrics: gathers what is counted elsewhere and writes it (obs/metrics.h), in
// parts, since there may be ten thousand functions. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_METRICS_H_
#define FARCALL_SERVER_DIALECT_METRICS_H_

#include "dialect/parts.h"

// Begins the document as the Accept field wants it: OpenMetrics, or Prometheus' text.
fc_status_t fc_metrics_document(const fc_server_t *server,
                                const fc_request_t *request,
                                fc_document_t *out_document,
                                fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_DIALECT_METRICS_H_
