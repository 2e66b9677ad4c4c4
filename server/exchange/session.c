// SPDX-License-Identifier: Apache-2.0
//
// Finds the session that a request is about, or that a call belongs to. The session is
// pinned until the exchange ends.
#include "exchange/exchange.h"

#include "dialect/admission.h"
#include "dialect/state.h"
#include "exchange/body.h"

static fc_str_t read_id(const fc_exchange_t *x, const fc_request_t *request,
                        char text[FC_SESSION_ID_SIZE]) {
  fc_str_t id;
  const bool good =
      fc_route_name(x->server->routes, x->place.route, request->path,
                    FC_STR("{session}"), text, FC_SESSION_ID_SIZE, &id);
  return good ? id : FC_STR("");
}

// Finds a session of the module that the path names, in any generation of the module.
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
  x->joined.session = session;
  return FC_OK;
}

static void name_client(fc_exchange_t *x) {
  x->place.owner = x->job.caller;
  x->place.bound = x->asker.bound;
  x->place.owns = x->asker.token_size || x->asker.user.known;
}

fc_status_t fc_exchange_find_session(fc_exchange_t *x,
                                     const fc_request_t *request,
                                     fc_error_t *err) {
  char text[FC_SESSION_ID_SIZE];
  name_client(x);
  if (x->place.route == FC_ROUTE_SESSIONS) return FC_OK;
  FC_TRY(pin(x, read_id(x, request, text), err));
  x->place.session = x->joined.session;
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
  x->joined.has_step = true;
  x->joined.step = step;
  return fc_session_check_step(x->joined.session, step, err);
}

// Makes the session's generation the generation of the place.
static void move(fc_exchange_t *x, fc_generation_t *generation) {
  fc_generation_hold(generation);
  fc_generations_release(&x->server->modules->generations, x->generation);
  x->generation = generation;
  x->place.module = generation->index;
}

// Finds the function of the same name in the session's generation.
static fc_status_t find_function(fc_exchange_t *x, fc_error_t *err) {
  fc_generation_t *generation = x->joined.session->module;
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
  FC_TRY(fc_session_check(x->joined.session, err));
  FC_TRY(check_step(x, request, err));
  return find_function(x, err);
}

// ---------------------------------------------------------------------------
// Sequences

// Makes the session of a sequence from the newest generation: a newer one may have come
// while the body was received.
static fc_status_t make_sequence(fc_exchange_t *x, fc_session_t **out_session,
                                 fc_error_t *err) {
  const fc_generation_t *newest = fc_generations_find(
      &x->server->modules->generations, x->generation->claim.key);
  fc_place_t place = x->place;
  bool fills;
  if (newest) place.module = newest->index;
  return fc_state_make(x->server, &place, FC_STR(""), out_session, &fills, err);
}

static bool wants_room(const fc_error_t *error) {
  return error->code == FC_CODE_TOO_MANY_REQUESTS ||
         error->code == FC_CODE_OVERLOADED;
}

// A START of a known sequence begins another session. The old session stays until the
// call was made, if there is room for both. One that requests still use would go on taking
// its room: then there is none for the START.
static fc_status_t begin_sequence(fc_exchange_t *x, fc_str_t id,
                                  fc_error_t *err) {
  fc_session_t *session, *former = NULL;
  fc_error_t none;
  if (fc_session_find(x->server->sessions, id, &x->job.caller, fc_clock_ns(),
                      &former, &none) != FC_OK) {
    former = NULL;
  }
  name_client(x);
  fc_status_t status = make_sequence(x, &session, err);
  if (former && status == FC_OK && former->starts) {
    fc_session_retire(former);
    former = NULL;
  } else if (former && status != FC_OK && !former->pins && wants_room(err)) {
    fc_session_end(former, FC_SESSION_END_DELETED);
    former = NULL;
    status = make_sequence(x, &session, err);
  }
  FC_TRY(status);
  if (former) {
    fc_session_pin(former);
    fc_session_swap_ids(session, former);
  } else {
    fc_session_name(session, id);
  }
  fc_session_pin(session);
  session->starts = x->joined.ends = true;
  x->joined.former = former;
  x->joined.session = session;
  return FC_OK;
}

// The text is Triton's, because client programs search for it.
static fc_status_t go_on_sequence(fc_exchange_t *x, fc_str_t id, bool ends,
                                  fc_error_t *err) {
  if (x->joined.session || pin(x, id, err) == FC_OK) {
    const fc_status_t status = fc_session_check(x->joined.session, err);
    if (status != FC_OK) x->joined.ends = ends;
    return status;
  }
  return fc_fail(err, FC_CODE_SESSION_NOT_FOUND,
                 "inference request for sequence must specify the START flag "
                 "on the first request of the sequence: there is none of this "
                 "id, or it has ended");
}

// If a body lies in a file, only workers of one generation can read it. If the call
// moves to another generation, the body is copied.
static fc_status_t move_body(fc_exchange_t *x, fc_str_t bytes,
                             fc_error_t *err) {
  fc_blocks_t *blocks = x->server->blocks;
  fc_piece_t *body = &x->job.call.body, moved;
  if (fc_block_file(blocks, body->block) < 0) return FC_OK;
  FC_TRY(fc_body_open(&moved, blocks, &x->job.caller,
                      fc_pool_audience(x->server->pool, x->place.module),
                      body->offset + bytes.size, err));
  moved.offset = body->offset;
  const fc_status_t status =
      fc_body_put(&moved, blocks, &x->job.caller, bytes, 0, err);
  if (status != FC_OK) {
    fc_block_give(blocks, moved.block);
    return status;
  }
  memset(fc_block_data(blocks, moved.block) + moved.offset + moved.size, 0,
         FC_BLOCK_TAIL);
  fc_block_give(blocks, body->block);
  *body = moved;
  return FC_OK;
}

static fc_status_t put_into_session(fc_exchange_t *x, fc_str_t body,
                                    fc_error_t *err) {
  fc_invocation_t *call = &x->job.call;
  if (call->generation != x->place.module) FC_TRY(move_body(x, body, err));
  call->generation = x->place.module;
  call->function = x->place.function;
  call->flags |= FC_CALL_SESSION;
  x->job.claim = &x->joined.session->claim;
  return FC_OK;
}

// The head may name the session of the sequence, for load balancers, but no other
// session.
static fc_status_t check_head(fc_exchange_t *x, fc_str_t id, bool starts,
                              fc_error_t *err) {
  fc_session_t *session = x->joined.session;
  char text[FC_SESSION_ID_SIZE];
  if (!session) return FC_OK;
  fc_session_print_id(session, text);
  if (!fc_str_equal(fc_str_make(text, sizeof text), id)) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX,
                   "the head names a session, and the document a sequence "
                   "that is another one");
  }
  if (!starts) return FC_OK;
  x->joined.session = NULL;
  x->joined.has_step = false;
  fc_session_unpin(session, fc_clock_ns());
  return FC_OK;
}

fc_status_t fc_exchange_join_sequence(fc_exchange_t *x, fc_str_t body,
                                      fc_error_t *err) {
  fc_sequence_t sequence;
  char text[FC_SESSION_ID_SIZE];
  FC_TRY(fc_dialect_of(x->server, &x->place)
             ->find_sequence(body, x->job.call.parameters, &sequence, err));
  if (!sequence.name_size) return FC_OK;
  FC_TRY(fc_session_id_of(
      x->server->sessions, &x->job.caller, x->generation->claim.name,
      fc_str_make(sequence.name, sequence.name_size), text, err));
  const fc_str_t id = fc_str_make(text, sizeof text);
  FC_TRY(check_head(x, id, sequence.starts, err));
  FC_TRY(sequence.starts ? begin_sequence(x, id, err)
                         : go_on_sequence(x, id, sequence.ends, err));
  FC_TRY(find_function(x, err));
  x->joined.is_last = sequence.ends;
  return put_into_session(x, body, err);
}

// A refused call does not count for the sequence: the client may send it again.
void fc_exchange_note_sequence(fc_exchange_t *x, const fc_outcome_t *outcome) {
  const bool made = outcome->status == FC_OK || outcome->stage >= FC_STAGE_CALL;
  // The old sequence may occupy the memory that a START needs.
  if (made ||
      (outcome->stage >= FC_STAGE_DECODE && wants_room(&outcome->error))) {
    x->joined.session->starts = false;
  }
  if (made) x->joined.ends = x->joined.is_last;
}

// Ends the sequence that a START replaced, after its calls that wait: a client may send
// sequences of one id without waiting for answers. If the START was refused, the old
// sequence goes on.
static void leave_former(fc_exchange_t *x) {
  fc_session_t *former = x->joined.former;
  if (!former) return;
  x->joined.former = NULL;
  const fc_session_t *session = x->joined.session;
  if (session->starts && !session->ended && !session->retired) {
    fc_session_swap_ids(x->joined.session, former);
  } else {
    fc_session_retire(former);
  }
  fc_session_unpin(former, fc_clock_ns());
}

fc_status_t fc_exchange_enter_session(fc_exchange_t *x,
                                      const fc_request_t *request,
                                      fc_error_t *err) {
  FC_TRY(fc_session_check(x->joined.session, err));
  FC_TRY(check_step(x, request, err));
  move(x, x->joined.session->module);
  return FC_OK;
}

fc_status_t fc_exchange_check_session(const fc_exchange_t *x, fc_error_t *err) {
  FC_TRY(fc_session_check(x->joined.session, err));
  if (!x->joined.has_step) return FC_OK;
  return fc_session_check_step(x->joined.session, x->joined.step, err);
}

void fc_exchange_leave_session(fc_exchange_t *x) {
  fc_session_t *session = x->joined.session;
  if (FC_LIKELY(!session)) return;
  leave_former(x);
  if (x->joined.ends ||
      (x->place.route == FC_ROUTE_SESSIONS && !x->place.session)) {
    fc_session_end(session, FC_SESSION_END_DELETED);
  }
  x->joined = (fc_exchange_joined_t){0};
  x->place.session = NULL;
  x->job.claim = NULL;
  fc_session_unpin(session, fc_clock_ns());
}
