// SPDX-License-Identifier: Apache-2.0
//
// Prometheus' text and OpenMetrics require that all samples of one name are together. So
// there is one pass over the modules for each name: first the names of metrics.def, then
// those of functions, then Triton's. At most FC_LIMIT_METRIC_MODULES modules and
// --metrics-functions functions have their own lines. The numbers of all others are
// summed under the name "(other)", which no module can have.
#include "dialect/metrics.h"

#include <stdio.h>

#include "dialect/condition_metrics.h"
#include "dialect/place.h"
#include "dialect/server_metrics.h"
#include "obs/code.h"

#define OTHER FC_STR("(other)")

static fc_status_t begin_text(const fc_server_t *server, fc_sink_t *sink,
                              fc_error_t *err) {
  return fc_server_metrics_put(server, false, sink, err);
}

static fc_status_t begin_open(const fc_server_t *server, fc_sink_t *sink,
                              fc_error_t *err) {
  return fc_server_metrics_put(server, true, sink, err);
}

// ---------------------------------------------------------------------------
// The numbers of functions

static uint64_t value_at(const void *numbers, size_t offset) {
  uint64_t value;
  memcpy(&value, (const char *)numbers + offset, sizeof value);
  return value;
}

// The output of a document.
typedef struct text_t {
  fc_sink_t *sink;
  bool open;  // the format is OpenMetrics
} text_t;

typedef struct function_row_t function_row_t;
struct function_row_t {
  fc_family_t family;
  fc_status_t (*put)(const function_row_t *row, const fc_labels_t *labels,
                     const fc_series_t *series, const text_t *out,
                     fc_error_t *err);
  size_t offset;  // in fc_series_t, of the number that `put` writes
};

static fc_status_t put_codes(const function_row_t *row,
                             const fc_labels_t *labels,
                             const fc_series_t *series, const text_t *out,
                             fc_error_t *err) {
  for (int i = 0; i <= FC_SERIES_LEFT; i++) {
    if (!series->answers[i] && i != FC_CODE_NONE) continue;
    const char *code = "ok";
    if (i == FC_SERIES_LEFT) code = "client_left";
    else if (i != FC_CODE_NONE) code = fc_code_info((fc_code_t)i)->text;
    fc_labels_t all = *labels;
    fc_labels_add(&all, "code", fc_str(code));
    FC_TRY(fc_metrics_put(row->family.name, row->family.kind, &all,
                          series->answers[i], out->sink, err));
  }
  return FC_OK;
}

static fc_status_t put_number(const function_row_t *row,
                              const fc_labels_t *labels,
                              const fc_series_t *series, const text_t *out,
                              fc_error_t *err) {
  return fc_metrics_put(row->family.name, row->family.kind, labels,
                        value_at(series, row->offset), out->sink, err);
}

static fc_status_t put_share(const function_row_t *row,
                             const fc_labels_t *labels,
                             const fc_series_t *series, const text_t *out,
                             fc_error_t *err) {
  const uint64_t shares = value_at(series, row->offset);
  return fc_metrics_put(row->family.name, row->family.kind, labels,
                        shares / FC_BATCH_SHARES, out->sink, err);
}

// Writes how many executions of batches there were, by the number of calls in the
// batch. The label `calls` is the largest number in the class.
static fc_status_t put_executions(const function_row_t *row,
                                  const fc_labels_t *labels,
                                  const fc_series_t *series, const text_t *out,
                                  fc_error_t *err) {
  static const char *const kCalls[FC_BATCH_SIZES] = {"1", "2", "4", "8", "16"};
  for (int i = 0; i < FC_BATCH_SIZES; i++) {
    if (i && !series->executions[i]) continue;
    fc_labels_t all = *labels;
    fc_labels_add(&all, "calls", fc_str(kCalls[i]));
    FC_TRY(fc_metrics_put(row->family.name, row->family.kind, &all,
                          series->executions[i] / FC_BATCH_SHARES, out->sink,
                          err));
  }
  return FC_OK;
}

static fc_status_t put_duration(const function_row_t *row,
                                const fc_labels_t *labels,
                                const fc_series_t *series, const text_t *out,
                                fc_error_t *err) {
  return fc_metrics_put_histogram(row->family.name, labels, &series->duration,
                                  1, out->open ? series->exemplars : NULL,
                                  out->sink, err);
}

// Writes half as many buckets as usual, because each function has eight of these
// histograms.
static fc_status_t put_stages(const function_row_t *row,
                              const fc_labels_t *labels,
                              const fc_series_t *series, const text_t *out,
                              fc_error_t *err) {
  for (int i = 0; i < FC_STAGE_COUNT; i++) {
    fc_labels_t all = *labels;
    fc_labels_add(&all, "stage", fc_str(fc_stage_name((fc_stage_t)i)));
    FC_TRY(fc_metrics_put_histogram(row->family.name, &all, &series->stages[i],
                                    2, NULL, out->sink, err));
  }
  return FC_OK;
}

static const function_row_t kFunctions[] = {
    {{"farcall_calls_total", FC_METRIC_COUNTER,
      "Calls answered, by code: ok, an error's code, or client_left"},
     put_codes,
     0},
    {{"farcall_call_received_bytes_total", FC_METRIC_COUNTER,
      "Bytes of the bodies of calls"},
     put_number,
     offsetof(fc_series_t, received)},
    {{"farcall_call_sent_bytes_total", FC_METRIC_COUNTER,
      "Bytes of the answers to calls"},
     put_number,
     offsetof(fc_series_t, sent)},
    {{"farcall_batched_calls_total", FC_METRIC_COUNTER,
      "Calls with results that were computed together with others"},
     put_number,
     offsetof(fc_series_t, joined)},
    {{"farcall_executions_total", FC_METRIC_COUNTER,
      "How often functions were called for calls with results: once for those "
      "that were computed together, by how many these are (at most `calls`)"},
     put_executions,
     0},
    {{"farcall_batched_padding_total", FC_METRIC_COUNTER,
      "Rows that nobody sent, computed because no function has so few"},
     put_share,
     offsetof(fc_series_t, padding)},
    {{"farcall_call_duration_seconds", FC_METRIC_HISTOGRAM,
      "Time from the first byte of a call to its answer, of calls with results "
      "but for loops"},
     put_duration,
     0},
    {{"farcall_call_stage_duration_seconds", FC_METRIC_HISTOGRAM,
      "Time of calls with results in each stage, but for loops"},
     put_stages,
     0},
};

// ---------------------------------------------------------------------------
// Triton's metrics, with its four reasons of failures

static const char *const kReasons[FC_CODE_REASON_COUNT] = {
    "OTHER", "REJECTED", "BACKEND", "CANCELED"};

static fc_code_reason_t reason_of(int code) {
  if (code == FC_SERIES_LEFT) return FC_CODE_REASON_CANCELED;
  return fc_code_traits((fc_code_t)code)->reason;
}

static fc_status_t put_failures(const function_row_t *row,
                                const fc_labels_t *labels,
                                const fc_series_t *series, const text_t *out,
                                fc_error_t *err) {
  uint64_t sums[FC_ARRAY_COUNT(kReasons)] = {0};
  for (int i = FC_CODE_NONE + 1; i <= FC_SERIES_LEFT; i++) {
    sums[reason_of(i)] += series->answers[i];
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(kReasons); i++) {
    fc_labels_t all = *labels;
    fc_labels_add(&all, "reason", fc_str(kReasons[i]));
    FC_TRY(fc_metrics_put(row->family.name, row->family.kind, &all, sums[i],
                          out->sink, err));
  }
  return FC_OK;
}

// The row's offset is a stage, or FC_STAGE_COUNT for the whole call. Calls with ?iterate
// count as calls under Triton's names.
static fc_status_t put_us(const function_row_t *row, const fc_labels_t *labels,
                          const fc_series_t *series, const text_t *out,
                          fc_error_t *err) {
  const fc_histogram_t *calls = row->offset == FC_STAGE_COUNT
                                    ? &series->duration
                                    : &series->stages[row->offset];
  const uint64_t ns = calls->sum_ns + series->parts_ns[row->offset];
  return fc_metrics_put(row->family.name, row->family.kind, labels, ns / 1000u,
                        out->sink, err);
}

static const fc_family_t kPending = {
    "nv_inference_pending_request_count", FC_METRIC_GAUGE,
    "Calls that wait for a worker, of all functions of a module"};

static const function_row_t kTriton[] = {
    {{"nv_inference_request_success", FC_METRIC_COUNTER,
      "Calls answered with results"},
     put_number,
     offsetof(fc_series_t, answers[FC_CODE_NONE])},
    {{"nv_inference_request_failure", FC_METRIC_COUNTER,
      "Calls answered with an error"},
     put_failures,
     0},
    {{"nv_inference_count", FC_METRIC_COUNTER,
      "Rows of calls with results; a call without rows counts as one"},
     put_share,
     offsetof(fc_series_t, rows)},
    {{"nv_inference_exec_count", FC_METRIC_COUNTER,
      "How often functions were called for calls with results"},
     put_share,
     offsetof(fc_series_t, executed)},
    {{"nv_inference_request_duration_us", FC_METRIC_COUNTER,
      "Time of calls, in microseconds"},
     put_us,
     FC_STAGE_COUNT},
    {{"nv_inference_queue_duration_us", FC_METRIC_COUNTER,
      "Time in the queue, in microseconds"},
     put_us,
     FC_STAGE_QUEUE},
    {{"nv_inference_compute_input_duration_us", FC_METRIC_COUNTER,
      "Time in stage decode, in microseconds"},
     put_us,
     FC_STAGE_DECODE},
    {{"nv_inference_compute_infer_duration_us", FC_METRIC_COUNTER,
      "Time in stage call, in microseconds"},
     put_us,
     FC_STAGE_CALL},
    {{"nv_inference_compute_output_duration_us", FC_METRIC_COUNTER,
      "Time in stage encode, in microseconds"},
     put_us,
     FC_STAGE_ENCODE},
};

// Adds Triton's labels of a function: model and version. If `function` is NULL, adds
// those of the module.
static void add_model(const fc_generation_t *generation,
                      const fc_function_t *function, fc_labels_t *labels) {
  char name[FC_LIMIT_LABEL + 2];
  uint32_t only;
  fc_str_t model = generation->claim.name;
  if (function &&
      !fc_place_only_function(generation, function->module, &only)) {
    const int size = snprintf(name, sizeof name, "%.*s.%.*s",
                              FC_STR_ARG(generation->claim.name),
                              FC_STR_ARG(function->name));
    FC_ASSERT(size > 0 && (size_t)size < sizeof name);
    model = fc_str_make(name, (size_t)size);
  }
  fc_labels_add(labels, "model", model);
  fc_labels_add(labels, "version", generation->claim.version);
}

// ---------------------------------------------------------------------------
// Passes

static const fc_family_t kModules[] = {
#define FC_METRIC_SERVER(...)
#define FC_METRIC_MODULE(id, name, kind, help, value) \
  {name, (fc_metric_kind_t)FC_METRIC_ROW_##kind, help},
#include "dialect/metrics.def"
#undef FC_METRIC_SERVER
#undef FC_METRIC_MODULE
};

typedef enum module_row_t {
#define FC_METRIC_SERVER(...)
#define FC_METRIC_MODULE(id, ...) MODULE_##id,
#include "dialect/metrics.def"
#undef FC_METRIC_SERVER
#undef FC_METRIC_MODULE
} module_row_t;

enum { IS_OPEN = 1 };  // parts->flags: the document is OpenMetrics

enum {
  FUNCTIONS = FC_ARRAY_COUNT(kModules),  // the first pass about functions
  CONDITIONS = FUNCTIONS + FC_ARRAY_COUNT(kFunctions),
  PENDING,
  TRITON,
  PASSES = TRITON + FC_ARRAY_COUNT(kTriton)
};

static const function_row_t *function_row(uint32_t pass) {
  if (pass >= TRITON) return &kTriton[pass - TRITON];
  if (pass >= FUNCTIONS && pass < CONDITIONS)
    return &kFunctions[pass - FUNCTIONS];
  return NULL;
}

static const fc_family_t *family_of(uint32_t pass) {
  if (pass == PENDING) return &kPending;
  if (pass == CONDITIONS) return &fc_condition_family;
  const function_row_t *row = function_row(pass);
  return row ? &row->family : &kModules[pass];
}

static fc_status_t put_other_functions(const fc_parts_t *parts, uint32_t pass,
                                       fc_sink_t *sink, fc_error_t *err) {
  const fc_series_t *others = parts->server->modules->generations.series.others;
  const function_row_t *row = function_row(pass);
  const text_t out = {sink, parts->flags & IS_OPEN};
  if (!others) return FC_OK;
  fc_labels_t labels = {0};
  fc_labels_add(&labels, pass >= TRITON ? "model" : "module", OTHER);
  fc_labels_add(&labels, pass >= TRITON ? "version" : "function", OTHER);
  return row->put(row, &labels, others, &out, err);
}

static fc_status_t put_other_modules(const fc_parts_t *parts, uint32_t pass,
                                     fc_sink_t *sink, fc_error_t *err) {
  const fc_family_t *family = family_of(pass);
  if (pass == CONDITIONS) {
    return fc_condition_metrics_put_rest(parts->rest, OTHER, sink, err);
  }
  if (!parts->rest[0]) return FC_OK;
  fc_labels_t labels = {0};
  fc_labels_add(&labels, pass == PENDING ? "model" : "module", OTHER);
  return fc_metrics_put(family->name, family->kind, &labels, parts->rest[0],
                        sink, err);
}

static fc_status_t put_pass(fc_parts_t *parts, bool *out_more, fc_sink_t *sink,
                            fc_error_t *err) {
  const bool triton = parts->server->options->metrics_triton;
  const uint32_t pass = parts->pass;
  if (pass) {
    FC_TRY((function_row(pass - 1) ? put_other_functions : put_other_modules)(
        parts, pass - 1, sink, err));
  }
  parts->shown = 0;
  memset(parts->rest, 0, sizeof parts->rest);
  *out_more = pass < (triton ? (uint32_t)PASSES : (uint32_t)PENDING);
  if (!*out_more) return FC_OK;
  return fc_metrics_put_family(family_of(pass), parts->flags & IS_OPEN, sink,
                               err);
}

// Returns the value of a row; 0 if the module is not READY.
static uint64_t module_number(const fc_server_t *server,
                              const fc_generation_t *generation,
                              module_row_t row) {
  if (fc_generation_state(generation) != FC_GENERATION_READY) return 0;
  fc_pool_numbers_t pool;
  fc_pool_numbers(server->pool, generation->index, &pool);
  switch (row) {
#define FC_METRIC_SERVER(...)
#define FC_METRIC_MODULE(id, name, kind, help, value) \
  case MODULE_##id:                                   \
    return (uint64_t)(value);
#include "dialect/metrics.def"
#undef FC_METRIC_SERVER
#undef FC_METRIC_MODULE
  }
  return 0;
}

_Static_assert(FC_ARRAY_COUNT(((fc_parts_t *)0)->rest) == FC_SEVERITY_COUNT,
               "a rest of each severity");

static fc_status_t put_module_conditions(fc_parts_t *parts,
                                         const fc_generation_t *generation,
                                         fc_sink_t *sink, fc_error_t *err) {
  uint32_t room = FC_LIMIT_METRIC_MODULES - parts->shown;
  FC_TRY(fc_condition_metrics_put_module(parts->server, generation, &room,
                                         parts->rest, sink, err));
  parts->shown = FC_LIMIT_METRIC_MODULES - room;
  return FC_OK;
}

// Writes the line of a module. If FC_LIMIT_METRIC_MODULES lines are written already, or
// the name is too long, the value is added to the line of the rest. Only serial numbers
// of generations are not added: their sum means nothing.
static fc_status_t put_module_row(fc_parts_t *parts,
                                  const fc_generation_t *generation,
                                  fc_sink_t *sink, fc_error_t *err) {
  const bool pending = parts->pass == PENDING;
  const module_row_t row = pending ? MODULE_waiting : (module_row_t)parts->pass;
  if (fc_generation_state(generation) != FC_GENERATION_READY &&
      row != MODULE_ready) {
    return FC_OK;
  }
  const uint64_t value = module_number(parts->server, generation, row);
  if (parts->shown == FC_LIMIT_METRIC_MODULES ||
      generation->claim.label.size > FC_LIMIT_LABEL) {
    if (row != MODULE_generation) parts->rest[0] += value;
    return FC_OK;
  }
  const fc_family_t *family = family_of(parts->pass);
  fc_labels_t labels = {0};
  parts->shown++;
  if (pending) add_model(generation, NULL, &labels);
  else fc_labels_add(&labels, "module", generation->claim.label);
  return fc_metrics_put(family->name, family->kind, &labels, value, sink, err);
}

// Writes the lines of a module in this pass, whose index is parts->pass.
static fc_status_t put_module(fc_parts_t *parts,
                              const fc_generation_t *generation,
                              fc_sink_t *sink, fc_error_t *err) {
  if (parts->pass == CONDITIONS) {
    return put_module_conditions(parts, generation, sink, err);
  }
  // Modules that are not loaded have no lines: there may be ten thousand. Generations
  // that no name leads to have none either.
  if (!generation->claim.current ||
      fc_generation_state(generation) == FC_GENERATION_DESCRIBED) {
    return FC_OK;
  }
  if (!function_row(parts->pass)) {
    return put_module_row(parts, generation, sink, err);
  }
  if (generation->counts &&
      fc_generation_state(generation) == FC_GENERATION_READY) {
    fc_parts_hold(parts, generation);
  }
  return FC_OK;
}

static fc_status_t put_function(fc_parts_t *parts,
                                const fc_generation_t *generation, size_t index,
                                fc_sink_t *sink, fc_error_t *err) {
  const fc_function_t *function = fc_module_function(parts->module, index);
  const fc_function_counts_t *counts = fc_generation_counts(generation, index);
  const fc_series_t *series = counts ? counts->series : NULL;
  const fc_series_t *others = parts->server->modules->generations.series.others;
  const function_row_t *row = function_row(parts->pass);
  const text_t out = {sink, parts->flags & IS_OPEN};
  if (!series || series == others) return FC_OK;
  fc_labels_t labels = {0};
  if (parts->pass >= TRITON) {
    add_model(generation, function, &labels);
  } else {
    fc_labels_add(&labels, "module", generation->claim.label);
    fc_labels_add(&labels, "function", function->name);
  }
  return row->put(row, &labels, series, &out, err);
}

static const fc_parts_form_t kText = {.with_draining = true,
                                      .begin = begin_text,
                                      .pass = put_pass,
                                      .module = put_module,
                                      .function = put_function,
                                      .end = ""};
static const fc_parts_form_t kOpen = {.with_draining = true,
                                      .begin = begin_open,
                                      .pass = put_pass,
                                      .module = put_module,
                                      .function = put_function,
                                      .end = "# EOF\n"};

fc_status_t fc_metrics_document(const fc_server_t *server,
                                const fc_request_t *request,
                                fc_document_t *out_document, fc_error_t *err) {
  const fc_str_t accept = request->fields[FC_FIELD_ACCEPT];
  const uint32_t open = accept.size
                            ? fc_request_weight(accept, FC_STR("application"),
                                                FC_STR("openmetrics-text"))
                            : 0;
  const uint32_t text =
      fc_request_weight(accept, FC_STR("text"), FC_STR("plain"));
  // If a client wants both equally, it gets Prometheus' text, which all programs can
  // read.
  const bool is_open = open > text;
  *out_document = (fc_document_t){
      .content_type =
          is_open ? FC_STR("application/openmetrics-text; version=1.0.0; "
                           "charset=utf-8")
                  : FC_STR("text/plain; version=0.0.4; charset=utf-8")};
  return fc_parts_create(server, is_open ? &kOpen : &kText,
                         is_open ? IS_OPEN : 0, &out_document->parts, err);
}
