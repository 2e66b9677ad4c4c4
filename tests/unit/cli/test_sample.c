// SPDX-License-Identifier: Apache-2.0
//
// Random arguments: they have the example's shape, and each value is in its type's
// range.
#include "helpers/test.h"

#include <yyjson.h>

#include "sample.h"

static char *draw(const char *example, bool integers) {
  fc_error_t err;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  assert_int_equal(fc_sample_draw(fc_str(example), integers, &text.sink, &err),
                   FC_OK);
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
      {"a name that ends", "{\"kwargs\":{\"0\\\\\":[],\"a\\\"1\":null}}"},
      {"an end in a name", "[\"0"},
      {"shape", "[{\"dtype\":\"f32\",\"shape\":[0,3],\"data\":[]}]"},
  };
  FC_TEST_EACH_ROW(const struct row, row, rows) {
    char *drawn = draw(row->example, true);
    assert_string_equal(drawn, row->example);
    free(drawn);
  }
}

typedef struct leaf_t {
  const char *name;  // as JSON pointer
  size_t count;
  int kind;  // 'f', 'i' or 'b'
} leaf_t;

static const leaf_t leaves[] = {
    {"/0/0", 3, 'f'}, {"/0/1", 3, 'f'}, {"/1", 8, 'i'}, {"/2", 1, 'b'}};

static void check(yyjson_val *value, int kind) {
  if (kind == 'b') {
    assert_true(yyjson_is_bool(value));
  } else if (kind == 'i') {
    assert_true(yyjson_is_uint(value) && yyjson_get_uint(value) < 8);
  } else {
    assert_true(yyjson_is_real(value));
    assert_true(yyjson_get_real(value) >= -2 && yyjson_get_real(value) < 2);
  }
}

static void numbers_are_drawn(void **state) {
  (void)state;
  static const char example[] =
      "[[[0.0,0.0,0.0],[0.0,0.0,0.0]],[0,0,0,0,0,0,0,0],[false]]";
  char *one = draw(example, true), *other = draw(example, true);
  assert_string_equal(one, other);  // always the same ones
  yyjson_doc *doc = yyjson_read(one, strlen(one), 0);
  FC_TEST_EACH_ROW(const leaf_t, row, leaves) {
    yyjson_val *list = yyjson_doc_ptr_get(doc, row->name), *item;
    assert_int_equal(yyjson_arr_size(list), row->count);
    size_t index, count;
    yyjson_arr_foreach(list, index, count, item) check(item, row->kind);
  }
  assert_null(strstr(one, "0.000000,0.000000,0.000000"));
  yyjson_doc_free(doc);
  free(one);
  free(other);
}

static void integers_stay_unless_they_are_wanted(void **state) {
  (void)state;
  char *drawn = draw("[[[0,0],[0,0]],0,-1,{\"0\":7},0.0]", false);
  assert_memory_equal(drawn, "[[[0,0],[0,0]],0,-1,{\"0\":7},", 28);
  assert_string_not_equal(drawn + 28, "0.0]");
  free(drawn);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_shapes_stay),
      cmocka_unit_test(numbers_are_drawn),
      cmocka_unit_test(integers_stay_unless_they_are_wanted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
