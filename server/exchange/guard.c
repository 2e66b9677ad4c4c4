// SPDX-License-Identifier: Apache-2.0
//
// ROUTE on a listener with tokens, or with rules for users: may this client make this
// request? That is decided once for each request, before anything is told of modules.
#include "exchange/exchange.h"
#include "exchange/grant.h"

// The name of the module that an act is about, as its path or message has it.
static fc_status_t act_name(const fc_exchange_t *x, const fc_request_t *request,
                            char text[FC_ROUTE_KEPT], fc_str_t *out_name) {
  const fc_routes_t *routes = x->server->routes;
  const fc_route_row_t *row = &routes->rows[x->place.route];
  fc_route_names_t names = {0};
  bool more;
  if (!(row->methods & FC_ROUTE_PEEK)) {
    return fc_route_module(routes, x->place.route, request->path, text,
                           out_name, NULL);
  }
  FC_TRY(
      routes->dialects[row->dialect]->peek(request, text, &names, &more, NULL));
  *out_name = fc_route_act_name(&names);
  return FC_OK;
}

// The name of the module that the request is about, for an act as it names it. "" if
// the request is about no single module, or, without an act, about one that does not
// exist: both are refused alike where a token is for some modules.
static fc_str_t module_of(const fc_exchange_t *x, const fc_request_t *request,
                          char text[FC_ROUTE_KEPT]) {
  const fc_server_t *server = x->server;
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, x->place.module);
  fc_str_t name = FC_STR("");
  if (generation) return generation->claim.name;
  const fc_route_row_t *row = &server->routes->rows[x->place.route];
  if (!(row->methods & FC_ROUTE_ACT) ||
      act_name(x, request, text, &name) != FC_OK) {
    return FC_STR("");
  }
  return server->routes->dialects[row->dialect]->act_module(server, name);
}

// The client is the token, from whatever address it comes. Its owner has, as its bytes,
// 16 hex digits of the token's hash, which no address or user has (fc_exchange_client).
static void note_token(fc_exchange_t *x, const fc_grant_t *grant) {
  memcpy(x->asker.token, grant->name.data, grant->name.size);
  x->asker.token_size = (uint8_t)grant->name.size;
  memcpy(x->job.caller.bytes, grant->hash, sizeof x->job.caller.bytes);
  if (grant->is_ranged) x->asker.priorities = grant->priorities;
}

// Guessing is slowed by what a client waits for its answer. A right token waits only where
// it could have been guessed. Without memory for the table nobody waits.
static void note_guess(fc_exchange_t *x) {
  fc_server_t *server = x->server;
  if (x->wait.was_slowed) return;
  if (!server->guesses) {
    server->guesses = fc_guesses_create(server->modules->generations.allocator,
                                        fc_trace_random(&server->id_state));
  }
  if (!server->guesses) return;
  x->wait.on = x->wait.slowed =
      fc_guesses_note(server->guesses, &x->job.caller, x->times.marked_ns);
}

// A guesser may leave as soon as an answer takes its time: so this one must take as long.
static fc_status_t greet(fc_exchange_t *x, const fc_grant_t *grant,
                         fc_error_t *err) {
  fc_guesses_t *guesses = x->server->guesses;
  fc_owner_t token;
  memcpy(token.bytes, grant->hash, sizeof token.bytes);
  if (!guesses || !fc_guesses_greet(guesses, &x->job.caller, &token,
                                    x->wait.was_slowed, x->times.marked_ns)) {
    return FC_OK;
  }
  x->wait.on = x->wait.slowed = true;
  return fc_fail(err, FC_CODE_UNAUTHORIZED, "its token is to be looked at");
}

// A listener with tokens and rules for users goes by the token if one is sent, else by
// the user.
static fc_status_t identify(fc_exchange_t *x, const fc_request_t *request,
                            char text[FC_USER_TEXT_SIZE], fc_grant_t *out_grant,
                            fc_error_t *err) {
  const fc_policy_t *policy = x->policy;
  const bool sent = request->fields[FC_FIELD_AUTHORIZATION].data;
  if (!policy->tokens || (policy->users.count && !sent)) {
    return fc_grant_of_user(&x->asker.user, text, out_grant, err);
  }
  const fc_status_t status = fc_grant_of_token(policy, request, out_grant, err);
  if (status != FC_OK) {
    if (sent) note_guess(x);
    return status;
  }
  FC_TRY(greet(x, out_grant, err));
  note_token(x, out_grant);
  return FC_OK;
}

// Finds the route, and checks that its client is known and has the scopes it needs.
static fc_status_t let_in(fc_exchange_t *x, const fc_request_t *request,
                          char text[FC_USER_TEXT_SIZE], fc_grant_t *out_grant,
                          fc_error_t *err) {
  const fc_routes_t *routes = x->server->routes;
  const fc_status_t status = fc_route_match(routes, request, &x->place, err);
  const uint8_t needed = fc_route_scopes(routes, x->place.route, request);
  if (needed == FC_SCOPE_OPEN) return status;
  FC_TRY(identify(x, request, text, out_grant, err));
  FC_TRY(fc_grant_check_scopes(out_grant, needed, err));
  if (needed == FC_SCOPE_ANY) out_grant->modules = FC_STR("");
  return status;
}

fc_status_t fc_exchange_guard(fc_exchange_t *x, const fc_request_t *request,
                              uint8_t *out_scopes, fc_error_t *err) {
  fc_grant_t grant = {0};
  char text[FC_ROUTE_KEPT], user[FC_USER_TEXT_SIZE];
  FC_TRY(let_in(x, request, user, &grant, err));
  *out_scopes = grant.scopes;
  const fc_status_t status = fc_exchange_find(x, request, err);
  if (!grant.modules.size || x->place.peeks) return status;
  if (fc_grant_check_module(&grant, module_of(x, request, text), err) ==
      FC_OK) {
    return status;
  }
  // Whether there is such a module is not told.
  x->place.module = x->place.function = FC_ROUTE_NO_INDEX;
  return err->status;
}
