// SPDX-License-Identifier: Apache-2.0
//
// The Open Inference Protocol with the echo module kind: every type, as JSON and as raw
// bytes, and when raw bytes are used without a copy. The answers to mistakes are tested
// in the transcripts (tests/http/cases/70-oip.http).
#include <stdio.h>
#include <stdlib.h>

#include "helpers/call.h"
#include "helpers/test.h"
#include "helpers/types.h"
#include "marshal/frame.h"
#include "marshal/oip.h"

// Decodes, echoes and encodes. `out` gets the answer, NUL-terminated; `out_document`
// gets what fc_oip_encode writes there.
static fc_status_t echo(fc_test_call_t *call, fc_str_t body, uint64_t document,
                        fc_text_t *out, uint64_t *out_document,
                        fc_error_t *err) {
  *out_document = 0;
  fc_frame_begin(call->frame, call->plan, NULL);
  FC_TRY(fc_oip_decode(call->frame, body, document, err));
  FC_TRY(fc_frame_invoke(call->frame, &fc_backend_echo, &call->echo, 0, NULL, 0,
                         err));
  FC_TRY(fc_oip_encode(call->frame, FC_STR("m"), FC_STR("1"), &out->sink,
                       out_document, err));
  return fc_sink_put(&out->sink, fc_str_make("", 1), err);
}

typedef struct row_t {
  const char *name;
  const char *types;
  const char *inputs;   // of the document
  const char *outputs;  // of the answer's
} row_t;

#define INPUT(name, datatype, shape, data)                                \
  "{\"name\":\"" name "\",\"datatype\":\"" datatype "\",\"shape\":" shape \
  ",\"data\":" data "}"

static const row_t rows[] = {
    {"nothing", "->", "", ""},
    {"every width", "ui8, i16, ui32, i64, index -> ui8, i16, ui32, i64, index",
     INPUT("0", "UINT8", "[]", "[255]") "," INPUT("1", "INT16", "[]", "[-32768]") "," INPUT(
         "2", "UINT32", "[1]",
         "[4294967295]") "," INPUT("3", "INT64", "[]",
                                   "[-9223372036854775808]") "," INPUT("4",
                                                                       "INT64",
                                                                       "[]",
                                                                       "[7]"),
     INPUT("0", "UINT8", "[]", "[255]") "," INPUT("1", "INT16", "[]", "[-32768]") "," INPUT(
         "2", "UINT32", "[]",
         "[4294967295]") "," INPUT("3", "INT64", "[]",
                                   "[-9223372036854775808]") "," INPUT("4",
                                                                       "INT64",
                                                                       "[]",
                                                                       "[7]")},
    {"floats of each width",
     "tensor<2xf16>, tensor<2xbf16>, tensor<2xf32>, tensor<2xf64> -> "
     "tensor<2xf16>, tensor<2xbf16>, tensor<2xf32>, tensor<2xf64>",
     INPUT("0", "FP16", "[2]", "[0.1,-1]") "," INPUT(
         "1", "BF16", "[2]",
         "[0.1,\"-Infinity\"]") "," INPUT("2", "FP32", "[2]",
                                          "[0.1,1e-45]") "," INPUT("3", "FP64",
                                                                   "[2]",
                                                                   "[0.1,\"NaN\"]"),
     INPUT("0", "FP16", "[2]", "[0.1,-1.0]") "," INPUT(
         "1", "BF16", "[2]",
         "[0.1,\"-Infinity\"]") "," INPUT("2", "FP32", "[2]",
                                          "[0.1,1e-45]") "," INPUT("3", "FP64",
                                                                   "[2]",
                                                                   "[0.1,\"NaN\"]")},
    {"booleans", "tensor<?xi1> -> tensor<?xi1>",
     INPUT("0", "BOOL", "[3]", "[true,0,1]"),
     INPUT("0", "BOOL", "[3]", "[true,false,true]")},
    {"nested is written flat", "tensor<?x2xi8> -> tensor<?x2xi8>",
     INPUT("0", "INT8", "[2,2]", "[[1,2],[3,4]]"),
     INPUT("0", "INT8", "[2,2]", "[1,2,3,4]")},
    {"no dims", "tensor<f32> -> tensor<f32>", INPUT("0", "FP32", "[1]", "[1]"),
     INPUT("0", "FP32", "[]", "[1.0]")},
    {"text and bytes", "str, bytes -> str, bytes",
     INPUT("0", "BYTES", "[1]", "[\"h\\u00e9\"]") "," INPUT("1", "BYTES", "[]",
                                                            "\"hi\""),
     INPUT("0", "BYTES", "[1]", "[\"h\xc3\xa9\"]") "," INPUT(
         "1", "BYTES", "[1]", "[\"hi\"]")},
    {"containers by their leaves",
     "(i8, {a: i8, b: ()}) -> (i8, {a: i8, b: ()})",
     INPUT("0/1/a", "INT8", "[]", "[2]") "," INPUT("0/0", "INT8", "[]", "[1]"),
     INPUT("0/0", "INT8", "[]", "[1]") "," INPUT("0/1/a", "INT8", "[]", "[2]")},
    {"final contents are an output", "i8, inout y: tensor<2xf32> -> i8",
     INPUT("y", "FP32", "[2]", "[1,2]") "," INPUT("0", "INT8", "[]", "[7]"),
     INPUT("0", "INT8", "[]", "[7]") "," INPUT("y", "FP32", "[2]",
                                               "[1.0,2.0]")},
    {"two outputs of one name, which begins with a digit",
     "i8, i8, inout 0y: tensor<2xf32> -> a: i8, 0y: i8",
     INPUT("0", "INT8", "[]", "[7]") "," INPUT(
         "1", "INT8", "[]", "[8]") "," INPUT("0y", "FP32", "[2]", "[1,2]"),
     INPUT("0", "INT8", "[]", "[7]") "," INPUT(
         "1", "INT8", "[]", "[8]") "," INPUT("2", "FP32", "[2]", "[1.0,2.0]")},
    {"dims of one name",
     "tensor<Nxi8>, tensor<Nx2xi8> -> tensor<Nxi8>, tensor<Nx2xi8>",
     INPUT("0", "INT8", "[1]", "[1]") "," INPUT("1", "INT8", "[1,2]", "[2,3]"),
     INPUT("0", "INT8", "[1]", "[1]") "," INPUT("1", "INT8", "[1,2]", "[2,3]")},
    {"out sized by a name", "tensor<Nxi8>, out tensor<NxNxi8> -> tensor<Nxi8>",
     INPUT("0", "INT8", "[2]", "[1,2]"),
     INPUT("0", "INT8", "[2]", "[1,2]") "," INPUT("1", "INT8", "[2,2]",
                                                  "[0,0,0,0]")},
    {"a shape of ones is one text", "str -> str",
     INPUT("0", "BYTES", "[1,1]", "[[\"a\"]]"),
     INPUT("0", "BYTES", "[1]", "[\"a\"]")},
    {"a list of texts, of any shape", "[str], [str] -> [str], [str]",
     INPUT("0", "BYTES", "[2,1]", "[[\"a\"],[\"\"]]") "," INPUT("1", "BYTES",
                                                                "[0]", "[]"),
     INPUT("0", "BYTES", "[2]", "[\"a\",\"\"]") "," INPUT("1", "BYTES", "[0]",
                                                          "[]")},
    {"an array of texts", "ref<?x2xstr> -> ref<?x2xstr>",
     INPUT("0", "BYTES", "[1,2]", "[\"a\",\"b\"]"),
     INPUT("0", "BYTES", "[1,2]", "[\"a\",\"b\"]")},
    {"an unknown type is that of the value", "any, tensor<2x?x_> -> any, any",
     "{\"name\":\"0\",\"data\":[1.5],\"shape\":[1],\"datatype\":\"FP32\"}," INPUT(
         "1", "INT8", "[2,1]", "[[1],[2]]"),
     INPUT("0", "FP32", "[1]", "[1.5]") "," INPUT("1", "INT8", "[2,1]",
                                                  "[1,2]")},
    {"byte strings of unknown type", "any, any, any -> any, any, any",
     "{\"name\":\"0\",\"data\":[\"a\"],\"shape\":[1],\"datatype\":"
     "\"BYTES\"}," INPUT("1", "BYTES", "[2,1]", "[[\"b\"],[\"\"]]") "," INPUT(
         "2", "BYTES", "[0]", "[]"),
     INPUT("0", "BYTES", "[1]", "[\"a\"]") "," INPUT(
         "1", "BYTES", "[2]", "[\"b\",\"\"]") "," INPUT("2", "BYTES", "[0]",
                                                        "[]")},
    {"out is not sent", "i8, out tensor<2xf32> -> i8",
     INPUT("0", "INT8", "[]", "[7]"),
     INPUT("0", "INT8", "[]", "[7]") "," INPUT("1", "FP32", "[2]",
                                               "[0.0,0.0]")},
};

static void values_come_back(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    fc_test_call_t call;
    fc_test_call_init(&call, row->types, NULL);
    char body[2048], wanted[2048];
    snprintf(body, sizeof body, "{\"id\":\"7\",\"inputs\":[%s]}", row->inputs);
    snprintf(wanted, sizeof wanted,
             "{\"model_name\":\"m\",\"model_version\":\"1\",\"id\":\"7\","
             "\"outputs\":[%s]}",
             row->outputs);
    fc_text_t answer;
    fc_text_init(&answer, fc_allocator_system(), 4096);
    uint64_t document;
    fc_error_t err;
    for (int i = 0; i < 2; i++) {
      fc_text_reset(&answer);
      if (echo(&call, fc_str(body), FC_OIP_ALL, &answer, &document, &err)) {
        fail_msg("%s at %s", err.message, err.pointer);
      }
      // The request's members are in another order than the answer's.
      assert_string_equal(answer.data, wanted);
      assert_int_equal(document, 0);
    }
    fc_text_deinit(&answer);
    fc_test_call_deinit(&call);
  }
}

// Aligned raw bytes are used where they are, others are copied. The answer has the same
// bytes. Every byte value is valid, except in booleans.
static void raw_bytes_come_back(void **state) {
  (void)state;
  static const char kDocument[] =
      "{\"inputs\":[{\"name\":\"0\",\"datatype\":\"FP32\",\"shape\":[4,4],"
      "\"parameters\":{\"binary_data_size\":64}},{\"name\":\"1\",\"datatype\":"
      "\"BYTES\",\"shape\":[1],\"parameters\":{\"binary_data_size\":7}}],"
      "\"parameters\":{\"binary_data_output\":true}}";
  static const char kAnswer[] =
      "{\"model_name\":\"m\",\"model_version\":\"1\",\"outputs\":[{\"name\":"
      "\"0\",\"datatype\":\"FP32\",\"shape\":[4,4],\"parameters\":{\"binary_"
      "data_size\":64}},{\"name\":\"1\",\"datatype\":\"BYTES\",\"shape\":[1],"
      "\"parameters\":{\"binary_data_size\":7}}]}";
  const size_t size = sizeof kDocument - 1;
  uint8_t *memory = aligned_alloc(64, 1024);
  assert_non_null(memory);
  fc_test_call_t call;
  fc_test_call_init(&call, "tensor<?x4xf32>, bytes -> tensor<?x4xf32>, bytes",
                    NULL);
  for (size_t shift = 0; shift < 64; shift++) {
    // With shift 0 the tensor is aligned.
    uint8_t *body = memory + (64 - size % 64) % 64 + shift;
    memcpy(body, kDocument, size);
    for (size_t i = 0; i < 64; i++) body[size + i] = (uint8_t)(i * 37);
    memcpy(body + size + 64,
           "\3\0\0\0a\xff"
           "b",
           7);
    fc_text_t answer;
    fc_text_init(&answer, fc_allocator_system(), 4096);
    uint64_t document;
    assert_int_equal(echo(&call, fc_str_make((char *)body, size + 71), size,
                          &answer, &document, NULL),
                     FC_OK);
    assert_int_equal(document, sizeof kAnswer - 1);
    assert_memory_equal(answer.data, kAnswer, sizeof kAnswer - 1);
    assert_memory_equal(answer.data + document, body + size, 71);
    assert_int_equal(call.frame->copied, shift ? 64 : 0);
    size_t count;
    const fc_value_t *value = fc_frame_arguments(call.frame, &count);
    assert_int_equal((uint8_t *)value->tensor.data == body + size, shift == 0);
    fc_text_deinit(&answer);
  }
  fc_test_call_deinit(&call);
  free(memory);
}

// A body without a document is refused if the input's type is unknown, even if the body
// is empty.
static void a_body_of_unknown_type_is_refused(void **state) {
  (void)state;
  static const char *const kTypes[] = {"tensor<_> ->", "tensor<2x_> ->",
                                       "any ->"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTypes); i++) {
    fc_test_call_t call;
    fc_error_t err;
    fc_test_call_init(&call, kTypes[i], NULL);
    fc_frame_begin(call.frame, call.plan, NULL);
    assert_int_not_equal(fc_oip_decode(call.frame, FC_STR(""), 0, &err), FC_OK);
    assert_int_equal(err.code, FC_CODE_BINARY_FRAMING);
    fc_test_call_deinit(&call);
  }
}

static void raw_booleans_are_0_or_1(void **state) {
  (void)state;
  static const char kBody[] = "\0\1\2";
  fc_test_call_t call;
  fc_test_call_init(&call, "tensor<?xi1> -> tensor<?xi1>", NULL);
  fc_text_t answer;
  fc_text_init(&answer, fc_allocator_system(), 4096);
  uint64_t document;
  fc_error_t err;
  assert_int_equal(
      echo(&call, fc_str_make(kBody, 2), 0, &answer, &document, &err), FC_OK);
  assert_memory_equal(answer.data + document, kBody, 2);
  assert_int_equal(
      echo(&call, fc_str_make(kBody, 3), 0, &answer, &document, &err),
      FC_OUT_OF_RANGE);
  assert_string_equal(err.message,
                      "input '0': element 2 is 2, which does not fit i1");
  fc_text_deinit(&answer);
  fc_test_call_deinit(&call);
}

// Raw bytes without a document: from their number the size of at most one dim follows.
static void a_body_says_one_dim(void **state) {
  (void)state;
  static const struct {
    const char *types;
    size_t size;
    const char *says;  // of the answer, or of the error
  } bodies[] = {
      {"tensor<?x2xi8> -> tensor<?x2xi8>", 6, "\"shape\":[3,2]"},
      {"tensor<3xi8> -> tensor<3xi8>", 3, "\"shape\":[3]"},
      {"i16 -> i16", 2, "\"shape\":[]"},
      {"str -> str", 5, "\"binary_data_size\":9"},
      {"tensor<?x2xi8> -> tensor<?x2xi8>", 5, "5 bytes for a shape of 4 bytes"},
      {"tensor<3xi8> -> tensor<3xi8>", 4, "4 bytes for a shape of 3 bytes"},
      {"tensor<?x?xi8> -> tensor<?x?xi8>", 4,
       "the body alone does not say the dims of the input"},
      {"tensor<*xi8> -> tensor<*xi8>", 4,
       "the body alone does not say the dims of the input"},
      {"i8, i8 -> i8, i8", 2,
       "a body without a document is one input, the model has 2"},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(bodies); i++) {
    fc_test_call_t call;
    fc_test_call_init(&call, bodies[i].types, NULL);
    fc_text_t answer;
    fc_text_init(&answer, fc_allocator_system(), 4096);
    uint64_t document;
    fc_error_t err;
    fc_error_reset(&err);
    const fc_status_t status =
        echo(&call, fc_str_make("abcdefgh", bodies[i].size), 0, &answer,
             &document, &err);
    const char *said = status ? err.message : answer.data;
    if (!strstr(said, bodies[i].says))
      fail_msg("%s: %s", bodies[i].types, said);
    fc_text_deinit(&answer);
    fc_test_call_deinit(&call);
  }
}

// The size that one input gives a named dim must hold for the next input, raw or JSON.
static void dims_of_one_name_agree(void **state) {
  (void)state;
  static const char kTwo[] = INPUT("0", "INT8", "[2]", "[1,2]");
  static const char kRaw[] =
      "{\"name\":\"1\",\"datatype\":\"INT8\",\"shape\":[3],"
      "\"parameters\":{\"binary_data_size\":3}}";
  static const struct {
    const char *inputs[2];
  } bodies[] = {
      {{kTwo, INPUT("1", "INT8", "[3]", "[1,2,3]")}},
      {{INPUT("1", "INT8", "[3]", "[1,2,3]"), kTwo}},
      {{kTwo, kRaw}},
      {{kRaw, kTwo}},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(bodies); i++) {
    fc_test_call_t call;
    fc_test_call_init(
        &call, "tensor<Nxi8>, tensor<Nxi8> -> tensor<Nxi8>, tensor<Nxi8>",
        NULL);
    char body[512];
    const int size = snprintf(body, sizeof body, "{\"inputs\":[%s,%s]}123",
                              bodies[i].inputs[0], bodies[i].inputs[1]);
    const bool raw = bodies[i].inputs[0] == kRaw || bodies[i].inputs[1] == kRaw;
    fc_text_t answer;
    fc_text_init(&answer, fc_allocator_system(), 4096);
    uint64_t document;
    fc_error_t err;
    assert_int_equal(
        echo(&call, fc_str_make(body, (size_t)size - (raw ? 0 : 3)),
             raw ? (uint64_t)size - 3 : FC_OIP_ALL, &answer, &document, &err),
        FC_INVALID_ARGUMENT);
    assert_int_equal(err.code, FC_CODE_SHAPE_MISMATCH);
    if (!strstr(err.message, "dim 0 of argument ")) fail_msg("%s", err.message);
    fc_text_deinit(&answer);
    fc_test_call_deinit(&call);
  }
}

// BYTES is a valid datatype for a value of unknown type, but not for a tensor's
// elements.
static void byte_strings_of_unknown_type_are_checked(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *types;
    const char *input;
    fc_code_t code;
  } bodies[] = {
      {"too few", "any -> any", INPUT("0", "BYTES", "[2]", "[\"a\"]"),
       FC_CODE_DATA_LENGTH},
      {"numbers", "any -> any", INPUT("0", "BYTES", "[1]", "[1]"),
       FC_CODE_TYPE_MISMATCH},
      {"another type first", "any -> any",
       "{\"name\":\"0\",\"datatype\":\"INT8\",\"datatype\":\"BYTES\"}",
       FC_CODE_DUPLICATE_KEY},
      {"another type after", "any -> any",
       "{\"name\":\"0\",\"datatype\":\"BYTES\",\"datatype\":\"INT8\"}",
       FC_CODE_DUPLICATE_KEY},
      {"a tensor", "tensor<_> -> any", INPUT("0", "BYTES", "[1]", "[\"a\"]"),
       FC_CODE_DTYPE_MISMATCH},
  };
  FC_TEST_EACH_ROW(const __typeof__(bodies[0]), row, bodies) {
    fc_test_call_t call;
    fc_test_call_init(&call, row->types, NULL);
    char body[512];
    snprintf(body, sizeof body, "{\"inputs\":[%s]}", row->input);
    fc_text_t answer;
    fc_text_init(&answer, fc_allocator_system(), 4096);
    uint64_t document;
    fc_error_t err;
    assert_int_not_equal(
        echo(&call, fc_str(body), FC_OIP_ALL, &answer, &document, &err), FC_OK);
    assert_int_equal(err.code, row->code);
    fc_text_deinit(&answer);
    fc_test_call_deinit(&call);
  }
}

// Many members, but no "name" among them. (Searching the rest of the object for the
// name at each member would give the same answer, after gigabytes of reading. No test
// asserts a time.)
static void a_missing_name_is_said(void **state) {
  (void)state;
  enum { MEMBERS = 4000, PAD = 1 << 20 };
  const size_t capacity = PAD + MEMBERS * 16 + 64;
  char *body = malloc(capacity);
  assert_non_null(body);
  size_t size = (size_t)snprintf(body, capacity, "{\"inputs\":[{");
  for (int i = 0; i < MEMBERS; i++) {
    size += (size_t)snprintf(body + size, capacity - size, "\"m%d\":0,", i);
  }
  size += (size_t)snprintf(body + size, capacity - size, "\"pad\":\"");
  memset(body + size, 'x', PAD);
  size += PAD;
  size += (size_t)snprintf(body + size, capacity - size, "\"}]}");
  fc_test_call_t call;
  fc_test_call_init(&call, "i8 -> i8", NULL);
  fc_text_t answer;
  fc_text_init(&answer, fc_allocator_system(), 4096);
  uint64_t document;
  fc_error_t err;
  assert_int_equal(echo(&call, fc_str_make(body, size), FC_OIP_ALL, &answer,
                        &document, &err),
                   FC_INVALID_ARGUMENT);
  assert_string_equal(err.message, "'name' is missing");
  fc_text_deinit(&answer);
  fc_test_call_deinit(&call);
  free(body);
}

// KServe sends an empty tensor like this if no other input has raw bytes.
static void an_empty_tensor_needs_no_bytes(void **state) {
  (void)state;
  static const char kBody[] =
      "{\"inputs\":[{\"name\":\"0\",\"datatype\":\"FP32\",\"shape\":[0],"
      "\"data\":null,\"parameters\":{\"binary_data_size\":0}}]}";
  fc_test_call_t call;
  fc_test_call_init(&call, "tensor<?xf32> -> tensor<?xf32>", NULL);
  fc_text_t answer;
  fc_text_init(&answer, fc_allocator_system(), 4096);
  uint64_t document;
  fc_error_t err;
  if (echo(&call, fc_str(kBody), FC_OIP_ALL, &answer, &document, &err)) {
    fail_msg("%s", err.message);
  }
  fc_text_deinit(&answer);
  fc_test_call_deinit(&call);
}

// A view of one element may have any shape, so the limit of the answer must be checked
// before anything is copied.
static void a_result_beyond_the_limit_is_not_copied(void **state) {
  (void)state;
  static const char kJson[] = "{\"inputs\":[]}";
  static const char kRaw[] =
      "{\"inputs\":[],\"parameters\":{\"binary_data_output\":true}}";
  static const char *const kBodies[] = {kJson, kRaw};
  fc_test_call_t call;
  fc_test_call_init(&call, "-> tensor<?xf64>", NULL);
  double element = 1;
  const int64_t shape[] = {(int64_t)1 << 40}, strides[] = {0};
  const fc_value_t result = {.kind = FC_VALUE_TENSOR,
                             .tensor = {.dtype = FC_DTYPE_F64,
                                        .rank = 1,
                                        .shape = shape,
                                        .strides = strides,
                                        .data = &element}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kBodies); i++) {
    fc_text_t answer;
    fc_text_init(&answer, fc_allocator_system(), 4096);
    uint64_t document = 0;
    fc_error_t err;
    fc_frame_begin(call.frame, call.plan, NULL);
    assert_int_equal(
        fc_oip_decode(call.frame, fc_str(kBodies[i]), FC_OIP_ALL, &err), FC_OK);
    fc_frame_set_results(call.frame, &result, 1);
    assert_int_not_equal(fc_oip_encode(call.frame, FC_STR("m"), FC_STR("1"),
                                       &answer.sink, &document, &err),
                         FC_OK);
    assert_int_equal(err.code, FC_CODE_RESULT_TOO_LARGE);
    fc_text_deinit(&answer);
  }
  fc_test_call_deinit(&call);
}

static void what_is_no_tensor_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *types, *says;
  } refused[] = {
      {"[i8] -> i8", "argument '0' is no tensor that this protocol has"},
      {"[[str]] -> i8", "argument '0' is no tensor that this protocol has"},
      {"i8 -> [i8]", "result '0' is no tensor that this protocol has"},
      {"tensor<2xi4> -> i8",
       "argument '0' is no tensor that this protocol has: i4"},
      {"complex<f32> -> i8",
       "argument '0' is no tensor that this protocol has: complex<f32>"},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(refused); i++) {
    fc_test_call_t call;
    fc_test_call_init(&call, refused[i].types, NULL);
    fc_text_t answer;
    fc_text_init(&answer, fc_allocator_system(), 4096);
    fc_error_t err;
    // The second time, the plan gives the same reason.
    for (int k = 0; k < 2; k++) {
      assert_int_equal(fc_oip_write_tensors(call.plan, &answer.sink, &err),
                       FC_UNIMPLEMENTED);
      assert_string_equal(err.message, refused[i].says);
    }
    fc_text_deinit(&answer);
    fc_test_call_deinit(&call);
  }
}

static void ids_are_found(void **state) {
  (void)state;
  static const struct {
    const char *document, *id;  // NULL: none
  } ids[] = {
      {"{\"id\":\"a\"}", "a"}, {"{\"x\":[{\"id\":\"b\"}],\"id\":\"a\"", "a"},
      {"{\"id\":\"\"}", ""},   {"{\"id\":7}", NULL},
      {"{\"x\":\"cut", NULL},  {"{\"x\":[1,2", NULL},
      {"[\"id\"]", NULL},      {"", NULL},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(ids); i++) {
    const fc_str_t id = fc_oip_find_id(fc_str(ids[i].document));
    assert_int_equal(id.data != NULL, ids[i].id != NULL);
    if (ids[i].id) assert_true(fc_str_equal(id, fc_str(ids[i].id)));
  }
}

// Makes plan, model and frame, and a call, with an allocator that fails.
static fc_status_t whole_life(fc_allocator_t allocator, void *context,
                              fc_error_t *err) {
  static const char kBody[] = "{\"inputs\":[" INPUT(
      "0/0", "INT8", "[]", "[1]") "," INPUT("0/1", "INT8", "[2]", "[1,2]") "]}";
  const fc_signature_t *signature = context;
  fc_plan_t *plan = NULL;
  fc_frame_t *frame = NULL;
  fc_text_t text;
  uint64_t document = 0;
  fc_text_init(&text, allocator, 4096);
  fc_status_t status = fc_plan_create(signature, allocator, &plan, err);
  if (status == FC_OK) status = fc_frame_create(allocator, NULL, &frame, err);
  if (status == FC_OK) {
    fc_frame_begin(frame, plan, NULL);
    status = fc_oip_decode(frame, fc_str(kBody), FC_OIP_ALL, err);
  }
  if (status == FC_OK) {
    size_t count;
    const fc_value_t *values = fc_frame_arguments(frame, &count);
    fc_frame_set_results(frame, values, count);
    status = fc_oip_encode(frame, FC_STR("m"), FC_STR("1"), &text.sink,
                           &document, err);
  }
  fc_text_deinit(&text);
  fc_frame_destroy(frame);
  fc_plan_destroy(plan);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_test_call_init(&call, "(i8, tensor<2xi8>) -> (i8, tensor<2xi8>)", NULL);
  assert_true(fc_test_allocation_sweep(whole_life, call.signature) >= 5);
  fc_test_call_deinit(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(values_come_back),
      FC_TEST(raw_bytes_come_back),
      FC_TEST(a_body_of_unknown_type_is_refused),
      FC_TEST(byte_strings_of_unknown_type_are_checked),
      FC_TEST(raw_booleans_are_0_or_1),
      FC_TEST(a_body_says_one_dim),
      FC_TEST(dims_of_one_name_agree),
      FC_TEST(a_missing_name_is_said),
      FC_TEST(an_empty_tensor_needs_no_bytes),
      FC_TEST(a_result_beyond_the_limit_is_not_copied),
      FC_TEST(what_is_no_tensor_is_refused),
      FC_TEST(ids_are_found),
      FC_TEST(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
