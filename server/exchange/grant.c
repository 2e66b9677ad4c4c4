// SPDX-License-Identifier: Apache-2.0
#include "exchange/grant.h"

#include <stdio.h>

// RFC 6750 2.1. The scheme's case is ignored, and several blanks may follow it.
static bool read_secret(fc_str_t field, fc_str_t *out_secret) {
  const fc_str_t scheme = fc_str_take(&field, ' ');
  *out_secret = fc_request_trim(field);
  bool good =
      fc_request_same_text(scheme, FC_STR("bearer")) && out_secret->size;
  for (size_t i = 0; i < out_secret->size && good; i++) {
    good = out_secret->data[i] > ' ' && out_secret->data[i] < 0x7F;
  }
  return good;
}

fc_status_t fc_grant_of_token(const fc_policy_t *policy,
                              const fc_request_t *request,
                              fc_grant_t *out_grant, fc_error_t *err) {
  const fc_str_t field = request->fields[FC_FIELD_AUTHORIZATION];
  fc_str_t secret;
  if (!field.data) {
    return fc_fail(err, FC_CODE_UNAUTHORIZED,
                   "a token is needed: 'Authorization: Bearer TOKEN'");
  }
  if (!read_secret(field, &secret)) {
    return fc_fail(err, FC_CODE_UNAUTHORIZED,
                   "'Authorization' is not 'Bearer TOKEN'");
  }
  const fc_grant_t *grant = fc_tokens_find(policy->tokens, secret);
  if (!grant) {
    return fc_fail(err, FC_CODE_UNAUTHORIZED, "the token is not known");
  }
  *out_grant = *grant;
  return FC_OK;
}

fc_status_t fc_grant_of_user(const fc_known_user_t *user,
                             char text[FC_USER_TEXT_SIZE],
                             fc_grant_t *out_grant, fc_error_t *err) {
  const int size = snprintf(text, FC_USER_TEXT_SIZE, "%u", user->id);
  if (!user->known || !user->scopes) {
    return fc_fail(err, FC_CODE_FORBIDDEN,
                   "user %s may not ask this socket for anything "
                   "(--socket-users)",
                   user->known ? text : "?");
  }
  *out_grant = (fc_grant_t){.scopes = user->scopes,
                            .name = fc_str_make(text, (size_t)size),
                            .is_user = true};
  return FC_OK;
}

fc_status_t fc_grant_check_scopes(const fc_grant_t *grant, uint8_t needed,
                                  fc_error_t *err) {
  const uint8_t missing = needed & FC_SCOPE_ALL & (uint8_t)~grant->scopes;
  if (!missing) return FC_OK;
  return fc_fail(err, FC_CODE_FORBIDDEN,
                 "%s '%.*s' has not the scope '%s', which this needs",
                 grant->is_user ? "user" : "token", FC_STR_ARG(grant->name),
                 fc_scope_name(missing));
}

fc_status_t fc_grant_check_module(const fc_grant_t *grant, fc_str_t module,
                                  fc_error_t *err) {
  if (!grant->modules.size) return FC_OK;
  if (module.size && fc_patterns_fit(grant->modules, module)) return FC_OK;
  return fc_fail(err, FC_CODE_FORBIDDEN, "token '%.*s' is for modules '%.*s'",
                 FC_STR_ARG(grant->name), FC_STR_ARG(grant->modules));
}
