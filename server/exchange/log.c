// SPDX-License-Identifier: Apache-2.0
//
// The access log has one line for each request, written when it is answered or its client
// has left. Successful health checks have none.
#include "exchange/exchange.h"

#include <stdio.h>

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

// The maximum number of fields in a line.
enum {
#define LOG_FIELD(kind, name, when, value) +1
  FIELDS = FC_STAGE_COUNT
#include "exchange/log_field.def"
#undef LOG_FIELD
};

static void log_line(const fc_exchange_t *x, int status, fc_code_t code,
                     fc_str_t detail, uint64_t bytes_out, bool is_call) {
  const fc_server_t *server = x->server;
  const uint64_t total_ns =
      x->times.began_ns ? fc_clock_ns() - x->times.began_ns : 0;
  fc_log_field_t fields[FIELDS];
  size_t count = 0;
  char session[FC_SESSION_DIGEST_SIZE], client[FC_PEER_TEXT_SIZE];
  char ids[2 * (FC_TRACE_ID + FC_SPAN_ID)], batch[24];
  fc_str_t module, function;
  fc_exchange_names(x, &module, &function);
  fc_peer_print(&x->asker.peer, client);
  if (x->traced.trace.known) {
    fc_trace_print_id(x->traced.trace.id, FC_TRACE_ID, ids);
    fc_trace_print_id(x->traced.trace.span, FC_SPAN_ID, ids + 2 * FC_TRACE_ID);
  }
  if (x->joined.session) fc_session_print_digest(x->joined.session, session);
  if (x->times.batch.calls) {
    snprintf(batch, sizeof batch, "%u/%u", x->times.batch.rows,
             x->times.batch.computed);
  }
#define LOG_FIELD(kind, name, when, value) \
  if (when) fields[count++] = FC_LOG_##kind(name, value);
#include "exchange/log_field.def"
#undef LOG_FIELD
  static const char *const kKeys[FC_STAGE_COUNT] = {
#define FC_STAGE(name, text) text "_us",
#include "pool/stage.def"
#undef FC_STAGE
  };
  for (int i = 0; is_call && i < FC_STAGE_COUNT; i++) {
    fields[count++] = FC_LOG_NUMBER(kKeys[i], x->times.spent_ns[i] / 1000);
  }
  // A client's mistake is informational; a 5xx is a warning for the operator.
  const int worst = x->parted.failed ? x->parted.failed : status;
  fc_log_fields(server->log, worst < 500 ? FC_LOG_INFO : FC_LOG_WARN,
                FC_STR("request"), fields, count);
}

void fc_exchange_log(const fc_exchange_t *x, int status, fc_code_t code,
                     fc_str_t detail, uint64_t bytes_out, bool is_call) {
  if (x->server->options->access_log != FC_ACCESS_LOG_ON) return;
  // Health checks come every few seconds, so only failed ones are logged.
  if (is_health(x->place.route) && status == 200) return;
  log_line(x, status, code, detail, bytes_out, is_call);
}
