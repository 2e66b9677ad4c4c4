// SPDX-License-Identifier: Apache-2.0
//
// Bodies that are gRPC messages. Five bytes in front of each say whether it is
// compressed, and its size. They are removed before other code sees the body, and are put
// in front of the answer, at the end of the room for its head (FC_LIMIT_HEAD).
#include "base/proto.h"
#include "exchange/exchange.h"

fc_status_t fc_exchange_open_message(fc_exchange_t *x, fc_error_t *err) {
  fc_invocation_t *call = &x->job.call;
  const fc_str_t body = fc_str_make(
      (const char *)fc_block_data(x->server->blocks, call->body.block) +
          call->body.offset,
      (size_t)call->body.size);
  if (body.size < FC_MESSAGE_HEAD) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING, "there is no message");
  }
  const uint32_t size = fc_message_size(body);
  if (body.size - FC_MESSAGE_HEAD != size) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "the body has %zu bytes, the message's head says %u",
                   body.size - FC_MESSAGE_HEAD, size);
  }
  if ((uint8_t)body.data[0] > 1 || (body.data[0] && !call->body_coding)) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "the message is compressed, 'grpc-encoding' does not say "
                   "how");
  }
  if (!body.data[0]) call->body_coding = FC_CODING_NONE;
  call->body.offset += FC_MESSAGE_HEAD;
  call->body.size -= FC_MESSAGE_HEAD;
  return FC_OK;
}

// In a stream of calls, the answer is inside a ModelStreamInferResponse, {2: the answer}.
// Before its other fields it has a parameter that says that it is the only answer: {4:
// {"triton_final_response": true}}.
static void put_front(fc_sink_t *sink, uint64_t size) {
  static const char kFinal[] =
      "\x22\x1b\x0a\x15triton_final_response\x12\x02\x08\x01";
  const fc_str_t final = fc_str_make(kFinal, sizeof kFinal - 1);
  (void)fc_proto_put_head(sink, 2, final.size + size, NULL);
  (void)fc_sink_put(sink, final, NULL);
}

void fc_exchange_close_message(fc_exchange_t *x, bool is_error) {
  char front[FC_MESSAGE_HEAD + 48];
  fc_sink_t sink = {.cursor = front + FC_MESSAGE_HEAD,
                    .end = front + sizeof front};
  fc_piece_t *first = &x->out.pieces[0];
  uint64_t size = 0;
  for (uint32_t i = 0; i < x->out.count; i++) size += x->out.pieces[i].size;
  const bool is_infer = x->asked.is_message && !x->asked.is_asking;
  if (is_infer && !is_error) put_front(&sink, size);
  const uint32_t added = (uint32_t)(sink.cursor - front);
  size += added - FC_MESSAGE_HEAD;
  FC_ASSERT(x->out.count && first->offset >= added && size <= UINT32_MAX);
  front[0] = 0;
  for (int i = 0; i < 4; i++) front[1 + i] = (char)(size >> (24 - 8 * i));
  first->offset -= added;
  first->size += added;
  memcpy(fc_block_data(x->server->blocks, first->block) + first->offset, front,
         added);
}

static void answer(fc_exchange_t *x, fc_str_t message) {
  if (x->act) {
    fc_exchange_submit_act(x, message);
    return;
  }
  const fc_request_t request = {.method = FC_METHOD_POST,
                                .method_name = x->asked.method_name,
                                .body = message};
  fc_exchange_document(x, &request);
}

void fc_exchange_answer_message(fc_exchange_t *x) {
  const fc_invocation_t *call = &x->job.call;
  const fc_str_t body = fc_str_make(
      (const char *)fc_block_data(x->server->blocks, call->body.block) +
          call->body.offset,
      (size_t)call->body.size);
  if (!call->body_coding) {
    answer(x, body);
    return;
  }
  fc_text_t text;
  fc_error_t error;
  fc_text_init(&text, fc_allocator_system(), 2 * FC_LIMIT_ASKING);
  if (fc_inflate((fc_coding_t)call->body_coding, body, FC_LIMIT_ASKING, &text,
                 NULL, &error) == FC_OK) {
    answer(x, fc_text_str(&text));
  } else {
    fc_exchange_fail(x, &error, FC_STAGE_DECODE);
  }
  fc_text_deinit(&text);
}
