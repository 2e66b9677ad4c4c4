// SPDX-License-Identifier: Apache-2.0
//
// The trip decode, call, encode through the echo module kind, and a frame's
// life around it.
#include "helpers/call.h"
#include "helpers/test.h"
#include "helpers/types.h"

typedef struct echo_row_t {
  const char *name;
  const char *types;
  const char *body;
  const char *answer;
} echo_row_t;

static const echo_row_t echoes[] = {
    {"nothing", "->", "[]", "{\"results\":[]}"},
    {"scalars", "i8, f32, i1 -> i8, f32, i1", "[1,2,true]",
     "{\"results\":[1,2.0,true]}"},
    {"tensor", "tensor<?x2xf32> -> tensor<?x2xf32>", "[[[1,2],[3,4.5]]]",
     "{\"results\":[[[1.0,2.0],[3.0,4.5]]]}"},
    {"bytes", "str, bytes -> str, bytes", "[\"h\\u00e9\",\"hi\"]",
     "{\"results\":[\"h\xc3\xa9\",{\"b64\":\"aGk=\"}]}"},
    {"containers",
     "[i8], (i8, str), {a: i8, b: [i8]} -> "
     "[i8], (i8, str), {a: i8, b: [i8]}",
     "[[1,2],[3,\"x\"],{\"b\":[],\"a\":4}]",
     "{\"results\":[[1,2],[3,\"x\"],{\"a\":4,\"b\":[]}]}"},
    {"int64 as strings", "i64, i32, tensor<1xui64> -> i64, i32, tensor<1xui64>",
     "{\"args\":[1,2,[3]],\"options\":{\"int64\":\"string\"}}",
     "{\"results\":[\"1\",2,[\"3\"]]}"},
    {"typed results", "tensor<?x2xi8> -> tensor<?x2xi8>",
     "{\"args\":[[]],\"options\":{\"results\":\"typed\"}}",
     "{\"results\":[{\"dtype\":\"i8\",\"shape\":[0,2],\"data\":[]}]}"},
    {"inout follows the results", "i8, inout y: tensor<2xf32> -> i8",
     "[7,[1,2]]", "{\"results\":[7,[1.0,2.0]]}"},
    {"out is not sent", "i8, out tensor<2xf32>, i8 -> i8", "[7,8]",
     "{\"results\":[7,[0.0,0.0]]}"},
    {"out sized by a name", "tensor<Nxi8>, out tensor<NxNxi8> -> tensor<Nxi8>",
     "[[1,2]]", "{\"results\":[[1,2],[[0,0],[0,0]]]}"},
    {"unknown", "any, any -> any, any",
     "[{\"dtype\":\"i8\",\"shape\":[1],\"data\":[1]},{\"list\":[null]}]",
     "{\"results\":[[1],[null]]}"},
};

static void values_come_back(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const echo_row_t, row, echoes) {
    fc_test_call_t call;
    fc_test_call_init(&call, row->types, NULL);
    char answer[1024];
    fc_error_t err;
    // Twice: the second call has a warm frame.
    for (int i = 0; i < 2; i++) {
      if (fc_test_call_echo(&call, fc_str(row->body), answer, sizeof answer,
                            &err)) {
        fail_msg("%s at %s", err.message, err.pointer);
      }
      assert_string_equal(answer, row->answer);
    }
    fc_test_call_deinit(&call);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(values_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
