// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow Serving's forms with the echo module kind: whole tensors and rows, of one
// input and of several; and what is refused, at which place. tests/e2e/test_faces.py
// compares the bits with those of every other form.
#include "marshal/tf.h"

#include <stdlib.h>

#include "helpers/call.h"
#include "helpers/test.h"
#include "helpers/types.h"

static fc_status_t echo(fc_test_call_t *call, const char *body, fc_text_t *out,
                        fc_error_t *err) {
  // The block is one byte larger, because a block of size 0 may be NULL. The sanitizer
  // sees reads further past the body.
  const size_t size = strlen(body);
  char *copy = malloc(size + 1);
  assert_non_null(copy);
  memcpy(copy, body, size);
  fc_error_reset(err);
  fc_text_reset(out);
  fc_frame_begin(call->frame, call->plan, NULL);
  fc_status_t status = fc_tf_decode(call->frame, fc_str_make(copy, size), err);
  if (status == FC_OK) {
    status = fc_frame_invoke(call->frame, &fc_backend_echo, &call->echo, 0,
                             NULL, 0, err);
  }
  if (status == FC_OK) status = fc_tf_encode(call->frame, &out->sink, err);
  fc_frame_end(call->frame);
  free(copy);
  return status;
}

typedef struct row_t {
  const char *name;
  const char *types;
  const char *body;
  const char *answer;  // NULL: refused
  fc_code_t code;
  const char *pointer;
  const char *message;  // begins so
} row_t;

#define ONE "tensor<?x2xf32> -> tensor<?x2xf32>"
#define TWO \
  "x: tensor<Nx2xf32>, y: tensor<Nxi8> -> tensor<Nx2xf32>, tensor<Nxi8>"

static const row_t rows[] = {
    {"one input, whole", ONE, "{\"inputs\":[[1,2],[3,4]]}",
     "{\"outputs\":[[1.0,2.0],[3.0,4.0]]}", 0, 0, 0},
    {"by name", ONE, "{\"inputs\":{\"0\":[[1,2]]}}",
     "{\"outputs\":[[1.0,2.0]]}", 0, 0, 0},
    {"in rows", ONE, "{\"instances\":[[1,2],[3,4]]}",
     "{\"predictions\":[[1.0,2.0],[3.0,4.0]]}", 0, 0, 0},
    {"in rows that have names", ONE,
     "{\"instances\":[{\"0\":[1,2]},{\"0\":[3,4]}]}",
     "{\"predictions\":[[1.0,2.0],[3.0,4.0]]}", 0, 0, 0},
    {"several inputs", TWO, "{\"inputs\":{\"y\":[5],\"x\":[[1,2]]}}",
     "{\"outputs\":{\"0\":[[1.0,2.0]],\"1\":[5]}}", 0, 0, 0},
    {"several, in rows", TWO,
     "{\"instances\":[{\"x\":[1,2],\"y\":5},{\"y\":6,\"x\":[3,4]}],"
     "\"signature_name\":\"serving_default\",\"other\":[1]}",
     "{\"predictions\":[{\"0\":[1.0,2.0],\"1\":5},{\"0\":[3.0,4.0],\"1\":6}]}",
     0, 0, 0},
    {"seventeen rows", "tensor<?xi8>, tensor<?xi8> -> tensor<?xi8>",
     "{\"instances\":[{\"0\":1,\"1\":1},{\"0\":2,\"1\":1},{\"0\":3,\"1\":1},"
     "{\"0\":4,\"1\":1},{\"0\":5,\"1\":1},{\"0\":6,\"1\":1},{\"0\":7,\"1\":1},"
     "{\"0\":8,\"1\":1},{\"0\":9,\"1\":1},{\"0\":10,\"1\":1},{\"0\":11,\"1\":1}"
     ",{\"0\":12,\"1\":1},{\"0\":13,\"1\":1},{\"0\":14,\"1\":1},{\"0\":15,"
     "\"1\":1},{\"0\":16,\"1\":1},{\"0\":17,\"1\":1}]}",
     "{\"predictions\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}", 0, 0, 0},
    {"a scalar", "f64 -> f64", "{\"inputs\":0.5}", "{\"outputs\":0.5}", 0, 0,
     0},
    {"any rank, in rows", "tensor<*xi8>, i8 -> tensor<*xi8>",
     "{\"inputs\":{\"0\":[[1],[2]],\"1\":3}}", "{\"outputs\":[[1],[2]]}", 0, 0,
     0},
    {"text", "str -> str", "{\"instances\":[\"a\"]}",
     "{\"predictions\":[\"a\"]}", 0, 0, 0},
    {"bytes", "bytes -> bytes", "{\"instances\":[{\"b64\":\"AP8=\"}]}",
     "{\"predictions\":[{\"b64\":\"AP8=\"}]}", 0, 0, 0},
    {"bytes, whole", "bytes -> bytes", "{\"inputs\":{\"b64\":\"AP8=\"}}",
     "{\"outputs\":{\"b64\":\"AP8=\"}}", 0, 0, 0},
    {"bytes by name", "bytes -> bytes",
     "{\"inputs\":{\"0\":{\"b64\":\"AP8=\"}}}",
     "{\"outputs\":{\"b64\":\"AP8=\"}}", 0, 0, 0},
    {"bytes in a row by name", "bytes, tensor<?xi8> -> bytes, tensor<?xi8>",
     "{\"instances\":[{\"0\":{\"b64\":\"AP8=\"},\"1\":7}]}",
     "{\"predictions\":[{\"0\":{\"b64\":\"AP8=\"},\"1\":7}]}", 0, 0, 0},
    {"nothing", "->", "{\"inputs\":{}}", "{\"outputs\":{}}", 0, 0, 0},

    {"no object", ONE, "[]", NULL, FC_CODE_JSON_SCHEMA, "", "expected"},
    {"neither", ONE, "{}", NULL, FC_CODE_MISSING_KEY, "",
     "'instances' or 'inputs' is missing"},
    {"both", ONE, "{\"inputs\":[[1,2]],\"instances\":[[1,2]]}", NULL,
     FC_CODE_DUPLICATE_KEY, "/instances", "there is 'inputs' already"},
    {"another signature", ONE, "{\"signature_name\":\"x\"}", NULL,
     FC_CODE_UNKNOWN_FIELD, "/signature_name", "a model has the one"},
    {"what is behind", ONE, "{\"inputs\":[[1,2]]} x", NULL, FC_CODE_JSON_SYNTAX,
     "", NULL},
    {"no row", ONE, "{\"instances\":[]}", NULL, FC_CODE_LENGTH_MISMATCH,
     "/instances", "there is no row"},
    {"rows are a list", ONE, "{\"instances\":{}}", NULL, FC_CODE_TYPE_MISMATCH,
     "/instances", "expected an array of rows"},
    {"a ragged row", ONE, "{\"instances\":[[1,2],[3]]}", NULL,
     FC_CODE_SHAPE_MISMATCH, "/instances/1", "input '0': "},
    {"rows of two types", "x: any, y: tensor<?xi8> -> any, tensor<?xi8>",
     "{\"instances\":[{\"x\":{\"dtype\":\"f64\",\"shape\":[2],\"data\":[1,2]},"
     "\"y\":1},{\"x\":{\"dtype\":\"i8\",\"shape\":[2],\"data\":[1,2]},\"y\":2}]}",
     NULL, FC_CODE_DTYPE_MISMATCH, NULL,
     "input 'x': row 1 is of i8, the first of f64"},
    {"a row of other dims", "tensor<?x?xi8>, tensor<?xi8> -> tensor<?x?xi8>",
     "{\"instances\":[{\"0\":[1],\"1\":1},{\"0\":[1,2],\"1\":1}]}", NULL,
     FC_CODE_SHAPE_MISMATCH, NULL, "input '0': row 1 has other dims"},
    {"a row too short", "x: tensor<?x3xi8>, y: tensor<?xi8> -> tensor<?xi8>",
     "{\"instances\":[{\"x\":[1,2],\"y\":1}]}", NULL, FC_CODE_SHAPE_MISMATCH,
     "/instances/0/x", "input 'x': dim 1 has 3 elements, here are 2"},
    {"a row too long", "x: tensor<?x1xi8>, y: tensor<?xi8> -> tensor<?xi8>",
     "{\"instances\":[{\"x\":[1,2],\"y\":1}]}", NULL, FC_CODE_SHAPE_MISMATCH,
     "/instances/0/x/1", "input 'x': dim 1 has 1 elements, here is one more"},
    {"rows whose names differ",
     "x: tensor<NxMxi8>, y: tensor<NxMxi8> -> tensor<?xi8>",
     "{\"instances\":[{\"x\":[1,2],\"y\":[1,2,3]}]}", NULL,
     FC_CODE_SHAPE_MISMATCH, "/instances/0/y/2",
     "input 'y': dim 1 is 3, dim 1 of argument 0 ('x') is 2: both are 'M'"},
    {"a row whose dims differ",
     "x: tensor<?xMxMxi8>, y: tensor<?xi8> -> tensor<?xi8>",
     "{\"instances\":[{\"x\":[[1,2]],\"y\":1}]}", NULL, FC_CODE_SHAPE_MISMATCH,
     "/instances/0/x", "input 'x': dims 1 and 2 must be equal"},
    {"a row that states another dim",
     "x: tensor<?x3xi8>, y: tensor<?xi8> -> tensor<?xi8>",
     "{\"instances\":[{\"x\":{\"shape\":[2],\"data\":[1,2]},\"y\":1}]}", NULL,
     FC_CODE_SHAPE_MISMATCH, "/instances/0/x/shape/0",
     "input 'x': dim 1 is 2, declared 3"},
    {"another number of rows", "tensor<2xi8>, tensor<?xi8> -> tensor<2xi8>",
     "{\"instances\":[{\"0\":1,\"1\":1}]}", NULL, FC_CODE_SHAPE_MISMATCH, NULL,
     "input '0': 1 rows, dim 0 is 2"},
    {"a row without an input", TWO,
     "{\"instances\":[{\"x\":[1,2],\"y\":5},{\"y\":6}]}", NULL,
     FC_CODE_MISSING_ARGUMENT, "/instances/1", "input 'x': missing"},
    {"an input twice in a row", TWO,
     "{\"instances\":[{\"x\":[1,2],\"y\":5,\"y\":6}]}", NULL,
     FC_CODE_DUPLICATE_ARGUMENT, "/instances/0/y", "input 'y': given twice"},
    {"a row that is no object", TWO, "{\"instances\":[[1,2]]}", NULL,
     FC_CODE_TYPE_MISMATCH, "/instances/0", "expected an object"},
    {"an unknown input", TWO, "{\"inputs\":{\"z\":1}}", NULL,
     FC_CODE_UNKNOWN_ARGUMENT, "/inputs/z", "there is no input 'z'"},
    {"a missing input", TWO, "{\"inputs\":{\"y\":[1]}}", NULL,
     FC_CODE_MISSING_ARGUMENT, "/inputs", "input 'x': missing"},
    {"one of several without a name", TWO, "{\"inputs\":[1]}", NULL,
     FC_CODE_TYPE_MISMATCH, "/inputs", "expected an object of inputs"},
    {"a number that does not fit", TWO,
     "{\"inputs\":{\"y\":[300],\"x\":[[1,2]]}}", NULL, FC_CODE_OUT_OF_RANGE,
     "/inputs/y/0", "input 'y': 300 does not fit i8"},
    {"a scalar has no rows", "i8 -> tensor<?xi8>", "{\"instances\":[1]}", NULL,
     FC_CODE_SHAPE_MISMATCH, "/instances", "input '0': it has no dim"},
    {"nor by name", "i8, tensor<?xi8> -> tensor<?xi8>",
     "{\"instances\":[{\"0\":1,\"1\":1}]}", NULL, FC_CODE_SHAPE_MISMATCH, NULL,
     "input '0': it has no dim"},
    {"nor as a result", "tensor<?xi8> -> i8", "{\"instances\":[1]}", NULL,
     FC_CODE_SHAPE_MISMATCH, NULL, "output '0' has no dim"},
    {"nor if it is a tensor", "tensor<?xi8> -> tensor<i8>",
     "{\"instances\":[1]}", NULL, FC_CODE_SHAPE_MISMATCH, NULL,
     "output '0' has no dim"},
    {"two texts", "str -> str", "{\"instances\":[\"a\",\"b\"]}", NULL,
     FC_CODE_DATA_LENGTH, "/instances/1", "input '0': more than one element"},
    {"no model", "[i8] -> i8", "{\"inputs\":1}", NULL, FC_CODE_UNSUPPORTED_TYPE,
     NULL, NULL},
};

static void documents_are_read_and_written(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    fc_test_call_t call;
    fc_text_t answer;
    fc_error_t err;
    fc_test_call_init(&call, row->types, NULL);
    fc_text_init(&answer, fc_allocator_system(), 4096);
    // The frame is used again, whatever the previous call was.
    for (int i = 0; i < 2; i++) {
      const fc_status_t status = echo(&call, row->body, &answer, &err);
      if (row->answer) {
        if (status) fail_msg("%s at %s", err.message, err.pointer);
        const fc_str_t got = fc_text_str(&answer);
        if (!fc_str_equal(got, fc_str(row->answer))) {
          fail_msg("got %.*s", FC_STR_ARG(got));
        }
        continue;
      }
      assert_int_not_equal(status, FC_OK);
      if (err.code != row->code ||
          (row->pointer && strcmp(err.pointer, row->pointer)) ||
          (row->message &&
           strncmp(err.message, row->message, strlen(row->message)))) {
        fail_msg("got %s at '%s': %s", fc_code_info(err.code)->text,
                 err.pointer, err.message);
      }
    }
    fc_text_deinit(&answer);
    fc_test_call_deinit(&call);
  }
}

static void results_have_equally_many_rows(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_text_t answer;
  fc_error_t err;
  fc_test_call_init(
      &call, "tensor<?xi8>, tensor<?xi8> -> tensor<?xi8>, tensor<2xi8>", NULL);
  fc_text_init(&answer, fc_allocator_system(), 4096);
  fc_error_reset(&err);
  fc_frame_begin(call.frame, call.plan, NULL);
  assert_int_equal(
      fc_tf_decode(call.frame, FC_STR("{\"instances\":[{\"0\":1,\"1\":2}]}"),
                   &err),
      FC_OK);
  static const int64_t kOne = 1, kTwo = 2;
  static int8_t data[2];
  const fc_value_t results[] = {
      {.kind = FC_VALUE_TENSOR,
       .tensor =
           {.dtype = FC_DTYPE_I8, .rank = 1, .shape = &kOne, .data = data}},
      {.kind = FC_VALUE_TENSOR,
       .tensor = {
           .dtype = FC_DTYPE_I8, .rank = 1, .shape = &kTwo, .data = data}}};
  fc_frame_set_results(call.frame, results, 2);
  assert_int_not_equal(fc_tf_encode(call.frame, &answer.sink, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_SHAPE_MISMATCH);
  fc_text_deinit(&answer);
  fc_test_call_deinit(&call);
}

// As in the Open Inference Protocol, this is not the function's fault.
static void a_result_of_unknown_type_must_be_a_tensor(void **state) {
  (void)state;
  static const fc_value_t kNumber[] = {
      {.kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_I32}};
  fc_test_call_t call;
  fc_text_t answer;
  fc_error_t err;
  fc_test_call_init(&call, "tensor<?xi8> -> any", NULL);
  fc_text_init(&answer, fc_allocator_system(), 4096);
  fc_error_reset(&err);
  fc_frame_begin(call.frame, call.plan, NULL);
  assert_int_equal(fc_tf_decode(call.frame, FC_STR("{\"inputs\":[1]}"), &err),
                   FC_OK);
  fc_frame_set_results(call.frame, kNumber, 1);
  assert_int_not_equal(fc_tf_encode(call.frame, &answer.sink, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_UNSUPPORTED_TYPE);
  assert_string_equal(
      err.message, "result 0 is no tensor, which this form of an answer lacks");
  fc_text_deinit(&answer);
  fc_test_call_deinit(&call);
}

static fc_status_t whole_life(fc_allocator_t allocator, void *context,
                              fc_error_t *err) {
  static const char kBody[] =
      "{\"instances\":[{\"0\":1,\"1\":[1,2]},{\"0\":2,\"1\":[3,4]}]}";
  const fc_signature_t *signature = context;
  fc_plan_t *plan = NULL;
  fc_frame_t *frame = NULL;
  fc_text_t text;
  fc_text_init(&text, allocator, 4096);
  fc_status_t status = fc_plan_create(signature, allocator, &plan, err);
  if (status == FC_OK) status = fc_frame_create(allocator, NULL, &frame, err);
  if (status == FC_OK) {
    fc_frame_begin(frame, plan, NULL);
    status = fc_tf_decode(frame, fc_str(kBody), err);
  }
  if (status == FC_OK) {
    size_t count;
    const fc_value_t *values = fc_frame_arguments(frame, &count);
    fc_frame_set_results(frame, values, count);
    status = fc_tf_encode(frame, &text.sink, err);
  }
  fc_text_deinit(&text);
  fc_frame_destroy(frame);
  fc_plan_destroy(plan);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_test_call_init(&call,
                    "tensor<?xi8>, tensor<?x2xi8> -> tensor<?xi8>, "
                    "tensor<?x2xi8>",
                    NULL);
  assert_true(fc_test_allocation_sweep(whole_life, call.signature) >= 5);
  fc_test_call_deinit(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(documents_are_read_and_written),
      FC_TEST(results_have_equally_many_rows),
      FC_TEST(a_result_of_unknown_type_must_be_a_tensor),
      FC_TEST(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
