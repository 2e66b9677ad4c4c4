// SPDX-License-Identifier: Apache-2.0
#include "grpc/rpc.h"

fc_status_t fc_rpc_ask(fc_arena_t *arena, const fc_remote_t *server,
                       const char *method, fc_str_t message,
                       fc_rpc_reply_t *out_reply, fc_error_t *err) {
  (void)arena, (void)method, (void)message, (void)out_reply;
  return fc_fail(err, FC_CODE_JSON_SCHEMA,
                 "server '%s': this farcall was built without HTTP/2",
                 server->url);
}
