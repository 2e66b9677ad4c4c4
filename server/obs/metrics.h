// SPDX-License-Identifier: Apache-2.0
//
// The numbers an operator watches, as Prometheus reads them (text format
// 0.0.4). They are counted where things happen, and gathered when /metrics is
// read. Loop thread.
#ifndef FARCALL_SERVER_OBS_METRICS_H_
#define FARCALL_SERVER_OBS_METRICS_H_

#include "farcall/base.h"

typedef struct fc_server_metrics_t {
#define FC_METRIC_SERVER(field, name, kind, help) uint64_t field;
#define FC_METRIC_MODULE(field, name, kind, help)
#include "obs/metrics.def"
#undef FC_METRIC_SERVER
#undef FC_METRIC_MODULE
} fc_server_metrics_t;

typedef struct fc_module_metrics_t {
#define FC_METRIC_SERVER(field, name, kind, help)
#define FC_METRIC_MODULE(field, name, kind, help) uint64_t field;
#include "obs/metrics.def"
#undef FC_METRIC_SERVER
#undef FC_METRIC_MODULE
} fc_module_metrics_t;

#define FC_STATUS_FIRST 100
#define FC_STATUS_COUNT 500  // 100 to 599

typedef struct fc_metrics_t {
  uint64_t answers[FC_STATUS_COUNT];  // by status
} fc_metrics_t;

static inline void fc_metrics_answer(fc_metrics_t *metrics, int status) {
  int index = status - FC_STATUS_FIRST;
  if (index >= 0 && index < FC_STATUS_COUNT) metrics->answers[index]++;
}

// Where the numbers come from. `module` fills in those of one module and returns
// its name.
typedef struct fc_metrics_source_t {
  const fc_metrics_t *metrics;
  fc_server_metrics_t server;
  uint32_t module_count;
  void *context;
  // Returns the module's name; "" for one that is not listed. Of a module that
  // is not ready no other number is shown.
  fc_str_t (*module)(void *context, uint32_t index, fc_module_metrics_t *out);
} fc_metrics_source_t;

fc_status_t fc_metrics_write(const fc_metrics_source_t *source, fc_sink_t *sink,
                             fc_error_t *err);

#endif  // FARCALL_SERVER_OBS_METRICS_H_
