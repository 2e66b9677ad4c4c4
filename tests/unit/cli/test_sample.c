// SPDX-License-Identifier: Apache-2.0
//
// Arguments that are drawn: of the example's shape, and each within what its type takes.
#include "helpers/test.h"

#include <yyjson.h>

#include "sample.h"

static char *draw(const char *example) {
  fc_error_t err;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  assert_int_equal(fc_sample_draw(fc_str(example), &text.sink, &err), FC_OK);
  const fc_str_t drawn = fc_text_str(&text);
  char *copy = strndup(drawn.data, drawn.size);
  fc_text_deinit(&text);
  return copy;
}

static void names_and_shapes_stay(void **state) {
  (void)state;
  static const struct row {
    const char *name, *example;
  } rows[] = {
      {"nothing", "[]"},
      {"names", "{\"kwargs\":{\"x\":\"text\",\"y\":null,\"z\":[]}}"},
      {"shape", "[{\"dtype\":\"f32\",\"shape\":[0,3],\"data\":[]}]"},
  };
  FC_TEST_EACH_ROW(const struct row, row, rows) {
    char *drawn = draw(row->example);
    assert_string_equal(drawn, row->example);
    free(drawn);
  }
}

static void check_leaf(yyjson_val *was, yyjson_val *is, size_t *seen) {
  if (yyjson_is_arr(was)) {
    assert_int_equal(yyjson_arr_size(was), yyjson_arr_size(is));
    for (size_t i = 0; i < yyjson_arr_size(was); i++) {
      check_leaf(yyjson_arr_get(was, i), yyjson_arr_get(is, i), seen);
    }
    return;
  }
  (*seen)++;
  if (yyjson_is_real(was)) {
    assert_true(yyjson_is_real(is));
    assert_true(yyjson_get_real(is) >= -2 && yyjson_get_real(is) < 2);
  } else if (yyjson_is_int(was)) {
    assert_true(yyjson_is_int(is) && yyjson_get_uint(is) < 8);
  } else {
    assert_true(yyjson_is_bool(is));
  }
}

static void numbers_are_drawn(void **state) {
  (void)state;
  static const char example[] =
      "[[[0.0,0.0,0.0],[0.0,0.0,0.0]],[0,0,0,0,0,0,0,0],false,0]";
  char *one = draw(example), *other = draw(example);
  assert_string_equal(one, other);  // always the same ones
  yyjson_doc *was = yyjson_read(example, strlen(example), 0),
             *is = yyjson_read(one, strlen(one), 0);
  size_t seen = 0;
  check_leaf(yyjson_doc_get_root(was), yyjson_doc_get_root(is), &seen);
  assert_int_equal(seen, 16);
  assert_null(strstr(one, "0.0,0.0"));
  yyjson_doc_free(was);
  yyjson_doc_free(is);
  free(one);
  free(other);
}

static void what_is_no_json_is_refused(void **state) {
  (void)state;
  fc_error_t err;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  assert_int_not_equal(fc_sample_draw(FC_STR("[1,"), &text.sink, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_JSON_SYNTAX);
  fc_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_shapes_stay),
      cmocka_unit_test(numbers_are_drawn),
      cmocka_unit_test(what_is_no_json_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
