// SPDX-License-Identifier: Apache-2.0
//
// Which bits are a NaN: for each float type, and for a type without any, which a new
// row could be.
#include "base/float_format.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_float_without_nan_has_none),
      FC_TEST(numbers_and_infinities_are_no_nan),
      FC_TEST(all_that_is_above_the_greatest_is_nan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
