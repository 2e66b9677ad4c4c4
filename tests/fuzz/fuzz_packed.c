// SPDX-License-Identifier: Apache-2.0
//
// Calls as bytes: .npy, .npz, safetensors, a document followed by raw bytes, and
// TensorFlow Serving's documents. The first byte chooses the model and the form; the
// next two are the length of the document. Whatever the others are, an error is the
// client's fault, and an accepted request is answered with its own tensors, in a form
// that reads back as the same.
#include "marshal/framed.h"
#include "marshal/packed.h"
#include "marshal/tf.h"
#include "model_maker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMED = 3, TF = 4, FORM_COUNT = 5 };
// A new form of marshal/packed.h would get FRAMED's number, and would not be tried.
_Static_assert(FRAMED == (int)FC_PACKED_COUNT,
               "the forms of fc_packed_t come first");
enum { MODEL_COUNT = 4 };
static fc_plan_t *plans[MODEL_COUNT];

static void init(void) {
  static const char *const kModels[MODEL_COUNT] = {"s", "fsr", "b", "r"};
  for (int i = 0; i < MODEL_COUNT; i++) plans[i] = make_plan(kModels[i]);
}

static fc_status_t decode(fc_frame_t *frame, int form, fc_str_t body,
                          uint64_t document, fc_error_t *err) {
  if (form == FRAMED) return fc_framed_decode(frame, body, document, err);
  if (form == TF) return fc_tf_decode(frame, body, err);
  return fc_packed_decode(frame, (fc_packed_t)form, body, 1 << 20, err);
}

static fc_status_t encode(fc_frame_t *frame, int form, fc_text_t *out,
                          uint64_t *out_document, fc_error_t *err) {
  if (form == FRAMED) {
    return fc_framed_encode(frame, &out->sink, out_document, err);
  }
  if (form == TF) return fc_tf_encode(frame, &out->sink, err);
  return fc_packed_encode(frame, (fc_packed_t)form, &out->sink, err);
}

static bool is_clients(const fc_error_t *err) {
  return err->code != FC_CODE_INTERNAL && err->code != FC_CODE_OUT_OF_MEMORY &&
         err->code != FC_CODE_BAD_RESULT && err->message[0];
}

// Writes the arguments as the answer.
static bool answer(fc_frame_t *frame, int form, fc_text_t *out,
                   uint64_t *out_document) {
  size_t count;
  fc_error_t err;
  fc_error_reset(&err);
  const fc_value_t *values = fc_frame_arguments(frame, &count);
  fc_frame_set_results(frame, values, count);
  const fc_status_t status = encode(frame, form, out, out_document, &err);
  CHECK(status == FC_OK || is_clients(&err));
  return status == FC_OK;
}

static void run(const fc_plan_t *plan, int form, fc_str_t body,
                uint64_t document) {
  static fc_frame_t *frame;
  fc_error_t err;
  if (!frame) frame = make_frame();
  fc_text_t there, back;
  uint64_t said = 0;
  fc_text_init(&there, fc_allocator_system(), 1 << 21);
  fc_text_init(&back, fc_allocator_system(), 1 << 21);
  fc_frame_begin(frame, plan, NULL);
  fc_error_reset(&err);
  if (decode(frame, form, body, document, &err) != FC_OK) {
    CHECK(is_clients(&err));
  } else if (answer(frame, form, &there, &said) && form < FRAMED) {
    // In these forms an answer is also a request. Decoded and answered again, it must
    // give the same bytes.
    fc_frame_begin(frame, plan, NULL);
    CHECK(decode(frame, form, fc_text_str(&there), said, &err) == FC_OK);
    CHECK(answer(frame, form, &back, &said));
    CHECK(fc_str_equal(fc_text_str(&there), fc_text_str(&back)));
  }
  fc_frame_end(frame);
  fc_text_deinit(&there);
  fc_text_deinit(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3) return 0;
  if (!plans[0]) init();
  const uint64_t length = (uint64_t)data[1] | (uint64_t)data[2] << 8;
  // The block is one byte larger than the body, because malloc(0) may return NULL. So the
  // sanitizer sees only reads that go further than that byte.
  char *body = malloc(size - 3 + 1);
  CHECK(body);
  memcpy(body, data + 3, size - 3);
  run(plans[data[0] % MODEL_COUNT], data[0] / MODEL_COUNT % FORM_COUNT,
      fc_str_make(body, size - 3), length);
  free(body);
  return 0;
}
