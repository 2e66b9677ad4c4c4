// SPDX-License-Identifier: Apache-2.0
//
// The access log: one line for each request, when it is answered or its client has gone,
// but none for a health check that succeeds.
#include "exchange/exchange.h"

void fc_exchange_names(const fc_exchange_t *x, fc_str_t *out_module,
                       fc_str_t *out_function) {
  const fc_generation_t *generation = x->generation;
  const uint32_t function = x->place.function;
  *out_module = *out_function = FC_STR("");
  if (x->act) *out_module = x->act->name;
  if (!generation) return;
  *out_module = generation->claim.label;
  if (function == FC_ROUTE_NO_INDEX || !generation->module) return;
  *out_function = fc_module_function(generation->module, function)->name;
}

static bool is_health(fc_route_t route) {
  return route == FC_ROUTE_LIVE || route == FC_ROUTE_READY ||
         route == FC_ROUTE_STARTUP;
}

static void log_line(const fc_exchange_t *x, int status, fc_code_t code,
                     fc_str_t detail, uint64_t bytes_out, bool is_call) {
  const fc_server_t *server = x->server;
  fc_log_field_t
      fields[19 + FC_STAGE_COUNT];  // all of those below, and the stages
  char session[FC_SESSION_DIGEST_SIZE];
  char ids[2 * (FC_TRACE_ID + FC_SPAN_ID)];
  size_t count = 0;
  char client[FC_PEER_TEXT_SIZE];
  fc_str_t module, function;
  fc_exchange_names(x, &module, &function);
  fields[count++] = FC_LOG_TEXT("request_id", fc_exchange_id(x));
  if (x->traced.trace.known) {
    const fc_str_t trace_id = fc_str_make(ids, 2 * FC_TRACE_ID);
    const fc_str_t span_id = fc_str_make(ids + trace_id.size, 2 * FC_SPAN_ID);
    fc_trace_print_id(x->traced.trace.id, FC_TRACE_ID, ids);
    fc_trace_print_id(x->traced.trace.span, FC_SPAN_ID, ids + trace_id.size);
    fields[count++] = FC_LOG_TEXT("trace_id", trace_id);
    fields[count++] = FC_LOG_TEXT("span_id", span_id);
  }
  fc_peer_print(&x->asker.peer, client);
  fields[count++] =
      FC_LOG_TEXT("client", fc_str(x->policy->local ? "unix" : client));
  if (x->asker.token_size) {
    fields[count++] =
        FC_LOG_TEXT("token", fc_str_make(x->asker.token, x->asker.token_size));
  }
  fields[count++] =
      FC_LOG_TEXT("method", x->asked.method_name ? fc_str(x->asked.method_name)
                                                 : FC_STR(""));
  fields[count++] =
      FC_LOG_TEXT("route", fc_route_path(server->routes, x->place.route));
  fields[count++] = FC_LOG_TEXT("module", module);
  fields[count++] = FC_LOG_TEXT("function", function);
  if (x->session) {
    fc_session_print_digest(x->session, session);
    fields[count++] =
        FC_LOG_TEXT("session", fc_str_make(session, sizeof session));
  }
  fields[count++] = FC_LOG_NUMBER("status", (uint64_t)status);
  if (code != FC_CODE_NONE) {
    fields[count++] = FC_LOG_TEXT("code", fc_str(fc_code_info(code)->text));
    fields[count++] = FC_LOG_TEXT("detail", detail);
  }
  fields[count++] = FC_LOG_NUMBER("bytes_in", x->body_seen);
  fields[count++] = FC_LOG_NUMBER("bytes_out", bytes_out);
  if (x->parted.begun) {
    fields[count++] = FC_LOG_NUMBER("parts", x->parted.count);
    fields[count++] = FC_LOG_NUMBER("first_us", x->parted.first_ns / 1000);
  }
  uint64_t total = x->times.began_ns ? fc_clock_ns() - x->times.began_ns : 0;
  fields[count++] = FC_LOG_NUMBER("us", total / 1000);
  static const char *const kKeys[FC_STAGE_COUNT] = {
#define FC_STAGE(name, text) text "_us",
#include "pool/stage.def"
#undef FC_STAGE
  };
  for (int i = 0; is_call && i < FC_STAGE_COUNT; i++) {
    fields[count++] = FC_LOG_NUMBER(kKeys[i], x->times.spent_ns[i] / 1000);
  }
  // A client's mistake is its own, a 5xx is for who runs the server.
  const int worst = x->parted.failed ? x->parted.failed : status;
  fc_log_fields(server->log, worst < 500 ? FC_LOG_INFO : FC_LOG_WARN,
                FC_STR("request"), fields, count);
}

void fc_exchange_log(const fc_exchange_t *x, int status, fc_code_t code,
                     fc_str_t detail, uint64_t bytes_out, bool is_call) {
  if (x->server->options->access_log != FC_ACCESS_LOG_ON) return;
  // Health checks come every few seconds: only those that fail are logged.
  if (is_health(x->place.route) && status == 200) return;
  log_line(x, status, code, detail, bytes_out, is_call);
}
