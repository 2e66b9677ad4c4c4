// SPDX-License-Identifier: Apache-2.0
//
// The routes of sessions below /api/v1/modules/{module}/sessions. They make, show, fork,
// reset and end sessions. The values of a session are read and written by calls without a
// function (pool/order.h). exchange/session.c has already found the session in the path
// and checked that the client may use it.
#include "dialect/state.h"

#include <stdio.h>

#include "dialect/admission.h"
#include "dialect/native.h"
#include "dialect/parameter.h"
#include "dialect/problem.h"
#include "json/reader.h"
#include "json/writer.h"
#include "obs/code.h"
#include "pool/process_host.h"

#define MS_NS 1000000u
// The most sessions in one list. The longest time that a session may live without a
// call: a year.
#define LISTED_MAX 1000
#define TTL_MS_MAX (366ull * 24 * 3600 * 1000)

typedef struct asked_t {
  const fc_server_t *server;
  const fc_request_t *request;
  const fc_place_t *place;
  fc_session_t *session;  // of the place
  uint64_t now_ns;
  fc_document_t *document;
  fc_sink_t *sink;
  fc_error_t *err;
} asked_t;

static fc_status_t match(const fc_request_t *request, const fc_place_t *place,
                         fc_error_t *err) {
  return fc_parameter_check(place->route, request->method, request->query, err);
}

// ---------------------------------------------------------------------------
// Answers about sessions

static fc_status_t put_number(fc_sink_t *sink, const char *lead,
                              uint64_t number, fc_error_t *err) {
  FC_TRY(fc_sink_put(sink, fc_str(lead), err));
  return fc_json_write_u64(sink, number, err);
}

static fc_status_t put_values(const fc_session_t *session, fc_sink_t *sink,
                              fc_error_t *err) {
  FC_TRY(fc_sink_put(sink, FC_STR(",\"values\":{"), err));
  for (uint32_t i = 0; i < session->count; i++) {
    const fc_store_row_t *row = &session->values[i].row;
    if (i) FC_TRY(fc_sink_put(sink, FC_STR(","), err));
    FC_TRY(fc_json_write_string(sink, fc_store_name(row), err));
    FC_TRY(fc_sink_put(sink, FC_STR(":{\"type\":"), err));
    FC_TRY(fc_store_print_type(row, sink, err));
    FC_TRY(put_number(sink, ",\"bytes\":", row->size, err));
    FC_TRY(fc_sink_put(sink, FC_STR("}"), err));
  }
  return fc_sink_put(sink, FC_STR("}}"), err);
}

// Writes ,"ends_ms":… if the session's generation was replaced or the server is leaving.
static fc_status_t tell_end(const asked_t *asked, fc_session_t *session) {
  const fc_server_t *server = asked->server;
  uint64_t ends_ns = fc_session_drained_ns(session, asked->now_ns);
  if (server->leaving && (!ends_ns || server->ends_ns < ends_ns)) {
    ends_ns = server->ends_ns;
  }
  if (!ends_ns) return FC_OK;
  return put_number(
      asked->sink, ",\"ends_ms\":",
      ends_ns > asked->now_ns ? (ends_ns - asked->now_ns) / MS_NS : 0,
      asked->err);
}

static fc_status_t tell_session(const asked_t *asked, fc_session_t *session) {
  fc_sink_t *sink = asked->sink;
  fc_error_t *err = asked->err;
  char id[FC_SESSION_ID_SIZE];
  fc_session_print_id(session, id);
  const uint64_t idle_ns =
      asked->now_ns > session->used_ns ? asked->now_ns - session->used_ns : 0;
  FC_TRY(fc_sink_put(sink, FC_STR("{\"session\":"), err));
  FC_TRY(fc_json_write_string(sink, fc_str_make(id, sizeof id), err));
  FC_TRY(put_number(sink, ",\"step\":", session->step, err));
  FC_TRY(put_number(sink, ",\"ttl_ms\":", session->ttl_ns / MS_NS, err));
  FC_TRY(put_number(sink, ",\"idle_ms\":", idle_ns / MS_NS, err));
  FC_TRY(put_number(sink, ",\"max_bytes\":", session->max_bytes, err));
  FC_TRY(put_number(sink, ",\"bytes\":", session->bytes, err));
  FC_TRY(fc_sink_put(
      sink, session->checkpoint ? FC_STR(",\"checkpoint\":true") : FC_STR(""),
      err));
  FC_TRY(fc_sink_put(
      sink,
      session->bond ? FC_STR(",\"ends_with_connection\":true") : FC_STR(""),
      err));
  FC_TRY(tell_end(asked, session));
  return put_values(session, sink, err);
}

// ---------------------------------------------------------------------------
// Making a session

typedef struct body_t {
  fc_json_reader_t reader;
  uint64_t ttl_ms;
  uint64_t max_bytes;
  bool checkpoint;
  bool is_bound;
  bool fills;
} body_t;

static fc_status_t read_number(body_t *body, const char *name, uint64_t most,
                               uint64_t *out, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(&body->reader, &token, err));
  FC_TRY(fc_json_read_scalar(&body->reader, token, FC_DTYPE_UI64, out, err));
  if (*out && *out <= most) return FC_OK;
  return fc_json_locate(
      &body->reader,
      fc_fail(err, FC_CODE_OUT_OF_RANGE, "'%s' is %llu, from 1 to %llu", name,
              (unsigned long long)*out, (unsigned long long)most),
      err);
}

static fc_status_t read_ttl(void *context, fc_error_t *err) {
  body_t *body = context;
  return read_number(body, "ttl_ms", TTL_MS_MAX, &body->ttl_ms, err);
}

static fc_status_t read_max_bytes(void *context, fc_error_t *err) {
  body_t *body = context;
  return read_number(body, "max_bytes", FC_STORE_SIZE_MAX, &body->max_bytes,
                     err);
}

static fc_status_t read_bool(body_t *body, bool *out, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(&body->reader, &token, err));
  *out = token == FC_JSON_TRUE;
  if (token == FC_JSON_TRUE || token == FC_JSON_FALSE) return FC_OK;
  return fc_json_mismatch(&body->reader, FC_CODE_TYPE_MISMATCH, token,
                          "true or false", err);
}

static fc_status_t read_checkpoint(void *context, fc_error_t *err) {
  body_t *body = context;
  return read_bool(body, &body->checkpoint, err);
}

static fc_status_t read_bond(void *context, fc_error_t *err) {
  body_t *body = context;
  return read_bool(body, &body->is_bound, err);
}

// Skips the values: a worker reads them (fc_values_fill).
static fc_status_t skip_values(void *context, fc_error_t *err) {
  body_t *body = context;
  fc_json_token_t token;
  body->fills = true;
  FC_TRY(fc_json_next(&body->reader, &token, err));
  return fc_json_skip(&body->reader, token, err);
}

static const fc_json_member_t kMembers[] = {
    {FC_STR("ttl_ms"), read_ttl, NULL},
    {FC_STR("max_bytes"), read_max_bytes, NULL},
    {FC_STR("checkpoint"), read_checkpoint, NULL},
    {FC_STR("ends_with_connection"), read_bond, NULL},
    {FC_STR("values"), skip_values, NULL},
    {{0},
     NULL,
     "a session is made with 'ttl_ms', 'max_bytes', 'checkpoint', "
     "'ends_with_connection' and 'values'"}};

static fc_status_t read_body(fc_str_t text, body_t *out, fc_error_t *err) {
  fc_json_token_t token;
  *out = (body_t){0};
  if (!text.size) return FC_OK;
  fc_json_reader_init(&out->reader, FC_JSON_DEPTH_MAX, 2 * FC_STORE_ROWS);
  fc_json_reader_feed(&out->reader, text.data, text.size, true);
  FC_TRY(fc_json_expect(&out->reader, FC_JSON_OBJECT_BEGIN, FC_CODE_JSON_SCHEMA,
                        err));
  FC_TRY(fc_json_read_members(&out->reader, kMembers, FC_ARRAY_COUNT(kMembers),
                              out, err));
  return fc_json_next(&out->reader, &token, err);
}

static bool is_number(fc_str_t text) {
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  }
  const bool leads = text.size > 1 && text.data[0] == '0';
  return text.size > 0 && text.size <= 20 && !leads;
}

fc_status_t fc_state_read_query(const fc_request_t *request,
                                fc_value_order_t *order, fc_error_t *err) {
  static const char *const names[] = {"ttl_ms", "max_bytes", "checkpoint",
                                      "ends_with_connection"};
  int size = 0;
  FC_TRY(fc_parameter_check(FC_ROUTE_SESSIONS, request->method, request->query,
                            err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(names); i++) {
    const fc_str_t value = fc_request_query(request->query, fc_str(names[i]));
    if (!value.data) continue;
    if (i < 2 && !is_number(value)) {
      return fc_fail(err, FC_CODE_OUT_OF_RANGE,
                     "'%s' must be a number, without zeros before it, and not "
                     "'%.*s'",
                     names[i], (int)(value.size < 40 ? value.size : 40),
                     value.data);
    }
    size += snprintf(order->slice + size, sizeof order->slice - (size_t)size,
                     "%s\"%s\":%.*s", size ? "," : "{", names[i],
                     FC_STR_ARG(value));
  }
  if (size) order->slice[size++] = '}';
  order->slice_size = (uint8_t)size;
  return FC_OK;
}

static fc_status_t check_staying(const fc_server_t *server, fc_error_t *err) {
  if (!server->leaving) return FC_OK;
  return fc_fail(err, FC_CODE_SHUTTING_DOWN,
                 "the server is shutting down: it makes no sessions");
}

// The generation stays as long as the session.
fc_status_t fc_state_check_ready(const fc_server_t *server,
                                 const fc_place_t *place, fc_error_t *err) {
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, place->module);
  FC_TRY(check_staying(server, err));
  if (generation && fc_generation_state(generation) == FC_GENERATION_READY) {
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_NOT_READY,
                 "the module is not loaded: sessions are made of one that is");
}

static fc_status_t tell_made(const asked_t *asked, fc_session_t *session) {
  asked->document->created = true;
  asked->document->session = session;
  const fc_status_t status = tell_session(asked, session);
  // The client does not get the id, so nobody could use the session.
  if (status != FC_OK) fc_session_end(session, FC_SESSION_END_DELETED);
  return status;
}

fc_status_t fc_state_make(const fc_server_t *server, const fc_place_t *place,
                          fc_str_t text, fc_session_t **out_session,
                          bool *out_fills, fc_error_t *err) {
  fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, place->module);
  body_t body;
  FC_TRY(fc_state_check_ready(server, place, err));
  FC_TRY(read_body(text, &body, err));
  FC_TRY(fc_process_hosts_start_nursery(server->pool->hosts[FC_HOSTS_PROCESS],
                                        err));
  const fc_session_wish_t wish = {.generation = generation->serial,
                                  .index = generation->index,
                                  .module = generation,
                                  .owner = place->owner,
                                  .owned = place->owns,
                                  .ttl_ns = body.ttl_ms * MS_NS,
                                  .max_bytes = body.max_bytes,
                                  .checkpoint = body.checkpoint,
                                  .bond = body.is_bound ? place->bound : NULL};
  FC_TRY(fc_session_create(server->sessions, &wish, fc_clock_ns(), out_session,
                           err));
  fc_generation_hold(generation);
  *out_fills = body.fills;
  return FC_OK;
}

// If the request had a body, the session was made before.
static fc_status_t make_session(const asked_t *asked) {
  fc_session_t *session = asked->session;
  bool fills;
  if (!session) {
    fc_value_order_t order = {0};
    FC_TRY(fc_state_read_query(asked->request, &order, asked->err));
    FC_TRY(fc_state_make(asked->server, asked->place,
                         fc_str_make(order.slice, order.slice_size), &session,
                         &fills, asked->err));
  }
  return tell_made(asked, session);
}

// ---------------------------------------------------------------------------
// One session: showing, forking, resetting and ending it

// Is no call of the session running or queued? The operations here would overtake it.
static fc_status_t check_idle(const asked_t *asked) {
  const fc_session_t *session = asked->session;
  FC_TRY(fc_session_check(session, asked->err));
  if (fc_claim_is_idle(&session->claim)) return FC_OK;
  return fc_fail(
      asked->err, FC_CODE_SESSION_BUSY,
      "calls of the session, which is at step %llu, are not answered "
      "yet",
      (unsigned long long)session->step);
}

static fc_status_t show_session(const asked_t *asked) {
  FC_TRY(fc_session_check(asked->session, asked->err));
  return tell_session(asked, asked->session);
}

// The id of a session without an owner gives access to it, so only the id's digest is
// listed.
static fc_status_t list_one(const asked_t *asked, const fc_session_t *session) {
  fc_sink_t *sink = asked->sink;
  fc_error_t *err = asked->err;
  char id[FC_SESSION_ID_SIZE], digest[FC_SESSION_DIGEST_SIZE];
  fc_session_print_id(session, id);
  fc_session_print_digest(session, digest);
  FC_TRY(
      fc_json_print(sink, err, "{'digest':'%.*s'", (int)sizeof digest, digest));
  if (session->owned) {
    FC_TRY(fc_json_print(sink, err, ",'session':'%.*s'", (int)sizeof id, id));
  }
  return fc_json_print(
      sink, err, ",'step':%lu,'idle_ms':%lu,'bytes':%lu,'values':%u,'lost':%s}",
      session->step, (asked->now_ns - session->used_ns) / MS_NS, session->bytes,
      session->count, fc_session_is_lost(session) ? "true" : "false");
}

// Lists the client's sessions of the module that can be found, in all its generations. At
// most LISTED_MAX are listed, so that the turn stays short.
static fc_status_t list_sessions(const asked_t *asked) {
  const fc_sessions_t *all = asked->server->sessions;
  const fc_generation_t *generation = fc_generations_at(
      &asked->server->modules->generations, asked->place->module);
  uint64_t count = 0;
  FC_TRY(fc_json_print(asked->sink, asked->err, "{'sessions':["));
  for (uint32_t i = 0; i < all->capacity; i++) {
    const fc_session_t *session = all->places[i];
    if (!session || session->ended || session->retired ||
        memcmp(&session->owner, &asked->place->owner, sizeof session->owner) !=
            0) {
      continue;
    }
    const fc_generation_t *of = session->module;
    if (!fc_str_equal(of->claim.name, generation->claim.name)) continue;
    if (count++ >= LISTED_MAX) continue;
    FC_TRY(fc_json_print(asked->sink, asked->err, "%s", count > 1 ? "," : ""));
    FC_TRY(list_one(asked, session));
  }
  return fc_json_print(asked->sink, asked->err, "],'count':%lu}", count);
}

static fc_status_t end_session(const asked_t *asked) {
  fc_session_end(asked->session, FC_SESSION_END_DELETED);
  return fc_sink_put(asked->sink, FC_STR("{\"ended\":true}"), asked->err);
}

static fc_status_t fork_session(const asked_t *asked) {
  const fc_session_t *from = asked->session;
  fc_generation_t *generation = from->module;
  const fc_session_wish_t wish = {
      .generation = generation->serial,
      .index = generation->index,
      .module = generation,
      .owner = asked->place->owner,
      .owned = asked->place->owns,
      .ttl_ns = from->ttl_ns,
      .max_bytes = from->max_bytes,
      .checkpoint = from->checkpoint,
      .bond = from->bond ? asked->place->bound : NULL};
  fc_session_t *session;
  FC_TRY(check_staying(asked->server, asked->err));
  FC_TRY(check_idle(asked));
  FC_TRY(fc_session_fork(from, &wish, asked->now_ns, &session, asked->err));
  fc_generation_hold(generation);
  return tell_made(asked, session);
}

static fc_status_t reset_session(const asked_t *asked) {
  FC_TRY(check_idle(asked));
  fc_session_reset(asked->session);
  return tell_session(asked, asked->session);
}

static fc_status_t remove_value(const asked_t *asked) {
  char text[FC_STORE_NAME_MAX];
  fc_str_t name;
  FC_TRY(check_idle(asked));
  if (!fc_route_name(asked->server->routes, asked->place->route,
                     asked->request->path, FC_STR("{value}"), text, sizeof text,
                     &name)) {
    name = FC_STR("");
  }
  FC_TRY(fc_session_remove(asked->session, name, asked->err));
  return tell_session(asked, asked->session);
}

// ---------------------------------------------------------------------------
// Orders: calls that run no function, but read or write values

bool fc_state_imports(const fc_request_t *request) {
  return fc_request_same_text(request->fields[FC_FIELD_CONTENT_TYPE],
                              FC_STR("application/x-safetensors"));
}

static fc_status_t read_name(const fc_server_t *server,
                             const fc_request_t *request,
                             const fc_place_t *place, fc_value_order_t *order,
                             fc_error_t *err) {
  fc_str_t name;
  const bool read =
      fc_route_name(server->routes, place->route, request->path,
                    FC_STR("{value}"), order->name, FC_STORE_NAME_MAX, &name);
  if (!read || !fc_state_name_is_valid(name)) {
    return fc_fail(err, FC_CODE_JSON_SCHEMA,
                   "a value is named by letters, digits, '_', and '-' or '.' "
                   "behind the first, at most %d",
                   FC_STORE_NAME_MAX);
  }
  order->name_size = (uint8_t)name.size;
  return FC_OK;
}

static fc_status_t read_slice(fc_str_t text, fc_value_order_t *order,
                              fc_error_t *err) {
  size_t size = 0;
  if (text.size > sizeof order->slice ||
      !fc_percent_decode(text, order->slice, &size)) {
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                   "a slice has a place or a range for each dim, as 2 or 0:4");
  }
  order->slice_size = (uint8_t)size;
  return FC_OK;
}

fc_status_t fc_state_order(const fc_server_t *server,
                           const fc_request_t *request, const fc_place_t *place,
                           fc_admission_t *out_admission,
                           fc_value_order_t *out_order, fc_error_t *err) {
  const bool puts = request->method == FC_METHOD_PUT;
  *out_order = (fc_value_order_t){.kind = puts ? FC_ORDER_PUT : FC_ORDER_GET};
  if (place->route == FC_ROUTE_SESSION_EXPORT) {
    FC_TRY(fc_native_read_export(request, out_admission, err));
    return fc_admission_timeout(request, &out_admission->timeout_ms, err);
  }
  FC_TRY(read_name(server, request, place, out_order, err));
  FC_TRY(fc_native_read_forms(server, request, out_admission, err));
  if (puts) {
    out_order->if_absent =
        fc_str_equal(request->fields[FC_FIELD_IF_NONE_MATCH], FC_STR("*"));
    return fc_admission_body(server, request, out_admission, err);
  }
  FC_TRY(read_slice(fc_request_query(request->query, FC_STR("slice")),
                    out_order, err));
  return fc_admission_timeout(request, &out_admission->timeout_ms, err);
}

static fc_status_t encode(fc_frame_t *frame, const fc_function_t *function,
                          const uint8_t *parameters, fc_sink_t *sink,
                          uint64_t *out_document, fc_error_t *err) {
  return fc_dialect_native.worker->encode(frame, function, parameters, sink,
                                          out_document, err);
}

static bool is_text(const fc_frame_t *frame, const uint8_t *parameters) {
  return fc_dialect_native.worker->is_text(frame, parameters);
}

static fc_str_t result_type(const uint8_t *parameters, uint64_t document) {
  return fc_dialect_native.result_type(parameters, document);
}

static const fc_dialect_worker_t kWorker = {.decode = fc_native_decode_value,
                                            .encode = encode,
                                            .is_text = is_text,
                                            .orders = true};

// The GET of an export is a call.
static fc_status_t no_document(const asked_t *asked) {
  return fc_fail(asked->err, FC_CODE_INTERNAL, "an export is no document");
}

static fc_status_t document(const fc_server_t *server,
                            const fc_request_t *request,
                            const fc_place_t *place, fc_document_t *out,
                            fc_sink_t *sink, fc_error_t *err) {
  const asked_t asked = {.server = server,
                         .request = request,
                         .place = place,
                         .session = place->session,
                         .now_ns = fc_clock_ns(),
                         .document = out,
                         .sink = sink,
                         .err = err};
  *out = (fc_document_t){.content_type = FC_STR("application/json")};
  switch ((int)place->route) {
#define FC_STATE_ROUTE(name, path, methods, document) \
  case FC_ROUTE_##name:                               \
    return document;
#include "dialect/route.def"
  }
  return fc_fail(err, FC_CODE_INTERNAL, "a route of no document");
}

const fc_dialect_t fc_dialect_state = {
    .name = "state",
    .match = match,
    .worker = &kWorker,
    .result_type = result_type,
    .document = document,
    .status_of = fc_http_status,
    .encode_error = fc_problem_write,
    .error_type = "application/problem+json",
};
