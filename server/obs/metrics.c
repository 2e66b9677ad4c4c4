// SPDX-License-Identifier: Apache-2.0
//
// No samples `_created` are written: they would be one more series for each counter.
// `farcall_module_generation` and `process_start_time_seconds` show when counters began
// at 0 again.
#include "obs/metrics.h"

#include <stdio.h>

#include "json/number.h"
#include "json/writer.h"

#define LABEL_MAX 400      // the most characters of a value
#define LABEL_NAME_MAX 64  // the most characters of a label's name

void fc_labels_add(fc_labels_t *labels, const char *name, fc_str_t value) {
  char escaped[LABEL_MAX * 4 + 8];
  const size_t size = fc_escape(escaped, sizeof escaped, LABEL_MAX, value);
  char *out = labels->text + labels->size;
  const char *end = labels->text + sizeof labels->text;
  if (end - out < LABEL_NAME_MAX) return;
  out +=
      snprintf(out, LABEL_NAME_MAX, "%s%s=\"", labels->size ? "," : "", name);
  // fc_escape writes \" and \\, which this format needs too. It also writes \xNN, whose
  // backslash must be doubled.
  for (size_t i = 0; i < size && end - out > 4; i++) {
    *out++ = escaped[i];
    if (escaped[i] != '\\' || i + 1 == size) continue;
    if (escaped[i + 1] == 'x') *out++ = '\\';
    *out++ = escaped[++i];
  }
  *out++ = '"';
  labels->size = (size_t)(out - labels->text);
}

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

static bool ends_with(fc_str_t text, fc_str_t end) {
  return text.size >= end.size &&
         memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
}

static fc_str_t name_of(const char *text) {
  const char *brace = strchr(text, '{');
  return brace ? fc_str_make(text, (size_t)(brace - text)) : fc_str(text);
}

fc_status_t fc_metrics_put_family(const fc_family_t *family, bool open,
                                  fc_sink_t *sink, fc_error_t *err) {
  static const char *const kKinds[] = {"counter", "gauge", "counter",
                                       "histogram"};
  const char *kind = kKinds[family->kind];
  const fc_str_t total = FC_STR("_total");
  fc_str_t name = name_of(family->name);
  // OpenMetrics names a counter without "_total", and all its samples must end in
  // "_total". A counter with another name has the type "unknown".
  if (open && family->kind != FC_METRIC_GAUGE &&
      family->kind != FC_METRIC_HISTOGRAM) {
    if (ends_with(name, total)) name.size -= total.size;
    else kind = "unknown";
  }
  char text[512];
  const int size =
      snprintf(text, sizeof text, "# HELP %.*s %s\n# TYPE %.*s %s\n",
               FC_STR_ARG(name), family->help, FC_STR_ARG(name), kind);
  FC_ASSERT(size > 0 && (size_t)size < sizeof text);
  return put(sink, text, err);
}

// Prints nanoseconds as seconds, without trailing zeros.
static char *print_seconds(uint64_t ns, char *out) {
  out = fc_number_print_u64(ns / 1000000000u, out);
  uint64_t rest = ns % 1000000000u;
  if (!rest) return out;
  *out++ = '.';
  for (uint64_t place = 100000000u; rest; place /= 10) {
    *out++ = (char)('0' + rest / place);
    rest %= place;
  }
  return out;
}

static fc_status_t put_labels(const fc_labels_t *labels, fc_str_t last,
                              fc_sink_t *sink, fc_error_t *err) {
  if (labels->size + last.size == 0) return FC_OK;
  FC_TRY(put(sink, "{", err));
  FC_TRY(fc_sink_put(sink, fc_str_make(labels->text, labels->size), err));
  if (labels->size && last.size) FC_TRY(put(sink, ",", err));
  FC_TRY(fc_sink_put(sink, last, err));
  return put(sink, "}", err);
}

static fc_status_t put_value(fc_metric_kind_t kind, uint64_t value,
                             fc_sink_t *sink, fc_error_t *err) {
  char text[48] = " ", *end = text + 1;
  if (kind == FC_METRIC_SECONDS) end = print_seconds(value, end);
  else end = fc_number_print_u64(value, end);
  *end++ = '\n';
  return fc_sink_put(sink, fc_str_make(text, (size_t)(end - text)), err);
}

fc_status_t fc_metrics_put(const char *name, fc_metric_kind_t kind,
                           const fc_labels_t *labels, uint64_t value,
                           fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(put(sink, name, err));
  FC_TRY(put_labels(labels, FC_STR(""), sink, err));
  return put_value(kind, value, sink, err);
}

static fc_status_t put_exemplar(const fc_exemplar_t *exemplar, fc_sink_t *sink,
                                fc_error_t *err) {
  char text[160] = " # {trace_id=\"", *end = text + strlen(text);
  fc_trace_print_id(exemplar->trace, FC_TRACE_ID, end);
  end += 2 * FC_TRACE_ID;
  memcpy(end, "\"} ", 3);
  end = print_seconds(exemplar->ns, end + 3);
  *end++ = ' ';
  end = print_seconds(exemplar->unix_ns, end);
  *end++ = '\n';
  return fc_sink_put(sink, fc_str_make(text, (size_t)(end - text)), err);
}

static fc_status_t put_bucket(const char *name, const fc_labels_t *labels,
                              uint32_t bound, uint64_t count,
                              const fc_exemplar_t *exemplar, fc_sink_t *sink,
                              fc_error_t *err) {
  char last[48] = "le=\"", *end = last + 4;
  if (bound < FC_HISTOGRAM_BOUNDS) {
    end = print_seconds(fc_histogram_bound(bound), end);
  } else {
    memcpy(end, "+Inf", 4);
    end += 4;
  }
  *end++ = '"';
  FC_TRY(put(sink, name, err));
  FC_TRY(put(sink, "_bucket", err));
  FC_TRY(
      put_labels(labels, fc_str_make(last, (size_t)(end - last)), sink, err));
  if (exemplar && exemplar->unix_ns) {
    FC_TRY(put(sink, " ", err));
    FC_TRY(fc_json_write_u64(sink, count, err));
    return put_exemplar(exemplar, sink, err);
  }
  return put_value(FC_METRIC_COUNTER, count, sink, err);
}

fc_status_t fc_metrics_put_histogram(const char *name,
                                     const fc_labels_t *labels,
                                     const fc_histogram_t *histogram,
                                     uint32_t every,
                                     const fc_exemplar_t *exemplars,
                                     fc_sink_t *sink, fc_error_t *err) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < FC_HISTOGRAM_BUCKETS; i++) {
    count += histogram->counts[i];
    if (i % every && i < FC_HISTOGRAM_BOUNDS) continue;
    FC_TRY(put_bucket(name, labels, i, count, exemplars ? &exemplars[i] : NULL,
                      sink, err));
  }
  FC_TRY(put(sink, name, err));
  FC_TRY(put(sink, "_sum", err));
  FC_TRY(put_labels(labels, FC_STR(""), sink, err));
  FC_TRY(put_value(FC_METRIC_SECONDS, histogram->sum_ns, sink, err));
  FC_TRY(put(sink, name, err));
  FC_TRY(put(sink, "_count", err));
  FC_TRY(put_labels(labels, FC_STR(""), sink, err));
  return put_value(FC_METRIC_COUNTER, count, sink, err);
}
