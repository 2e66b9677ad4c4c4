// SPDX-License-Identifier: Apache-2.0
//
// One call of gRPC over a connection of its own, within one deadline. stream.c speaks
// HTTP/2 by nghttp2; none.c refuses to, in a build without it (-DFARCALL_HTTP2=OFF).
#ifndef FARCALL_CLI_GRPC_RPC_H_
#define FARCALL_CLI_GRPC_RPC_H_

#include "client.h"

#define FC_RPC_SERVICE "/inference.GRPCInferenceService/"
#define FC_RPC_HEAD 5  // bytes in front of a message

typedef struct fc_rpc_call_t {
  const fc_remote_t *server;
  const char *method;   // a path
  const char *token;    // for the field authorization, NULL: none
  uint64_t timeout_ms;  // that the server is told; 0: none
  fc_str_t message;     // at most UINT32_MAX bytes
} fc_rpc_call_t;

typedef struct fc_rpc_reply_t {
  uint32_t status;     // grpc-status
  fc_str_t message;    // of the answer, without its head; in the arena
  const char *detail;  // of an error: grpc-message, decoded, in the arena
  const char *code;    // Farcall-Error-Code, or the name of the status
} fc_rpc_reply_t;

// All is borrowed but the token, which is in the arena.
fc_status_t fc_rpc_call_make(fc_arena_t *arena, const fc_remote_t *server,
                             const char *method, fc_str_t message,
                             fc_rpc_call_t *out_call, fc_error_t *err);
// FC_UNAVAILABLE when no whole answer came in time, or what came is no gRPC.
// FC_INVALID_ARGUMENT: this build has no HTTP/2.
fc_status_t fc_rpc_ask(fc_arena_t *arena, const fc_rpc_call_t *call,
                       fc_rpc_reply_t *out_reply, fc_error_t *err);

#endif  // FARCALL_CLI_GRPC_RPC_H_
