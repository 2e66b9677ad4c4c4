// SPDX-License-Identifier: Apache-2.0
//
// The client side of one gRPC connection, with one call at a time. It works on bytes, and
// the owner of the socket moves them: rpc.c for one call, talk.c for a load. One thread.
#ifndef FARCALL_CLI_GRPC_STREAM_H_
#define FARCALL_CLI_GRPC_STREAM_H_

#include <nghttp2/nghttp2.h>

#include "grpc/rpc.h"

#define FC_RPC_DETAIL 1024
#define FC_RPC_NO_STATUS UINT32_MAX
#define FC_RPC_UNIMPLEMENTED 12

typedef struct fc_rpc_stream_t {
  nghttp2_session *session;
  // Called with bytes of the answer, including the message's head. False: no more bytes
  // are wanted.
  bool (*take)(void *context, fc_str_t bytes);
  void *context;
  char head[FC_RPC_HEAD];
  fc_str_t parts[2];  // of the request, still to be sent
  uint32_t status;    // grpc-status, or FC_RPC_NO_STATUS
  int http;           // :status; 0: not received
  uint32_t reset;     // the error code of the stream when it was closed
  bool closed;        // the call is over
  char code[64];      // farcall-error-code; "": none
  char detail[FC_RPC_DETAIL];  // grpc-message, decoded
} fc_rpc_stream_t;

// Begins a new connection. `take` and `context` must be set, everything else must be
// zeroed.
fc_status_t fc_rpc_stream_open(fc_rpc_stream_t *stream, fc_error_t *err);
void fc_rpc_stream_close(fc_rpc_stream_t *stream);  // a zeroed one is allowed

// Begins a call. The call before must be over. The message must stay valid until this
// call is over.
fc_status_t fc_rpc_stream_ask(fc_rpc_stream_t *stream,
                              const fc_rpc_call_t *call, fc_error_t *err);
// May another call begin on this connection?
bool fc_rpc_stream_may_ask(const fc_rpc_stream_t *stream);
// Returns the next bytes to send, valid until the next call of a function of this header.
// Size 0: nothing to send now. Data NULL: the session has failed.
fc_str_t fc_rpc_stream_next(fc_rpc_stream_t *stream);
// Processes received bytes. Returns NULL, or the reason why the connection cannot be used
// any more.
const char *fc_rpc_stream_take(fc_rpc_stream_t *stream, fc_str_t bytes);

// For an error: returns farcall-error-code, or the name of the status.
const char *fc_rpc_stream_code(const fc_rpc_stream_t *stream);

#endif  // FARCALL_CLI_GRPC_STREAM_H_
