// SPDX-License-Identifier: Apache-2.0
//
// Calls a function that is given by a line of types (helpers/types.h). The struct holds
// its signature, plan and frame. Tables have rows "types, body -> flat values or
// error".
#ifndef FARCALL_TESTS_HELPERS_CALL_H_
#define FARCALL_TESTS_HELPERS_CALL_H_

#include "farcall/codec.h"
#include "helpers/echo.h"

typedef struct fc_test_call_t {
  fc_signature_t *signature;
  fc_plan_t *plan;
  fc_frame_t *frame;
  fc_echo_t echo;
  char *body;  // of exact size, so that the sanitizer sees a read past it
} fc_test_call_t;

// Fails the test when the types cannot be read. `limits` NULL: the default.
void fc_test_call_init(fc_test_call_t *call, const char *types,
                       const fc_limits_t *limits);
void fc_test_call_deinit(fc_test_call_t *call);
// Begins the frame and decodes.
fc_status_t fc_test_call_decode(fc_test_call_t *call, fc_str_t body,
                                fc_error_t *err);
// Decodes `body`, echoes it and encodes the answer to `out`, NUL-terminated.
fc_status_t fc_test_call_echo(fc_test_call_t *call, fc_str_t body, char *out,
                              size_t capacity, fc_error_t *err);

typedef struct fc_test_decode_row_t {
  const char *name;
  const char *types;
  // A '^' in the body is removed; it marks where the error's byte offset must point.
  const char *body;
  const char *flat;  // of the arguments (helpers/flat.h); NULL: an error
  fc_code_t code;
  const char *pointer;
  const char *message;  // NULL: any
} fc_test_decode_row_t;

// If the row does not hold, fails the test and prints what was found.
void fc_test_decode_row(const fc_test_decode_row_t *row,
                        const fc_limits_t *limits);

#endif  // FARCALL_TESTS_HELPERS_CALL_H_
