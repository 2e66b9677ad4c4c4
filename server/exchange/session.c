// SPDX-License-Identifier: Apache-2.0
//
// The session that a request is about, or that a call belongs to. It is pinned until the
// exchange is over.
#include "exchange/exchange.h"

#include "dialect/admission.h"

static fc_str_t read_id(const fc_exchange_t *x, const fc_request_t *request,
                        char text[FC_SESSION_ID_SIZE]) {
  fc_str_t id;
  const bool good =
      fc_route_name(x->server->routes, x->place.route, request->path,
                    FC_STR("{session}"), text, FC_SESSION_ID_SIZE, &id);
  return good ? id : FC_STR("");
}

// Finds a session of the module that the path names, in any of its generations.
static fc_status_t pin(fc_exchange_t *x, fc_str_t id, fc_error_t *err) {
  fc_session_t *session;
  FC_TRY(fc_session_find(x->server->sessions, id, &x->job.caller, fc_clock_ns(),
                         &session, err));
  const fc_generation_t *generation = session->module;
  if (!x->generation ||
      !fc_str_equal(generation->claim.name, x->generation->claim.name)) {
    return fc_fail(err, FC_CODE_SESSION_NOT_FOUND,
                   "the session is of another module");
  }
  fc_session_pin(session);
  x->session = session;
  return FC_OK;
}

fc_status_t fc_exchange_find_session(fc_exchange_t *x,
                                     const fc_request_t *request,
                                     fc_error_t *err) {
  char text[FC_SESSION_ID_SIZE];
  x->place.owner = x->job.caller;
  x->place.owns = x->asker.token_size || x->asker.user.known;
  if (x->place.route == FC_ROUTE_SESSIONS) return FC_OK;
  FC_TRY(pin(x, read_id(x, request, text), err));
  x->place.session = x->session;
  return FC_OK;
}

static fc_status_t check_step(fc_exchange_t *x, const fc_request_t *request,
                              fc_error_t *err) {
  const fc_str_t text = request->fields[FC_FIELD_SESSION_STEP];
  uint64_t step = 0;
  bool good = text.size > 0 && text.size < 19;
  if (!text.data) return FC_OK;
  for (size_t i = 0; i < text.size && good; i++) {
    good = text.data[i] >= '0' && text.data[i] <= '9';
    step = 10 * step + (uint64_t)(text.data[i] - '0');
  }
  if (!good) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX,
                   "'Farcall-Session-Step' must be a whole number");
  }
  x->has_step = true;
  x->step = step;
  return fc_session_check_step(x->session, step, err);
}

// The session's generation is the place's from now on.
static void move(fc_exchange_t *x, fc_generation_t *generation) {
  fc_generation_hold(generation);
  fc_generations_release(&x->server->modules->generations, x->generation);
  x->generation = generation;
  x->place.module = generation->index;
}

// The function of the same name in the generation that the session is of.
static fc_status_t find_function(fc_exchange_t *x, fc_error_t *err) {
  fc_generation_t *generation = x->session->module;
  if (generation == x->generation) return FC_OK;
  const fc_function_t *function =
      fc_module_function(x->generation->module, x->place.function);
  const fc_function_t *other =
      fc_generation_function(generation, function->name);
  if (!other) {
    return fc_fail(err, FC_CODE_FUNCTION_NOT_FOUND,
                   "the session is of a module that was replaced, and has no "
                   "function '%.*s'",
                   FC_STR_ARG(function->name));
  }
  move(x, generation);
  x->place.function = (uint32_t)other->index;
  return FC_OK;
}

fc_status_t fc_exchange_join_session(fc_exchange_t *x,
                                     const fc_request_t *request,
                                     fc_error_t *err) {
  fc_str_t id = request->fields[FC_FIELD_SESSION];
  if (!id.data) id = fc_request_query(request->query, FC_STR("session"));
  if (!id.data) {
    if (FC_LIKELY(!request->fields[FC_FIELD_SESSION_STEP].data)) return FC_OK;
    return fc_fail(err, FC_CODE_HTTP_SYNTAX,
                   "'Farcall-Session-Step' is there without a session");
  }
  FC_TRY(pin(x, id, err));
  FC_TRY(fc_session_check(x->session, err));
  FC_TRY(check_step(x, request, err));
  return find_function(x, err);
}

fc_status_t fc_exchange_enter_session(fc_exchange_t *x,
                                      const fc_request_t *request,
                                      fc_error_t *err) {
  FC_TRY(fc_session_check(x->session, err));
  FC_TRY(check_step(x, request, err));
  move(x, x->session->module);
  return FC_OK;
}

fc_status_t fc_exchange_check_session(const fc_exchange_t *x, fc_error_t *err) {
  FC_TRY(fc_session_check(x->session, err));
  if (!x->has_step) return FC_OK;
  return fc_session_check_step(x->session, x->step, err);
}

void fc_exchange_leave_session(fc_exchange_t *x) {
  fc_session_t *session = x->session;
  if (FC_LIKELY(!session)) return;
  if (x->place.route == FC_ROUTE_SESSIONS && !x->place.session) {
    fc_session_end(session, FC_SESSION_END_DELETED);
  }
  x->session = x->place.session = NULL;
  x->has_step = false;
  x->job.claim = NULL;
  fc_session_unpin(session, fc_clock_ns());
}
