// SPDX-License-Identifier: Apache-2.0
#include "dialect/server_metrics.h"

#include <stdio.h>
#include <sys/resource.h>

#include "dialect/condition_metrics.h"
#include "dialect/ready.h"
#include "farcall/version.h"
#include "modules/memory.h"

static uint64_t cpu_ns(void) {
  struct rusage taken;
  if (getrusage(RUSAGE_SELF, &taken)) return 0;
  const struct timeval *times[] = {&taken.ru_utime, &taken.ru_stime};
  uint64_t ns = 0;
  for (size_t i = 0; i < FC_ARRAY_COUNT(times); i++) {
    ns += (uint64_t)times[i]->tv_sec * 1000000000u +
          (uint64_t)times[i]->tv_usec * 1000u;
  }
  return ns;
}

static uint64_t certificate_end(const fc_certificates_t *dates) {
  const bool is_known = dates->count && dates->end_s < INT64_MAX;
  return is_known && dates->end_s > 0 ? (uint64_t)dates->end_s : 0;
}

static const fc_family_t kServer[] = {
#define FC_METRIC_SERVER(name, kind, help, value) \
  {name, (fc_metric_kind_t)FC_METRIC_ROW_##kind, help},
#define FC_METRIC_MODULE(...)
#include "dialect/metrics.def"
#undef FC_METRIC_SERVER
#undef FC_METRIC_MODULE
};

#define SERVER_ROWS FC_ARRAY_COUNT(kServer)

static void server_numbers(const fc_server_t *server,
                           uint64_t out_numbers[SERVER_ROWS]) {
  const fc_blocks_usage_t usage = fc_blocks_usage(server->blocks);
  const fc_load_counts_t counts = fc_ready_count(server);
  const fc_generations_t *generations = &server->modules->generations;
  static const fc_spans_t kNone;
  const fc_spans_t *spans = server->spans ? server->spans : &kNone;
  static const fc_tls_counts_t kNoTls;
  const fc_tls_counts_t *tls = server->tls ? server->tls : &kNoTls;
  static const fc_http2_counts_t kNoHttp2;
  const fc_http2_counts_t *http2 = server->http2 ? server->http2 : &kNoHttp2;
  fc_load_counts_t ignored;
  const uint64_t numbers[SERVER_ROWS] = {
#define FC_METRIC_SERVER(name, kind, help, value) (uint64_t)(value),
#define FC_METRIC_MODULE(...)
#include "dialect/metrics.def"
#undef FC_METRIC_SERVER
#undef FC_METRIC_MODULE
  };
  memcpy(out_numbers, numbers, sizeof numbers);
}

static fc_status_t put_build(bool open, fc_sink_t *sink, fc_error_t *err) {
  static const fc_family_t kFamily = {"farcall_build_info", FC_METRIC_GAUGE,
                                      "1; the label is the version"};
  fc_labels_t labels = {0};
  fc_labels_add(&labels, "version", fc_str(fc_version()));
  FC_TRY(fc_metrics_put_family(&kFamily, open, sink, err));
  return fc_metrics_put(kFamily.name, kFamily.kind, &labels, 1, sink, err);
}

static fc_status_t put_answers(const fc_metrics_t *metrics, bool open,
                               fc_sink_t *sink, fc_error_t *err) {
  static const fc_family_t kFamily = {
      "farcall_requests_total", FC_METRIC_COUNTER,
      "Answers by status; 499: the client left"};
  FC_TRY(fc_metrics_put_family(&kFamily, open, sink, err));
  for (int i = 0; i < FC_STATUS_COUNT; i++) {
    if (!metrics->answers[i]) continue;
    char status[16];
    fc_labels_t labels = {0};
    snprintf(status, sizeof status, "%d", FC_STATUS_FIRST + i);
    fc_labels_add(&labels, "status", fc_str(status));
    FC_TRY(fc_metrics_put(kFamily.name, kFamily.kind, &labels,
                          metrics->answers[i], sink, err));
  }
  return FC_OK;
}

fc_status_t fc_server_metrics_put(const fc_server_t *server, bool open,
                                  fc_sink_t *sink, fc_error_t *err) {
  static const fc_labels_t kNone;
  uint64_t numbers[SERVER_ROWS];
  server_numbers(server, numbers);
  FC_TRY(put_build(open, sink, err));
  FC_TRY(put_answers(&server->metrics, open, sink, err));
  FC_TRY(fc_condition_metrics_put_server(server, open, sink, err));
  const char *help = NULL;  // rows of one family have one text
  for (size_t i = 0; i < SERVER_ROWS; i++) {
    const fc_family_t *family = &kServer[i];
    if (!help || strcmp(help, family->help) != 0) {
      FC_TRY(fc_metrics_put_family(family, open, sink, err));
    }
    help = family->help;
    FC_TRY(fc_metrics_put(family->name, family->kind, &kNone, numbers[i], sink,
                          err));
  }
  return FC_OK;
}
