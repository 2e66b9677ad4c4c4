// SPDX-License-Identifier: Apache-2.0
//
// Makes one gRPC call over its own connection, within one deadline. stream.c speaks
// HTTP/2 with nghttp2. none.c replaces it in a build without HTTP/2
// (-DFARCALL_HTTP2=OFF), and refuses.
#ifndef FARCALL_CLI_GRPC_RPC_H_
#define FARCALL_CLI_GRPC_RPC_H_

#include "client.h"

#define FC_RPC_SERVICE "/inference.GRPCInferenceService/"
#define FC_RPC_HEAD 5  // bytes before a message

typedef struct fc_rpc_call_t {
  const fc_remote_t *server;
  const char *method;   // a path
  const char *token;    // for the field authorization; NULL: none
  uint64_t timeout_ms;  // sent to the server; 0: none
  fc_str_t message;     // at most UINT32_MAX bytes
} fc_rpc_call_t;

typedef struct fc_rpc_reply_t {
  uint32_t status;     // grpc-status
  fc_str_t message;    // of the answer, without its head; in the arena
  const char *detail;  // of an error: grpc-message, decoded, in the arena
  const char *code;    // Farcall-Error-Code, or the name of the status
} fc_rpc_reply_t;

// Borrows everything except the token, which is copied to the arena. FC_INVALID_ARGUMENT:
// this build has no HTTP/2.
fc_status_t fc_rpc_call_make(fc_arena_t *arena, const fc_remote_t *server,
                             const char *method, fc_str_t message,
                             fc_rpc_call_t *out_call, fc_error_t *err);
// FC_UNAVAILABLE: no complete answer came in time, or the answer is not gRPC.
fc_status_t fc_rpc_ask(fc_arena_t *arena, const fc_rpc_call_t *call,
                       fc_rpc_reply_t *out_reply, fc_error_t *err);

#endif  // FARCALL_CLI_GRPC_RPC_H_
