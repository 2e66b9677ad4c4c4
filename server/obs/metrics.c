// SPDX-License-Identifier: Apache-2.0
//
// Goes through the table family by family, because the format wants all rows of
// a family together. Labels are escaped: a module's name is [A-Za-z0-9_.-], but
// that of a file which failed to load may be anything.
#include "obs/metrics.h"

#include <stdio.h>

#include "json/writer.h"

typedef struct family_t {
  const char *name;
  const char *kind;
  const char *help;
  size_t offset;
} family_t;

#define KIND_COUNTER "counter"
#define KIND_GAUGE "gauge"

static const family_t kServer[] = {
#define FC_METRIC_SERVER(field, name, kind, help) \
  {name, KIND_##kind, help, offsetof(fc_server_metrics_t, field)},
#define FC_METRIC_MODULE(field, name, kind, help)
#include "obs/metrics.def"
#undef FC_METRIC_SERVER
#undef FC_METRIC_MODULE
};

static const family_t kModule[] = {
#define FC_METRIC_SERVER(field, name, kind, help)
#define FC_METRIC_MODULE(field, name, kind, help) \
  {name, KIND_##kind, help, offsetof(fc_module_metrics_t, field)},
#include "obs/metrics.def"
#undef FC_METRIC_SERVER
#undef FC_METRIC_MODULE
};

static uint64_t value_at(const void *numbers, size_t offset) {
  uint64_t value;
  memcpy(&value, (const char *)numbers + offset, sizeof value);
  return value;
}

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

static fc_status_t put_family(fc_sink_t *sink, const family_t *family,
                              fc_error_t *err) {
  char text[256];
  int size = snprintf(text, sizeof text,
                      "# HELP farcall_%s %s\n# TYPE farcall_%s %s\n",
                      family->name, family->help, family->name, family->kind);
  FC_ASSERT(size > 0 && (size_t)size < sizeof text);
  return put(sink, text, err);
}

static fc_status_t put_value(fc_sink_t *sink, uint64_t value, fc_error_t *err) {
  FC_TRY(put(sink, " ", err));
  FC_TRY(fc_json_write_u64(sink, value, err));
  return put(sink, "\n", err);
}

static fc_status_t put_answers(const fc_metrics_t *metrics, fc_sink_t *sink,
                               fc_error_t *err) {
  static const family_t kFamily = {"requests_total", KIND_COUNTER,
                                   "Answers by status; 499: the client left",
                                   0};
  FC_TRY(put_family(sink, &kFamily, err));
  for (int i = 0; i < FC_STATUS_COUNT; i++) {
    if (!metrics->answers[i]) continue;
    char text[64];
    snprintf(text, sizeof text, "farcall_requests_total{status=\"%d\"}",
             FC_STATUS_FIRST + i);
    FC_TRY(put(sink, text, err));
    FC_TRY(put_value(sink, metrics->answers[i], err));
  }
  return FC_OK;
}

static fc_status_t put_of_module(const fc_metrics_source_t *source,
                                 uint32_t index, const family_t *family,
                                 fc_sink_t *sink, fc_error_t *err) {
  fc_module_metrics_t numbers = {0};
  fc_str_t name = source->module(source->context, index, &numbers);
  const bool has_value =
      numbers.ready || family->offset == offsetof(fc_module_metrics_t, ready);
  if (name.size == 0 || !has_value) return FC_OK;
  char label[160], text[320];
  fc_escape(label, sizeof label, 128, name);
  snprintf(text, sizeof text, "farcall_%s{module=\"%s\"}", family->name, label);
  FC_TRY(put(sink, text, err));
  return put_value(sink, value_at(&numbers, family->offset), err);
}

fc_status_t fc_metrics_write(const fc_metrics_source_t *source, fc_sink_t *sink,
                             fc_error_t *err) {
  FC_TRY(put_answers(source->metrics, sink, err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kServer); i++) {
    FC_TRY(put_family(sink, &kServer[i], err));
    FC_TRY(put(sink, "farcall_", err));
    FC_TRY(put(sink, kServer[i].name, err));
    FC_TRY(put_value(sink, value_at(&source->server, kServer[i].offset), err));
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(kModule); i++) {
    FC_TRY(put_family(sink, &kModule[i], err));
    for (uint32_t m = 0; m < source->module_count; m++) {
      FC_TRY(put_of_module(source, m, &kModule[i], sink, err));
    }
  }
  return FC_OK;
}
