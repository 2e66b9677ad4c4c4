// SPDX-License-Identifier: Apache-2.0
//
// Which bits are a NaN: for each float type, and for a type without any, which a new
// row could be. And the numbers that bits stand for, by IEEE 754 and OCP's specifications.
#include "base/float_format.h"

#include <math.h>

#include "helpers/test.h"

// f6E2M3FN, which has neither infinities nor NaNs.
static const fc_float_format_t kFinite = {.mantissa_bits = 3,
                                          .bias = 1,
                                          .sign = 0x20,
                                          .highest = 0x1F,
                                          .negative_zero = true,
                                          .limit = "7.75",
                                          .limit_fits = false};

static void a_float_without_nan_has_none(void **state) {
  (void)state;
  for (uint64_t bits = 0; bits < 64; bits++) {
    assert_false(fc_float_is_nan(&kFinite, bits));
  }
}

static void numbers_and_infinities_are_no_nan(void **state) {
  (void)state;
  for (unsigned i = 1; i < FC_DTYPE_COUNT; i++) {
    const fc_float_format_t *format = &fc_float_formats[i];
    const fc_dtype_info_t *info = fc_dtype_info((fc_dtype_t)i);
    if (info->class_ != FC_DTYPE_CLASS_FLOAT) continue;
    fc_test_row(info->text);
    assert_false(fc_float_is_nan(format, 0));
    assert_false(fc_float_is_nan(format, format->highest));
    assert_false(fc_float_is_nan(format, format->highest | format->sign));
    assert_true(!format->infinity ||
                !fc_float_is_nan(format, format->infinity));
    assert_int_equal(fc_float_is_nan(format, format->sign),
                     !format->negative_zero && format->sign);
    assert_int_equal(fc_float_is_nan(format, format->nan), format->nan != 0);
  }
  fc_test_row(NULL);
}

// The IEEE 754 types have many NaNs, of either sign.
static void all_that_is_above_the_greatest_is_nan(void **state) {
  (void)state;
  const fc_float_format_t *format = &fc_float_formats[FC_DTYPE_F8E5M2];
  for (uint64_t bits = 0; bits < 256; bits++) {
    assert_int_equal(fc_float_is_nan(format, bits), (bits & 0x7F) > 0x7C);
  }
}

static void bits_are_numbers(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_dtype_t dtype;
    uint64_t bits;
    double value;
  } rows[] = {
      {"f16, the greatest", FC_DTYPE_F16, 0x7BFF, 65504},
      {"f16, the least", FC_DTYPE_F16, 0x0001, 0x1p-24},
      {"f16, infinity", FC_DTYPE_F16, 0xFC00, -(double)INFINITY},
      {"f16, NaN", FC_DTYPE_F16, 0x7E01, (double)NAN},
      {"bf16", FC_DTYPE_BF16, 0xBFC0, -1.5},
      {"f32", FC_DTYPE_F32, 0x40490FDB, 0x1.921fb6p1},
      {"f64", FC_DTYPE_F64, 0x400921FB54442D18, 0x1.921fb54442d18p1},
      {"f64, the least", FC_DTYPE_F64, 1, 0x1p-1074},
      {"f8E5M2, the greatest", FC_DTYPE_F8E5M2, 0x7B, 57344},
      {"f8E5M2, infinity", FC_DTYPE_F8E5M2, 0x7C, (double)INFINITY},
      {"f8E4M3FN, the greatest", FC_DTYPE_F8E4M3FN, 0xFE, -448},
      {"f8E4M3FN, the least", FC_DTYPE_F8E4M3FN, 0x01, 0x1p-9},
      {"f8E4M3FN, NaN", FC_DTYPE_F8E4M3FN, 0xFF, (double)NAN},
      {"f8E5M2FNUZ, one", FC_DTYPE_F8E5M2FNUZ, 0x40, 1},
      {"f8E4M3FNUZ, the greatest", FC_DTYPE_F8E4M3FNUZ, 0x7F, 240},
      {"f8E4M3FNUZ, NaN", FC_DTYPE_F8E4M3FNUZ, 0x80, (double)NAN},
      {"f8E8M0FNU, the least", FC_DTYPE_F8E8M0FNU, 0, 0x1p-127},
      {"f8E8M0FNU, the greatest", FC_DTYPE_F8E8M0FNU, 0xFE, 0x1p127},
      {"f6E2M3FN, the greatest", FC_DTYPE_F6E2M3FN, 0x1F, 7.5},
      {"f4E2M1FN, the greatest", FC_DTYPE_F4E2M1FN, 0xF, -6},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const double value =
        fc_float_value(&fc_float_formats[row->dtype], row->bits);
    assert_true(isnan(row->value) ? isnan(value) : value == row->value);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_float_without_nan_has_none),
      FC_TEST(numbers_and_infinities_are_no_nan),
      FC_TEST(all_that_is_above_the_greatest_is_nan),
      FC_TEST(bits_are_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
