// SPDX-License-Identifier: Apache-2.0
//
// A client's connection of gRPC with one call on it at a time: bytes in, bytes out.
// Whoever owns the socket moves them: rpc.c for one call, talk.c for a load. One thread.
#ifndef FARCALL_CLI_GRPC_STREAM_H_
#define FARCALL_CLI_GRPC_STREAM_H_

#include <nghttp2/nghttp2.h>

#include "grpc/rpc.h"

#define FC_RPC_DETAIL 1024
#define FC_RPC_NO_STATUS UINT32_MAX
#define FC_RPC_UNIMPLEMENTED 12

typedef struct fc_rpc_stream_t {
  nghttp2_session *session;
  // Takes bytes of the answer, the message's head among them; false: no more of them.
  bool (*take)(void *context, fc_str_t bytes);
  void *context;
  char head[FC_RPC_HEAD];
  fc_str_t parts[2];  // of the request, that are still to be sent
  uint32_t status;    // grpc-status, or FC_RPC_NO_STATUS
  int http;           // :status, 0: none came
  uint32_t reset;     // the error code with which the stream was closed
  bool closed;        // the call is over
  char code[64];      // farcall-error-code, "": there was none
  char detail[FC_RPC_DETAIL];  // grpc-message, decoded
} fc_rpc_stream_t;

// A new connection; `take` and `context` were set. Of one that is zeroed but for these.
fc_status_t fc_rpc_stream_open(fc_rpc_stream_t *stream, fc_error_t *err);
void fc_rpc_stream_close(fc_rpc_stream_t *stream);  // a zeroed one is allowed

// Begins the call, whose message must stay until it is over; the one before it is over.
fc_status_t fc_rpc_stream_ask(fc_rpc_stream_t *stream,
                              const fc_rpc_call_t *call, fc_error_t *err);
// May another call begin on this connection?
bool fc_rpc_stream_may_ask(const fc_rpc_stream_t *stream);
// The next bytes to send, valid until the next call of a function here; none: size 0 for
// now, data NULL when the session failed.
fc_str_t fc_rpc_stream_next(fc_rpc_stream_t *stream);
// Takes what came. NULL, or why the connection is of no more use.
const char *fc_rpc_stream_take(fc_rpc_stream_t *stream, fc_str_t bytes);

// Of an error: farcall-error-code, or the name of the status.
const char *fc_rpc_stream_code(const fc_rpc_stream_t *stream);

#endif  // FARCALL_CLI_GRPC_STREAM_H_
