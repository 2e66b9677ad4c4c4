// SPDX-License-Identifier: Apache-2.0
#include "obs/spans.h"

#include <unistd.h>

#include "farcall/version.h"
#include "json/number.h"
#include "json/writer.h"

// SpanKind and StatusCode of trace.proto
enum { KIND_INTERNAL = 1, KIND_SERVER = 2 };
enum { STATUS_ERROR = 2 };

fc_status_t fc_spans_init(fc_spans_t *spans, fc_allocator_t allocator,
                          uint64_t seed, const char *const *stages,
                          fc_error_t *err) {
  *spans =
      (fc_spans_t){.allocator = allocator, .id_state = seed, .stages = stages};
  spans->ring = fc_alloc_array(allocator, FC_SPANS_ROOM, sizeof *spans->ring);
  return spans->ring ? FC_OK : fc_fail_memory(err);
}

static void forget_first(fc_spans_t *spans) {
  fc_span_record_t *record = &spans->ring[spans->first];
  spans->dispatch_count -= record->dispatch_count;
  fc_free(spans->allocator, record->dispatches);
  record->dispatches = NULL;
  spans->first = (spans->first + 1) % FC_SPANS_ROOM;
  spans->count--;
}

void fc_spans_deinit(fc_spans_t *spans) {
  while (spans->count) forget_first(spans);
  if (spans->ring) fc_free(spans->allocator, spans->ring);
  spans->ring = NULL;
}

static uint64_t count_spans(const uint64_t *spent_ns) {
  uint64_t count = 1;
  for (int i = 0; i < FC_SPANS_STAGES; i++) count += spent_ns[i] != 0;
  return count;
}

fc_span_record_t *fc_spans_add(fc_spans_t *spans, const uint64_t *spent_ns) {
  if (spans->count == FC_SPANS_ROOM) {
    spans->dropped += count_spans(spent_ns);
    return NULL;
  }
  return &spans->ring[(spans->first + spans->count++) % FC_SPANS_ROOM];
}

void fc_spans_add_dispatches(fc_spans_t *spans, fc_span_record_t *record,
                             const fc_dispatch_span_t *dispatches,
                             uint32_t count) {
  const bool fits =
      record && count <= FC_SPANS_DISPATCH_ROOM - spans->dispatch_count;
  if (fits) {
    record->dispatches =
        fc_alloc_array(spans->allocator, count, sizeof *dispatches);
  }
  if (!fits || !record->dispatches) {
    spans->dropped += count;
    return;
  }
  memcpy(record->dispatches, dispatches, count * sizeof *dispatches);
  record->dispatch_count = count;
  spans->dispatch_count += count;
}

// ---------------------------------------------------------------------------
// Writing the document

static fc_status_t put_id(fc_sink_t *sink, const char *lead,
                          const uint8_t *bytes, size_t size, fc_error_t *err) {
  char digits[2 * FC_TRACE_ID];
  fc_trace_print_id(bytes, size, digits);
  FC_TRY(fc_json_print(sink, err, "%s", lead));
  FC_TRY(fc_sink_put(sink, fc_str_make(digits, 2 * size), err));
  return fc_json_print(sink, err, "'");
}

// Writes a 64-bit integer, which is a string in OTLP's JSON.
static fc_status_t put_u64(fc_sink_t *sink, const char *lead, uint64_t value,
                           fc_error_t *err) {
  return fc_json_print(sink, err, "%s%lu'", lead, value);
}

static fc_status_t put_text(fc_sink_t *sink, const char *key, fc_str_t value,
                            fc_error_t *err) {
  if (value.size == 0) return FC_OK;
  return fc_json_print(sink, err,
                       ",{'key':'%s','value':{'stringValue':'%.*s'}}", key,
                       FC_STR_ARG(value));
}

static fc_status_t put_number(fc_sink_t *sink, const char *key, uint64_t value,
                              fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, ",{'key':'%s", key));
  FC_TRY(put_u64(sink, "\",\"value\":{\"intValue\":\"", value, err));
  return fc_json_print(sink, err, "}}");
}

// Writes the beginning of every span, up to its times.
static fc_status_t put_span(fc_sink_t *sink, const fc_trace_t *trace,
                            const uint8_t *id, const uint8_t *parent,
                            uint64_t began_ns, uint64_t took_ns,
                            fc_error_t *err) {
  FC_TRY(put_id(sink, "{\"traceId\":\"", trace->id, FC_TRACE_ID, err));
  FC_TRY(put_id(sink, ",\"spanId\":\"", id, FC_SPAN_ID, err));
  if (parent) {
    FC_TRY(put_id(sink, ",\"parentSpanId\":\"", parent, FC_SPAN_ID, err));
  }
  FC_TRY(put_u64(sink, ",\"startTimeUnixNano\":\"", began_ns, err));
  return put_u64(sink, ",\"endTimeUnixNano\":\"", began_ns + took_ns, err);
}

static fc_status_t put_request(fc_sink_t *sink, const fc_span_record_t *record,
                               fc_error_t *err) {
  static const uint8_t kNone[FC_SPAN_ID];
  const fc_trace_t *trace = &record->trace;
  const bool has_parent = memcmp(trace->parent, kNone, sizeof kNone) != 0;
  FC_TRY(put_span(sink, trace, trace->span, has_parent ? trace->parent : NULL,
                  record->began_unix_ns, record->took_ns, err));
  FC_TRY(fc_json_print(sink, err, ",'kind':%d", KIND_SERVER));
  // Routes, methods and schemes contain no character that must be escaped.
  FC_TRY(fc_json_print(sink, err,
                       ",'name':'%s %.*s','attributes':[{'key':'url.scheme',"
                       "'value':{'stringValue':'%s'}}",
                       record->method, FC_STR_ARG(record->route),
                       record->scheme));
  FC_TRY(put_text(sink, "http.request.method", fc_str(record->method), err));
  FC_TRY(put_text(sink, "http.route", record->route, err));
  FC_TRY(put_number(sink, "http.response.status_code", (uint64_t)record->status,
                    err));
  FC_TRY(put_number(sink, "http.request.body.size", record->received, err));
  FC_TRY(put_number(sink, "http.response.body.size", record->sent, err));
  if (record->parts) {
    FC_TRY(put_number(sink, "farcall.parts", record->parts, err));
    FC_TRY(put_number(sink, "farcall.first_part_us", record->first_ns / 1000,
                      err));
  }
  FC_TRY(put_text(sink, "farcall.module",
                  fc_str_make(record->module, record->module_size), err));
  FC_TRY(put_text(sink, "farcall.function",
                  fc_str_make(record->function, record->function_size), err));
  FC_TRY(put_text(sink, "error.type", fc_str(record->code ? record->code : ""),
                  err));
  FC_TRY(fc_json_print(sink, err, "]"));
  // OpenTelemetry: a status below 500 is not an error of the server.
  if (record->status >= 500) {
    FC_TRY(fc_json_print(sink, err, ",'status':{'code':%d}", STATUS_ERROR));
  }
  return fc_json_print(sink, err, "}");
}

// Writes the spans of the record's dispatches. `parent` is the span of their stage, which
// began at `began_ns`.
static fc_status_t put_dispatches(fc_spans_t *spans, fc_sink_t *sink,
                                  const fc_span_record_t *record,
                                  const uint8_t *parent, uint64_t began_ns,
                                  fc_error_t *err) {
  for (uint32_t i = 0; i < record->dispatch_count; i++) {
    const fc_dispatch_span_t *span = &record->dispatches[i];
    uint8_t id[FC_SPAN_ID];
    fc_trace_make_id(&spans->id_state, id, sizeof id);
    FC_TRY(fc_json_print(sink, err, ","));
    FC_TRY(put_span(sink, &record->trace, id, parent, began_ns + span->began_ns,
                    span->took_ns, err));
    FC_TRY(fc_json_print(sink, err, ",'kind':%d,'name':", KIND_INTERNAL));
    FC_TRY(fc_json_write_string(sink, fc_str_make(span->name, span->name_size),
                                err));
    FC_TRY(fc_json_print(sink, err,
                         ",'attributes':[{'key':'farcall.span',"
                         "'value':{'stringValue':'dispatch'}}"));
    FC_TRY(put_number(sink, "farcall.grid.x", span->grid[0], err));
    FC_TRY(put_number(sink, "farcall.grid.y", span->grid[1], err));
    FC_TRY(put_number(sink, "farcall.grid.z", span->grid[2], err));
    FC_TRY(fc_json_print(sink, err, "]}"));
  }
  return FC_OK;
}

// Writes the stages as if each began when the previous one ended. The span of READ
// includes reading the body, which happens after ADMIT.
static fc_status_t put_stages(fc_spans_t *spans, fc_sink_t *sink,
                              const fc_span_record_t *record, fc_error_t *err) {
  uint64_t at_ns = record->began_unix_ns;
  for (int i = 0; i < FC_SPANS_STAGES; i++) {
    const uint64_t spent_ns = record->spent_ns[i];
    if (!spent_ns) continue;
    uint8_t id[FC_SPAN_ID];
    fc_trace_make_id(&spans->id_state, id, sizeof id);
    FC_TRY(fc_json_print(sink, err, ","));
    FC_TRY(put_span(sink, &record->trace, id, record->trace.span, at_ns,
                    spent_ns, err));
    FC_TRY(fc_json_print(sink, err, ",'kind':%d,'name':'%s'}", KIND_INTERNAL,
                         spans->stages[i]));
    if (i == record->call_stage && record->dispatch_count) {
      FC_TRY(put_dispatches(spans, sink, record, id, at_ns, err));
    }
    at_ns += spent_ns;
  }
  return FC_OK;
}

static fc_status_t put_resource(fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_json_print(
      sink, err,
      "{'resourceSpans':[{'resource':{'attributes':[{'key':'service.name',"
      "'value':{'stringValue':'farcalld'}}"));
  FC_TRY(put_text(sink, "service.version", fc_str(fc_version()), err));
  FC_TRY(put_number(sink, "process.pid", (uint64_t)getpid(), err));
  return fc_json_print(
      sink, err,
      "]},'scopeSpans':[{'scope':{'name':'farcalld','version':'%s'},'spans':[",
      fc_version());
}

fc_status_t fc_spans_write(fc_spans_t *spans, uint32_t most,
                           uint64_t *out_spans, fc_sink_t *sink,
                           fc_error_t *err) {
  *out_spans = 0;
  FC_TRY(put_resource(sink, err));
  for (uint32_t i = 0;
       i < most && spans->count && *out_spans < FC_SPANS_DOCUMENT; i++) {
    const fc_span_record_t *record = &spans->ring[spans->first];
    if (i) FC_TRY(fc_json_print(sink, err, ","));
    FC_TRY(put_request(sink, record, err));
    FC_TRY(put_stages(spans, sink, record, err));
    *out_spans += count_spans(record->spent_ns);
    // put_stages leaves out a stage that took no time, together with its dispatches.
    if (record->spent_ns[record->call_stage]) {
      *out_spans += record->dispatch_count;
    }
    forget_first(spans);
  }
  return fc_json_print(sink, err, "]}]}]}");
}
