// SPDX-License-Identifier: Apache-2.0
//
// Which call document is made of each form of --input.
#include "helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "input.h"

typedef struct input_row_t {
  const char *name;
  const char *input;
  const char *json;  // NULL: refused
  const char *message;
} input_row_t;

static const input_row_t rows[] = {
    {"tensor", "4xf32=1 2 3 4",
     "{\"dtype\":\"f32\",\"shape\":[4],\"data\":[1,2,3,4]}", NULL},
    {"commas and brackets", "2x2xi8=[[1,2],[-3,4]]",
     "{\"dtype\":\"i8\",\"shape\":[2,2],\"data\":[1,2,-3,4]}", NULL},
    {"one value fills", "2x2xf64=1e-3",
     "{\"dtype\":\"f64\",\"shape\":[2,2],\"data\":[1e-3,1e-3,1e-3,1e-3]}",
     NULL},
    {"empty", "0x3xf32=", "{\"dtype\":\"f32\",\"shape\":[0,3],\"data\":[]}",
     NULL},
    {"non-finite", "3xf32=nan inf -inf",
     "{\"dtype\":\"f32\",\"shape\":[3],\"data\":[\"NaN\",\"Infinity\","
     "\"-Infinity\"]}",
     NULL},
    {"booleans", "2xi1=true 0",
     "{\"dtype\":\"i1\",\"shape\":[2],\"data\":[true,0]}", NULL},
    {"typed scalar", "f32=1.5", "1.5", NULL},
    {"number", "3.14", "3.14", NULL},
    {"digits are kept", "9007199254740993", "9007199254740993", NULL},
    {"nan", "nan", "\"NaN\"", NULL},
    {"nested arrays", "[[1,2],[3,4]]", "[[1,2],[3,4]]", NULL},
    {"object", "{\"a\":1}", "{\"a\":1}", NULL},
    {"string with an equals sign", "\"a=b\"", "\"a=b\"", NULL},

    {"too few", "4xf32=1 2 3", NULL, "4xf32 wants 4 values, got 3"},
    {"too many", "2xf32=1 2 3", NULL, "2xf32 wants 2 values, got 3"},
    {"one for none", "0xf32=1", NULL, "0xf32 wants 0 values, got 1"},
    {"no number", "2xf32=1 x", NULL, "'x' is no number"},
    {"no JSON number", "2xf32=1 .5", NULL, "'.5' is no number"},
    {"leading zero", "2xf32=1 05", NULL, "'05' is no number"},
    {"two scalars", "f32=1 2", NULL, "is no number"},
    {"no value", "f32=", NULL, "is no number"},
    {"NumPy's name", "2xfloat32=1 2",
     "{\"dtype\":\"float32\",\"shape\":[2],\"data\":[1,2]}", NULL},
    {"unknown type", "4xf33=1 2 3 4", NULL,
     "'f33' is no element type; there are i1, "},
    {"dim overflows", "99999999999999999999xf32=1", NULL, "nor JSON"},
    {"shape overflows", "4294967296x4294967296x4294967296xf32=1", NULL,
     "overflows"},
    {"complex", "2xcomplex<f32>=1 2 3 4", NULL, "written as JSON"},
    {"neither", "zork", NULL, "neither a typed value"},
    {"a file without @", "/dev/null", NULL, "--input=@/dev/null reads it"},
    {"by name", "x=1", NULL,
     "'x' is no type; by name, arguments go as "
     "--json='{\"kwargs\":{\"x\":…}}'"},
    {"no type", "4x=1", NULL, "'' is no element type"},
    {"empty text", "", NULL, "neither a typed value"},
    {"JSON and more", "[1] 2", NULL, "nor JSON"},
    {"no such file", "@/nonexistent/x.npy", NULL, "cannot read"},
};

static void inputs_become_json(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const input_row_t, row, rows) {
    fc_arena_t arena;
    fc_text_t text;
    fc_error_t err = {0};
    fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
    fc_text_init(&text, fc_allocator_system(), 1u << 20);
    fc_status_t status =
        fc_input_print(&arena, "input", row->input, true, &text.sink, &err);
    if (row->json) {
      char got[256];
      snprintf(got, sizeof got, "%.*s", FC_STR_ARG(fc_text_str(&text)));
      assert_int_equal(status, FC_OK);
      assert_string_equal(got, row->json);
    } else {
      assert_int_not_equal(status, FC_OK);
      if (!strstr(err.message, row->message)) {
        fail_msg("'%s' lacks '%s'", err.message, row->message);
      }
    }
    fc_text_deinit(&text);
    fc_arena_deinit(&arena);
  }
}

static void a_type_without_dims_is_kept(void **state) {
  (void)state;
  fc_arena_t arena;
  fc_text_t text;
  fc_error_t err = {0};
  fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
  fc_text_init(&text, fc_allocator_system(), 1u << 20);
  assert_int_equal(
      fc_input_print(&arena, "input", "i64=6", false, &text.sink, &err), FC_OK);
  assert_int_equal(fc_sink_put(&text.sink, fc_str_make("", 1), &err), FC_OK);
  assert_string_equal(text.data,
                      "{\"dtype\":\"i64\",\"shape\":[],\"data\":[6]}");
  fc_text_deinit(&text);
  fc_arena_deinit(&arena);
}

// An NPY file: ten bytes, then the header, which ends in blanks.
#define NPY(descr, shape)                     \
  "\x93NUMPY\x01\x00\x36\x00{'descr':'" descr \
  "','fortran_order':False,'shape':" shape "}   "

static const struct {
  const char *name;
  const char *file;
  size_t size;
  const char *json;
  const char *type;  // stands before the '@'
} files[] = {
    {"a NaN of its own", NPY("<f4", "(1,2)") "\x01\x00\xc0\x7f\x00\x00\x80\xbf",
     64 + 8, "{\"dtype\":\"f32\",\"shape\":[1,2],\"b64\":\"AQDAfwAAgL8=\"}",
     NULL},
    {"signed", NPY("|i1", "(2, )") "\x01\xff", 64 + 2,
     "{\"dtype\":\"si8\",\"shape\":[2],\"b64\":\"Af8=\"}", NULL},
    {"unsigned", NPY("|u1", "(2, )") "\x01\xff", 64 + 2,
     "{\"dtype\":\"ui8\",\"shape\":[2],\"b64\":\"Af8=\"}", NULL},
    {"booleans", NPY("|b1", "(2, )") "\x01\x00", 64 + 2,
     "{\"dtype\":\"i1\",\"shape\":[2],\"b64\":\"AQA=\"}", NULL},
    {"no dims", NPY("|i1", "()   ") "\xff", 64 + 1,
     "{\"dtype\":\"si8\",\"shape\":[],\"b64\":\"/w==\"}", NULL},
    {"elements alone", "\x01\x00\x02\x00", 4,
     "{\"dtype\":\"i16\",\"shape\":[1,2],\"b64\":\"AQACAA==\"}", "1x2xi16="},
    {"one element", "\x01\x00", 2,
     "{\"dtype\":\"ui16\",\"shape\":[],\"b64\":\"AQA=\"}", "ui16="},
    {"too few bytes", "\x01\x00", 2, NULL, "3xi16="},
};

static void a_npy_file_goes_bit_for_bit(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(files[0]), row, files) {
    char path[] = "/tmp/farcall-test-XXXXXX", input[64];
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, row->file, row->size), row->size);
    close(file);
    fc_arena_t arena;
    fc_text_t text;
    fc_error_t err = {0};
    fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
    fc_text_init(&text, fc_allocator_system(), 1u << 20);
    snprintf(input, sizeof input, "%s@%s", row->type ? row->type : "", path);
    fc_status_t status =
        fc_input_print(&arena, "input", input, false, &text.sink, &err);
    unlink(path);
    char got[256];
    snprintf(got, sizeof got, "%.*s", FC_STR_ARG(fc_text_str(&text)));
    if (row->json) {
      assert_int_equal(status, FC_OK);
      assert_string_equal(got, row->json);
    } else if (!strstr(err.message, "has 6 bytes, the file 2")) {
      fail_msg("%s", err.message);
    }
    fc_text_deinit(&text);
    fc_arena_deinit(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(inputs_become_json),
      FC_TEST(a_type_without_dims_is_kept),
      FC_TEST(a_npy_file_goes_bit_for_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
