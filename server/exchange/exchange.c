// SPDX-License-Identifier: Apache-2.0
//
// The loop's part of a request: notes READ, and does ROUTE and ADMIT. The pool does QUEUE
// and the worker's stages; answer.c makes the answers.
#include "exchange/exchange.h"

#include <stdio.h>

#include "base/hex.h"
#include "dialect/admission.h"
#include "dialect/place.h"
#include "dialect/query.h"
#include "exchange/access.h"
#include "exchange/body.h"
#include "exchange/privilege.h"
#include "exchange/source.h"

static void give_body(fc_exchange_t *x) {
  fc_block_give(x->server->blocks, x->job.call.body.block);
  x->job.call.body = (fc_piece_t){.block = FC_BLOCK_NONE};
}

// Holds the generation of the place until the exchange ends.
static void hold_place(fc_exchange_t *x) {
  x->generation =
      fc_generations_at(&x->server->modules->generations, x->place.module);
  if (x->generation) fc_generation_hold(x->generation);
}

static void release(fc_exchange_t *x, fc_generation_t *generation) {
  if (!generation) return;
  fc_generations_release(&x->server->modules->generations, generation);
}

static void release_place(fc_exchange_t *x) {
  fc_exchange_leave_session(x);
  fc_demand_leave(x->server->modules, &x->wait.waiter);
  release(x, x->generation);
  x->generation = NULL;
  x->place = (fc_place_t){.route = FC_ROUTE_NONE,
                          .module = FC_ROUTE_NO_INDEX,
                          .function = FC_ROUTE_NO_INDEX};
}

static void release_act(fc_exchange_t *x) {
  if (x->act) fc_act_release(x->server->modules, x->act);
  x->act = NULL;
}

void fc_exchange_reset(fc_exchange_t *x) {
  give_body(x);
  release_act(x);
  release_place(x);
  fc_exchange_uncount_call(x);
  x->asked.method = FC_METHOD_OTHER;
  x->asked.method_name = NULL;
  x->asked.origin = FC_STR("");
  x->asked.is_preflight = x->asked.is_call = x->asked.is_asking = x->wait.on =
      x->wait.waited = false;
  x->asked.is_source = x->asked.is_over = false;
  x->asked.is_stream = x->asked.is_message = false;
  x->wait.slowed = x->wait.was_slowed = x->wait.peeks = false;
  x->times.stage = FC_STAGE_READ;
  x->asker.peer = x->asker.address;
  x->body_seen = 0;
  x->times.began_ns = 0;
  x->out.retry_after = 0;
  x->asked.id_size = x->asker.token_size = 0;
  x->traced.trace.known = x->traced.trace.sampled = false;
  if (FC_UNLIKELY(x->parted.begun || x->job.call.parts)) {
    x->parted = (fc_parted_t){0};
    x->job.call.parts = 0;
  }
  memset(x->times.spent_ns, 0, sizeof x->times.spent_ns);
  x->times.batch = (fc_batched_t){0};
}

void fc_exchange_init(fc_exchange_t *x, fc_server_t *server,
                      const fc_carrier_t *carrier, const fc_policy_t *policy,
                      const fc_peer_t *address) {
  x->server = server;
  x->carrier = carrier;
  x->policy = policy;
  x->asker.address = *address;
  x->job.call.body.block = FC_BLOCK_NONE;
  fc_exchange_reset(x);
}

void fc_exchange_deinit(fc_exchange_t *x) {
  fc_exchange_drop_draft(x);
  fc_exchange_drop_watch(x);
  fc_exchange_sent(x);
  give_body(x);
  release_act(x);
  release_place(x);
  fc_exchange_uncount_call(x);
}

void fc_exchange_sent(fc_exchange_t *x) {
  for (uint32_t i = 0; i < x->out.count; i++) {
    fc_block_give(x->server->blocks, x->out.pieces[i].block);
  }
  x->out.count = 0;
}

void fc_exchange_mark(fc_exchange_t *x, fc_stage_t stage) {
  uint64_t now = fc_clock_ns();
  x->times.spent_ns[stage] += now - x->times.marked_ns;
  x->times.marked_ns = now;
}

// ---------------------------------------------------------------------------
// READ

void fc_exchange_make_id(fc_server_t *server, char out[FC_EXCHANGE_ID_SIZE]) {
  const uint64_t z = fc_trace_random(&server->id_state);
  fc_hex_put_u32(out, (uint32_t)(z >> 32));
  fc_hex_put_u32(out + 8, (uint32_t)z);
}

// Takes the client's request id if it can be logged and sent back: visible ASCII, 1 to
// FC_LIMIT_REQUEST_ID bytes. Otherwise makes one.
static void take_id(fc_exchange_t *x, fc_str_t given) {
  bool good = given.size > 0 && given.size <= sizeof x->asked.id;
  for (size_t i = 0; i < given.size && good; i++) {
    good = given.data[i] > ' ' && given.data[i] < 0x7F;
  }
  if (good) {
    memcpy(x->asked.id, given.data, given.size);
    x->asked.id_size = (uint8_t)given.size;
    return;
  }
  fc_exchange_make_id(x->server, x->asked.id);
  x->asked.id_size = FC_EXCHANGE_ID_SIZE;
}

void fc_exchange_start(fc_exchange_t *x) {
  if (!x->times.began_ns) x->times.began_ns = fc_clock_ns();
}

void fc_exchange_take(fc_exchange_t *x, const fc_request_t *request) {
  if (x->wait.waited || x->wait.slowed || x->wait.peeks) return;
  take_id(x, request->fields[FC_FIELD_REQUEST_ID]);
  x->times.marked_ns = x->times.began_ns;
  fc_exchange_mark(x, FC_STAGE_READ);
  x->times.stage = FC_STAGE_ROUTE;
  x->asked.method = request->method;
  x->asked.method_name = request->method_name;
  x->asked.is_message = request->is_message;
  const fc_str_t traceparent = request->fields[FC_FIELD_TRACEPARENT];
  if (traceparent.data || x->server->trace_ratio) {
    fc_exchange_trace(x, traceparent);
  }
}

// ---------------------------------------------------------------------------
// ROUTE and ADMIT

// Fails if the request has waited for a module until its deadline, or if there was no
// memory to load the module. Otherwise ROUTE goes on: the path is looked up again,
// because another generation may have the name by now.
static fc_status_t check_waited(fc_exchange_t *x, fc_error_t *err) {
  const fc_generation_t *generation = x->wait.waiter.generation;
  if (!x->wait.on) return FC_OK;
  fc_exchange_mark(x, x->wait.peeks ? FC_STAGE_READ : FC_STAGE_QUEUE);
  x->wait.was_slowed |= x->wait.slowed;
  x->wait.on = x->wait.slowed = x->wait.peeks = false;
  x->asker.peer =
      x->asker.address;  // fc_access_check tests again whether that is a proxy
  if (!x->wait.waited) return FC_OK;
  x->times.stage = FC_STAGE_QUEUE;
  if (x->wait.waiter.late) {
    return fc_fail(err, FC_CODE_DEADLINE_EXCEEDED,
                   "the deadline passed while module '%.*s' was loaded",
                   FC_STR_ARG(generation->claim.name));
  }
  if (x->wait.waiter.failed) {
    *err = generation->error;
    return err->status;
  }
  x->times.stage = FC_STAGE_ROUTE;
  return FC_OK;
}

fc_status_t fc_exchange_find(fc_exchange_t *x, const fc_request_t *request,
                             fc_error_t *err) {
  const fc_server_t *server = x->server;
  return fc_place_find(server->routes, request, &server->modules->generations,
                       server->modules->started, &x->place, err);
}

static fc_status_t route(fc_exchange_t *x, const fc_request_t *request,
                         fc_error_t *err) {
  fc_generation_t *waited_for = x->generation;
  fc_peer_t *peer = x->policy->proxies.count ? &x->asker.peer : NULL;
  FC_TRY(check_waited(x, err));
  FC_TRY(fc_access_check(x->policy, request, peer, err));
  x->job.caller = fc_exchange_client(&x->asker.peer, &x->asker.user);
  x->asker.priorities = x->policy->priorities;
  x->asked.origin = fc_access_origin(x->policy, request);
  x->asked.is_preflight =
      x->asked.origin.size && fc_access_is_preflight(request);
  if (x->asked.is_preflight) return FC_OK;
  uint8_t scopes = FC_SCOPE_ALL;
  const fc_status_t status = fc_policy_is_guarded(x->policy)
                                 ? fc_exchange_guard(x, request, &scopes, err)
                                 : fc_exchange_find(x, request, err);
  if (x->place.route == FC_ROUTE_INFO) {
    fc_error_t ignored;
    x->place.may_profile =
        scopes & FC_SCOPE_PROFILE &&
        fc_privilege_check(x->policy, FC_PRIVILEGE_PROFILE, request,
                           &x->asker.address, &ignored) == FC_OK;
  }
  hold_place(x);
  release(x, waited_for);
  return status;
}

// Returns the operator's deadline (--timeout); 0: none.
static uint64_t limit_of(const fc_exchange_t *x) {
  const fc_generation_t *generation =
      fc_generations_at(&x->server->modules->generations, x->place.module);
  const uint64_t timeout_ms = generation && generation->policy
                                  ? generation->policy->timeout
                                  : x->server->options->timeout;
  return timeout_ms ? x->times.began_ns + timeout_ms * 1000000u : 0;
}

// Returns the operator's deadline, or the client's if that is earlier; 0: none.
static uint64_t deadline_of(const fc_exchange_t *x, uint64_t limit_ns,
                            uint64_t wanted_ms) {
  const uint64_t wanted_ns = x->times.began_ns + wanted_ms * 1000000u;
  if (!wanted_ms) return limit_ns;
  return limit_ns && limit_ns < wanted_ns ? limit_ns : wanted_ns;
}

static void on_woken(fc_waiter_t *waiter) {
  const size_t offset = offsetof(fc_exchange_t, wait.waiter);
  fc_exchange_t *x = (fc_exchange_t *)(void *)((char *)waiter - offset);
  x->carrier->again(x);
}

// Makes the request wait for its module. The body is not read meanwhile: until the module
// is known, the request may be refused. The function's index is dropped, because the
// module's file may have changed when it is loaded.
static fc_status_t wait_for_module(fc_exchange_t *x,
                                   const fc_request_t *request, bool calls,
                                   fc_error_t *err) {
  uint64_t wanted_ms = 0;
  FC_TRY(fc_admission_timeout(request, &wanted_ms, err));
  x->wait.waiter.due_ns = deadline_of(x, limit_of(x), wanted_ms);
  x->wait.waiter.on_woken = on_woken;
  FC_TRY(fc_demand_wait(x->server->modules, x->generation, calls,
                        &x->wait.waiter, err));
  x->place.function = FC_ROUTE_NO_INDEX;
  x->wait.on = x->wait.waited = true;
  return FC_OK;
}

// Returns how many bytes at the beginning of the body's block stay unused, so that raw
// bytes after the document are aligned and a tensor among them can be used in place.
static uint32_t lead_of(const fc_admission_t *admission) {
  if (!admission->document || admission->body_coding) return 0;
  return (uint32_t)(-admission->document % FC_BLOCK_ALIGN);
}

fc_status_t fc_exchange_fill_call(fc_exchange_t *x, const fc_request_t *request,
                                  const fc_admission_t *admission,
                                  uint32_t function, fc_error_t *err) {
  const fc_server_t *server = x->server;
  fc_invocation_t *call = &x->job.call;
  call->generation = x->place.module;
  call->function = function;
  call->dialect = server->routes->rows[x->place.route].dialect;
  call->flags = admission->flags;
  call->body_coding = admission->body_coding;
  call->answer_coding = admission->answer_coding;
  call->body_max = server->options->max_body;
  x->job.limit_ns = limit_of(x);
  call->deadline_ns = deadline_of(x, x->job.limit_ns, admission->timeout_ms);
  if (FC_UNLIKELY(x->joined.session)) {
    call->flags |= FC_CALL_SESSION;
    x->job.claim = &x->joined.session->claim;
  }
  FC_TRY(fc_admission_priority(request, &x->asker.priorities, &x->job.priority,
                               err));
  return fc_exchange_count_call(x, err);
}

static fc_status_t admit(fc_exchange_t *x, const fc_request_t *request,
                         fc_error_t *err) {
  const fc_server_t *server = x->server;
  fc_invocation_t *call = &x->job.call;
  memset(call->parameters, 0, sizeof call->parameters);
  fc_admission_t admission = {.parameters = call->parameters};
  FC_TRY(fc_dialect_of(server, &x->place)
             ->admit(server, request, &x->place, &admission, err));
  if (FC_UNLIKELY(admission.flags & FC_CALL_PROFILE)) {
    FC_TRY(fc_privilege_check(x->policy, FC_PRIVILEGE_PROFILE, request,
                              &x->asker.address, err));
    if (x->traced.trace.sampled && server->spans)
      admission.flags |= FC_CALL_TRACED;
  }
  const fc_generation_t *generation = x->generation;
  if (server->modules->started && fc_generation_is_coming(generation)) {
    return wait_for_module(x, request, true, err);
  }
  if (!server->modules->started ||
      fc_generation_state(generation) == FC_GENERATION_LOADING) {
    return fc_fail(err, FC_CODE_NOT_READY, "modules are still being loaded");
  }
  FC_TRY(fc_exchange_join_session(x, request, err));
  generation = x->generation;
  const fc_function_t *function =
      fc_module_function(generation->module, x->place.function);
  const fc_signature_t *signature = function->signature;
  if (!function->plan) {
    fc_str_t reason = fc_signature_text(signature, signature->reason);
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "function '%.*s': %.*s",
                   FC_STR_ARG(function->name), FC_STR_ARG(reason));
  }
  bool not_modified;
  FC_TRY(fc_query_check(request, fc_function_get_digest(function),
                        &not_modified, err));
  FC_TRY(fc_exchange_fill_call(x, request, &admission, x->place.function, err));
  if (FC_UNLIKELY(admission.parts)) {
    call->parts = admission.parts;
    call->steps = 0;
    x->parted.deadline_ns =
        call->deadline_ns ? call->deadline_ns - x->times.began_ns : 0;
    x->parted.limit_ns =
        x->job.limit_ns ? x->job.limit_ns - x->times.began_ns : 0;
  }
  FC_TRY(fc_pool_admit(server->pool, &x->job, x->times.marked_ns,
                       &x->out.retry_after, err));
  const uint32_t lead = lead_of(&admission);
  FC_TRY(fc_body_open(&call->body, server->blocks, &x->job.caller,
                      fc_pool_audience(server->pool, call->generation),
                      request->length ? request->length + lead : 0, err));
  call->body.offset = lead;
  return FC_OK;
}

static fc_status_t check_asking(uint64_t size, fc_error_t *err) {
  if (size <= FC_LIMIT_ASKING) return FC_OK;
  return fc_fail(err, FC_CODE_BODY_TOO_LARGE,
                 "the body of %llu bytes exceeds %u, which is enough here",
                 (unsigned long long)size, FC_LIMIT_ASKING);
}

// Admits a POST that asks for a document. Its body is kept in a block.
static fc_status_t admit_asking(fc_exchange_t *x, const fc_request_t *request,
                                fc_error_t *err) {
  if (x->server->routes->rows[x->place.route].methods & FC_ROUTE_ADMIN &&
      !fc_route_asks_only(x->server->routes, x->place.route, request)) {
    FC_TRY(fc_privilege_check(x->policy, FC_PRIVILEGE_CHANGE, request,
                              &x->asker.address, err));
  }
  FC_TRY(check_asking(request->length, err));
  if (FC_UNLIKELY(fc_dialect_of(x->server, &x->place)->framed)) {
    FC_TRY(fc_admission_message_coding(request, &x->job.call.body_coding, err));
  }
  return fc_body_open(&x->job.call.body, x->server->blocks, &x->job.caller,
                      FC_AUDIENCE_NONE, request->length, err);
}

// Writes for the log which client asks for an act.
static fc_str_t print_client(const fc_exchange_t *x, char *out, size_t size) {
  char address[FC_PEER_TEXT_SIZE];
  fc_peer_print(&x->asker.address, address);
  if (x->asker.user.known) {
    snprintf(address, sizeof address, "unix, user %u", x->asker.user.id);
  }
  const int count =
      snprintf(out, size, "%s%s%.*s, request %.*s", *address ? address : "unix",
               x->asker.token_size ? ", token " : "", x->asker.token_size,
               x->asker.token, FC_STR_ARG(fc_exchange_id(x)));
  return fc_str_make(out, count > 0 ? (size_t)count : 0);
}

static fc_status_t admit_act(fc_exchange_t *x, const fc_request_t *request,
                             fc_error_t *err) {
  FC_TRY(fc_privilege_check(x->policy, FC_PRIVILEGE_CHANGE, request,
                            &x->asker.address, err));
  FC_TRY(check_asking(request->length, err));
  char by[FC_PEER_TEXT_SIZE + FC_TOKEN_NAME_MAX + FC_LIMIT_REQUEST_ID + 24];
  const fc_str_t who = print_client(x, by, sizeof by);
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  FC_TRY(dialect->begin_act(x->server, request, &x->place, who, &x->act, err));
  if (dialect->framed) {
    FC_TRY(fc_admission_message_coding(request, &x->job.call.body_coding, err));
  }
  return fc_body_open(&x->job.call.body, x->server->blocks, &x->job.caller,
                      FC_AUDIENCE_NONE, request->length, err);
}

fc_status_t fc_exchange_admit_as(fc_exchange_t *x, const fc_request_t *request,
                                 fc_error_t *err) {
  fc_status_t status = route(x, request, err);
  fc_exchange_mark(x, FC_STAGE_ROUTE);
  if (x->wait.slowed) return FC_OK;
  if (FC_UNLIKELY(request->input.data)) {
    status = fc_source_check(x, request, status, err);
    if (x->asked.is_over) return status;
  }
  if (status != FC_OK && err->code == FC_CODE_NOT_READY && x->generation &&
      fc_generation_is_coming(x->generation)) {
    // A path that names a function or model is understood only when the signatures of its
    // module are known. A call of the native API waits until the module is loaded, any
    // other request only for the signatures.
    const bool calls = request->method == FC_METHOD_POST &&
                       x->place.route == FC_ROUTE_FUNCTION;
    return wait_for_module(x, request, calls, err);
  }
  const unsigned methods = x->server->routes->rows[x->place.route].methods;
  if (FC_UNLIKELY(x->place.peeks) && status == FC_OK) {
    x->asked.is_stream = methods & FC_ROUTE_STREAM && !request->is_message;
    x->wait.on = x->wait.peeks = !x->asked.is_stream;
    return FC_OK;
  }
  if (status == FC_OK && FC_UNLIKELY(methods & FC_ROUTE_STATE)) {
    status = fc_exchange_find_session(x, request, err);
  }
  if (status == FC_OK && request->method == FC_METHOD_POST &&
      x->place.route == FC_ROUTE_SESSIONS && x->generation &&
      x->server->modules->started && fc_generation_is_coming(x->generation)) {
    return wait_for_module(x, request, true, err);
  }
  const bool orders =
      FC_UNLIKELY(methods & FC_ROUTE_STATE) && fc_exchange_is_order(x);
  if (status != FC_OK || (request->method != FC_METHOD_POST && !orders)) {
    return status;
  }
  x->times.stage = FC_STAGE_ADMIT;
  x->asked.is_asking = !orders && methods & FC_ROUTE_POST;
  if (x->asked.is_asking && !request->has_body) {
    if (!fc_dialect_of(x->server, &x->place)->framed) return FC_OK;
    return fc_fail(err, FC_CODE_BINARY_FRAMING, "there is no message");
  }
  if (orders) status = fc_exchange_admit_order(x, request, err);
  else if (x->place.route == FC_ROUTE_SESSIONS)
    status = fc_exchange_admit_making(x, request, err);
  else if (methods & FC_ROUTE_ACT) status = admit_act(x, request, err);
  else if (x->asked.is_asking) status = admit_asking(x, request, err);
  else status = admit(x, request, err);
  fc_exchange_mark(x, FC_STAGE_ADMIT);
  x->asked.is_call = status == FC_OK && !x->wait.on;
  return status;
}

// ---------------------------------------------------------------------------
// The call

fc_span_t fc_exchange_room(const fc_exchange_t *x, uint64_t left) {
  return fc_body_room(&x->job.call.body, x->server->blocks, left);
}

fc_status_t fc_exchange_append(fc_exchange_t *x, fc_str_t bytes, uint64_t left,
                               fc_error_t *err) {
  x->body_seen += bytes.size;
  if ((x->asked.is_asking && x->place.route != FC_ROUTE_SESSIONS) || x->act) {
    FC_TRY(check_asking(x->body_seen, err));
  }
  return fc_body_put(&x->job.call.body, x->server->blocks, &x->job.caller,
                     bytes, left, err);
}

bool fc_exchange_is_running(const fc_exchange_t *x) {
  return x->act || x->draft || x->watcher || x->parted.begun ||
         x->parted.turns || x->job.state == FC_JOB_RUNNING;
}

static void drop(fc_exchange_t *x) {
  release_act(x);
  fc_exchange_drop_draft(x);
  fc_exchange_drop_watch(x);
  fc_demand_leave(x->server->modules, &x->wait.waiter);
  fc_pool_drop(x->server->pool, &x->job);
  x->parted.paused = false;
}

void fc_exchange_drop(fc_exchange_t *x) {
  if (x->parted.begun) fc_exchange_abandoned(x);
  drop(x);
}

void fc_exchange_cut(fc_exchange_t *x, const fc_error_t *error) {
  drop(x);
  if (x->parted.ended) return;
  // The carrier still has a part, and no other can follow it.
  if (x->parted.sending) fc_exchange_note_cut(x, error);
  else fc_exchange_fail(x, error, FC_STAGE_COUNT);
}
