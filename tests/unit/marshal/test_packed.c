// SPDX-License-Identifier: Apache-2.0
//
// Values as JSON, then as files of tensors or as raw bytes after a document, then as
// JSON again, with the echo module kind. tests/e2e/test_faces.py writes and reads such
// files with real NumPy; tests/http/cases has the answers to mistakes.
#include "marshal/packed.h"

#include <stdio.h>
#include <stdlib.h>

#include "helpers/call.h"
#include "helpers/test.h"
#include "helpers/types.h"
#include "marshal/frame.h"
#include "marshal/framed.h"
#include "value/zip.h"

enum { JSON = -2, FRAMED = -1 };

typedef struct body_t {
  fc_text_t text;
  uint64_t document;
} body_t;

static fc_status_t decode(fc_frame_t *frame, int form, fc_str_t body,
                          uint64_t document, fc_error_t *err) {
  if (form == JSON) return fc_frame_decode(frame, body, err);
  if (form == FRAMED) return fc_framed_decode(frame, body, document, err);
  return fc_packed_decode(frame, (fc_packed_t)form, body, SIZE_MAX, err);
}

static fc_status_t encode(fc_frame_t *frame, int form, body_t *out,
                          fc_error_t *err) {
  fc_sink_t *sink = &out->text.sink;
  if (form == JSON) return fc_frame_encode(frame, sink, err);
  if (form == FRAMED) {
    return fc_framed_encode(frame, sink, &out->document, err);
  }
  return fc_packed_encode(frame, (fc_packed_t)form, sink, err);
}

// The body begins where a tensor would be aligned, and its memory ends with its last
// byte.
static fc_status_t echo(fc_test_call_t *call, int from, fc_str_t body,
                        uint64_t document, int to, body_t *out,
                        fc_error_t *err) {
  fc_error_reset(err);
  fc_frame_begin(call->frame, call->plan, NULL);
  FC_TRY(decode(call->frame, from, body, document, err));
  FC_TRY(fc_frame_invoke(call->frame, &fc_backend_echo, &call->echo, 0, NULL, 0,
                         err));
  out->document = 0;
  fc_text_reset(&out->text);
  return encode(call->frame, to, out, err);
}

// Makes the answer {"results":X} a call document {"args":X} of the same size, so that
// the bytes after it keep their offset.
static void results_as_arguments(body_t *body) {
  static const char kResults[] = "{\"results\":";
  assert_memory_equal(body->text.data, kResults, sizeof kResults - 1);
  memcpy(body->text.data, "{   \"args\":", sizeof kResults - 1);
}

typedef struct row_t {
  const char *name;
  const char *types;
  const char *values;
  bool several;  // so no .npy file
} row_t;

static const row_t rows[] = {
    {"one", "tensor<?x2xf32> -> tensor<?x2xf32>", "[[[1.0,2.0],[3.0,-0.0]]]",
     false},
    {"a scalar", "i64 -> i64", "[-9223372036854775808]", false},
    {"no dims", "tensor<f64> -> tensor<f64>", "[0.1]", false},
    {"nothing in it", "tensor<?x2xi16> -> tensor<?x2xi16>", "[[]]", false},
    {"booleans", "tensor<3xi1> -> tensor<3xi1>", "[[true,false,true]]", false},
    {"a sign of its own", "tensor<2xsi32> -> tensor<2xsi32>", "[[-1,2]]",
     false},
    {"without a sign", "tensor<2xui8> -> tensor<2xui8>", "[[255,0]]", false},
    {"index", "tensor<2xindex> -> tensor<2xindex>", "[[1,2]]", false},
    {"half", "tensor<2xf16> -> tensor<2xf16>", "[[0.1,65500.0]]", false},
    {"any rank", "tensor<*xi8> -> tensor<*xi8>", "[[[1,2],[3,4]]]", false},
    {"several",
     "tensor<Nxi8>, tensor<Nx2xf32>, i32 -> tensor<Nxi8>, "
     "tensor<Nx2xf32>, i32",
     "[[1,2],[[1.0,2.0],[3.0,4.0]],7]", true},
    {"three",
     "tensor<2xi8>, tensor<1xi8>, tensor<?xi8> -> tensor<2xi8>, tensor<1xi8>, "
     "tensor<?xi8>",
     "[[1,2],[3],[4,5,6]]", true},
    {"parts",
     "(i8, {a: tensor<2xf32>, b: ()}) -> (i8, {a: tensor<2xf32>, b: ()})",
     "[[1,{\"a\":[1.0,2.0],\"b\":[]}]]", true},
    {"text", "str, i8 -> str, i8", "[\"h\xc3\xa9\",1]", true},
};

static void values_come_back(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    fc_test_call_t call;
    body_t there = {0}, back = {0};
    fc_error_t err;
    char json[256], wanted[256];
    fc_test_call_init(&call, row->types, NULL);
    fc_text_init(&there.text, fc_allocator_system(), SIZE_MAX);
    fc_text_init(&back.text, fc_allocator_system(), SIZE_MAX);
    snprintf(json, sizeof json, "{\"args\":%s}", row->values);
    snprintf(wanted, sizeof wanted, "{\"results\":%s}", row->values);
    for (int form = FRAMED; form < FC_PACKED_COUNT; form++) {
      if (form == FC_PACKED_NPY && row->several) continue;
      if (echo(&call, JSON, fc_str(json), 0, form, &there, &err)) {
        fail_msg("form %d: %s", form, err.message);
      }
      if (form == FRAMED) results_as_arguments(&there);
      const fc_str_t file = fc_text_str(&there.text);
      // Decodes the file at an aligned and at an unaligned address.
      char *memory = aligned_alloc(64, (file.size + 128) & ~(size_t)63);
      assert_non_null(memory);
      for (size_t shift = 0; shift < 2; shift++) {
        memcpy(memory + shift, file.data, file.size);
        if (echo(&call, form, fc_str_make(memory + shift, file.size),
                 there.document, JSON, &back, &err)) {
          fail_msg("form %d back: %s", form, err.message);
        }
        const fc_str_t got = fc_text_str(&back.text);
        if (!fc_str_equal(got, fc_str(wanted))) {
          fail_msg("form %d: %.*s", form, FC_STR_ARG(got));
        }
      }
      free(memory);
    }
    fc_text_deinit(&there.text);
    fc_text_deinit(&back.text);
    fc_test_call_deinit(&call);
  }
}

// A file that is cut short, or in which one byte is changed, is refused or is another
// valid file. It never leads to an internal error.
static void damage_is_the_clients(void **state) {
  (void)state;
  fc_test_call_t call;
  body_t there = {0}, back = {0};
  fc_error_t err;
  fc_test_call_init(&call,
                    "tensor<?xi8>, tensor<2xf32> -> tensor<?xi8>, "
                    "tensor<2xf32>",
                    NULL);
  fc_text_init(&there.text, fc_allocator_system(), SIZE_MAX);
  fc_text_init(&back.text, fc_allocator_system(), SIZE_MAX);
  for (int form = FRAMED; form < FC_PACKED_COUNT; form++) {
    if (form == FC_PACKED_NPY) continue;
    assert_int_equal(
        echo(&call, JSON, FC_STR("[[1,2,3],[1,2]]"), 0, form, &there, &err),
        FC_OK);
    if (form == FRAMED) results_as_arguments(&there);
    const fc_str_t file = fc_text_str(&there.text);
    for (size_t i = 0; i < file.size; i++) {
      char *copy = malloc(file.size);
      assert_non_null(copy);
      memcpy(copy, file.data, file.size);
      copy[i] ^= 1;
      const bool flipped = echo(&call, form, fc_str_make(copy, file.size),
                                there.document, JSON, &back, &err) == FC_OK;
      assert_true(flipped || (err.code != FC_CODE_INTERNAL &&
                              err.code != FC_CODE_OUT_OF_MEMORY));
      char *cut = malloc(i + 1);
      assert_non_null(cut);
      memcpy(cut, file.data, i);
      assert_int_not_equal(echo(&call, form, fc_str_make(cut, i),
                                there.document, JSON, &back, &err),
                           FC_OK);
      free(cut);
      free(copy);
    }
  }
  fc_text_deinit(&there.text);
  fc_text_deinit(&back.text);
  fc_test_call_deinit(&call);
}

// numpy.savez names unnamed arrays arr_0, arr_1, ...
static void an_input_is_given_once(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *entries[2];  // NULL: the input's name
    bool good;
  } kFiles[] = {
      {"by position", {"arr_0.npy", "arr_1.npy"}, true},
      {"one of them", {NULL, "arr_1.npy"}, true},
      {"twice", {"arr_1.npy", "arr_1.npy"}, false},
      {"and by its name", {NULL, "arr_0.npy"}, false},
  };
  fc_test_call_t call;
  body_t there = {0}, back = {0};
  fc_error_t err;
  fc_test_call_init(&call, "i8, i8 -> i8, i8", NULL);
  fc_text_init(&there.text, fc_allocator_system(), SIZE_MAX);
  fc_text_init(&back.text, fc_allocator_system(), SIZE_MAX);
  assert_int_equal(
      echo(&call, JSON, FC_STR("[1,2]"), 0, FC_PACKED_NPZ, &there, &err),
      FC_OK);
  FC_TEST_EACH_ROW(const __typeof__(kFiles[0]), row, kFiles) {
    fc_zip_t zip;
    fc_zip_part_t parts[2] = {0};
    fc_text_t file;
    assert_int_equal(fc_zip_open(fc_text_str(&there.text), &zip, &err), FC_OK);
    for (int i = 0; i < 2; i++) {
      fc_zip_entry_t entry;
      bool more;
      assert_int_equal(fc_zip_next(&zip, &entry, &more, &err), FC_OK);
      parts[i].name = row->entries[i] ? fc_str(row->entries[i]) : entry.name;
      parts[i].data = entry.packed;
    }
    fc_text_init(&file, fc_allocator_system(), SIZE_MAX);
    assert_int_equal(fc_zip_print(parts, 2, &file.sink, &err), FC_OK);
    const fc_status_t status =
        echo(&call, FC_PACKED_NPZ, fc_text_str(&file), 0, JSON, &back, &err);
    assert_int_equal(status == FC_OK, row->good);
    if (row->good) {
      assert_true(
          fc_str_equal(fc_text_str(&back.text), FC_STR("{\"results\":[1,2]}")));
    } else {
      assert_int_equal(err.code, FC_CODE_UNKNOWN_ARGUMENT);
    }
    fc_text_deinit(&file);
  }
  fc_text_deinit(&there.text);
  fc_text_deinit(&back.text);
  fc_test_call_deinit(&call);
}

// In a file, bytes have a shape, too.
static void bytes_are_as_many_as_their_shape_says(void **state) {
  (void)state;
  static const struct {
    const char *name, *shape;
    bool good;
  } kRows[] = {{"as many", "[3]", true},
               {"more than there are", "[4]", false},
               {"fewer", "[2]", false},
               {"one", "[]", false},
               {"in two dims", "[3,1]", true}};
  fc_test_call_t call;
  body_t back = {0};
  fc_error_t err;
  fc_test_call_init(&call, "str -> str", NULL);
  fc_text_init(&back.text, fc_allocator_system(), SIZE_MAX);
  FC_TEST_EACH_ROW(const __typeof__(kRows[0]), row, kRows) {
    char file[128];
    const int size = snprintf(file + 8, sizeof file - 8,
                              "{\"0\":{\"dtype\":\"U8\",\"shape\":%s,"
                              "\"data_offsets\":[0,3]}}abc",
                              row->shape);
    const uint64_t head = (uint64_t)size - 3;
    memcpy(file, &head, sizeof head);
    const fc_status_t status =
        echo(&call, FC_PACKED_SAFETENSORS, fc_str_make(file, 8 + (size_t)size),
             0, JSON, &back, &err);
    assert_int_equal(status == FC_OK, row->good);
    if (row->good) {
      assert_true(fc_str_equal(fc_text_str(&back.text),
                               FC_STR("{\"results\":[\"abc\"]}")));
    } else {
      assert_int_equal(err.code, FC_CODE_DATA_LENGTH);
    }
  }
  fc_text_deinit(&back.text);
  fc_test_call_deinit(&call);
}

// An entry count of 65,535 means that there are more entries (zip64).
static void a_zip_has_fewer_entries_than_zip64(void **state) {
  (void)state;
  const uint32_t most = UINT16_MAX - 1;
  fc_zip_part_t *parts = calloc(most + 1, sizeof *parts);
  fc_text_t file;
  fc_zip_t zip;
  fc_error_t err;
  assert_non_null(parts);
  for (uint32_t i = 0; i <= most; i++) parts[i].name = FC_STR("x");
  fc_text_init(&file, fc_allocator_system(), SIZE_MAX);
  assert_int_not_equal(fc_zip_print(parts, most + 1, &file.sink, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_RESULT_TOO_LARGE);
  assert_int_equal(fc_zip_print(parts, most, &file.sink, &err), FC_OK);
  assert_int_equal(fc_zip_open(fc_text_str(&file), &zip, &err), FC_OK);
  assert_int_equal(zip.count, most);
  fc_text_deinit(&file);
  free(parts);
}

// The local header says that the entry's bytes begin after the end of the file.
static void an_entry_lies_in_its_zip(void **state) {
  (void)state;
  fc_test_call_t call;
  body_t there = {0}, back = {0};
  fc_error_t err;
  fc_test_call_init(&call, "i8 -> i8", NULL);
  fc_text_init(&there.text, fc_allocator_system(), SIZE_MAX);
  fc_text_init(&back.text, fc_allocator_system(), SIZE_MAX);
  assert_int_equal(
      echo(&call, JSON, FC_STR("[1]"), 0, FC_PACKED_NPZ, &there, &err), FC_OK);
  const fc_str_t file = fc_text_str(&there.text);
  char *copy = malloc(file.size);
  assert_non_null(copy);
  memcpy(copy, file.data, file.size);
  memset(copy + 28, 0x0F, 2);  // the size of the local head's extra field
  assert_int_equal(echo(&call, FC_PACKED_NPZ, fc_str_make(copy, file.size), 0,
                        JSON, &back, &err),
                   FC_INVALID_ARGUMENT);
  assert_string_equal(err.message, "not a zip file: an entry is cut off");
  free(copy);
  fc_text_deinit(&there.text);
  fc_text_deinit(&back.text);
  fc_test_call_deinit(&call);
}

// An aligned tensor is not copied. One that is not aligned is copied once.
static void bytes_stay_where_they_are(void **state) {
  (void)state;
  static const struct {
    int form;
    size_t shift;
    size_t copied;
  } kRows[] = {{FC_PACKED_NPY, 0, 0},
               {FC_PACKED_NPY, 1, 64},
               {FC_PACKED_SAFETENSORS, 0, 0},
               {FC_PACKED_SAFETENSORS, 4, 64},
               {FC_PACKED_SAFETENSORS, 1, 64}};
  fc_test_call_t call;
  body_t there = {0};
  fc_error_t err;
  fc_test_call_init(&call, "tensor<16xf32> -> tensor<16xf32>", NULL);
  fc_text_init(&there.text, fc_allocator_system(), SIZE_MAX);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    assert_int_equal(
        echo(&call, JSON, FC_STR("[[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]]"),
             0, kRows[i].form, &there, &err),
        FC_OK);
    const fc_str_t file = fc_text_str(&there.text);
    char *memory = aligned_alloc(64, 1024);
    assert_non_null(memory);
    memcpy(memory + kRows[i].shift, file.data, file.size);
    fc_frame_begin(call.frame, call.plan, NULL);
    assert_int_equal(
        decode(call.frame, kRows[i].form,
               fc_str_make(memory + kRows[i].shift, file.size), 0, &err),
        FC_OK);
    assert_int_equal(call.frame->copied, kRows[i].copied);
    fc_frame_end(call.frame);
    free(memory);
  }
  fc_text_deinit(&there.text);
  fc_test_call_deinit(&call);
}

static void what_has_no_such_form_is_said(void **state) {
  (void)state;
  static const struct {
    const char *types;
    fc_packed_t form;
    fc_code_t code;
  } kRows[] = {
      {"i8 -> i8, i8", FC_PACKED_NPY, FC_CODE_NOT_ACCEPTABLE},
      {"i8 -> tensor<2xbf16>", FC_PACKED_NPY, FC_CODE_NONE},
      {"i8 -> any", FC_PACKED_NPY, FC_CODE_NOT_ACCEPTABLE},
      {"i8 -> any", FC_PACKED_SAFETENSORS, FC_CODE_NOT_ACCEPTABLE},
      {"i8 -> tensor<2xbf16>", FC_PACKED_SAFETENSORS, FC_CODE_NONE},
      {"i8 -> [str]", FC_PACKED_NPZ, FC_CODE_UNSUPPORTED_TYPE},
      {"i8 -> [i8]", FC_PACKED_NPZ, FC_CODE_UNSUPPORTED_TYPE},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    fc_test_call_t call;
    fc_error_t err;
    fc_test_call_init(&call, kRows[i].types, NULL);
    fc_error_reset(&err);
    fc_frame_begin(call.frame, call.plan, NULL);
    (void)fc_packed_check(call.frame, kRows[i].form, &err);
    assert_int_equal(err.code, kRows[i].code);
    fc_test_call_deinit(&call);
  }
}

static fc_status_t whole_life(fc_allocator_t allocator, void *context,
                              fc_error_t *err) {
  const fc_signature_t *signature = context;
  fc_plan_t *plan = NULL;
  fc_frame_t *frame = NULL;
  fc_text_t text, back;
  fc_text_init(&text, allocator, SIZE_MAX);
  fc_text_init(&back, allocator, SIZE_MAX);
  fc_status_t status = fc_plan_create(signature, allocator, &plan, err);
  if (status == FC_OK) status = fc_frame_create(allocator, NULL, &frame, err);
  for (int form = FC_PACKED_NPZ; status == FC_OK && form < FC_PACKED_COUNT;
       form++) {
    size_t count;
    fc_text_reset(&text);
    fc_text_reset(&back);
    fc_frame_begin(frame, plan, NULL);
    status = fc_frame_decode(frame, FC_STR("[[1,[1,2]]]"), err);
    if (status == FC_OK) {
      fc_value_t *values = fc_frame_arguments(frame, &count);
      fc_frame_set_results(frame, values, count);
      status = fc_packed_encode(frame, (fc_packed_t)form, &text.sink, err);
    }
    if (status != FC_OK) break;
    fc_frame_begin(frame, plan, NULL);
    status = fc_packed_decode(frame, (fc_packed_t)form, fc_text_str(&text),
                              SIZE_MAX, err);
  }
  fc_text_deinit(&back);
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
      FC_TEST(damage_is_the_clients),
      FC_TEST(an_input_is_given_once),
      FC_TEST(bytes_are_as_many_as_their_shape_says),
      FC_TEST(a_zip_has_fewer_entries_than_zip64),
      FC_TEST(an_entry_lies_in_its_zip),
      FC_TEST(bytes_stay_where_they_are),
      FC_TEST(what_has_no_such_form_is_said),
      FC_TEST(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
