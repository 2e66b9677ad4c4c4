// SPDX-License-Identifier: Apache-2.0
#include "bench/talk.h"
#include "grpc/rpc.h"

fc_status_t fc_rpc_call_make(fc_arena_t *arena, const fc_remote_t *server,
                             const char *method, fc_str_t message,
                             fc_rpc_call_t *out_call, fc_error_t *err) {
  (void)arena, (void)method, (void)message, (void)out_call;
  return fc_fail(err, FC_CODE_JSON_SCHEMA,
                 "server '%s': this farcall was built without HTTP/2",
                 server->url);
}

// Never called, because fc_rpc_call_make fails.
fc_status_t fc_rpc_ask(fc_arena_t *arena, const fc_rpc_call_t *call,
                       fc_rpc_reply_t *out_reply, fc_error_t *err) {
  (void)arena, (void)call, (void)out_reply;
  return fc_fail_memory(err);
}

const fc_talk_kind_t fc_talk_grpc = {0};
