// SPDX-License-Identifier: Apache-2.0
//
// ROUTE on a listener with tokens, or with rules for users: may this client make this
// request? That is decided once for each request, before anything is told of modules.
#include "exchange/access.h"
#include "exchange/exchange.h"

// The name of the module that the request is about, for an act as the path has it. "" if
// the request is about no single module, or, without an act, about one that does not
// exist: both are refused alike where a token is for some modules.
static fc_str_t module_of(const fc_exchange_t *x, const fc_request_t *request,
                          char text[FC_MODULE_NAME_MAX]) {
  const fc_server_t *server = x->server;
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, x->place.module);
  fc_str_t name = FC_STR("");
  fc_error_t ignored;
  if (generation) return generation->name;
  const fc_route_row_t *row = &server->routes->rows[x->place.route];
  if (!(row->methods & FC_ROUTE_ACT) ||
      fc_route_module(server->routes, x->place.route, request->path, text,
                      &name, &ignored) != FC_OK) {
    return FC_STR("");
  }
  return server->routes->dialects[row->dialect]->act_module(server, name);
}

// The client is the token, from whatever address it comes. Its owner has, as its bytes,
// 16 hex digits of the token's hash, which no address or user has (fc_exchange_client).
static void note_token(fc_exchange_t *x, const fc_grant_t *grant) {
  memcpy(x->who, grant->name.data, grant->name.size);
  x->who_size = (uint8_t)grant->name.size;
  memcpy(x->job.caller.bytes, grant->hash, sizeof x->job.caller.bytes);
  if (grant->is_ranged) x->priorities = grant->priorities;
}

// A listener with tokens and rules for users goes by the token if one is sent, else by
// the user.
static fc_status_t identify(fc_exchange_t *x, const fc_request_t *request,
                            char text[FC_USER_TEXT_SIZE], fc_grant_t *out_grant,
                            fc_error_t *err) {
  const fc_policy_t *policy = x->policy;
  const bool sent = request->fields[FC_FIELD_AUTHORIZATION].data;
  if (!policy->tokens || (policy->users.count && !sent)) {
    return fc_access_identify_user(&x->user, text, out_grant, err);
  }
  FC_TRY(fc_access_identify(policy, request, out_grant, err));
  note_token(x, out_grant);
  return FC_OK;
}

fc_status_t fc_exchange_guard(fc_exchange_t *x, const fc_request_t *request,
                              fc_error_t *err) {
  fc_grant_t grant;
  char text[FC_MODULE_NAME_MAX], user[FC_USER_TEXT_SIZE];
  const uint8_t needed =
      fc_route_scopes(x->server->routes, x->place.route, request);
  if (needed == FC_SCOPE_OPEN) return FC_OK;
  FC_TRY(identify(x, request, user, &grant, err));
  FC_TRY(fc_access_check_scopes(&grant, needed, err));
  if (needed == FC_SCOPE_ANY || !grant.modules.size) return FC_OK;
  return fc_access_check_module(&grant, module_of(x, request, text), err);
}
