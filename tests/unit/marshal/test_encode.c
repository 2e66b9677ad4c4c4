// SPDX-License-Identifier: Apache-2.0
//
// Answers: raw results, written here by hand, become JSON. Also what a module must not
// return.
#include <stdio.h>

#include "helpers/call.h"
#include "helpers/test.h"

#define SCALAR(dtype_, member, value)                                \
  {                                                                  \
    .kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_##dtype_, .scalar = { \
      .member = (value)                                              \
    }                                                                \
  }
#define TENSOR(dtype_, rank_, shape_, strides_, data_) \
  {                                                    \
    .kind = FC_VALUE_TENSOR, .tensor = {               \
      FC_DTYPE_##dtype_,                               \
      rank_,                                           \
      shape_,                                          \
      strides_,                                        \
      (void *)(data_)                                  \
    }                                                  \
  }
#define LIST(items_)                                                  \
  {                                                                   \
    .kind = FC_VALUE_LIST, .list = { items_, FC_ARRAY_COUNT(items_) } \
  }
#define BYTES(text)                                             \
  {                                                             \
    .kind = FC_VALUE_BYTES, .bytes = { text, sizeof(text) - 1 } \
  }
#define NOTHING \
  { .kind = FC_VALUE_NULL }

static const float floats[] = {1.0F, 2.5F, -0.0F, 4.0F, 5.0F, 6.0F};
static const uint8_t small[] = {0, 1, 2, 255};
static const uint8_t nibbles[] = {0x00, 0x07, 0xF8, 0x0F};
static const int64_t wide[] = {1, INT64_MIN};
static const int64_t s2x3[] = {2, 3}, s3x2[] = {3, 2}, s2[] = {2}, s4[] = {4},
                     s0x3[] = {0, 3}, s2x0[] = {2, 0}, huge[] = {1LL << 62, 4},
                     negative[] = {-1}, many[] = {1LL << 40};
static const int64_t swapped[] = {1, 3}, reversed[] = {-1}, none[] = {0};

static fc_value_t pair[] = {SCALAR(I32, i32, 100), SCALAR(I32, i32, 200)};
static fc_value_t reversed_floats[] = {
    TENSOR(F32, 1, s2, reversed, floats + 5)};
static fc_value_t dict_in_list[] = {LIST(pair), SCALAR(I64, i64, 6)};
static fc_value_t mixed[] = {SCALAR(I8, i8, 1), NOTHING, BYTES("hi"),
                             TENSOR(F32, 1, s2, NULL, floats)};
static fc_value_t ref_dims[] = {SCALAR(I64, i64, 1), SCALAR(I64, i64, 2)};
static fc_value_t refs[] = {LIST(pair), LIST(ref_dims)};
static fc_value_t no_items[] = {NOTHING};
static fc_value_t empty_dims[] = {SCALAR(I64, i64, 2), SCALAR(I64, i64, 0)};
static fc_value_t empty_refs[] = {
    {.kind = FC_VALUE_LIST, .list = {no_items, 0}}, LIST(empty_dims)};
static fc_value_t wrong_refs[] = {LIST(pair), LIST(pair)};
static fc_value_t column_dims[] = {SCALAR(I64, i64, 2), SCALAR(I64, i64, 1)};
static fc_value_t column_refs[] = {LIST(pair), LIST(column_dims)};
static fc_value_t square_dims[] = {SCALAR(I64, i64, 2), SCALAR(I64, i64, 2)};
static fc_value_t few_refs[] = {LIST(pair), LIST(square_dims)};
static fc_value_t below_0[] = {SCALAR(I64, i64, -1), SCALAR(I64, i64, -2)};
static fc_value_t negative_refs[] = {LIST(pair), LIST(below_0)};
static fc_value_t short_refs[] = {
    LIST(pair), {.kind = FC_VALUE_LIST, .list = {column_dims, 1}}};
static fc_value_t endless[] = {{.kind = FC_VALUE_LIST, .list = {endless, 1}}};

typedef struct encode_row_t {
  const char *name;
  const char *types;
  fc_value_t values[3];
  size_t count;
  const char *answer;  // NULL: bad_result
  const char *message;
} encode_row_t;

static const encode_row_t answers[] = {
    {"nothing", "->", {NOTHING}, 0, "[]", NULL},
    {"scalars",
     "-> i32, i1, f32",
     {SCALAR(I32, i32, -5), SCALAR(I1, u8, 1), SCALAR(F32, f32, 1)},
     3,
     "[-5,true,1.0]",
     NULL},
    {"matrix",
     "-> tensor<2x3xf32>",
     {TENSOR(F32, 2, s2x3, NULL, floats)},
     1,
     "[[[1.0,2.5,-0.0],[4.0,5.0,6.0]]]",
     NULL},
    {"transposed",
     "-> tensor<3x2xf32>",
     {TENSOR(F32, 2, s3x2, swapped, floats)},
     1,
     "[[[1.0,4.0],[2.5,5.0],[-0.0,6.0]]]",
     NULL},
    {"reversed",
     "-> tensor<?xf32>",
     {TENSOR(F32, 1, s2, reversed, floats + 5)},
     1,
     "[[6.0,5.0]]",
     NULL},
    {"broadcast",
     "-> tensor<?xf32>",
     {TENSOR(F32, 1, s4, none, floats + 1)},
     1,
     "[[2.5,2.5,2.5,2.5]]",
     NULL},
    {"rank 0",
     "-> tensor<f32>",
     {TENSOR(F32, 0, NULL, NULL, floats)},
     1,
     "[1.0]",
     NULL},
    {"empty",
     "-> tensor<?x3xf32>",
     {TENSOR(F32, 2, s0x3, NULL, NULL)},
     1,
     "[[]]",
     NULL},
    {"empty rows",
     "-> tensor<?x?xf32>",
     {TENSOR(F32, 2, s2x0, NULL, NULL)},
     1,
     "[[[],[]]]",
     NULL},
    {"unranked",
     "-> tensor<*xf32>",
     {TENSOR(F32, 1, s2, NULL, floats)},
     1,
     "[[1.0,2.5]]",
     NULL},
    {"dtype not declared",
     "-> tensor<?x_>",
     {TENSOR(UI8, 1, s4, NULL, small)},
     1,
     "[[0,1,2,255]]",
     NULL},
    {"bytes as booleans",
     "-> tensor<4xi1>",
     {TENSOR(UI8, 1, s4, NULL, small)},
     1,
     "[[false,true,true,true]]",
     NULL},
    {"booleans as bytes",
     "-> tensor<4xi8>",
     {TENSOR(I1, 1, s4, NULL, small)},
     1,
     "[[0,1,2,-1]]",
     NULL},
    {"signless prints signed",
     "-> tensor<4xi8>",
     {TENSOR(UI8, 1, s4, NULL, small)},
     1,
     "[[0,1,2,-1]]",
     NULL},
    {"64-bit",
     "-> tensor<2xi64>",
     {TENSOR(I64, 1, s2, NULL, wide)},
     1,
     "[[1,-9223372036854775808]]",
     NULL},
    {"text", "-> str", {BYTES("h\xc3\xa9\"")}, 1, "[\"h\xc3\xa9\\\"\"]", NULL},
    {"raw bytes", "-> bytes", {BYTES("hi")}, 1, "[{\"b64\":\"aGk=\"}]", NULL},
    {"null",
     "-> null, opaque, any",
     {NOTHING, NOTHING, NOTHING},
     3,
     "[null,null,null]",
     NULL},
    {"NestedResults",
     "-> i32, ({bar: i32, foo: i32}, i64)",
     {SCALAR(I32, i32, 3), LIST(dict_in_list)},
     2,
     "[3,[{\"bar\":100,\"foo\":200},6]]",
     NULL},
    {"ReturnTypeList", "-> [i32]", {LIST(pair)}, 1, "[[100,200]]", NULL},
    {"InlinedResults",
     "-> (i32@0, i32@1)",
     {SCALAR(I32, i32, 3), SCALAR(I32, i32, 4)},
     2,
     "[[3,4]]",
     NULL},
    {"inlined with a list",
     "-> {b: (i32, i32)@0, a: i64@1}",
     {LIST(pair), SCALAR(I64, i64, 3)},
     2,
     "[{\"b\":[100,200],\"a\":3}]",
     NULL},
    {"tree of results",
     "-> (i32@0, {a: i32@1, b: i32@2})",
     {SCALAR(I32, i32, 3), SCALAR(I32, i32, 4), SCALAR(I32, i32, 5)},
     3,
     "[[3,{\"a\":4,\"b\":5}]]",
     NULL},
    {"tree with a gap",
     "-> (i32@1, null, i32@0)",
     {SCALAR(I32, i32, 3), SCALAR(I32, i32, 4)},
     2,
     "[[4,null,3]]",
     NULL},
    {"tree uses one twice",
     "-> (i32@0, i32@0)",
     {SCALAR(I32, i32, 3)},
     1,
     "[[3,3]]",
     NULL},
    {"as it comes",
     "-> any, any, any",
     {LIST(mixed), SCALAR(F32, f32, 1), TENSOR(F32, 1, s2, NULL, floats)},
     3,
     "[[1,null,{\"b64\":\"aGk=\"},[1.0,2.5]],1.0,[1.0,2.5]]",
     NULL},
    {"null record with a value",
     "-> null",
     {SCALAR(I32, i32, 3)},
     1,
     "[3]",
     NULL},
    {"references", "-> ref<1x2xi32>", {LIST(refs)}, 1, "[[[100,200]]]", NULL},
    {"references in a column",
     "-> ref<2x?xi32>",
     {LIST(column_refs)},
     1,
     "[[[100],[200]]]",
     NULL},
    {"no references",
     "-> ref<?x0xi32>",
     {LIST(empty_refs)},
     1,
     "[[[],[]]]",
     NULL},

    {"too few",
     "-> i32, i32",
     {SCALAR(I32, i32, 3)},
     1,
     NULL,
     "the function declares 2 results and returned 1"},
    {"too many",
     "-> i32",
     {SCALAR(I32, i32, 3), NOTHING},
     2,
     NULL,
     "the function declares 1 results and returned 2"},
    {"tensor for a scalar",
     "-> i32, i32",
     {SCALAR(I32, i32, 3), TENSOR(F32, 1, s2, NULL, floats)},
     2,
     NULL,
     "result 1: expected a scalar, got a tensor"},
    {"null for a tensor",
     "-> tensor<2xf32>",
     {NOTHING},
     1,
     NULL,
     "result 0: expected a tensor, got null"},
    {"other dtype",
     "-> tensor<2xf64>",
     {TENSOR(F32, 1, s2, NULL, floats)},
     1,
     NULL,
     "result 0: declared f64, got f32"},
    {"other width",
     "-> tensor<2xi32>",
     {TENSOR(I64, 1, s2, NULL, wide)},
     1,
     NULL,
     "result 0: declared i32, got i64"},
    {"narrower, in as many bytes",
     "-> tensor<2xi8>",
     {TENSOR(I4, 1, s2, NULL, floats)},
     1,
     NULL,
     "result 0: declared i8, got i4"},
    {"wider, in as many bytes",
     "-> tensor<2xi4>",
     {TENSOR(I8, 1, s2, NULL, floats)},
     1,
     NULL,
     "result 0: declared i4, got i8"},
    {"float for an integer",
     "-> i32",
     {SCALAR(F32, f32, 3)},
     1,
     NULL,
     "result 0: declared i32, got f32"},
    {"other rank",
     "-> tensor<?x?xf32>",
     {TENSOR(F32, 1, s2, NULL, floats)},
     1,
     NULL,
     "result 0: declared 2 dims, got 1"},
    {"other dim",
     "-> tensor<3xf32>",
     {TENSOR(F32, 1, s2, NULL, floats)},
     1,
     NULL,
     "result 0: dim 0 is declared 3, got 2"},
    {"negative dim",
     "-> tensor<?xf32>",
     {TENSOR(F32, 1, negative, NULL, floats)},
     1,
     NULL,
     "result 0: its shape or address is invalid"},
    {"overflowing shape",
     "-> tensor<?x?xf32>",
     {TENSOR(F32, 2, huge, NULL, floats)},
     1,
     NULL,
     "result 0: its shape or address is invalid"},
    {"no address",
     "-> tensor<2xf32>",
     {TENSOR(F32, 1, s2, NULL, NULL)},
     1,
     NULL,
     "result 0: its shape or address is invalid"},
    {"no dtype",
     "-> any",
     {TENSOR(NONE, 1, s2, NULL, floats)},
     1,
     NULL,
     "result 0: its shape or address is invalid"},
    {"rank out of range",
     "-> any",
     {TENSOR(F32, 33, s2, NULL, floats)},
     1,
     NULL,
     "result 0: its shape or address is invalid"},
    {"not text",
     "-> str",
     {BYTES("\xff")},
     1,
     NULL,
     "result 0: declared text, but it is not UTF-8"},
    {"opaque",
     "-> opaque",
     {{.kind = FC_VALUE_OPAQUE, .bytes = {"hal.fence", 9}}},
     1,
     NULL,
     "result 0: an opaque reference (hal.fence): a session can 'keep' it"},
    {"opaque in a list",
     "-> any",
     {{.kind = FC_VALUE_OPAQUE, .bytes = {NULL, 0}}},
     1,
     NULL,
     "result 0: an opaque reference (): a session can 'keep' it"},
    {"tuple length",
     "-> (i32, i32, i32)",
     {LIST(pair)},
     1,
     NULL,
     "result 0: declared 3 elements, got 2"},
    {"dict length",
     "-> {a: i32}",
     {LIST(pair)},
     1,
     NULL,
     "result 0: declared 1 elements, got 2"},
    {"scalar for a list",
     "-> [i32]",
     {SCALAR(I32, i32, 3)},
     1,
     NULL,
     "result 0: expected a list, got a scalar"},
    {"inside a list",
     "-> [i64]",
     {LIST(pair)},
     1,
     NULL,
     "result 0: declared i64, got i32"},
    {"endless list",
     "-> any",
     {LIST(endless)},
     1,
     NULL,
     "result 0: nested deeper than 64"},
    {"references without dims",
     "-> ref<1x2xi32>",
     {LIST(pair)},
     1,
     NULL,
     "result 0: an array of references is a list of elements and a list of the "
     "declared dims"},
    {"references with wrong dims",
     "-> ref<?x?xi32>",
     {LIST(wrong_refs)},
     1,
     NULL,
     "result 0: an array of references is a list of elements and a list of the "
     "declared dims"},
    {"references with another first dim",
     "-> ref<1x2xi32>",
     {LIST(column_refs)},
     1,
     NULL,
     "result 0: an array of references is a list of elements and a list of the "
     "declared dims"},
    {"references with another last dim",
     "-> ref<?x2xi32>",
     {LIST(column_refs)},
     1,
     NULL,
     "result 0: an array of references is a list of elements and a list of the "
     "declared dims"},
    {"references with elements missing",
     "-> ref<2x2xi32>",
     {LIST(few_refs)},
     1,
     NULL,
     "result 0: an array of references is a list of elements and a list of the "
     "declared dims"},
    {"references with negative dims",
     "-> ref<?x?xi32>",
     {LIST(negative_refs)},
     1,
     NULL,
     "result 0: an array of references is a list of elements and a list of the "
     "declared dims"},
    {"references with a dim missing",
     "-> ref<?x?xi32>",
     {LIST(short_refs)},
     1,
     NULL,
     "result 0: an array of references is a list of elements and a list of the "
     "declared dims"},
};

static fc_status_t encode(fc_test_call_t *call, const fc_value_t *values,
                          size_t count, fc_text_t *text, fc_error_t *err) {
  fc_text_init(text, fc_allocator_system(), 1 << 20);
  fc_error_reset(err);
  fc_frame_set_results(call->frame, values, count);
  return fc_frame_encode(call->frame, &text->sink, err);
}

static void results_print(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const encode_row_t, row, answers) {
    fc_test_call_t call;
    fc_test_call_init(&call, row->types, NULL);
    fc_frame_begin(call.frame, call.plan, NULL);
    fc_error_t err;
    fc_text_t text;
    fc_status_t status = encode(&call, row->values, row->count, &text, &err);
    if (row->answer) {
      if (status) fail_msg("%s", err.message);
      char expected[256];
      snprintf(expected, sizeof expected, "{\"results\":%s}", row->answer);
      fc_str_t answer = fc_text_str(&text);
      assert_int_equal(answer.size, strlen(expected));
      assert_memory_equal(answer.data, expected, answer.size);
    } else {
      assert_string_equal(err.message, row->message);
      // A reference is no fault of the function.
      assert_int_equal(err.code, strstr(row->message, "'keep'")
                                     ? FC_CODE_UNSUPPORTED_TYPE
                                     : FC_CODE_BAD_RESULT);
      assert_int_equal(err.status, status);
    }
    fc_text_deinit(&text);
    fc_test_call_deinit(&call);
  }
}

typedef struct option_row_t {
  const char *name;
  const char *types;
  fc_value_t values[2];
  size_t count;
  const char *body;
  const char *answer;
} option_row_t;

static const option_row_t options[] = {
    {"typed tensor",
     "-> tensor<3x2xf32>",
     {TENSOR(F32, 2, s3x2, swapped, floats)},
     1,
     "{\"options\":{\"results\":\"typed\"}}",
     "[{\"dtype\":\"f32\",\"shape\":[3,2],\"data\":[[1.0,4.0],[2.5,5.0],"
     "[-0.0,6.0]]}]"},
    {"typed empty",
     "-> tensor<?x3xf32>",
     {TENSOR(F32, 2, s0x3, NULL, NULL)},
     1,
     "{\"options\":{\"results\":\"typed\"}}",
     "[{\"dtype\":\"f32\",\"shape\":[0,3],\"data\":[]}]"},
    {"typed as it comes",
     "-> any, any",
     {LIST(mixed), SCALAR(F32, f32, 1)},
     2,
     "{\"options\":{\"results\":\"typed\"}}",
     "[{\"list\":[{\"dtype\":\"i8\",\"data\":1},null,"
     "{\"bytes\":{\"b64\":\"aGk=\"}},"
     "{\"dtype\":\"f32\",\"shape\":[2],\"data\":[1.0,2.5]}]},"
     "{\"dtype\":\"f32\",\"data\":1.0}]"},
    {"declared dtype wins",
     "-> tensor<4xi1>",
     {TENSOR(UI8, 1, s4, NULL, small)},
     1,
     "{\"options\":{\"results\":\"typed\"}}",
     "[{\"dtype\":\"i1\",\"shape\":[4],\"data\":[false,true,true,true]}]"},
    {"b64",
     "-> tensor<?xf32>, f32",
     {TENSOR(F32, 1, s2, NULL, floats), SCALAR(F32, f32, 1)},
     2,
     "{\"options\":{\"results\":\"b64\"}}",
     "[{\"dtype\":\"f32\",\"shape\":[2],\"b64\":\"AACAPwAAIEA=\"},1.0]"},
    {"b64 strided",
     "-> tensor<3x2xf32>",
     {TENSOR(F32, 2, s3x2, swapped, floats)},
     1,
     "{\"options\":{\"results\":\"b64\"}}",
     "[{\"dtype\":\"f32\",\"shape\":[3,2],\"b64\":"
     "\"AACAPwAAgEAAACBAAACgQAAAAIAAAMBA\"}]"},
    {"b64 backwards, in a list",
     "-> [tensor<?xf32>]",
     {LIST(reversed_floats)},
     1,
     "{\"options\":{\"results\":\"b64\"}}",
     "[[{\"dtype\":\"f32\",\"shape\":[2],\"b64\":\"AADAQAAAoEA=\"}]]"},
    {"b64 of rank 0",
     "-> tensor<f32>",
     {TENSOR(F32, 0, NULL, NULL, floats)},
     1,
     "{\"options\":{\"results\":\"b64\"}}",
     "[{\"dtype\":\"f32\",\"shape\":[],\"b64\":\"AACAPw==\"}]"},
    {"b64 of nothing",
     "-> tensor<?x3xf32>",
     {TENSOR(F32, 2, s0x3, NULL, NULL)},
     1,
     "{\"options\":{\"results\":\"b64\"}}",
     "[{\"dtype\":\"f32\",\"shape\":[0,3],\"b64\":\"\"}]"},
    // The answer can be sent back as an argument: booleans are 0 or 1, and the sign
    // fills the byte.
    {"b64 of booleans",
     "-> tensor<4xi1>",
     {TENSOR(UI8, 1, s4, NULL, small)},
     1,
     "{\"options\":{\"results\":\"b64\"}}",
     "[{\"dtype\":\"i1\",\"shape\":[4],\"b64\":\"AAEBAQ==\"}]"},
    {"b64 of narrow integers",
     "-> tensor<4xi4>, tensor<4xui4>",
     {TENSOR(I4, 1, s4, NULL, nibbles), TENSOR(UI4, 1, s4, NULL, nibbles)},
     2,
     "{\"options\":{\"results\":\"b64\"}}",
     "[{\"dtype\":\"i4\",\"shape\":[4],\"b64\":\"AAf4/w==\"},"
     "{\"dtype\":\"ui4\",\"shape\":[4],\"b64\":\"AAcIDw==\"}]"},
    {"b64 as it comes",
     "-> any, any",
     {LIST(mixed), SCALAR(F32, f32, 1)},
     2,
     "{\"options\":{\"results\":\"b64\"}}",
     "[{\"list\":[{\"dtype\":\"i8\",\"data\":1},null,"
     "{\"bytes\":{\"b64\":\"aGk=\"}},"
     "{\"dtype\":\"f32\",\"shape\":[2],\"b64\":\"AACAPwAAIEA=\"}]},"
     "{\"dtype\":\"f32\",\"data\":1.0}]"},
    {"int64 strings",
     "-> tensor<2xi64>, i64",
     {TENSOR(I64, 1, s2, NULL, wide), SCALAR(I64, i64, 7)},
     2,
     "{\"options\":{\"int64\":\"string\"}}",
     "[[\"1\",\"-9223372036854775808\"],\"7\"]"},
    {"int64 strings leave i32",
     "-> i32",
     {SCALAR(I32, i32, 7)},
     1,
     "{\"options\":{\"int64\":\"string\"}}",
     "[7]"},
};

// A named dim of a result has the size that the arguments gave it.
static void a_named_dim_binds_the_results(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_test_call_init(&call, "tensor<Nxi8> -> tensor<Nxf32>", NULL);
  fc_value_t value = TENSOR(F32, 1, s2, NULL, floats);
  fc_error_t err;
  fc_text_t text;
  assert_int_equal(fc_test_call_decode(&call, FC_STR("[[1,2]]"), &err), FC_OK);
  assert_int_equal(encode(&call, &value, 1, &text, &err), FC_OK);
  fc_text_deinit(&text);
  assert_int_equal(fc_test_call_decode(&call, FC_STR("[[1]]"), &err), FC_OK);
  assert_int_not_equal(encode(&call, &value, 1, &text, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_BAD_RESULT);
  assert_string_equal(
      err.message,
      "result 0: dim 0 is 2, dim 0 of argument 0 is 1: both are 'N'");
  fc_text_deinit(&text);
  fc_test_call_deinit(&call);
}

// A named dim that no argument has gets its size from the first result that has it.
static void a_named_dim_binds_results_to_each_other(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_test_call_init(&call, "-> tensor<Nxf32>, tensor<NxNxf32>", NULL);
  static const int64_t s22[] = {2, 2}, s23[] = {2, 3}, s1[] = {1};
  static const struct {
    const int64_t *first, *second;
    const char *message;
  } cases[] = {
      {s2, s22, NULL},
      {s2, s23, "result 1: dim 1 is 3, dim 0 of result 0 is 2: both are 'N'"},
      {s1, s22, "result 1: dim 0 is 2, dim 0 of result 0 is 1: both are 'N'"},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(cases); i++) {
    fc_value_t values[] = {TENSOR(F32, 1, cases[i].first, NULL, floats),
                           TENSOR(F32, 2, cases[i].second, NULL, floats)};
    fc_error_t err;
    fc_text_t text;
    assert_int_equal(fc_test_call_decode(&call, FC_STR("[]"), &err), FC_OK);
    fc_status_t status = encode(&call, values, 2, &text, &err);
    assert_int_equal(status == FC_OK, cases[i].message == NULL);
    if (cases[i].message) {
      assert_int_equal(err.code, FC_CODE_BAD_RESULT);
      assert_string_equal(err.message, cases[i].message);
    }
    fc_text_deinit(&text);
  }
  fc_test_call_deinit(&call);
}

static void options_change_the_print(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const option_row_t, row, options) {
    fc_test_call_t call;
    fc_test_call_init(&call, row->types, NULL);
    fc_error_t err;
    fc_text_t text;
    assert_int_equal(fc_test_call_decode(&call, fc_str(row->body), &err),
                     FC_OK);
    assert_int_equal(encode(&call, row->values, row->count, &text, &err),
                     FC_OK);
    char expected[256];
    snprintf(expected, sizeof expected, "{\"results\":%s}", row->answer);
    fc_str_t answer = fc_text_str(&text);
    assert_int_equal(answer.size, strlen(expected));
    assert_memory_equal(answer.data, expected, answer.size);
    fc_text_deinit(&text);
    fc_test_call_deinit(&call);
  }
}

// A sink that gives its memory away `step` bytes at a time.
typedef struct drip_t {
  fc_sink_t sink;
  char *end;
  size_t step;
} drip_t;

static fc_status_t drip_grow(fc_sink_t *sink, size_t need, fc_error_t *err) {
  drip_t *drip = (drip_t *)sink;
  size_t size = need > drip->step ? need : drip->step;
  if (size > (size_t)(drip->end - sink->cursor)) return fc_fail_memory(err);
  sink->end = sink->cursor + size;
  return FC_OK;
}

static void a_limit_is_exact(void **state) {
  (void)state;
  fc_value_t values[] = {TENSOR(F32, 2, s2x3, NULL, floats), BYTES("hello"),
                         LIST(pair)};
  static const char expected[] =
      "{\"results\":[[[1.0,2.5,-0.0],[4.0,5.0,6.0]],\"hello\",[100,200]]}";
  const size_t size = sizeof expected - 1;
  fc_limits_t limits = fc_limits_default();
  for (limits.result_size = 0; limits.result_size < size + 3;
       limits.result_size++) {
    fc_test_call_t call;
    fc_test_call_init(&call, "-> tensor<2x3xf32>, str, [i32]", &limits);
    fc_frame_begin(call.frame, call.plan, NULL);
    char memory[8192];
    drip_t drip = {{memory, memory, drip_grow}, memory + sizeof memory, 5};
    fc_error_t err = {0};
    fc_frame_set_results(call.frame, values, 3);
    fc_status_t status = fc_frame_encode(call.frame, &drip.sink, &err);
    if (limits.result_size < size) {
      assert_int_equal(err.code, FC_CODE_RESULT_TOO_LARGE);
    } else {
      assert_int_equal(status, FC_OK);
      assert_int_equal(drip.sink.cursor - memory, size);
      assert_memory_equal(memory, expected, size);
    }
    fc_test_call_deinit(&call);
  }
}

// A broadcast needs no memory, and neither do rows without elements. Their size is seen
// only when they are printed, so printing must stop at the limit.
static void a_huge_view_is_not_printed(void **state) {
  (void)state;
  static const int64_t no_columns[] = {1LL << 40, 0};
  static fc_value_t dims[] = {SCALAR(I64, i64, 1LL << 40), SCALAR(I64, i64, 0)};
  static fc_value_t array[] = {{.kind = FC_VALUE_LIST, .list = {no_items, 0}},
                               LIST(dims)};
  const struct {
    const char *types;
    fc_value_t value;
  } cases[] = {
      {"-> tensor<?xf32>", TENSOR(F32, 1, many, none, floats)},
      {"-> tensor<?x?xf32>", TENSOR(F32, 2, no_columns, NULL, NULL)},
      {"-> ref<?x?xi32>", LIST(array)},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(cases); i++) {
    fc_test_call_t call;
    fc_test_call_init(&call, cases[i].types, NULL);
    fc_frame_begin(call.frame, call.plan, NULL);
    fc_error_t err;
    fc_text_t text;
    assert_int_not_equal(encode(&call, &cases[i].value, 1, &text, &err), FC_OK);
    assert_int_equal(err.code, FC_CODE_RESULT_TOO_LARGE);
    assert_true(fc_text_str(&text).size < 100);
    fc_text_deinit(&text);
    fc_test_call_deinit(&call);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(results_print),
      FC_TEST(a_named_dim_binds_the_results),
      FC_TEST(a_named_dim_binds_results_to_each_other),
      FC_TEST(options_change_the_print),
      FC_TEST(a_limit_is_exact),
      FC_TEST(a_huge_view_is_not_printed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
