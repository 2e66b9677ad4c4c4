// SPDX-License-Identifier: Apache-2.0
//
// Results of an answer, as nested lists and as text for people.
#include "helpers/arena.h"

#include <stdio.h>

#include "result.h"

#define LIMIT ((size_t)1 << 20)

typedef struct result_row_t {
  const char *name;
  const char *json;
  const char *nested;
  const char *elided;
} result_row_t;

static const result_row_t results[] = {
    {"a number", "3.50", "3.50", "3.50"},
    {"a text", "\"a\\n\"", "\"a\\n\"", "\"a\\n\""},
    {"words", "[true,false,null]", "[true,false,null]", "[true,false,null]"},
    {"lists", "[[1,[2,3]],[],[[]]]", "[[1,[2,3]],[],[[]]]",
     "[[1,[2,3]],[],[[]]]"},
    {"objects", "{\"a\":1,\"b\":{},\"c\":{\"d\":[2]}}",
     "{\"a\":1,\"b\":{},\"c\":{\"d\":[2]}}",
     "{\"a\":1,\"b\":{},\"c\":{\"d\":[2]}}"},
    {"a flat tensor", "{\"dtype\":\"i32\",\"shape\":[2,2],\"data\":[1,2,3,4]}",
     "[[1,2],[3,4]]", "2x2xi32=[[1,2],[3,4]]"},
    {"a nested one",
     "{\"dtype\":\"f32\",\"shape\":[1,2],\"data\":[[1,\"NaN\"]]}",
     "[[1.0,\"NaN\"]]", "1x2xf32=[[1.0,\"NaN\"]]"},
    {"bytes", "{\"dtype\":\"si16\",\"shape\":[2],\"b64\":\"AQD//w==\"}",
     "[1,-1]", "2xsi16=[1,-1]"},
    {"no elements", "{\"dtype\":\"f32\",\"shape\":[2,0],\"data\":[[],[]]}",
     "[[],[]]", "2x0xf32=[[],[]]"},
    {"no dims", "{\"dtype\":\"f32\",\"shape\":[],\"data\":2}", "2.0",
     "f32=2.0"},
    {"tensors among others",
     "{\"x\":[{\"dtype\":\"i8\",\"shape\":[1],\"data\":[1]},2],\"y\":3}",
     "{\"x\":[[1],2],\"y\":3}", "{\"x\":[1xi8=[1],2],\"y\":3}"},
    {"a tensor that is none", "{\"dtype\":\"f31\",\"shape\":[],\"data\":2}",
     NULL, NULL},
    {"too few elements", "{\"dtype\":\"i8\",\"shape\":[3],\"data\":[1,2]}",
     NULL, NULL},
    {"cut off", "[1,", NULL, NULL},
};

static void assert_written(const char *json, fc_result_form_t form,
                           const char *wanted) {
  fc_json_reader_t reader;
  fc_json_token_t token;
  fc_error_t err;
  fc_text_t text;
  fc_error_reset(&err);
  fc_text_init(&text, fc_allocator_system(), LIMIT);
  fc_json_reader_init(&reader, FC_JSON_DEPTH_MAX, 100);
  fc_json_reader_feed(&reader, json, strlen(json), true);
  assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
  const fc_status_t status =
      fc_result_write(&fc_test_arena, &reader, token, form, &text.sink, &err);
  assert_int_equal(status == FC_OK, wanted != NULL);
  if (wanted && !fc_str_equal(fc_text_str(&text), fc_str(wanted))) {
    fail_msg("got %.*s", FC_STR_ARG(fc_text_str(&text)));
  }
  fc_text_deinit(&text);
}

static void results_are_written(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const result_row_t, row, results) {
    assert_written(row->json, FC_RESULT_NESTED, row->nested);
    assert_written(row->json, FC_RESULT_ELIDED, row->elided);
  }
}

// A result "{…"data":[0,0,…]}" of that shape, all zeros.
static const char *zeros(const char *shape, size_t count) {
  static char json[8192];
  size_t at = (size_t)snprintf(
      json, sizeof json, "{\"dtype\":\"i8\",\"shape\":[%s],\"data\":[", shape);
  for (size_t i = 0; i < count; i++) {
    at += (size_t)snprintf(json + at, sizeof json - at, "%s0", i ? "," : "");
  }
  snprintf(json + at, sizeof json - at, "]}");
  return json;
}

static void the_middle_of_large_tensors_is_left_out(void **state) {
  (void)state;
  assert_written(zeros("1001", 1001), FC_RESULT_ELIDED,
                 "1001xi8=[0,0,0,…,0,0,0]");
  assert_written(zeros("6,2,100", 1200), FC_RESULT_ELIDED,
                 "6x2x100xi8=["
                 "[[0,0,0,…,0,0,0],[0,0,0,…,0,0,0]],"
                 "[[0,0,0,…,0,0,0],[0,0,0,…,0,0,0]],"
                 "[[0,0,0,…,0,0,0],[0,0,0,…,0,0,0]],"
                 "[[0,0,0,…,0,0,0],[0,0,0,…,0,0,0]],"
                 "[[0,0,0,…,0,0,0],[0,0,0,…,0,0,0]],"
                 "[[0,0,0,…,0,0,0],[0,0,0,…,0,0,0]]]");
  assert_written(zeros("1001,1", 1001), FC_RESULT_ELIDED,
                 "1001x1xi8=[[0],[0],[0],…,[0],[0],[0]]");
}

static void a_thousand_elements_are_all_shown(void **state) {
  (void)state;
  static char wanted[4096];
  size_t at = (size_t)snprintf(wanted, sizeof wanted, "1000xi8=[0");
  for (size_t i = 1; i < 1000; i++) {
    at += (size_t)snprintf(wanted + at, sizeof wanted - at, ",0");
  }
  snprintf(wanted + at, sizeof wanted - at, "]");
  assert_written(zeros("1000", 1000), FC_RESULT_ELIDED, wanted);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_WITH_ARENA(results_are_written),
      FC_TEST_WITH_ARENA(the_middle_of_large_tensors_is_left_out),
      FC_TEST_WITH_ARENA(a_thousand_elements_are_all_shown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
