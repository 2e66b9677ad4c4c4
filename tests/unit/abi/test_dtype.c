// SPDX-License-Identifier: Apache-2.0
#include "helpers/test.h"

#include <stdio.h>

#include "farcall/type.h"

// HAL words as in IREE's hal/buffer_view.h, and sizes as MLIR lays out elements in a
// memref.
static const struct {
  const char *name;
  uint32_t hal_word;
  size_t size;
  uint8_t bits;
  const char *oip;
  const char *npy;
} rows[] = {
    {"i1", 0x13000008, 1, 1, "BOOL", "|b1"},
    {"i4", 0x10000004, 1, 4, "", ""},
    {"i8", 0x10000008, 1, 8, "INT8", "|i1"},
    {"i16", 0x10000010, 2, 16, "INT16", "<i2"},
    {"i32", 0x10000020, 4, 32, "INT32", "<i4"},
    {"i64", 0x10000040, 8, 64, "INT64", "<i8"},
    {"si8", 0x11000008, 1, 8, "INT8", NULL},
    {"si64", 0x11000040, 8, 64, "INT64", NULL},
    {"ui8", 0x12000008, 1, 8, "UINT8", "|u1"},
    {"ui64", 0x12000040, 8, 64, "UINT64", "<u8"},
    {"index", 0, 8, 64, "INT64", NULL},
    {"f16", 0x21000010, 2, 16, "FP16", "<f2"},
    {"bf16", 0x22000010, 2, 16, "BF16", "<V2"},
    {"f32", 0x21000020, 4, 32, "FP32", "<f4"},
    {"f64", 0x21000040, 8, 64, "FP64", "<f8"},
    {"f8E5M2", 0x24000008, 1, 8, "", ""},
    {"f8E4M3FN", 0x25000008, 1, 8, "", ""},
    {"f8E5M2FNUZ", 0x26000008, 1, 8, "", ""},
    {"f8E4M3FNUZ", 0x27000008, 1, 8, "", ""},
    {"f8E8M0FNU", 0x28000008, 1, 8, "", ""},
    {"si1", 0, 1, 1, "", ""},
    {"ui7", 0, 1, 7, "", ""},
    {"i9", 0, 2, 9, "", ""},
    {"ui17", 0, 4, 17, "", ""},
    {"i24", 0, 4, 24, "", ""},
    {"si33", 0, 8, 33, "", ""},
    {"i63", 0, 8, 63, "", ""},
    {"complex<f32>", 0x23000040, 8, 64, "", "<c8"},
    {"complex<f64>", 0x23000080, 16, 128, "", "<c16"},
};

static void dtypes_read_as_the_formats_write_them(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    fc_dtype_t dtype = fc_dtype_find(fc_str(rows[i].name));
    assert_int_not_equal(dtype, FC_DTYPE_NONE);
    const fc_dtype_info_t *info = fc_dtype_info(dtype);
    assert_string_equal(info->text, rows[i].name);
    assert_int_equal(info->hal_word, rows[i].hal_word);
    assert_int_equal(info->size, rows[i].size);
    assert_int_equal(fc_dtype_size(dtype), rows[i].size);
    assert_int_equal(info->bits, rows[i].bits);
    assert_string_equal(info->oip, rows[i].oip);
    if (rows[i].hal_word) {
      assert_int_equal(fc_dtype_from_hal(rows[i].hal_word), dtype);
    }
    if (rows[i].npy && rows[i].npy[0]) {
      assert_int_equal(fc_dtype_from_npy(fc_str(rows[i].npy)), dtype);
    }
  }
  fc_test_row(NULL);
}

static const struct {
  const char *name;
  const char *wanted;  // the text of the type it is read for; NULL: of any
  const char *text;
} named[] = {
    {"f32", NULL, "f32"},
    {"float32", NULL, "f32"},
    {"FP32", NULL, "f32"},
    {"float16", NULL, "f16"},
    {"bfloat16", NULL, "bf16"},
    {"BF16", NULL, "bf16"},
    {"float8_e4m3fn", NULL, "f8E4M3FN"},
    {"bool", NULL, "i1"},
    {"BOOL", NULL, "i1"},
    {"uint8", NULL, "ui8"},
    {"u8", NULL, "ui8"},
    {"UINT64", NULL, "ui64"},
    {"u64", NULL, "ui64"},
    {"int8", NULL, "i8"},
    {"int8", "i8", "i8"},
    {"int8", "si8", "si8"},
    {"INT8", "si8", "si8"},
    {"int16", "si8", "i16"},
    {"int64", "index", "index"},
    {"i64", "index", "i64"},
    {"uint8", "i8", "ui8"},
    {"float4_e2m1fn", NULL, "f4E2M1FN"},
    {"int24", NULL, "i24"},
    {"int24", "si24", "si24"},
    {"u7", NULL, "ui7"},
    {"complex128", NULL, "complex<f64>"},
    {"complex64", "complex<f32>", "complex<f32>"},
    {"", NULL, "none"},
    {" ", NULL, "none"},
    {"uint8 u8", NULL, "none"},
    {"float", NULL, "none"},
    {"Float32", NULL, "none"},
    {"fp32", NULL, "none"},
    {"u8 ", NULL, "none"},
    {"none", NULL, "none"},
};

static void other_names_are_read(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(named); i++) {
    fc_test_row(named[i].name);
    fc_dtype_t wanted = named[i].wanted ? fc_dtype_find(fc_str(named[i].wanted))
                                        : FC_DTYPE_NONE;
    fc_dtype_t found = fc_dtype_find_named(fc_str(named[i].name), wanted);
    assert_string_equal(fc_dtype_info(found)->text, named[i].text);
  }
  fc_test_row(NULL);
  // MLIR uses none of these names, and fc_dtype_find reads only MLIR's.
  assert_int_equal(fc_dtype_find(FC_STR("float32")), FC_DTYPE_NONE);
}

// MLIR's floats, without f80 and f128, which LLVM keeps in registers of their own, and
// without tf32, which has no bytes. Their values are tested by numbers/narrow.
static void floats_of_every_kind_are_read(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned bits;
    size_t size;
  } floats[] = {
      {"f8E3M4", 8, 1},        {"f8E4M3", 8, 1},    {"f8E4M3FN", 8, 1},
      {"f8E4M3FNUZ", 8, 1},    {"f8E5M2", 8, 1},    {"f8E5M2FNUZ", 8, 1},
      {"f8E4M3B11FNUZ", 8, 1}, {"f8E8M0FNU", 8, 1}, {"f6E2M3FN", 6, 1},
      {"f6E3M2FN", 6, 1},      {"f4E2M1FN", 4, 1},  {"f16", 16, 2},
      {"bf16", 16, 2},         {"f32", 32, 4},      {"f64", 64, 8},
  };
  unsigned count = 0;
  for (size_t i = 0; i < FC_ARRAY_COUNT(floats); i++) {
    fc_test_row(floats[i].name);
    const fc_dtype_info_t *info =
        fc_dtype_info(fc_dtype_find(fc_str(floats[i].name)));
    assert_int_equal(info->class_, FC_DTYPE_CLASS_FLOAT);
    assert_int_equal(info->bits, floats[i].bits);
    assert_int_equal(info->size, floats[i].size);
  }
  fc_test_row(NULL);
  for (unsigned i = 1; i < FC_DTYPE_COUNT; i++) {
    count += fc_dtype_info((fc_dtype_t)i)->class_ == FC_DTYPE_CLASS_FLOAT;
  }
  assert_int_equal(count, FC_ARRAY_COUNT(floats));
}

static void all_texts_are_listed(void **state) {
  (void)state;
  char list[400] = "";
  size_t size = 0;
  for (unsigned i = 1; i < FC_DTYPE_SI1; i++) {
    size +=
        (size_t)snprintf(list + size, sizeof list - size, "%s%s",
                         i > 1 ? ", " : "", fc_dtype_info((fc_dtype_t)i)->text);
    assert_true(size < sizeof list);
  }
  snprintf(list + size, sizeof list - size, " and iN, siN, uiN to 64 bits");
  assert_string_equal(fc_dtype_texts(), list);
}

static void dtypes_that_do_not_exist_are_none(void **state) {
  (void)state;
  static const char *const names[] = {"",    "none", "i65",  "i128",
                                      "f80", "F32",  "f32 ", "ui0",
                                      "int", "tf32", "i",    "i07"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(names); i++) {
    assert_int_equal(fc_dtype_find(fc_str(names[i])), FC_DTYPE_NONE);
  }
  assert_int_equal(fc_dtype_from_hal(0), FC_DTYPE_NONE);
  assert_int_equal(fc_dtype_from_hal(0x21000030), FC_DTYPE_NONE);
  assert_int_equal(fc_dtype_from_npy(fc_str("")), FC_DTYPE_NONE);
  assert_int_equal(fc_dtype_from_npy(fc_str(">f4")), FC_DTYPE_NONE);
  assert_string_equal(fc_dtype_info((fc_dtype_t)255)->text, "none");
  assert_int_equal(fc_dtype_size((fc_dtype_t)-1), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(dtypes_read_as_the_formats_write_them),
      FC_TEST(other_names_are_read),
      FC_TEST(floats_of_every_kind_are_read),
      FC_TEST(all_texts_are_listed),
      FC_TEST(dtypes_that_do_not_exist_are_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
