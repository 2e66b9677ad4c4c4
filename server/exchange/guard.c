// SPDX-License-Identifier: Apache-2.0
//
// ROUTE on a listener with tokens, or with rules for users: may this client make this
// request? This is decided once for each request, before the client learns anything about
// modules.
#include "exchange/exchange.h"
#include "exchange/grant.h"

// Gives the name of the module that an act is about, from its path or message.
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

// Returns the name of the module that the request is about; for an act, the name in the
// request. "" if the request is about no single module or, without an act, about one that
// does not exist. A token for some modules does not allow either, and the refusal is the
// same.
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

// Makes the token the client, whatever the address. The owner's bytes are 16 hex digits
// of the token's hash; no address or user has such bytes (fc_exchange_client).
static void note_token(fc_exchange_t *x, const fc_grant_t *grant) {
  memcpy(x->asker.token, grant->name.data, grant->name.size);
  x->asker.token_size = (uint8_t)grant->name.size;
  memcpy(x->job.caller.bytes, grant->hash, sizeof x->job.caller.bytes);
  if (grant->is_ranged) x->asker.priorities = grant->priorities;
}

// Notes a wrong token. Guessing is slowed by delaying answers. A right token is delayed
// only if it could have been guessed. Without memory for the table nothing is delayed.
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

// Delays the answer to a right token that could have been guessed as long as one to a
// wrong token. Otherwise a guesser could leave as soon as an answer is delayed.
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

// A listener with tokens and rules for users uses the token if one is sent, else the
// user.
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

// Finds the route, and checks that the client is known and has the scopes that the route
// needs.
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
  // The client must not learn whether there is such a module.
  x->place.module = x->place.function = FC_ROUTE_NO_INDEX;
  return err->status;
}
