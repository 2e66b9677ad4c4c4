// SPDX-License-Identifier: Apache-2.0
//
// Call documents with "repeat". The first byte chooses the model, the rest is the
// document. Whatever it is, an error is the client's fault. An accepted loop is run to
// its end with a function that returns its arguments: once in a single run, and once in
// runs of one step between which the memory is moved. Both must write the same.
#include "marshal/iteration.h"
#include "model_maker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MODEL_COUNT = 6, TIMES_MAX = 5 };
static const char *const kModels[MODEL_COUNT] = {"i",   "fsr", "iii",
                                                 "ssi", "tt",  "bf"};

// ---------------------------------------------------------------------------
// A module with one function

static const fc_module_info_t *inspect(const void *instance) {
  return instance;
}

static fc_status_t call(void *instance, size_t index, fc_backend_call_t *call_,
                        fc_error_t *err) {
  (void)instance;
  (void)index;
  (void)err;
  for (size_t i = 0; i < call_->result_count; i++) {
    call_->results[i] = call_->arguments[i];
  }
  return FC_OK;
}

static void call_end(void *instance, size_t index, fc_backend_call_t *call_) {
  (void)instance;
  (void)index;
  (void)call_;
}

static const fc_backend_t kBackend = {
    .inspect = inspect, .call = call, .call_end = call_end};

// ---------------------------------------------------------------------------

static fc_status_t move(fc_carry_t *carry, size_t capacity, fc_error_t *err) {
  (void)err;
  uint8_t *moved = aligned_alloc(64, (capacity + 63) & ~(size_t)63);
  CHECK(moved);
  if (carry->size) memcpy(moved, carry->data, carry->size);
  free(carry->data);
  carry->data = moved;
  carry->capacity = capacity;
  return FC_OK;
}

static bool always(void *context, uint64_t steps) {
  (void)context;
  (void)steps;
  return true;
}

static bool is_clients(const fc_error_t *err) {
  return err->code != FC_CODE_INTERNAL && err->code != FC_CODE_OUT_OF_MEMORY &&
         err->code != FC_CODE_BAD_RESULT && err->message[0];
}

// False: the document was refused.
static bool run(fc_frame_t *frame, const fc_plan_t *plan, fc_str_t body,
                bool turns, fc_text_t *text) {
  fc_error_t err;
  fc_carry_t carry = {.grow = move};
  fc_signature_t *signature = (fc_signature_t *)(uintptr_t)plan->signature;
  fc_module_info_t info = {.signatures = &signature, .count = 1};
  const fc_iteration_t iteration = {.plan = plan,
                                    .backend = &kBackend,
                                    .instance = &info,
                                    .pause = turns ? always : NULL,
                                    .after = FC_STR("\n")};
  fc_error_reset(&err);
  fc_frame_begin(frame, plan, NULL);
  fc_status_t status = fc_iteration_begin(frame, body, TIMES_MAX, &carry, &err);
  fc_frame_end(frame);
  CHECK(status == FC_OK || is_clients(&err));
  const bool taken = status == FC_OK;
  fc_iterated_t out = {0};
  while (status == FC_OK && out.end == FC_ITERATION_MORE) {
    CHECK(!turns || move(&carry, carry.size, &err) == FC_OK);
    status =
        fc_iteration_run(&iteration, frame, &carry, &text->sink, &out, &err);
  }
  CHECK(status == FC_OK || is_clients(&err));
  CHECK(out.steps <= TIMES_MAX);
  free(carry.data);
  return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fc_plan_t *plans[MODEL_COUNT];
  static fc_frame_t *frame;
  if (size < 1) return 0;
  for (int i = 0; !frame && i < MODEL_COUNT; i++) {
    plans[i] = make_plan(kModels[i]);
  }
  if (!frame) frame = make_frame();
  const fc_plan_t *plan = plans[data[0] % MODEL_COUNT];
  // The copy has the exact size, so the sanitizer sees a read past its end.
  char *body = malloc(size);
  CHECK(body);
  memcpy(body, data + 1, size - 1);
  fc_text_t texts[2];
  bool taken[2];
  for (int turns = 0; turns < 2; turns++) {
    fc_text_init(&texts[turns], fc_allocator_system(), SIZE_MAX);
    taken[turns] =
        run(frame, plan, fc_str_make(body, size - 1), turns, &texts[turns]);
  }
  CHECK(taken[0] == taken[1]);
  CHECK(fc_str_equal(fc_text_str(&texts[0]), fc_text_str(&texts[1])));
  for (int turns = 0; turns < 2; turns++) fc_text_deinit(&texts[turns]);
  free(body);
  return 0;
}
