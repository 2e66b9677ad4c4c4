// SPDX-License-Identifier: Apache-2.0
//
// Loops of steps over functions of this test: what is refused before the first step,
// which result is fed to which argument, and where values are kept.
// module/test_iteration.c uses real modules.
#include "marshal/iteration.h"

#include <stdio.h>

#include "helpers/call.h"
#include "helpers/carry.h"
#include "helpers/test.h"

// ---------------------------------------------------------------------------
// Documents

typedef struct refused_t {
  const char *name, *types, *body;
  fc_code_t code;
  const char *pointer;
} refused_t;

#define TWO "i64, tensor<2xf32> -> i64, tensor<2xf32>"
#define ARGS "{\"args\":[1,[1,2]],\"repeat\":"

static const refused_t refused[] = {
    {"no repeat", "i64 -> i64", "{\"args\":[1]}", FC_CODE_MISSING_KEY, ""},
    {"an array", "i64 -> i64", "[1]", FC_CODE_MISSING_KEY, ""},
    {"a wrong argument", TWO,
     "{\"args\":[1,[1,true]],\"repeat\":{\"times\":1}}", FC_CODE_TYPE_MISMATCH,
     "/args/1/1"},
    {"no argument", TWO, "{\"repeat\":{\"times\":1,\"feed\":{\"0\":0}}}",
     FC_CODE_MISSING_ARGUMENT, ""},
    {"twice", TWO, ARGS "{\"times\":1},\"repeat\":{\"times\":1}}",
     FC_CODE_DUPLICATE_KEY, "/repeat"},
    {"no object", TWO, ARGS "[]}", FC_CODE_TYPE_MISMATCH, "/repeat"},
    {"no times", TWO, ARGS "{\"emit\":[]}}", FC_CODE_MISSING_KEY, "/repeat"},
    {"times 0", TWO, ARGS "{\"times\":0}}", FC_CODE_OUT_OF_RANGE,
     "/repeat/times"},
    {"times above the limit", TWO, ARGS "{\"times\":101}}",
     FC_CODE_OUT_OF_RANGE, "/repeat/times"},
    {"times below 0", TWO, ARGS "{\"times\":-1}}", FC_CODE_OUT_OF_RANGE,
     "/repeat/times"},
    {"half times", TWO, ARGS "{\"times\":1.5}}", FC_CODE_TYPE_MISMATCH,
     "/repeat/times"},
    {"times a string", TWO, ARGS "{\"times\":\"1\"}}", FC_CODE_TYPE_MISMATCH,
     "/repeat/times"},
    {"an unknown member", TWO, ARGS "{\"times\":1,\"while\":1}}",
     FC_CODE_UNKNOWN_KEY, "/repeat/while"},
    {"a member twice", TWO, ARGS "{\"times\":1,\"times\":1}}",
     FC_CODE_DUPLICATE_KEY, "/repeat/times"},
    {"until something else", TWO,
     ARGS "{\"times\":1,\"until\":{\"result\":0,\"below\":3}}}",
     FC_CODE_UNKNOWN_KEY, "/repeat/until/below"},
    {"until nothing", TWO, ARGS "{\"times\":1,\"until\":{\"result\":0}}}",
     FC_CODE_MISSING_KEY, "/repeat/until"},
    {"until no result", TWO, ARGS "{\"times\":1,\"until\":{\"equals\":0}}}",
     FC_CODE_MISSING_KEY, "/repeat/until"},
    {"until another result", TWO,
     ARGS "{\"times\":1,\"until\":{\"result\":2,\"equals\":0}}}",
     FC_CODE_OUT_OF_RANGE, "/repeat/until/result"},
    {"until a tensor", TWO,
     ARGS "{\"times\":1,\"until\":{\"result\":1,\"equals\":0}}}",
     FC_CODE_TYPE_MISMATCH, "/repeat/until/result"},
    {"until another type", TWO,
     ARGS "{\"times\":1,\"until\":{\"equals\":0.5,\"result\":0}}}",
     FC_CODE_TYPE_MISMATCH, "/repeat/until/equals"},
    {"until an array", TWO, ARGS "{\"times\":1,\"until\":[0,1]}}",
     FC_CODE_TYPE_MISMATCH, "/repeat/until"},
    {"until a text", "str -> str",
     "{\"args\":[\"a\"],\"repeat\":{\"times\":1,\"until\":{\"result\":0,"
     "\"equals\":\"b\"}}}",
     FC_CODE_TYPE_MISMATCH, "/repeat/until/result"},
    {"feed a list", TWO, ARGS "{\"times\":1,\"feed\":[0]}}",
     FC_CODE_TYPE_MISMATCH, "/repeat/feed"},
    {"feed a name", TWO, ARGS "{\"times\":1,\"feed\":{\"x\":0}}}",
     FC_CODE_TYPE_MISMATCH, "/repeat/feed/x"},
    {"feed 00", TWO, ARGS "{\"times\":1,\"feed\":{\"00\":0}}}",
     FC_CODE_TYPE_MISMATCH, "/repeat/feed/00"},
    {"feed a result too many", TWO, ARGS "{\"times\":1,\"feed\":{\"2\":0}}}",
     FC_CODE_OUT_OF_RANGE, "/repeat/feed/2"},
    {"feed 2^64", TWO,
     ARGS "{\"times\":1,\"feed\":{\"18446744073709551616\":0}}}",
     FC_CODE_OUT_OF_RANGE, "/repeat/feed/18446744073709551616"},
    {"feed an argument too many", TWO, ARGS "{\"times\":1,\"feed\":{\"0\":2}}}",
     FC_CODE_OUT_OF_RANGE, "/repeat/feed/0"},
    {"feed a result twice", TWO,
     ARGS "{\"times\":1,\"feed\":{\"0\":0,\"0\":0}}}", FC_CODE_DUPLICATE_KEY,
     "/repeat/feed/0"},
    {"feed an argument twice", "i8 -> i8, i8",
     "{\"args\":[1],\"repeat\":{\"times\":1,\"feed\":{\"0\":0,\"1\":0}}}",
     FC_CODE_DUPLICATE_ARGUMENT, "/repeat/feed/1"},
    {"feed a scalar with a tensor", TWO,
     ARGS "{\"times\":1,\"feed\":{\"1\":0}}}", FC_CODE_TYPE_MISMATCH,
     "/repeat/feed/1"},
    {"feed another type", "i32 -> f32",
     "{\"args\":[1],\"repeat\":{\"times\":1,\"feed\":{\"0\":0}}}",
     FC_CODE_DTYPE_MISMATCH, "/repeat/feed/0"},
    {"feed another sign", "ui8 -> i8",
     "{\"args\":[1],\"repeat\":{\"times\":1,\"feed\":{\"0\":0}}}",
     FC_CODE_DTYPE_MISMATCH, "/repeat/feed/0"},
    {"feed another rank", "tensor<1xi8> -> tensor<1x1xi8>",
     "{\"args\":[[1]],\"repeat\":{\"times\":1,\"feed\":{\"0\":0}}}",
     FC_CODE_SHAPE_MISMATCH, "/repeat/feed/0"},
    {"feed another dim", "tensor<?x2xi8> -> tensor<?x3xi8>",
     "{\"args\":[[[1,2]]],\"repeat\":{\"times\":1,\"feed\":{\"0\":0}}}",
     FC_CODE_SHAPE_MISMATCH, "/repeat/feed/0"},
    {"feed a list of values", "[i8] -> [i8]",
     "{\"args\":[[1]],\"repeat\":{\"times\":1,\"feed\":{\"0\":0}}}",
     FC_CODE_TYPE_MISMATCH, "/repeat/feed/0"},
    {"feed other keys", "{a: i8, b: i8} -> {a: i8, c: i8}",
     "{\"args\":[{\"a\":1,\"b\":2}],\"repeat\":{\"times\":1,\"feed\":{\"0\":0}}}",
     FC_CODE_TYPE_MISMATCH, "/repeat/feed/0"},
    {"feed a text with bytes", "str -> bytes",
     "{\"args\":[\"a\"],\"repeat\":{\"times\":1,\"feed\":{\"0\":0}}}",
     FC_CODE_TYPE_MISMATCH, "/repeat/feed/0"},
    {"emit a number", TWO, ARGS "{\"times\":1,\"emit\":0}}",
     FC_CODE_TYPE_MISMATCH, "/repeat/emit"},
    {"emit a result too many", TWO, ARGS "{\"times\":1,\"emit\":[0,2]}}",
     FC_CODE_OUT_OF_RANGE, "/repeat/emit/1"},
    {"emit a result twice", TWO, ARGS "{\"times\":1,\"emit\":[0,0]}}",
     FC_CODE_DUPLICATE_ARGUMENT, "/repeat/emit/1"},
};

static void what_cannot_be_is_refused_before_the_first_step(void **state) {
  (void)state;
  fc_allocator_t allocator = fc_allocator_system();
  FC_TEST_EACH_ROW(const refused_t, row, refused) {
    fc_test_call_t call;
    fc_carry_t carry;
    fc_error_t err = {0};
    fc_test_carry_init(&carry, &allocator);
    fc_test_call_init(&call, row->types, NULL);
    fc_frame_begin(call.frame, call.plan, NULL);
    const fc_status_t status =
        fc_iteration_begin(call.frame, fc_str(row->body), 100, &carry, &err);
    assert_int_not_equal(status, FC_OK);
    assert_string_equal(fc_code_info(err.code)->text,
                        fc_code_info(row->code)->text);
    assert_true(err.has_pointer);
    assert_string_equal(err.pointer, row->pointer);
    assert_true(err.message[0]);
    fc_test_carry_deinit(&carry);
    fc_test_call_deinit(&call);
  }
}

// A call without a loop refuses the member "repeat".
static void a_plain_call_has_no_repeat(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_error_t err;
  fc_test_call_init(&call, "i64 -> i64", NULL);
  assert_int_not_equal(
      fc_test_call_decode(
          &call, FC_STR("{\"args\":[1],\"repeat\":{\"times\":1}}"), &err),
      FC_OK);
  assert_int_equal(err.code, FC_CODE_UNKNOWN_FIELD);
  fc_test_call_deinit(&call);
}

// ---------------------------------------------------------------------------
// Functions

typedef fc_status_t function_t(void *instance, size_t index,
                               fc_backend_call_t *call, fc_error_t *err);

// Adds one to the first byte of each argument that has memory, and to each i64. Returns
// the arguments in their own memory.
static fc_status_t add_one(void *instance, size_t index,
                           fc_backend_call_t *call, fc_error_t *err) {
  FC_TRY(fc_backend_echo.call(instance, index, call, err));
  for (size_t i = 0; i < call->argument_count; i++) {
    const fc_value_t *value = &call->arguments[i];
    if (value->kind == FC_VALUE_TENSOR && value->tensor.data) {
      ++*(uint8_t *)value->tensor.data;
    }
  }
  for (size_t i = 0; i < call->result_count; i++) {
    if (call->results[i].kind == FC_VALUE_SCALAR) call->results[i].scalar.i64++;
  }
  return FC_OK;
}

// Returns the first argument followed by a copy of itself.
static fc_status_t twice(void *instance, size_t index, fc_backend_call_t *call,
                         fc_error_t *err) {
  FC_TRY(fc_backend_echo.call(instance, index, call, err));
  fc_tensor_t *tensor = &call->results[0].tensor;
  const size_t size = (size_t)tensor->shape[0];
  int64_t *shape = fc_arena_alloc_array(call->arena, 1, sizeof *shape);
  uint8_t *data = fc_arena_alloc(call->arena, 2 * size + 1, 1);
  if (!shape || !data) return fc_fail_memory(err);
  *shape = 2 * tensor->shape[0];
  if (size) {
    memcpy(data, tensor->data, size);
    memcpy(data + size, tensor->data, size);
  }
  tensor->shape = shape;
  tensor->data = data;
  return FC_OK;
}

// Returns the first argument without its first element: a view of its memory.
static fc_status_t drop(void *instance, size_t index, fc_backend_call_t *call,
                        fc_error_t *err) {
  FC_TRY(fc_backend_echo.call(instance, index, call, err));
  fc_tensor_t *tensor = &call->results[0].tensor;
  int64_t *shape = fc_arena_alloc_array(call->arena, 1, sizeof *shape);
  if (!shape) return fc_fail_memory(err);
  if (tensor->shape[0] == 0) {
    return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_OUT_OF_RANGE, "empty");
  }
  *shape = tensor->shape[0] - 1;
  tensor->shape = shape;
  tensor->data = (uint8_t *)tensor->data + 1;
  return FC_OK;
}

// Returns the first argument in reverse order: a view with a stride of -1.
static fc_status_t turn(void *instance, size_t index, fc_backend_call_t *call,
                        fc_error_t *err) {
  static const int64_t kBack[] = {-1};
  FC_TRY(fc_backend_echo.call(instance, index, call, err));
  fc_tensor_t *tensor = &call->results[0].tensor;
  tensor->strides = kBack;
  tensor->data = (uint8_t *)tensor->data + tensor->shape[0] - 1;
  return FC_OK;
}

// Returns the text with one letter added.
static fc_status_t append(void *instance, size_t index, fc_backend_call_t *call,
                          fc_error_t *err) {
  FC_TRY(fc_backend_echo.call(instance, index, call, err));
  fc_str_t *bytes = &call->results[0].bytes;
  char *longer = fc_arena_alloc(call->arena, bytes->size + 1, 1);
  if (!longer) return fc_fail_memory(err);
  if (bytes->size) memcpy(longer, bytes->data, bytes->size);
  longer[bytes->size] = 'x';
  *bytes = fc_str_make(longer, bytes->size + 1);
  return FC_OK;
}

// Returns the bits of the first argument as integers.
static fc_status_t as_integers(void *instance, size_t index,
                               fc_backend_call_t *call, fc_error_t *err) {
  FC_TRY(fc_backend_echo.call(instance, index, call, err));
  call->results[0].tensor.dtype = FC_DTYPE_I32;
  return FC_OK;
}

static fc_status_t echo(void *instance, size_t index, fc_backend_call_t *call,
                        fc_error_t *err) {
  return fc_backend_echo.call(instance, index, call, err);
}

// ---------------------------------------------------------------------------
// Runs

typedef struct steps_t {
  const char *name, *types;
  function_t *function;
  const char *body;
  const char *lines;
  const char *message;  // of the step that fails; NULL: none
} steps_t;

#define DONE(n) "{\"done\":\"times\",\"steps\":" #n "}\n"
#define UNTIL(n) "{\"done\":\"until\",\"steps\":" #n "}\n"
#define STEP(n, results) "{\"step\":" #n ",\"results\":[" results "]}\n"

static const steps_t rows[] = {
    {"nothing is fed", "i64 -> i64", add_one,
     "{\"args\":[4],\"repeat\":{\"times\":2}}",
     STEP(1, "5") STEP(2, "5") DONE(2), NULL},
    {"a scalar is fed", "i64 -> i64", add_one,
     "{\"repeat\":{\"feed\":{\"0\":0},\"times\":3},\"args\":[4]}",
     STEP(1, "5") STEP(2, "6") STEP(3, "7") DONE(3), NULL},
    {"until is met at the first step", "i64 -> i64", add_one,
     "{\"args\":[4],\"repeat\":{\"times\":9,\"until\":{\"equals\":5,\"result\":0}}}",
     STEP(1, "5") UNTIL(1), NULL},
    {"until is met at the last step", "i64 -> i64", add_one,
     "{\"args\":[4],\"repeat\":{\"times\":2,\"feed\":{\"0\":0},"
     "\"until\":{\"result\":0,\"equals\":6}}}",
     STEP(1, "5") STEP(2, "6") UNTIL(2), NULL},
    {"until is not met", "i64 -> i64", add_one,
     "{\"args\":[4],\"repeat\":{\"times\":1,\"until\":{\"result\":0,\"equals\":6}}}",
     STEP(1, "5") DONE(1), NULL},
    {"until a tensor of one element", "tensor<?xi8> -> tensor<?xi8>", add_one,
     "{\"args\":[[4]],\"repeat\":{\"times\":9,\"feed\":{\"0\":0},"
     "\"until\":{\"result\":0,\"equals\":6}}}",
     STEP(1, "[5]") STEP(2, "[6]") UNTIL(2), NULL},
    {"until a tensor that has two", "tensor<?xi8> -> tensor<?xi8>", twice,
     "{\"args\":[[4]],\"repeat\":{\"times\":9,\"until\":{\"result\":0,\"equals\":6}}}",
     "", "step 1: result 0 has 2 elements, 'until' compares one"},
    {"until 0 is -0", "f32 -> f32", echo,
     "{\"args\":[-0.0],\"repeat\":{\"times\":2,\"until\":{\"result\":0,\"equals\":0}}}",
     STEP(1, "-0.0") UNTIL(1), NULL},
    {"until NaN", "f64 -> f64", echo,
     "{\"args\":[\"NaN\"],\"repeat\":{\"times\":2,\"until\":{\"result\":0,"
     "\"equals\":\"NaN\"}}}",
     STEP(1, "\"NaN\"") UNTIL(1), NULL},
    {"until a complex number", "complex<f32> -> complex<f32>", echo,
     "{\"args\":[[0,1]],\"repeat\":{\"times\":2,\"until\":{\"result\":0,"
     "\"equals\":[-0.0,1]}}}",
     STEP(1, "[0.0,1.0]") UNTIL(1), NULL},
    {"one part is not enough", "complex<f32> -> complex<f32>", echo,
     "{\"args\":[[0,1]],\"repeat\":{\"times\":1,\"until\":{\"result\":0,"
     "\"equals\":[0,2]}}}",
     STEP(1, "[0.0,1.0]") DONE(1), NULL},
    {"results are chosen", "i64, i8 -> i64, i8", echo,
     "{\"args\":[4,5],\"repeat\":{\"times\":1,\"emit\":[1]}}",
     STEP(1, "5") DONE(1), NULL},
    {"in another order", "i64, i8 -> i64, i8", echo,
     "{\"args\":[4,5],\"repeat\":{\"times\":1,\"emit\":[1,0]}}",
     STEP(1, "5,4") DONE(1), NULL},
    {"or none", "i64, i8 -> i64, i8", echo,
     "{\"args\":[4,5],\"repeat\":{\"times\":2,\"emit\":[]}}",
     STEP(1, "") STEP(2, "") DONE(2), NULL},
    {"options hold for each step", "tensor<1xi64> -> tensor<1xi64>", add_one,
     "{\"args\":[[4]],\"options\":{\"results\":\"typed\",\"int64\":\"string\"},"
     "\"repeat\":{\"times\":1}}",
     STEP(1, "{\"dtype\":\"i64\",\"shape\":[1],\"data\":[\"5\"]}") DONE(1),
     NULL},
    {"by name", "a: i64, b: i64 -> i64, i64", echo,
     "{\"kwargs\":{\"b\":2,\"a\":1},\"repeat\":{\"times\":2,\"feed\":{\"1\":0}}}",
     STEP(1, "1,2") STEP(2, "2,2") DONE(2), NULL},
    {"what a function writes to an argument is lost",
     "scratch tensor<2xi8> -> tensor<2xi8>", add_one,
     "{\"args\":[[4,0]],\"repeat\":{\"times\":3}}",
     STEP(1, "[5,0]") STEP(2, "[5,0]") STEP(3, "[5,0]") DONE(3), NULL},
    {"in a list, too", "[tensor<1xi8>] -> [tensor<1xi8>]", add_one,
     "{\"args\":[[[4],[7]]],\"repeat\":{\"times\":2}}",
     STEP(1, "[[4],[7]]") STEP(2, "[[4],[7]]") DONE(2), NULL},
    {"unless it is answered and fed", "inout tensor<2xi8> -> ", add_one,
     "{\"args\":[[4,0]],\"repeat\":{\"times\":3,\"feed\":{\"0\":0}}}",
     STEP(1, "[5,0]") STEP(2, "[6,0]") STEP(3, "[7,0]") DONE(3), NULL},
    {"storage is zeroed for each step", "out tensor<1xi8> -> ", add_one,
     "{\"args\":[],\"repeat\":{\"times\":2}}",
     STEP(1, "[1]") STEP(2, "[1]") DONE(2), NULL},
    {"two arguments change places",
     "tensor<2xi8>, tensor<2xi8> -> tensor<2xi8>, tensor<2xi8>", add_one,
     "{\"args\":[[1,2],[11,12]],\"repeat\":{\"times\":3,\"feed\":{\"0\":1,"
     "\"1\":0}}}",
     STEP(1, "[2,2],[12,12]") STEP(2, "[13,12],[3,2]") STEP(3, "[4,2],[14,12]")
         DONE(3),
     NULL},
    {"three in a circle", "i8, i8, i8 -> i8, i8, i8", echo,
     "{\"args\":[1,2,3],\"repeat\":{\"times\":3,\"feed\":{\"0\":1,\"1\":2,"
     "\"2\":0}}}",
     STEP(1, "1,2,3") STEP(2, "3,1,2") STEP(3, "2,3,1") DONE(3), NULL},
    {"a tensor grows", "tensor<?xi8> -> tensor<?xi8>", twice,
     "{\"args\":[[1]],\"repeat\":{\"times\":4,\"feed\":{\"0\":0}}}",
     STEP(1, "[1,1]") STEP(2, "[1,1,1,1]") STEP(3, "[1,1,1,1,1,1,1,1]")
         STEP(4, "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]") DONE(4),
     NULL},
    {"from nothing", "tensor<?xi8> -> tensor<?xi8>", twice,
     "{\"args\":[[]],\"repeat\":{\"times\":2,\"feed\":{\"0\":0}}}",
     STEP(1, "[]") STEP(2, "[]") DONE(2), NULL},
    {"one grows, the other stays",
     "tensor<?xi8>, tensor<?xi8> -> tensor<?xi8>, tensor<?xi8>", twice,
     "{\"args\":[[1],[2]],\"repeat\":{\"times\":3,\"feed\":{\"0\":1,\"1\":0}}}",
     STEP(1, "[1,1],[2]") STEP(2, "[2,2],[1,1]") STEP(3, "[1,1,1,1],[2,2]")
         DONE(3),
     NULL},
    {"one grows, the other stays in its place",
     "tensor<?xi8>, tensor<?xi8> -> tensor<?xi8>, tensor<?xi8>", twice,
     "{\"args\":[[1],[2]],\"repeat\":{\"times\":3,\"feed\":{\"0\":0,\"1\":1}}}",
     STEP(1, "[1,1],[2]") STEP(2, "[1,1,1,1],[2]")
         STEP(3, "[1,1,1,1,1,1,1,1],[2]") DONE(3),
     NULL},
    {"a tensor without a rank grows", "tensor<*xi8> -> tensor<*xi8>", twice,
     "{\"args\":[[1]],\"repeat\":{\"times\":2,\"feed\":{\"0\":0}}}",
     STEP(1, "[1,1]") STEP(2, "[1,1,1,1]") DONE(2), NULL},
    {"a view of the argument", "tensor<?xi8> -> tensor<?xi8>", drop,
     "{\"args\":[[1,2,3]],\"repeat\":{\"times\":3,\"feed\":{\"0\":0}}}",
     STEP(1, "[2,3]") STEP(2, "[3]") STEP(3, "[]") DONE(3), NULL},
    {"a view backwards", "tensor<?xi8> -> tensor<?xi8>", turn,
     "{\"args\":[[1,2,3]],\"repeat\":{\"times\":3,\"feed\":{\"0\":0}}}",
     STEP(1, "[3,2,1]") STEP(2, "[1,2,3]") STEP(3, "[3,2,1]") DONE(3), NULL},
    {"elements below a byte", "tensor<2xi4> -> tensor<2xi4>", add_one,
     "{\"args\":[[7,1]],\"repeat\":{\"times\":2,\"feed\":{\"0\":0}}}",
     STEP(1, "[-8,1]") STEP(2, "[-7,1]") DONE(2), NULL},
    {"text", "str -> str", append,
     "{\"args\":[\"\"],\"repeat\":{\"times\":3,\"feed\":{\"0\":0}}}",
     STEP(1, "\"x\"") STEP(2, "\"xx\"") STEP(3, "\"xxx\"") DONE(3), NULL},
    {"a tree whose leaves are values",
     "{a: tensor<2xi8>@0, b: i64@1} -> {a: tensor<2xi8>@0, b: i64@1}", add_one,
     "{\"args\":[{\"a\":[1,2],\"b\":3}],\"repeat\":{\"times\":2,\"feed\":{\"0\":0}}}",
     STEP(1, "{\"a\":[2,2],\"b\":4}") STEP(2, "{\"a\":[3,2],\"b\":5}") DONE(2),
     NULL},
    {"a tree that is one value",
     "(i64, (tensor<?xi8>, str)), i8 -> (i64, (tensor<?xi8>, str)), i8", echo,
     "{\"args\":[[1,[[2],\"a\"]],0],\"repeat\":{\"times\":2,\"feed\":{\"0\":0}}}",
     STEP(1, "[1,[[2],\"a\"]],0") STEP(2, "[1,[[2],\"a\"]],0") DONE(2), NULL},
    {"a step fails", "tensor<?xi8> -> tensor<?xi8>", drop,
     "{\"args\":[[1,2]],\"repeat\":{\"times\":9,\"feed\":{\"0\":0}}}",
     STEP(1, "[2]") STEP(2, "[]"), "step 3: empty"},
    {"a step fails when its line is begun", "tensor<?xi8> -> tensor<?xi8>",
     drop,
     "{\"args\":[[1,2]],\"repeat\":{\"times\":9,\"feed\":{\"0\":0},"
     "\"until\":{\"result\":0,\"equals\":7}}}",
     STEP(1, "[2]"), "step 2: result 0 has 0 elements, 'until' compares one"},
    {"names of dims are compared",
     "tensor<Nxi8>, tensor<Nxi8> -> tensor<?xi8>, tensor<?xi8>", twice,
     "{\"args\":[[1],[2]],\"repeat\":{\"times\":9,\"feed\":{\"0\":0}}}",
     STEP(1, "[1,1],[2]"),
     "step 2: argument 1: dim 0 is 1, dim 0 of argument 0 is 2: both are "
     "'N'"},
    {"also of parts of one value",
     "tensor<Nxi8>, (tensor<Nxi8>, i8) -> tensor<?xi8>, (tensor<?xi8>, i8)",
     twice,
     "{\"args\":[[1],[[2],3]],\"repeat\":{\"times\":9,"
     "\"feed\":{\"0\":0,\"1\":1}}}",
     STEP(1, "[1,1],[[2],3]"),
     "step 2: argument 1: dim 0 is 1, dim 0 of argument 0 is 2: both are "
     "'N'"},
    {"and of parts that are not fed",
     "tensor<Nxi8>, (i8, (tensor<Nxi8>, i8)) -> "
     "tensor<?xi8>, (i8, (tensor<?xi8>, i8))",
     twice,
     "{\"args\":[[1],[4,[[2],3]]],\"repeat\":{\"times\":9,\"feed\":{\"0\":0}}}",
     STEP(1, "[1,1],[4,[[2],3]]"),
     "step 2: argument 1: dim 0 is 1, dim 0 of argument 0 is 2: both are "
     "'N'"},
    {"and of items of lists",
     "tensor<Nxi8>, [tensor<Nxi8>] -> tensor<?xi8>, [tensor<?xi8>]", twice,
     "{\"args\":[[1],[[2],[3]]],\"repeat\":{\"times\":9,\"feed\":{\"0\":0}}}",
     STEP(1, "[1,1],[[2],[3]]"),
     "step 2: argument 1: dim 0 is 1, dim 0 of argument 0 is 2: both are "
     "'N'"},
    {"and of items of arrays of references",
     "tensor<Nxi8>, ref<?x1x(i8, tensor<Nxi8>)> -> "
     "tensor<?xi8>, ref<?x1x(i8, tensor<?xi8>)>",
     twice,
     "{\"args\":[[1],[[[4,[2]]],[[5,[3]]]]],\"repeat\":{\"times\":9,"
     "\"feed\":{\"0\":0}}}",
     STEP(1, "[1,1],[[[4,[2]]],[[5,[3]]]]"),
     "step 2: argument 1: dim 0 is 1, dim 0 of argument 0 is 2: both are "
     "'N'"},
    {"an array of references",
     "ref<2x?x(i8, str, null)> -> ref<2x?x(i8, str, null)>", echo,
     "{\"args\":[[[[1,\"a\",null]],[[2,\"b\",null]]]],\"repeat\":{\"times\":2}}",
     STEP(1, "[[[1,\"a\",null]],[[2,\"b\",null]]]")
         STEP(2, "[[[1,\"a\",null]],[[2,\"b\",null]]]") DONE(2),
     NULL},
    {"dims of parts of a tree", "(tensor<1xi8>, i8) -> (tensor<?xi8>, i8)",
     echo, "{\"args\":[[[1],2]],\"repeat\":{\"times\":2,\"feed\":{\"0\":0}}}",
     STEP(1, "[[1],2]") STEP(2, "[[1],2]") DONE(2), NULL},
    {"a dim that the type leaves open", "tensor<2xi8> -> tensor<?xi8>", twice,
     "{\"args\":[[1,2]],\"repeat\":{\"times\":2,\"feed\":{\"0\":0}}}", "",
     "step 1: result 0 cannot be argument 0: it has other dims"},
    {"elements that the type leaves open", "tensor<1xf32> -> tensor<1x_>",
     as_integers,
     "{\"args\":[[1]],\"repeat\":{\"times\":2,\"feed\":{\"0\":0}}}", "",
     "step 1: result 0 cannot be argument 0: it has other elements"},
};

static bool always(void *context, uint64_t steps) {
  (void)context;
  (void)steps;
  return true;
}

typedef struct user_t {
  fc_test_call_t call;
  fc_backend_t backend;
  fc_allocator_t allocator;
  fc_carry_t carry;
  fc_text_t text;
  fc_iteration_t iteration;
} user_t;

static void enter(user_t *user, const char *types, function_t *function,
                  fc_allocator_t allocator) {
  fc_test_call_init(&user->call, types, NULL);
  user->allocator = allocator;
  fc_test_carry_init(&user->carry, &user->allocator);
  fc_text_init(&user->text, allocator, SIZE_MAX);
  user->backend = fc_backend_echo;
  user->backend.call = function;
  user->iteration = (fc_iteration_t){.plan = user->call.plan,
                                     .backend = &user->backend,
                                     .instance = &user->call.echo,
                                     .after = FC_STR("\n")};
}

static void leave(user_t *user) {
  fc_test_carry_deinit(&user->carry);
  fc_text_deinit(&user->text);
  fc_test_call_deinit(&user->call);
}

static fc_status_t begin(user_t *user, const char *body, fc_error_t *err) {
  fc_frame_begin(user->call.frame, user->call.plan, NULL);
  const fc_status_t status = fc_iteration_begin(user->call.frame, fc_str(body),
                                                100, &user->carry, err);
  fc_frame_end(user->call.frame);
  return status;
}

// Runs the loop to its end. With turns of one step, the carry is moved before each
// turn.
static fc_status_t run(user_t *user, fc_iterated_t *out, fc_error_t *err) {
  size_t whole = 0;
  fc_status_t status;
  do {
    if (!fc_test_carry_move(&user->carry)) return fc_fail_memory(err);
    status = fc_iteration_run(&user->iteration, user->call.frame, &user->carry,
                              &user->text.sink, out, err);
    whole += out->written;
    if (user->text.data) user->text.sink.cursor = user->text.data + whole;
  } while (status == FC_OK && out->end == FC_ITERATION_MORE);
  return status;
}

static void steps_are_calls(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const steps_t, row, rows) {
    fc_error_t first;
    for (int how = 0; how < 4; how++) {
      user_t user;
      fc_error_t err;
      fc_error_reset(&err);
      fc_iterated_t out;
      enter(&user, row->types, row->function, fc_allocator_system());
      fc_frame_set_guard(user.call.frame, how & 2);
      if (how & 1) user.iteration.pause = always;
      if (begin(&user, row->body, &err)) {
        fail_msg("%s at %s", err.message, err.pointer);
      }
      const fc_status_t status = run(&user, &out, &err);
      if (status != FC_OK && !row->message) fail_msg("%s", err.message);
      const fc_str_t text = fc_text_str(&user.text);
      char shown[FC_ARRAY_COUNT(err.message) * 4];
      assert_true(text.size < sizeof shown);
      if (text.size) memcpy(shown, text.data, text.size);
      shown[text.size] = '\0';
      assert_string_equal(shown, row->lines);
      assert_int_equal(status == FC_OK, row->message == NULL);
      if (row->message) assert_string_equal(err.message, row->message);
      // The error struct may still hold an error of an earlier run.
      if (how == 0) first = err;
      assert_int_equal(err.status, first.status);
      assert_int_equal(err.has_pointer, first.has_pointer);
      assert_string_equal(err.pointer, first.pointer);
      assert_string_equal(err.expected, first.expected);
      assert_string_equal(err.got, first.got);
      leave(&user);
    }
  }
}

// Events of a stream: the caller's text is written before and after each line.
static void lines_stand_between_what_the_caller_says(void **state) {
  (void)state;
  user_t user;
  fc_error_t err;
  fc_iterated_t out;
  enter(&user, "i64 -> i64", add_one, fc_allocator_system());
  user.iteration.before = user.iteration.last = FC_STR("data: ");
  user.iteration.after = FC_STR("\n\n");
  assert_int_equal(
      begin(&user, "{\"args\":[1],\"repeat\":{\"times\":1}}", &err), FC_OK);
  assert_int_equal(run(&user, &out, &err), FC_OK);
  assert_true(
      fc_str_equal(fc_text_str(&user.text),
                   FC_STR("data: {\"step\":1,\"results\":[2]}\n\n"
                          "data: {\"done\":\"times\",\"steps\":1}\n\n")));
  assert_int_equal(out.end, FC_ITERATION_TIMES);
  assert_int_equal(out.steps, 1);
  assert_int_equal(out.written, fc_text_str(&user.text).size);
  leave(&user);
}

static void a_cancelled_step_ends_the_whole(void **state) {
  (void)state;
  user_t user;
  fc_error_t err;
  fc_iterated_t out;
  const fc_atomic_word_t cancel = 1;
  enter(&user, "tensor<?xi8> -> tensor<?xi8>", echo, fc_allocator_system());
  user.iteration.cancel = &cancel;
  char body[200000];
  size_t size = 0;
  size += (size_t)snprintf(body, sizeof body, "{\"args\":[[0");
  while (size < 150000) {
    memcpy(body + size, ",0", 2);
    size += 2;
  }
  snprintf(body + size, sizeof body - size, "]],\"repeat\":{\"times\":9}}");
  assert_int_equal(begin(&user, body, &err), FC_OK);
  assert_int_equal(run(&user, &out, &err), FC_CANCELLED);
  assert_int_equal(out.steps, 0);
  assert_string_equal(err.message, "step 1: cancelled");
  leave(&user);
}

// ---------------------------------------------------------------------------
// Memory

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  const steps_t *row = context;
  user_t user;
  fc_iterated_t out;
  enter(&user, row->types, row->function, allocator);
  fc_frame_destroy(user.call.frame);
  user.call.frame = NULL;
  user.iteration.pause = always;
  fc_status_t status = fc_frame_create(allocator, NULL, &user.call.frame, err);
  if (status == FC_OK) status = begin(&user, row->body, err);
  if (status == FC_OK) status = run(&user, &out, err);
  leave(&user);
  return status;
}

static void memory_may_run_out(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const steps_t, row, rows) {
    if (!row->message) {
      assert_true(fc_test_allocation_sweep(attempt, (void *)(uintptr_t)row) >
                  1);
    }
  }
}

// Whatever a process wrote into the carry, the loop ends with an error or other
// numbers, and accesses no memory outside it. The address sanitizer watches.
static void a_damaged_carry_is_refused(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const steps_t, row, rows) {
    user_t user;
    fc_error_t err;
    fc_iterated_t out;
    enter(&user, row->types, echo, fc_allocator_system());
    assert_int_equal(begin(&user, row->body, &err), FC_OK);
    const size_t size = user.carry.size;
    uint8_t *good = malloc(size);
    assert_non_null(good);
    memcpy(good, user.carry.data, size);
    for (size_t at = 0; at < size; at++) {
      fc_carry_t damaged;
      fc_test_carry_init(&damaged, &user.allocator);
      assert_int_equal(damaged.grow(&damaged, size, &err), FC_OK);
      memcpy(damaged.data, good, size);
      damaged.data[at] ^= (uint8_t)(1 + at % 255);
      damaged.size = size;
      fc_text_reset(&user.text);
      user.iteration.pause = always;
      if (fc_iteration_run(&user.iteration, user.call.frame, &damaged,
                           &user.text.sink, &out, &err)) {
        assert_true(err.message[0]);
      }
      fc_test_carry_deinit(&damaged);
    }
    free(good);
    leave(&user);
  }
}

// Places that overlap another place, or the nodes that describe the places.
static void a_place_that_is_not_its_own_is_refused(void **state) {
  (void)state;
  for (int what = 0; what < 4; what++) {
    user_t user;
    fc_error_t err;
    fc_iterated_t out;
    enter(&user, "tensor<?xi8>, tensor<8xi8> -> tensor<?xi8>, tensor<8xi8>",
          add_one, fc_allocator_system());
    assert_int_equal(begin(&user,
                           "{\"args\":[[7],[1,0,0,0,0,0,0,0]],"
                           "\"repeat\":{\"times\":3,\"feed\":{\"1\":1}}}",
                           &err),
                     FC_OK);
    fc_carry_place_t *places = user.carry.places;
    const uint64_t nodes =
        (uint64_t)((uint8_t *)user.carry.nodes - user.carry.data);
    if (what == 0) places[1].at = 0;
    if (what == 1) places[1].at = nodes;
    if (what == 2) places[0].shape_at = nodes;
    // The place holds the shape until the first step adds one to it.
    if (what == 3) places[0].shape_at = places[1].at;
    assert_int_not_equal(run(&user, &out, &err), FC_OK);
    assert_int_equal(err.code, FC_CODE_INTERNAL);
    assert_int_equal(out.steps, what == 3);
    leave(&user);
  }
}

// A small step allocates nothing once the frame is warm.
static void a_step_allocates_nothing(void **state) {
  (void)state;
  fc_test_allocator_t counted;
  fc_allocator_t allocator = fc_test_allocator_init(&counted, 0);
  static const char *const kBodies[] = {
      "{\"args\":[4,[1,2]],\"repeat\":{\"times\":10,\"emit\":[],\"feed\":{\"0\":0,"
      "\"1\":1}}}",
      "{\"args\":[4,[1,2]],\"repeat\":{\"times\":99,\"emit\":[],\"feed\":{\"0\":0,"
      "\"1\":1}}}"};
  size_t allocated[2];
  for (int i = 0; i < 2; i++) {
    user_t user;
    fc_error_t err;
    fc_iterated_t out;
    char text[8192];
    enter(&user, TWO, add_one, fc_allocator_system());
    fc_frame_destroy(user.call.frame);
    const size_t before = counted.allocated;
    assert_int_equal(fc_frame_create(allocator, NULL, &user.call.frame, &err),
                     FC_OK);
    assert_int_equal(begin(&user, kBodies[i], &err), FC_OK);
    fc_sink_t sink = {.cursor = text, .end = text + sizeof text};
    assert_int_equal(fc_iteration_run(&user.iteration, user.call.frame,
                                      &user.carry, &sink, &out, &err),
                     FC_OK);
    assert_int_equal(out.end, FC_ITERATION_TIMES);
    allocated[i] = counted.allocated - before;
    leave(&user);
  }
  assert_int_equal(allocated[0], allocated[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(what_cannot_be_is_refused_before_the_first_step),
      FC_TEST(a_plain_call_has_no_repeat),
      FC_TEST(steps_are_calls),
      FC_TEST(lines_stand_between_what_the_caller_says),
      FC_TEST(a_cancelled_step_ends_the_whole),
      FC_TEST(memory_may_run_out),
      FC_TEST(a_damaged_carry_is_refused),
      FC_TEST(a_place_that_is_not_its_own_is_refused),
      FC_TEST(a_step_allocates_nothing),
  };
  return cmocka_run_group_tests_name("iteration", tests, NULL, NULL);
}
