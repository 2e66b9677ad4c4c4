// SPDX-License-Identifier: Apache-2.0
//
// Errors as lines of a head: the status of each code, and texts that are no ASCII. The
// numbers are those of gRPC's documentation (doc/statuscodes.md).
#include <stdio.h>
#include <string.h>

#include "dialect/grpc.h"
#include "helpers/test.h"
#include "obs/code.h"

enum {
  INVALID = 3,
  DEADLINE,
  NOT_FOUND,
  PERMISSION = 7,
  EXHAUSTED,
  PRECONDITION
};
enum {
  ABORTED = 10,
  RANGE,
  UNIMPLEMENTED,
  INTERNAL,
  UNAVAILABLE,
  LOSS,
  UNAUTHENTICATED
};

static void write_error(const fc_error_t *error, fc_text_t *out) {
  fc_text_init(out, fc_allocator_system(), 1u << 16);
  const fc_problem_t problem = {.error = error};
  assert_int_equal(fc_grpc_write_error(&problem, &out->sink, NULL), FC_OK);
  assert_int_equal(fc_sink_put(&out->sink, fc_str_make("", 1), NULL), FC_OK);
}

typedef struct status_row_t {
  const char *name;
  fc_code_t code;
  int status;
} status_row_t;
static const status_row_t kStatuses[] = {
    // What a client should try again: KServe's does so after no other status.
    {"overloaded", FC_CODE_OVERLOADED, UNAVAILABLE},
    {"too many requests", FC_CODE_TOO_MANY_REQUESTS, UNAVAILABLE},
    {"not ready", FC_CODE_NOT_READY, UNAVAILABLE},
    {"shutting down", FC_CODE_SHUTTING_DOWN, UNAVAILABLE},
    {"module unavailable", FC_CODE_MODULE_UNAVAILABLE, UNAVAILABLE},
    {"module quarantined", FC_CODE_MODULE_QUARANTINED, UNAVAILABLE},
    // What it should not
    {"crashed", FC_CODE_WORKER_CRASHED, INTERNAL},
    {"worker out of memory", FC_CODE_WORKER_OUT_OF_MEMORY, INTERNAL},
    {"internal", FC_CODE_INTERNAL, INTERNAL},
    {"media type", FC_CODE_UNSUPPORTED_MEDIA_TYPE, UNIMPLEMENTED},
    {"method", FC_CODE_METHOD_NOT_ALLOWED, UNIMPLEMENTED},
    {"type", FC_CODE_UNSUPPORTED_TYPE, UNIMPLEMENTED},
    {"deadline", FC_CODE_DEADLINE_EXCEEDED, DEADLINE},
    {"slow", FC_CODE_REQUEST_TIMEOUT, DEADLINE},
    {"module", FC_CODE_MODULE_NOT_FOUND, NOT_FOUND},
    {"version", FC_CODE_VERSION_NOT_FOUND, NOT_FOUND},
    {"session", FC_CODE_SESSION_NOT_FOUND, NOT_FOUND},
    {"token", FC_CODE_UNAUTHORIZED, UNAUTHENTICATED},
    {"scope", FC_CODE_FORBIDDEN, PERMISSION},
    {"body", FC_CODE_BODY_TOO_LARGE, EXHAUSTED},
    {"result", FC_CODE_RESULT_TOO_LARGE, EXHAUSTED},
    {"failed", FC_CODE_CALL_FAILED, PRECONDITION},
    {"incompatible", FC_CODE_VMFB_VERSION, PRECONDITION},
    {"busy", FC_CODE_SESSION_BUSY, ABORTED},
    {"range", FC_CODE_OUT_OF_RANGE, RANGE},
    {"lost", FC_CODE_SESSION_LOST, LOSS},
    {"shape", FC_CODE_SHAPE_MISMATCH, INVALID},
    {"framing", FC_CODE_BINARY_FRAMING, INVALID},
};

static void each_code_has_the_status_of_what_a_client_should_do(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const status_row_t, row, kStatuses) {
    fc_error_t error;
    fc_text_t text;
    char line[64];
    (void)fc_fail(&error, row->code, "why");
    write_error(&error, &text);
    snprintf(line, sizeof line,
             "grpc-status: %d\r\ngrpc-message: ", row->status);
    assert_memory_equal(text.data, line, strlen(line));
    assert_int_equal(fc_grpc_status(&error), row->status);
    const char *codings = "grpc-accept-encoding: identity,deflate,gzip\r\n";
    assert_int_equal(strstr(text.data, codings) != NULL,
                     row->code == FC_CODE_UNSUPPORTED_MEDIA_TYPE);
    fc_text_deinit(&text);
  }
}

static void every_code_has_a_status_of_grpc(void **state) {
  (void)state;
  for (int status = 1; status <= FC_INCOMPATIBLE; status++) {
    fc_error_t error;
    (void)fc_fail(&error, FC_CODE_CALL_FAILED, "why");
    error.status = (fc_status_t)status;  // as an instruction of the VM may
    assert_int_equal(fc_grpc_status(&error),
                     status <= UNAUTHENTICATED ? status : PRECONDITION);
  }
  for (int code = 1; code < FC_CODE_COUNT; code++) {
    fc_error_t error;
    (void)fc_fail(&error, (fc_code_t)code, "why");
    assert_in_range(fc_grpc_status(&error), 1, 16);
  }
}

typedef struct message_row_t {
  const char *name, *message, *encoded;
} message_row_t;
static const message_row_t kMessages[] = {
    {"plain", "a b~!", "a b~!"},
    {"percent", "100%", "100%25"},
    {"controls", "\t\n\r\x7f", "%09%0A%0D%7F"},
    {"UTF-8", "\u263a \U0001f608", "%E2%98%BA %F0%9F%98%88"},
    {"no UTF-8",
     "a\xff"
     "b",
     "a"},
};

static void messages_are_percent_encoded(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const message_row_t, row, kMessages) {
    fc_error_t error;
    fc_text_t text;
    char line[128];
    (void)fc_fail(&error, FC_CODE_MODULE_NOT_FOUND, "%s", row->message);
    write_error(&error, &text);
    snprintf(line, sizeof line, "grpc-status: 5\r\ngrpc-message: %s\r\n",
             row->encoded);
    assert_memory_equal(text.data, line, strlen(line));
    fc_text_deinit(&text);
  }
}

// google.rpc.Status {3, "why", ErrorInfo {"data_length", "farcall"}, BadRequest
// {"/inputs/1", "why"}}, as Google's own library writes it, in base64.
#define DETAILS \
  "CAMSA3doeRpCCih0eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5ycGMuRXJyb3JJbmZvEhYKC2RhdGFfbGVuZ3RoEgdmYXJjYWxsGj8KKXR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5CYWRSZXF1ZXN0EhIKEAoJL2lucHV0cy8xEgN3aHk"

static void details_have_the_code_and_the_place(void **state) {
  (void)state;
  fc_error_t error;
  fc_text_t text;
  (void)fc_fail(&error, FC_CODE_DATA_LENGTH, "why");
  error.has_pointer = true;
  memcpy(error.pointer, "/inputs/1", 10);
  write_error(&error, &text);
  const char *details = strstr(text.data, "grpc-status-details-bin: ");
  assert_non_null(details);
  assert_string_equal(details, "grpc-status-details-bin: " DETAILS "\r\n");
  fc_text_deinit(&text);
  (void)fc_fail(&error, FC_CODE_INTERNAL, "a secret");
  write_error(&error, &text);
  assert_string_equal(text.data,
                      "grpc-status: 13\r\ngrpc-message: internal error\r\n");
  fc_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(each_code_has_the_status_of_what_a_client_should_do),
      FC_TEST(every_code_has_a_status_of_grpc),
      FC_TEST(messages_are_percent_encoded),
      FC_TEST(details_have_the_code_and_the_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
