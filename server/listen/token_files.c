// SPDX-License-Identifier: Apache-2.0
#include "listen/token_files.h"

#include "dialect/condition.h"

fc_status_t fc_token_files_open(fc_endpoint_t *endpoint,
                                const fc_listener_policy_t *said,
                                fc_error_t *err) {
  if (!*said->token_file) return FC_OK;
  endpoint->token_file = said->token_file;
  endpoint->policy.tokens = &endpoint->tokens;
  return fc_tokens_open(&endpoint->tokens, said->token_file, err);
}

void fc_token_files_tell(const fc_endpoint_t *endpoint) {
  const fc_policy_t *policy = &endpoint->policy;
  fc_log_t *log = endpoint->all->log;
  if (!policy->tokens) return;
  fc_log(log, FC_LOG_INFO, "%s has %u tokens", endpoint->host,
         policy->tokens->count);
  if (policy->tokens->others_read) {
    fc_log(log, FC_LOG_WARN,
           "%s can be read by others than its owner: names and scopes, but no "
           "secret, are in it",
           endpoint->token_file);
  }
  if (!policy->local && !policy->loopback && !policy->tls) {
    fc_log(log, FC_LOG_WARN,
           "%s has no TLS: whoever sees the traffic learns the tokens",
           endpoint->host);
  }
}

fc_status_t fc_token_files_check(const fc_server_options_t *options,
                                 fc_error_t *err) {
  fc_listener_policy_t said;
  fc_str_t item;
  for (uint32_t i = 0; fc_listener_at(options, i, &item, &said); i++) {
    fc_tokens_t tokens;
    if (!*said.token_file) continue;
    FC_TRY(fc_tokens_open(&tokens, said.token_file, err));
    fc_tokens_close(&tokens);
  }
  return FC_OK;
}

void fc_token_files_reload(fc_endpoints_t *all) {
  fc_condition_note_reread(all->server, FC_REREAD_TOKENS, NULL);
  for (uint32_t i = 0; i < all->count; i++) {
    fc_endpoint_t *endpoint = &all->rows[i];
    fc_tokens_t tokens;
    fc_error_t error;
    if (!endpoint->policy.tokens) continue;
    if (fc_tokens_open(&tokens, endpoint->token_file, &error) != FC_OK) {
      fc_log(all->log, FC_LOG_ERROR, "%s: %s keeps its tokens", error.message,
             endpoint->host);
      fc_condition_note_reread(all->server, FC_REREAD_TOKENS, &error);
      continue;
    }
    fc_tokens_close(&endpoint->tokens);
    endpoint->tokens = tokens;
    fc_token_files_tell(endpoint);
  }
}
