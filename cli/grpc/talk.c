// SPDX-License-Identifier: Apache-2.0
//
// A connection has one call at a time, as with HTTP/1.1. So for both protocols, N
// connections mean N concurrent calls.
#include "bench/talk.h"
#include "grpc/stream.h"

#define BLOCK 4096

typedef struct fc_talk_grpc_t {
  fc_talk_t talk;
  fc_rpc_stream_t stream;
  fc_str_t next;      // from nghttp2; did not fit into the block
  char block[BLOCK];  // small frames, which are sent together
} fc_talk_grpc_t;

static bool take_body(void *context, fc_str_t bytes) {
  fc_talk_take_body(context, bytes);
  return true;
}

static bool open_grpc(fc_talk_t *talk) {
  fc_rpc_stream_t *stream = &((fc_talk_grpc_t *)talk)->stream;
  fc_error_t err;
  ((fc_talk_grpc_t *)talk)->next = FC_STR("");
  stream->take = take_body;
  stream->context = talk;
  return fc_rpc_stream_open(stream, &err) == FC_OK;
}

static void close_grpc(fc_talk_t *talk) {
  fc_rpc_stream_close(&((fc_talk_grpc_t *)talk)->stream);
}

static bool ask_grpc(fc_talk_t *talk) {
  fc_error_t err;
  return fc_rpc_stream_ask(&((fc_talk_grpc_t *)talk)->stream, talk->plan->call,
                           &err) == FC_OK;
}

// nghttp2's bytes stay valid until it is asked for more.
static bool next_grpc(fc_talk_t *talk) {
  fc_talk_grpc_t *grpc = (fc_talk_grpc_t *)talk;
  size_t filled = 0;
  talk->left = grpc->next;
  grpc->next = FC_STR("");
  while (!talk->left.size) {
    const fc_str_t bytes = fc_rpc_stream_next(&grpc->stream);
    if (!bytes.data) return false;
    if (!bytes.size) break;
    if (bytes.size > BLOCK - filled) {
      *(filled ? &grpc->next : &talk->left) = bytes;
      break;
    }
    memcpy(grpc->block + filled, bytes.data, bytes.size);
    filled += bytes.size;
  }
  if (filled) talk->left = fc_str_make(grpc->block, filled);
  return true;
}

// Called when the call is over. False: its result is unknown.
static bool judge(fc_talk_t *talk, const fc_rpc_stream_t *stream) {
  const bool known = stream->status != FC_RPC_NO_STATUS;
  if (!known && (!stream->http || stream->http == 200)) return false;
  talk->done = true;
  talk->asked = false;
  if (known && !stream->status) return true;
  fc_talk_refuse(talk, known ? (int)stream->status : stream->http);
  if (!known || !talk->captures) return true;
  fc_talk_take_body(talk, fc_str(fc_rpc_stream_code(stream)));
  fc_talk_take_body(talk, FC_STR(": "));
  fc_talk_take_body(talk, fc_str(stream->detail));
  return true;
}

static bool take_grpc(fc_talk_t *talk, fc_str_t bytes) {
  const fc_rpc_stream_t *stream = &((fc_talk_grpc_t *)talk)->stream;
  if (!bytes.size ||
      fc_rpc_stream_take(&((fc_talk_grpc_t *)talk)->stream, bytes)) {
    return false;
  }
  talk->closes = !fc_rpc_stream_may_ask(stream);
  return !talk->asked || !stream->closed || judge(talk, stream);
}

const fc_talk_kind_t fc_talk_grpc = {sizeof(fc_talk_grpc_t),
                                     open_grpc,
                                     close_grpc,
                                     ask_grpc,
                                     next_grpc,
                                     take_grpc};
