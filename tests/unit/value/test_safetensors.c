// SPDX-License-Identifier: Apache-2.0
//
// Files with one tensor, whose data is "01234567". tests/e2e/test_faces.py reads files
// of the format's own library.
#include "value/safetensors.h"

#include <stdio.h>

#include "helpers/test.h"

#define NO_RANGE "it: data_offsets are no range of the data"
#define ONES_16 "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"

typedef struct row_t {
  const char *name;
  const char *tensor;
  const char *message;  // NULL: it is read
  fc_dtype_t dtype;
  int32_t rank;
  const char *bytes;
  bool untyped;
} row_t;

static const row_t rows[] = {
    {"all of it", "{\"dtype\":\"I8\",\"shape\":[2,1],\"data_offsets\":[1,3]}",
     NULL, FC_DTYPE_I8, 2, "12", false},
    {"in another order",
     "{\"data_offsets\":[4,8],\"shape\":[],\"x\":[{}],\"dtype\":\"F32\"}", NULL,
     FC_DTYPE_F32, 0, "4567", false},
    {"types are skipped",
     "{\"dtype\":\"F9\",\"shape\":\"?\",\"data_offsets\":[0,8]}", NULL,
     FC_DTYPE_NONE, -1, "01234567", true},
    {"no bytes", "{\"data_offsets\":[8,8]}", NULL, FC_DTYPE_NONE, -1, "",
     false},
    {"nothing", "{}", NULL, FC_DTYPE_NONE, -1, NULL, false},
    {"a type of others", "{\"dtype\":\"F9\"}", "no function takes dtype 'F9'",
     0, 0, NULL, false},
    {"behind the data", "{\"data_offsets\":[0,9]}", NO_RANGE, 0, 0, NULL,
     false},
    {"backwards", "{\"data_offsets\":[2,1]}", NO_RANGE, 0, 0, NULL, false},
    {"one end", "{\"data_offsets\":[0]}", NO_RANGE, 0, 0, NULL, false},
    {"four ends", "{\"data_offsets\":[0,1,2,3]}", NO_RANGE, 0, 0, NULL, false},
    {"no end", "{\"data_offsets\":[0,[]]}",
     "it: expected an array of whole numbers", 0, 0, NULL, false},
    {"a dim beyond all", "{\"shape\":[9223372036854775808]}",
     "it: too large a dim", 0, 0, NULL, false},
    {"33 dims", "{\"shape\":[" ONES_16 ONES_16 "1]}", "it: too many dims", 0, 0,
     NULL, false},
    {"50 dims", "{\"shape\":[" ONES_16 ONES_16 ONES_16 "1,1]}",
     "it: too many dims", 0, 0, NULL, false},
    {"an array", "[]", "expected an object, found an array", 0, 0, NULL, false},
    {"a number for its type", "{\"dtype\":32}",
     "expected a string, found a number", 0, 0, NULL, false},
};

static void tensors_are_read_or_refused(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    char text[400];
    fc_error_t err;
    bool more;
    fc_json_reader_t reader;
    fc_safetensor_t tensor;
    const fc_safetensors_t file = {&reader, FC_STR("01234567"),
                                   FC_CODE_MODULE_LOAD, "it: ", !row->untyped};
    snprintf(text, sizeof text, "{\"__metadata__\":{\"a\":\"b\"},\"x\":%s}",
             row->tensor);
    fc_json_reader_init(&reader, 16, 16);
    fc_json_reader_feed(&reader, text, strlen(text), true);
    assert_int_equal(fc_safetensors_next(&file, &more, &err), FC_OK);
    assert_true(more && fc_json_text_is(&reader, FC_STR("x")));
    const fc_status_t status = fc_safetensors_read(&file, &tensor, &err);
    assert_int_equal(status == FC_OK, row->message == NULL);
    if (row->message) {
      assert_string_equal(err.message, row->message);
      continue;
    }
    assert_int_equal(tensor.dtype, row->dtype);
    assert_int_equal(tensor.rank, row->rank);
    assert_int_equal(tensor.bytes.data != NULL, row->bytes != NULL);
    assert_true(!row->bytes || fc_str_equal(tensor.bytes, fc_str(row->bytes)));
    assert_int_equal(fc_safetensors_next(&file, &more, &err), FC_OK);
    assert_false(more);
  }
}

static void a_file_is_cut_behind_its_object(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_str_t file;
    size_t data;  // SIZE_MAX: it is refused
  } files[] = {
      {"none", {"", 0}, SIZE_MAX},
      {"a part of the size", {"\2\0\0\0\0\0\0", 7}, SIZE_MAX},
      {"no data", {"\2\0\0\0\0\0\0\0{}", 10}, 0},
      {"data", {"\2\0\0\0\0\0\0\0{}abc", 13}, 3},
      {"an object of one byte", {"\1\0\0\0\0\0\0\0{}", 10}, SIZE_MAX},
      {"an object behind the end", {"\3\0\0\0\0\0\0\0{}", 10}, SIZE_MAX},
      {"the greatest size",
       {"\377\377\377\377\377\377\377\377{}", 10},
       SIZE_MAX},
  };
  FC_TEST_EACH_ROW(const __typeof__(files[0]), row, files) {
    fc_str_t head, data;
    const bool cut = fc_safetensors_cut(row->file, &head, &data);
    assert_int_equal(cut, row->data != SIZE_MAX);
    assert_true(!cut || (head.size == 2 && data.size == row->data &&
                         data.data == row->file.data + 10));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(tensors_are_read_or_refused),
      FC_TEST(a_file_is_cut_behind_its_object),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
