// SPDX-License-Identifier: Apache-2.0
//
// Values that are put into a store, and read from it, in each form.
#include "marshal/values.h"

#include <stdio.h>
#include <unistd.h>

#include "helpers/test.h"
#include "marshal/packed.h"
#include "marshal/stored.h"

typedef struct world_t {
  int file;
  fc_store_t store;
  fc_store_desk_t desk;
  fc_frame_t *frame;
  fc_text_t text;
} world_t;

static void open_world(world_t *it) {
  fc_error_t err = {0};
  *it = (world_t){0};
  assert_int_equal(fc_store_make_slab(&it->file, &err), FC_OK);
  fc_store_init(&it->store);
  fc_store_open(&it->store, it->file);
  it->desk = (fc_store_desk_t){.end = 1 << 30, .budget = 1 << 20};
  assert_int_equal(
      fc_frame_create(fc_allocator_system(), NULL, &it->frame, &err), FC_OK);
  fc_text_init(&it->text, fc_allocator_system(), SIZE_MAX);
}

static void close_world(world_t *it) {
  fc_frame_destroy(it->frame);
  fc_store_deinit(&it->store);
  fc_text_deinit(&it->text);
  close(it->file);
}

static void begin(world_t *it, const fc_values_t *values) {
  fc_text_reset(&it->text);
  fc_store_begin(&it->store, &it->desk);
  fc_frame_begin(it->frame, values->plan, NULL);
  fc_frame_set_store(it->frame, &it->store);
}

static fc_status_t put_text(world_t *it, const char *name, const char *body,
                            bool if_absent, fc_error_t *err) {
  fc_values_t values;
  FC_TRY(fc_values_put(fc_str(name), fc_allocator_system(), &values, err));
  begin(it, &values);
  fc_status_t status = fc_values_decode(it->frame, fc_str(body), err);
  if (status == FC_OK) {
    status = fc_values_keep(it->frame, fc_str(name), if_absent, err);
  }
  if (status == FC_OK) status = fc_frame_encode(it->frame, &it->text.sink, err);
  fc_frame_end(it->frame);
  fc_values_deinit(&values);
  return status;
}

static fc_status_t get(world_t *it, const char *name, const char *slice,
                       int form, fc_error_t *err) {
  fc_values_t values;
  FC_TRY(fc_values_get(&it->desk, fc_str(name), fc_str(slice),
                       fc_allocator_system(), &values, err));
  begin(it, &values);
  fc_status_t status = fc_values_read(&values, it->frame, err);
  if (status == FC_OK) {
    status = form < 0 ? fc_frame_encode(it->frame, &it->text.sink, err)
                      : fc_packed_encode(it->frame, (fc_packed_t)form,
                                         &it->text.sink, err);
  }
  fc_frame_end(it->frame);
  fc_values_deinit(&values);
  return status;
}

static void expect_text(const world_t *it, const char *wanted) {
  const fc_str_t text = fc_text_str(&it->text);
  if (text.size != strlen(wanted)) fail_msg("%.*s", FC_STR_ARG(text));
  assert_memory_equal(text.data, wanted, text.size);
}

#define MATRIX "{\"dtype\":\"i16\",\"shape\":[3,2],\"data\":[1,2,3,4,5,6]}"

#define LIST "{\"list\":[{\"bytes\":\"abc\"}," MATRIX ",null]}"
#define LIST_ANSWER                                           \
  "{\"results\":[{\"list\":[{\"bytes\":{\"b64\":\"YWJj\"}},{" \
  "\"dtype\":\"i16\",\"shape\":[3,2],\"data\":[[1,2],[3,4],[5,6]]},null]}]}"

typedef struct slice_row_t {
  const char *name;    // the slice
  const char *answer;  // NULL: it is refused
} slice_row_t;

#define CUT(shape, data) \
  "{\"results\":[{\"dtype\":\"i16\",\"shape\":" shape ",\"data\":" data "}]}"

static const slice_row_t slices[] = {
    {"", CUT("[3,2]", "[[1,2],[3,4],[5,6]]")},
    {"1", CUT("[1,2]", "[[3,4]]")},
    {"1:", CUT("[2,2]", "[[3,4],[5,6]]")},
    {":2,1", CUT("[2,1]", "[[2],[4]]")},
    {":,1:2", CUT("[3,1]", "[[2],[4],[6]]")},
    {"3:3", CUT("[0,2]", "[]")},
    {"3", NULL},
    {"0:4", NULL},
    {"2:1", NULL},
    {"0,0,0", NULL},
    {"x", NULL},
    {"0:1x", NULL},
    {",", NULL},
    {"99999999999999999999", NULL},
    {"-1", NULL},
};

static void values_go_in_and_come_out(void **state) {
  (void)state;
  world_t it;
  fc_error_t err = {0};
  open_world(&it);
  assert_int_equal(put_text(&it, "m", MATRIX, true, &err), FC_OK);
  expect_text(&it, "{\"results\":[{\"ref\":\"m\",\"type\":{\"kind\":\"tensor\","
                   "\"dtype\":\"i16\",\"shape\":[3,2]}}]}");
  FC_TEST_EACH_ROW(const slice_row_t, row, slices) {
    fc_error_t why = {0};
    const fc_status_t status = get(&it, "m", row->name, -1, &why);
    assert_int_equal(status == FC_OK, row->answer != NULL);
    if (row->answer) expect_text(&it, row->answer);
    else assert_int_equal(why.code, FC_CODE_UNKNOWN_FIELD);
  }
  assert_int_equal(put_text(&it, "b", "{\"bytes\":\"abc\"}", false, &err),
                   FC_OK);
  assert_int_equal(get(&it, "b", "", -1, &err), FC_OK);
  expect_text(&it, "{\"results\":[{\"b64\":\"YWJj\"}]}");
  assert_int_equal(
      put_text(&it, "s", "{\"dtype\":\"f32\",\"data\":1.5}", false, &err),
      FC_OK);
  assert_int_equal(get(&it, "s", "", -1, &err), FC_OK);
  expect_text(&it, "{\"results\":[1.5]}");
  assert_int_equal(put_text(&it, "l", LIST, true, &err), FC_OK);
  assert_int_equal(get(&it, "l", "", -1, &err), FC_OK);
  expect_text(&it, LIST_ANSWER);
  assert_int_equal(get(&it, "l", "0", -1, &err), FC_INVALID_ARGUMENT);
  assert_int_equal(err.code, FC_CODE_UNKNOWN_FIELD);
  for (int form = 0; form < FC_PACKED_COUNT; form++) {
    assert_int_not_equal(get(&it, "l", "", form, &err), FC_OK);
    assert_true(err.code == FC_CODE_UNSUPPORTED_TYPE ||
                err.code == FC_CODE_NOT_ACCEPTABLE);
  }
  close_world(&it);
}

typedef struct wrong_row_t {
  const char *name, *key, *body;
  fc_code_t code;
} wrong_row_t;

static const wrong_row_t wrongs[] = {
    {"no type", "x", "[1,2]", FC_CODE_UNTYPED_VALUE},
    {"a bad name", "a/b", MATRIX, FC_CODE_JSON_SCHEMA},
    {"there is one", "m", MATRIX, FC_CODE_PRECONDITION_FAILED},
    {"a list of no types", "x", "{\"list\":[1]}", FC_CODE_UNTYPED_VALUE},
    {"null", "x", "null", FC_CODE_TYPE_MISMATCH},
    {"two values", "x", MATRIX MATRIX, FC_CODE_JSON_SYNTAX},
    {"nothing", "x", "", FC_CODE_JSON_SYNTAX},
    {"itself", "x", "{\"ref\":\"y\"}", FC_CODE_REFERENCE_UNKNOWN},
    {"over the budget", "x",
     "{\"dtype\":\"i8\",\"shape\":[2000000],\"b64\":\"\"}",
     FC_CODE_DATA_LENGTH},
};

static void wrong_values_are_refused(void **state) {
  (void)state;
  world_t it;
  fc_error_t err = {0};
  open_world(&it);
  assert_int_equal(put_text(&it, "m", MATRIX, true, &err), FC_OK);
  FC_TEST_EACH_ROW(const wrong_row_t, row, wrongs) {
    fc_error_t why = {0};
    assert_int_not_equal(put_text(&it, row->key, row->body, true, &why), FC_OK);
    assert_int_equal(why.code, row->code);
    assert_int_equal(it.desk.count, 1);
  }
  assert_int_not_equal(get(&it, "none", "", -1, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_REFERENCE_UNKNOWN);
  // A value can be put as a copy of another, by the other's name.
  assert_int_equal(put_text(&it, "n", "{\"ref\":\"m\"}", true, &err), FC_OK);
  assert_int_equal(get(&it, "n", "2", -1, &err), FC_OK);
  expect_text(&it, CUT("[1,2]", "[[5,6]]"));
  close_world(&it);
}

static fc_status_t import(world_t *it, fc_str_t file, fc_error_t *err) {
  fc_values_t values;
  FC_TRY(fc_values_put(FC_STR("x"), fc_allocator_system(), &values, err));
  begin(it, &values);
  const fc_status_t status = file.size && file.data[0] == '{'
                                 ? fc_values_fill(it->frame, file, err)
                                 : fc_values_import(it->frame, file, err);
  fc_frame_end(it->frame);
  fc_values_deinit(&values);
  return status;
}

static void what_is_exported_can_be_imported(void **state) {
  (void)state;
  world_t it, other;
  fc_error_t err = {0};
  open_world(&it);
  open_world(&other);
  assert_int_equal(put_text(&it, "m", MATRIX, true, &err), FC_OK);
  assert_int_equal(
      put_text(&it, "h",
               "{\"dtype\":\"f32\",\"shape\":[2],\"data\":[0.5,\"NaN\"]}", true,
               &err),
      FC_OK);
  assert_int_equal(get(&it, "", "", FC_PACKED_SAFETENSORS, &err), FC_OK);
  assert_int_equal(import(&other, fc_text_str(&it.text), &err), FC_OK);
  assert_int_equal(other.desk.count, 2);
  assert_int_equal(get(&other, "h", "", -1, &err), FC_OK);
  expect_text(&other,
              "{\"results\":[{\"dtype\":\"f32\",\"shape\":[2],\"data\":[0.5,"
              "\"NaN\"]}]}");
  // A file is not imported twice, and other bytes are refused.
  assert_int_not_equal(import(&other, fc_text_str(&it.text), &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_BINARY_FRAMING);
  assert_int_not_equal(import(&other, FC_STR("abc"), &err), FC_OK);
  // One value is read as a NumPy array.
  assert_int_equal(get(&it, "m", "1", FC_PACKED_NPY, &err), FC_OK);
  const fc_str_t npy = fc_text_str(&it.text);
  assert_memory_equal(npy.data + npy.size - 4, "\3\0\4\0", 4);
  close_world(&it);
  close_world(&other);
}

// Puts values as .npy, .npz and safetensors. In the last two the tensor has the value's
// name.
static void files_are_put(void **state) {
  (void)state;
  static const fc_packed_t forms[] = {FC_PACKED_NPY, FC_PACKED_NPZ,
                                      FC_PACKED_SAFETENSORS};
  for (size_t i = 0; i < FC_ARRAY_COUNT(forms); i++) {
    world_t it, other;
    fc_error_t err = {0};
    fc_values_t values;
    open_world(&it);
    open_world(&other);
    assert_int_equal(put_text(&it, "m", MATRIX, true, &err), FC_OK);
    assert_int_equal(get(&it, "m", "1:", (int)forms[i], &err), FC_OK);
    assert_int_equal(
        fc_values_put(FC_STR("m"), fc_allocator_system(), &values, &err),
        FC_OK);
    begin(&other, &values);
    assert_int_equal(fc_packed_decode(other.frame, forms[i],
                                      fc_text_str(&it.text), 4096, &err),
                     FC_OK);
    assert_int_equal(fc_values_keep(other.frame, FC_STR("m"), true, &err),
                     FC_OK);
    assert_int_equal(fc_frame_encode(other.frame, &other.text.sink, &err),
                     FC_OK);
    fc_frame_end(other.frame);
    fc_values_deinit(&values);
    assert_int_equal(get(&other, "m", "", -1, &err), FC_OK);
    expect_text(&other, CUT("[2,2]", "[[3,4],[5,6]]"));
    close_world(&it);
    close_world(&other);
  }
}

typedef struct fill_row_t {
  const char *name;  // the document
  uint32_t count;    // of values; 0: it is refused
  fc_code_t code;
} fill_row_t;

static const fill_row_t fills[] = {
    {"{\"values\":{\"a\":" MATRIX ",\"b\":{\"bytes\":\"abc\"},\"s\":{\"dtype\":"
     "\"f32\",\"data\":1.5},\"c\":{\"ref\":\"a\"},"
     "\"l\":" LIST "}}",
     5, FC_CODE_NONE},
    {"{\"ttl_ms\":1,\"values\":{\"a\":" MATRIX "},\"x\":[{}]}", 1,
     FC_CODE_NONE},
    {"{\"values\":{\"a/b\":" MATRIX "}}", 0, FC_CODE_JSON_SCHEMA},
    {"{\"values\":{\"a\":" MATRIX ",\"a\":" MATRIX "}}", 0,
     FC_CODE_JSON_SCHEMA},
    {"{\"values\":[]}", 0, FC_CODE_JSON_SCHEMA},
    {"{\"values\":{\"a\":[1]}}", 0, FC_CODE_UNTYPED_VALUE},
    {"{\"values\":{\"a\":null}}", 0, FC_CODE_TYPE_MISMATCH},
    {"{\"values\":{\"a\":{\"ref\":\"b\"}}}", 0, FC_CODE_REFERENCE_UNKNOWN},
    {"{\"values\":{}} 1", 0, FC_CODE_JSON_SYNTAX},
};

static void a_document_has_values(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const fill_row_t, row, fills) {
    world_t it;
    fc_error_t err = {0};
    open_world(&it);
    const fc_status_t status = import(&it, fc_str(row->name), &err);
    assert_int_equal(status == FC_OK, row->count != 0);
    assert_int_equal(err.code, row->code);
    if (row->count) {
      assert_int_equal(it.desk.count, row->count);
      assert_int_equal(get(&it, "a", "2", -1, &err), FC_OK);
      expect_text(&it, CUT("[1,2]", "[[5,6]]"));
    }
    if (row->count > 1) {
      assert_int_equal(get(&it, "c", "2", -1, &err), FC_OK);
      expect_text(&it, CUT("[1,2]", "[[5,6]]"));
      assert_int_equal(get(&it, "s", "", -1, &err), FC_OK);
      expect_text(&it, "{\"results\":[1.5]}");
      assert_int_equal(get(&it, "l", "", -1, &err), FC_OK);
      expect_text(&it, LIST_ANSWER);
    }
    close_world(&it);
  }
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  world_t *it = context;
  fc_values_t get_values = {0}, put_values = {0};
  fc_status_t status = fc_values_get(&it->desk, FC_STR(""), FC_STR(""),
                                     allocator, &get_values, err);
  if (status == FC_OK) {
    status = fc_values_put(FC_STR("x"), allocator, &put_values, err);
  }
  fc_values_deinit(&get_values);
  fc_values_deinit(&put_values);
  return status;
}

static void every_failed_allocation_is_an_error(void **state) {
  (void)state;
  world_t it;
  fc_error_t err = {0};
  open_world(&it);
  assert_int_equal(put_text(&it, "m", MATRIX, true, &err), FC_OK);
  assert_true(fc_test_allocation_sweep(attempt, &it) > 4);
  close_world(&it);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(values_go_in_and_come_out),
      FC_TEST(wrong_values_are_refused),
      FC_TEST(what_is_exported_can_be_imported),
      FC_TEST(files_are_put),
      FC_TEST(a_document_has_values),
      FC_TEST(every_failed_allocation_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
