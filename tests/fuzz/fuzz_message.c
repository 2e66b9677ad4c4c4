// SPDX-License-Identifier: Apache-2.0
//
// A ModelInferRequest, or a PredictRequest of TensorFlow Serving. The first byte
// chooses which of the two, and the model. Whatever the other bytes are, an error is
// the client's fault, and an accepted request is answered with its own tensors, in a
// well-formed message. The names in front are found in any prefix of the request.
#include "base/proto.h"
#include "marshal/message.h"
#include "marshal/tf_message.h"
#include "model_maker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MODEL_COUNT = 4 };
static fc_plan_t *plans[MODEL_COUNT];

static void init(void) {
  static const char *const kModels[MODEL_COUNT] = {"fit", "i", "f", "b"};
  for (int i = 0; i < MODEL_COUNT; i++) plans[i] = make_plan(kModels[i]);
}

typedef struct protocol_t {
  fc_status_t (*decode)(fc_frame_t *frame, fc_str_t body, fc_error_t *err);
  fc_status_t (*encode)(fc_frame_t *frame, fc_str_t model, fc_str_t version,
                        fc_sink_t *sink, fc_error_t *err);
  fc_status_t (*names)(fc_str_t message, bool is_all,
                       fc_message_names_t *out_names, fc_error_t *err);
  bool has_raws;
} protocol_t;
static const protocol_t kProtocols[] = {
    {fc_message_decode, fc_message_encode, fc_message_names, true},
    {fc_tf_message_decode, fc_tf_message_encode, fc_tf_message_names, false},
};

static void check_answer(const protocol_t *protocol, fc_str_t answer) {
  fc_proto_t proto = fc_proto_begin(answer);
  fc_proto_field_t field;
  uint32_t outputs = 0, raws = 0;
  bool more = true;
  while (more) {
    CHECK(fc_proto_next(&proto, &field, &more, NULL) == FC_OK);
    outputs += more && field.number == 5;
    raws += more && field.number == 6;
  }
  CHECK(!protocol->has_raws || outputs == raws);
}

static void run(const protocol_t *protocol, const fc_plan_t *plan,
                fc_str_t body) {
  static fc_frame_t *frame;
  fc_error_t err;
  if (!frame) frame = make_frame();
  fc_frame_begin(frame, plan, NULL);
  fc_error_reset(&err);
  if (protocol->decode(frame, body, &err) != FC_OK) {
    CHECK(err.code > FC_CODE_METHOD_NOT_ALLOWED);
    CHECK(err.code != FC_CODE_INTERNAL && err.code != FC_CODE_OUT_OF_MEMORY);
    return;
  }
  size_t count;
  const fc_value_t *values = fc_frame_arguments(frame, &count);
  fc_frame_set_results(frame, values, count);
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 21);
  const fc_status_t status =
      protocol->encode(frame, FC_STR("m"), FC_STR("1"), &text.sink, &err);
  CHECK(status == FC_OK || err.code == FC_CODE_RESULT_TOO_LARGE);
  if (status == FC_OK) check_answer(protocol, fc_text_str(&text));
  fc_text_deinit(&text);
}

// Every text that the loop reads from a message lies inside the message.
static void look(fc_str_t message) {
  fc_message_sequence_t sequence;
  CHECK(fc_message_raw(message) <= message.size);
  const fc_str_t id = fc_message_id(message);
  CHECK(!id.size || (id.data >= message.data &&
                     id.data + id.size <= message.data + message.size));
  if (fc_message_sequence(message, 64, &sequence, NULL) != FC_OK) return;
  CHECK(sequence.text.size <= message.size);
  CHECK(!sequence.text.size || !sequence.number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fc_message_names_t names;
  if (size < 2) return 0;
  if (!plans[0]) init();
  const protocol_t *protocol = &kProtocols[data[0] >> 6 & 1];
  // The block is one byte larger, because a block of size 0 may be NULL. The sanitizer
  // sees reads further past the body.
  char *body = malloc(size);
  CHECK(body);
  memcpy(body, data + 1, size - 1);
  for (size_t i = 0; i < size && i < 64; i++) {
    (void)protocol->names(fc_str_make(body, i), false, &names, NULL);
    look(fc_str_make(body, i));
  }
  look(fc_str_make(body, size - 1));
  (void)protocol->names(fc_str_make(body, size - 1), true, &names, NULL);
  run(protocol, plans[data[0] % MODEL_COUNT], fc_str_make(body, size - 1));
  free(body);
  return 0;
}
