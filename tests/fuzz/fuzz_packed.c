// SPDX-License-Identifier: Apache-2.0
//
// Calls as bytes: .npy, .npz, safetensors, a document with raw bytes behind it, and
// TensorFlow Serving's documents. The first byte chooses the model and the form, the
// next two are the length of the document. Whatever they are, an error is the
// client's, and an accepted request is answered by its own tensors, in a form that is
// read back as the same.
#include <stdlib.h>

#include "marshal/framed.h"
#include "marshal/packed.h"
#include "marshal/tf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)       \
  do {                         \
    if (!(condition)) abort(); \
  } while (0)

enum { FRAMED = 3, TF = 4, FORM_COUNT = 5 };
enum { MODEL_COUNT = 4 };
static fc_plan_t *plans[MODEL_COUNT];

static void add(fc_builder_t *builder, const char *name, int what) {
  static const int64_t kDims[] = {FC_DIM_DYNAMIC, 2};
  for (int both = 0; both < 2; both++) {
    uint32_t node;
    if (what == 0) node = fc_builder_tensor(builder, FC_DTYPE_I16, 1, kDims);
    else if (what == 1)
      node = fc_builder_tensor(builder, FC_DTYPE_F32, 2, kDims);
    else if (what == 2)
      node = fc_builder_tensor(builder, FC_DTYPE_I1, 1, kDims);
    else node = fc_builder_bytes(builder, FC_FLAVOR_RAW);
    if (both) {
      fc_builder_result(builder, fc_str(name), node, FC_RAW_NEXT);
    } else {
      fc_builder_argument(builder, fc_str(name), node, FC_ROLE_IN, true,
                          FC_RAW_NEXT);
    }
  }
}

static void init(void) {
  for (int i = 0; i < MODEL_COUNT; i++) {
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    CHECK(builder);
    fc_builder_source(builder, FC_SOURCE_SIDECAR);
    fc_builder_name(builder, FC_STR("f"));
    add(builder, "x", i);
    if (i == 1) {
      add(builder, "y", 0);
      add(builder, "z", 3);
    }
    fc_signature_t *signature;
    CHECK(fc_signature_build(builder, &signature, NULL) == FC_OK);
    CHECK(fc_plan_create(signature, fc_allocator_system(), &plans[i], NULL) ==
          FC_OK);
    fc_builder_destroy(builder);
  }
}

static fc_status_t decode(fc_frame_t *frame, int form, fc_str_t body,
                          uint64_t document, fc_error_t *err) {
  if (form == FRAMED) return fc_framed_decode(frame, body, document, err);
  if (form == TF) return fc_tf_decode(frame, body, err);
  return fc_packed_decode(frame, (fc_packed_t)form, body, err);
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

// Answers with the arguments.
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
  const fc_limits_t limits = {.tensor_elements = 1 << 16,
                              .tensor_size = 1 << 18,
                              .result_size = 1 << 20,
                              .arena_size = 1 << 20,
                              .json_depth = 16,
                              .json_keys = 64};
  static fc_frame_t *frame;
  fc_error_t err;
  if (!frame) {
    CHECK(fc_frame_create(fc_allocator_system(), &limits, &frame, &err) ==
          FC_OK);
  }
  fc_text_t there, back;
  uint64_t said = 0;
  fc_text_init(&there, fc_allocator_system(), 1 << 21);
  fc_text_init(&back, fc_allocator_system(), 1 << 21);
  fc_frame_begin(frame, plan, NULL);
  fc_error_reset(&err);
  if (decode(frame, form, body, document, &err) != FC_OK) {
    CHECK(is_clients(&err));
  } else if (answer(frame, form, &there, &said) && form < FRAMED) {
    // Formats that are the same both ways.
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
  // Of exact size, so that the sanitizer sees a read past it.
  char *body = malloc(size - 3 + 1);
  CHECK(body);
  memcpy(body, data + 3, size - 3);
  run(plans[data[0] % MODEL_COUNT], data[0] / MODEL_COUNT % FORM_COUNT,
      fc_str_make(body, size - 3), length);
  free(body);
  return 0;
}
