// SPDX-License-Identifier: Apache-2.0
//
// A request of the Open Inference Protocol: its document, and the raw bytes after it.
// The first byte chooses the model and whether the head gives a length; the next two
// bytes are that length. Whatever the others are, an error is the client's fault, and
// an accepted request is answered with its own tensors and the right document length.
#include "marshal/oip.h"
#include "model_maker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MODEL_COUNT = 4 };
static fc_plan_t *plans[MODEL_COUNT];

static void init(void) {
  static const char *const kModels[MODEL_COUNT] = {"fit", "i", "f", "b"};
  for (int i = 0; i < MODEL_COUNT; i++) plans[i] = make_plan(kModels[i]);
}

static void run(const fc_plan_t *plan, fc_str_t body, uint64_t document) {
  static fc_frame_t *frame;
  fc_error_t err;
  if (!frame) frame = make_frame();
  fc_frame_begin(frame, plan, NULL);
  fc_error_reset(&err);
  if (fc_oip_decode(frame, body, document, &err) != FC_OK) {
    CHECK(err.code > FC_CODE_METHOD_NOT_ALLOWED);
    CHECK(err.code != FC_CODE_INTERNAL && err.code != FC_CODE_OUT_OF_MEMORY);
    return;
  }
  size_t count;
  const fc_value_t *values = fc_frame_arguments(frame, &count);
  fc_frame_set_results(frame, values, count);
  fc_text_t text;
  uint64_t said = 0;
  fc_text_init(&text, fc_allocator_system(), 1 << 21);
  const fc_status_t status =
      fc_oip_encode(frame, FC_STR("m"), FC_STR("1"), &text.sink, &said, &err);
  CHECK(status == FC_OK || err.code == FC_CODE_RESULT_TOO_LARGE);
  if (status == FC_OK) {
    const fc_str_t answer = fc_text_str(&text);
    const uint64_t end = said ? said : answer.size;
    CHECK(end <= answer.size && answer.data[0] == '{' &&
          answer.data[end - 1] == '}');
  }
  fc_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3) return 0;
  if (!plans[0]) init();
  const bool has_length = data[0] & 4;
  const uint64_t length = (uint64_t)data[1] | (uint64_t)data[2] << 8;
  // The block is one byte larger, because a block of size 0 may be NULL. The sanitizer
  // sees reads further past the body.
  char *body = malloc(size - 3 + 1);
  CHECK(body);
  memcpy(body, data + 3, size - 3);
  run(plans[data[0] % MODEL_COUNT], fc_str_make(body, size - 3),
      has_length ? length : FC_OIP_ALL);
  (void)fc_oip_find_id(fc_str_make(body, size - 3));
  free(body);
  return 0;
}
