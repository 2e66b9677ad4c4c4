// SPDX-License-Identifier: Apache-2.0
#include "helpers/call.h"

#include <stdlib.h>

#include "helpers/flat.h"
#include "helpers/test.h"
#include "helpers/types.h"

void fc_test_call_init(fc_test_call_t *call, const char *types,
                       const fc_limits_t *limits) {
  fc_allocator_t allocator = fc_allocator_system();
  fc_error_t err;
  *call = (fc_test_call_t){0};
  call->signature = fc_test_signature(allocator, types);
  if (fc_plan_create(call->signature, allocator, &call->plan, &err)) {
    fail_msg("plan of '%s': %s", types, err.message);
  }
  assert_int_equal(fc_frame_create(allocator, limits, &call->frame, &err),
                   FC_OK);
  call->echo.info.signatures = &call->signature;
  call->echo.info.count = 1;
}

void fc_test_call_deinit(fc_test_call_t *call) {
  fc_frame_destroy(call->frame);
  fc_plan_destroy(call->plan);
  fc_signature_destroy(call->signature);
  free(call->body);
  assert_int_equal(call->echo.open_calls, 0);
}

fc_status_t fc_test_call_decode(fc_test_call_t *call, fc_str_t body,
                                fc_error_t *err) {
  free(call->body);
  call->body = malloc(body.size ? body.size : 1);
  assert_non_null(call->body);
  if (body.size) memcpy(call->body, body.data, body.size);
  fc_error_reset(err);
  fc_frame_begin(call->frame, call->plan, NULL);
  return fc_frame_decode(call->frame, fc_str_make(call->body, body.size), err);
}

fc_status_t fc_test_call_echo(fc_test_call_t *call, fc_str_t body, char *out,
                              size_t capacity, fc_error_t *err) {
  FC_TRY(fc_test_call_decode(call, body, err));
  FC_TRY(fc_frame_invoke(call->frame, &fc_backend_echo, &call->echo, 0, NULL, 0,
                         err));
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), capacity - 1);
  fc_status_t status = fc_frame_encode(call->frame, &text.sink, err);
  fc_str_t answer = fc_text_str(&text);
  if (status == FC_OK) memcpy(out, answer.data, answer.size);
  out[status == FC_OK ? answer.size : 0] = '\0';
  fc_text_deinit(&text);
  return status;
}

// Copies the text to `out` without its '^'. Returns the offset of the '^', or
// FC_NO_OFFSET.
static uint64_t unmark(const char *marked, char *out) {
  uint64_t offset = FC_NO_OFFSET;
  char *at = out;
  for (; *marked; marked++) {
    if (*marked == '^') offset = (uint64_t)(at - out);
    else *at++ = *marked;
  }
  *at = '\0';
  return offset;
}

void fc_test_decode_row(const fc_test_decode_row_t *row,
                        const fc_limits_t *limits) {
  char body[FC_TEST_FLAT_MAX], flat[FC_TEST_FLAT_MAX];
  assert_true(strlen(row->body) < sizeof body);
  uint64_t offset = unmark(row->body, body);
  fc_test_call_t call;
  fc_test_call_init(&call, row->types, limits);
  fc_error_t err;
  fc_status_t status = fc_test_call_decode(&call, fc_str(body), &err);
  if (row->flat) {
    if (status) {
      fail_msg("%s: %s at %s", fc_code_info(err.code)->text, err.message,
               err.pointer);
    }
    size_t count;
    const fc_value_t *values = fc_frame_arguments(call.frame, &count);
    fc_test_flat(values, count, flat, sizeof flat);
    assert_string_equal(flat, row->flat);
  } else {
    if (!status) fail_msg("accepted");
    assert_string_equal(fc_code_info(err.code)->text,
                        fc_code_info(row->code)->text);
    assert_int_equal(err.status, status);
    assert_true(err.has_pointer || !row->pointer);
    assert_string_equal(err.pointer, row->pointer ? row->pointer : "");
    assert_true(err.message[0]);
    if (row->message) assert_string_equal(err.message, row->message);
    if (offset != FC_NO_OFFSET) assert_int_equal(err.byte_offset, offset);
  }
  fc_test_call_deinit(&call);
}
