// SPDX-License-Identifier: Apache-2.0
//
// Finds the trace that a request belongs to: the client's or, if the request is
// sampled, a new one. The data for export is stored when the request is answered or its
// client has left.
#include <time.h>

#include "base/utf8.h"
#include "exchange/exchange.h"

_Static_assert(FC_SPANS_STAGES == FC_STAGE_COUNT, "a span for each stage");

void fc_exchange_trace(fc_exchange_t *x, fc_str_t traceparent) {
  fc_server_t *server = x->server;
  fc_trace_t *trace = &x->traced.trace;
  if (!traceparent.data || !fc_trace_parse(traceparent, trace)) {
    if (fc_trace_random(&server->id_state) % FC_RATIO_ALL >=
        server->trace_ratio) {
      return;
    }
    *trace = (fc_trace_t){.known = true, .sampled = true};
    fc_trace_make_id(&server->id_state, trace->id, sizeof trace->id);
  }
  fc_trace_make_id(&server->id_state, trace->span, sizeof trace->span);
}

// Copies a name, at most FC_SPANS_NAME bytes, and returns its size. Collectors refuse a
// document that is not UTF-8. So a long name is cut between two characters, and any name
// is cut before its first invalid byte.
static uint8_t keep(char *out, fc_str_t name) {
  const fc_str_t kept = fc_utf8_cut(name, FC_SPANS_NAME);
  if (kept.size) memcpy(out, kept.data, kept.size);
  return (uint8_t)kept.size;
}

static const char *code_text(int code) {
  if (code == FC_CODE_NONE) return NULL;
  if (code == FC_SERIES_LEFT) return "client_left";
  return fc_code_info((fc_code_t)code)->text;
}

void fc_exchange_export(const fc_exchange_t *x, int status, int code,
                        uint64_t bytes_out) {
  const fc_server_t *server = x->server;
  if (!x->traced.trace.sampled || !server->spans) return;
  fc_span_record_t *record = fc_spans_add(server->spans, x->times.spent_ns);
  if (!record && x->traced.dispatches) {
    fc_spans_add_dispatches(server->spans, NULL, x->traced.dispatches,
                            x->traced.dispatch_count);
  }
  if (!record) return;
  struct timespec now;
  fc_str_t module, function;
  clock_gettime(CLOCK_REALTIME, &now);
  fc_exchange_names(x, &module, &function);
  const uint64_t now_ns =
      (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  const uint64_t took_ns = fc_clock_ns() - x->times.began_ns;
  *record = (fc_span_record_t){
      .trace = x->traced.trace,
      .began_unix_ns = now_ns - took_ns,
      .took_ns = took_ns,
      .received = x->body_seen,
      .sent = bytes_out,
      .parts = x->parted.count,
      .first_ns = x->parted.first_ns,
      .status = status,
      .scheme = x->policy->tls ? "https" : "http",
      .method = x->asked.method_name ? x->asked.method_name : "",
      .route = fc_route_path(server->routes, x->place.route),
      .code = code_text(code),
      .call_stage = FC_STAGE_CALL};
  memcpy(record->spent_ns, x->times.spent_ns, sizeof record->spent_ns);
  record->module_size = keep(record->module, module);
  record->function_size = keep(record->function, function);
  if (x->traced.dispatches) {
    fc_spans_add_dispatches(server->spans, record, x->traced.dispatches,
                            x->traced.dispatch_count);
  }
}
