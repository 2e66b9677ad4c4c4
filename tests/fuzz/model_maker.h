// SPDX-License-Identifier: Apache-2.0
//
// Functions that fuzzers call. Each letter is the type of one argument and of one
// result, which are named "x", "y", "z".
#ifndef FARCALL_TESTS_FUZZ_MODEL_MAKER_H_
#define FARCALL_TESTS_FUZZ_MODEL_MAKER_H_

#include <stdlib.h>

#include "farcall/codec.h"

#define CHECK(condition)       \
  do {                         \
    if (!(condition)) abort(); \
  } while (0)

static inline uint32_t make_type(fc_builder_t *builder, char letter) {
  static const int64_t kDims[] = {FC_DIM_DYNAMIC, 2};
  switch (letter) {
    case 'i':
      return fc_builder_scalar(builder, FC_DTYPE_I64);
    case 'f':
      return fc_builder_tensor(builder, FC_DTYPE_F32, 2, kDims);
    case 'b':
      return fc_builder_tensor(builder, FC_DTYPE_I1, 1, kDims);
    case 's':
      return fc_builder_tensor(builder, FC_DTYPE_I16, 1, kDims);
    case 't':
      return fc_builder_bytes(builder, FC_FLAVOR_UTF8);
    default:
      return fc_builder_bytes(builder, FC_FLAVOR_RAW);
  }
}

static inline fc_plan_t *make_plan(const char *letters) {
  static const char *const kNames[] = {"x", "y", "z"};
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  CHECK(builder);
  fc_builder_source(builder, FC_SOURCE_SIDECAR);
  fc_builder_name(builder, FC_STR("f"));
  for (size_t i = 0; letters[i]; i++) {
    const fc_str_t name = fc_str(kNames[i]);
    fc_builder_argument(builder, name, make_type(builder, letters[i]),
                        FC_ROLE_IN, true, FC_RAW_NEXT);
    fc_builder_result(builder, name, make_type(builder, letters[i]),
                      FC_RAW_NEXT);
  }
  fc_signature_t *signature;
  fc_plan_t *plan;
  CHECK(fc_signature_build(builder, &signature, NULL) == FC_OK);
  CHECK(fc_plan_create(signature, fc_allocator_system(), &plan, NULL) == FC_OK);
  fc_builder_destroy(builder);
  return plan;
}

static inline fc_frame_t *make_frame(void) {
  const fc_limits_t limits = {.tensor_elements = 1 << 16,
                              .tensor_size = 1 << 18,
                              .result_size = 1 << 20,
                              .arena_size = 1 << 20,
                              .json_depth = 16,
                              .json_keys = 64};
  fc_frame_t *frame;
  CHECK(fc_frame_create(fc_allocator_system(), &limits, &frame, NULL) == FC_OK);
  return frame;
}

#endif  // FARCALL_TESTS_FUZZ_MODEL_MAKER_H_
