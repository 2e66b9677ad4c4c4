// SPDX-License-Identifier: Apache-2.0
//
// Converts numbers from text to elements and back. The oracles are strtod and strtof of
// the C library, _Float16 if the compiler has it, exact arithmetic in f64 for the
// narrow types, and values that were computed by hand.
#include "helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/number.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

// The element's bits. A failure is its code with bit 63 set.
#define FAILED(code) (UINT64_C(1) << 63 | FC_CODE_##code)

static uint64_t parse(const char *text, fc_dtype_t dtype) {
  uint64_t bits = 0;
  fc_error_t err;
  if (fc_number_parse(fc_str(text), dtype, &bits, &err) == FC_OK) return bits;
  return UINT64_C(1) << 63 | err.code;
}

static const char *print(fc_dtype_t dtype, const void *element) {
  static char text[FC_NUMBER_CHARS_MAX + 1];
  memset(text, '#', sizeof text);
  char *end = fc_number_print(dtype, element, text);
  assert_int_equal(text[FC_NUMBER_CHARS_MAX], '#');
  *end = '\0';
  return text;
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// ---------------------------------------------------------------------------
// Integers

typedef struct integer_row_t {
  const char *name;  // the literal
  fc_dtype_t dtype;
  uint64_t bits;
} integer_row_t;

static const integer_row_t integer_rows[] = {
    {"0", FC_DTYPE_I1, 0},
    {"1", FC_DTYPE_I1, 1},
    {"-0", FC_DTYPE_I1, 0},
    {"1.0", FC_DTYPE_I1, 1},
    {"2", FC_DTYPE_I1, FAILED(OUT_OF_RANGE)},
    {"-1", FC_DTYPE_I1, FAILED(OUT_OF_RANGE)},
    {"0.5", FC_DTYPE_I1, FAILED(TYPE_MISMATCH)},
    {"1", FC_DTYPE_I2, 1},
    {"-2", FC_DTYPE_I2, 0xFE},
    {"2", FC_DTYPE_I2, FAILED(OUT_OF_RANGE)},
    {"-3", FC_DTYPE_SI2, FAILED(OUT_OF_RANGE)},
    {"3", FC_DTYPE_UI2, 3},
    {"4", FC_DTYPE_UI2, FAILED(OUT_OF_RANGE)},
    {"7", FC_DTYPE_I4, 7},
    {"-8", FC_DTYPE_I4, 0xF8},
    {"8", FC_DTYPE_I4, FAILED(OUT_OF_RANGE)},
    {"-9", FC_DTYPE_SI4, FAILED(OUT_OF_RANGE)},
    {"15", FC_DTYPE_UI4, 15},
    {"16", FC_DTYPE_UI4, FAILED(OUT_OF_RANGE)},
    {"127", FC_DTYPE_I8, 0x7F},
    {"-128", FC_DTYPE_I8, 0x80},
    {"128", FC_DTYPE_I8, FAILED(OUT_OF_RANGE)},
    {"-129", FC_DTYPE_SI8, FAILED(OUT_OF_RANGE)},
    {"255", FC_DTYPE_UI8, 0xFF},
    {"256", FC_DTYPE_UI8, FAILED(OUT_OF_RANGE)},
    {"-1", FC_DTYPE_UI8, FAILED(OUT_OF_RANGE)},
    {"-0", FC_DTYPE_UI8, 0},
    {"32767", FC_DTYPE_I16, 0x7FFF},
    {"-32768", FC_DTYPE_SI16, 0x8000},
    {"32768", FC_DTYPE_I16, FAILED(OUT_OF_RANGE)},
    {"-32769", FC_DTYPE_I16, FAILED(OUT_OF_RANGE)},
    {"65535", FC_DTYPE_UI16, 0xFFFF},
    {"65536", FC_DTYPE_UI16, FAILED(OUT_OF_RANGE)},
    {"2147483647", FC_DTYPE_I32, 0x7FFFFFFF},
    {"-2147483648", FC_DTYPE_I32, 0x80000000},
    {"2147483648", FC_DTYPE_SI32, FAILED(OUT_OF_RANGE)},
    {"-2147483649", FC_DTYPE_I32, FAILED(OUT_OF_RANGE)},
    {"4294967295", FC_DTYPE_UI32, 0xFFFFFFFF},
    {"4294967296", FC_DTYPE_UI32, FAILED(OUT_OF_RANGE)},
    {"9223372036854775807", FC_DTYPE_I64, INT64_MAX},
    {"9223372036854775808", FC_DTYPE_I64, FAILED(OUT_OF_RANGE)},
    {"-9223372036854775808", FC_DTYPE_SI64, UINT64_C(1) << 63},
    {"-9223372036854775809", FC_DTYPE_I64, FAILED(OUT_OF_RANGE)},
    {"9223372036854775807", FC_DTYPE_INDEX, INT64_MAX},
    {"-1", FC_DTYPE_INDEX, UINT64_MAX},
    {"9223372036854775808", FC_DTYPE_INDEX, FAILED(OUT_OF_RANGE)},
    {"18446744073709551615", FC_DTYPE_UI64, UINT64_MAX},
    {"18446744073709551616", FC_DTYPE_UI64, FAILED(OUT_OF_RANGE)},
    {"18446744073709551625", FC_DTYPE_UI64, FAILED(OUT_OF_RANGE)},
    {"99999999999999999999", FC_DTYPE_UI64, FAILED(OUT_OF_RANGE)},
    {"340282366920938463463374607431768211456", FC_DTYPE_UI64,
     FAILED(OUT_OF_RANGE)},
    {"1e3", FC_DTYPE_I32, 1000},
    {"1.5e1", FC_DTYPE_I32, 15},
    {"-12.50e2", FC_DTYPE_I32, (uint32_t)-1250},
    {"120e-1", FC_DTYPE_I8, 12},
    {"125e-1", FC_DTYPE_I8, FAILED(TYPE_MISMATCH)},
    {"0e999999999999999999999", FC_DTYPE_I8, 0},
    {"0.000e-999999999999999999999", FC_DTYPE_I8, 0},
    {"1e400", FC_DTYPE_I64, FAILED(OUT_OF_RANGE)},
    {"1e-400", FC_DTYPE_I64, FAILED(TYPE_MISMATCH)},
    {"1.0000000000000000000000", FC_DTYPE_I64, 1},
    {"1.0000000000000000000001", FC_DTYPE_I64, FAILED(TYPE_MISMATCH)},
    {"100000000000000000000000e-22", FC_DTYPE_I64, 10},
    {"9007199254740992.0", FC_DTYPE_I64, UINT64_C(1) << 53},
    {"9007199254740993.0", FC_DTYPE_I64, (UINT64_C(1) << 53) + 1},
    {"9007199254740993", FC_DTYPE_I64, (UINT64_C(1) << 53) + 1},
    {"9.007199254740992e15", FC_DTYPE_I64, UINT64_C(1) << 53},
    {"1e16", FC_DTYPE_I64, 10000000000000000u},
    {"1000000000000000000.0", FC_DTYPE_I64, 1000000000000000000u},
    {"-9223372036854775808.0", FC_DTYPE_I64, UINT64_C(1) << 63},
    {"-9223372036854775809.0", FC_DTYPE_I64, FAILED(OUT_OF_RANGE)},
    {"0.18446744073709551615e20", FC_DTYPE_UI64, UINT64_MAX},
    {"184467440737095516150e-1", FC_DTYPE_UI64, UINT64_MAX},
    {"18446744073709551616.0", FC_DTYPE_UI64, FAILED(OUT_OF_RANGE)},
    {"1e19", FC_DTYPE_UI64, 10000000000000000000u},
    {"1e20", FC_DTYPE_UI64, FAILED(OUT_OF_RANGE)},
    {"12345678901234567890.5", FC_DTYPE_I64, FAILED(TYPE_MISMATCH)},
    {"3.99999999999999999999999999999999", FC_DTYPE_UI8, FAILED(TYPE_MISMATCH)},
    {"01", FC_DTYPE_I32, FAILED(JSON_SYNTAX)},
    {"+1", FC_DTYPE_I32, FAILED(JSON_SYNTAX)},
    {"1 ", FC_DTYPE_I32, FAILED(JSON_SYNTAX)},
    {"", FC_DTYPE_I32, FAILED(JSON_SYNTAX)},
    {"-", FC_DTYPE_F64, FAILED(JSON_SYNTAX)},
    {"1", FC_DTYPE_C64, FAILED(TYPE_MISMATCH)},
    {"1", FC_DTYPE_NONE, FAILED(TYPE_MISMATCH)},
};

static void integers_are_exact_or_refused(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const integer_row_t, row, integer_rows) {
    assert_int_equal(parse(row->name, row->dtype), row->bits);
  }
}

typedef struct complaint_row_t {
  const char *name;  // the literal
  fc_dtype_t dtype;
  const char *message;
  const char *expected;
} complaint_row_t;

static const complaint_row_t complaint_rows[] = {
    {"300", FC_DTYPE_I8, "300 does not fit i8", "i8 in [-128,127]"},
    {"-1", FC_DTYPE_UI64, "-1 does not fit ui64",
     "ui64 in [0,18446744073709551615]"},
    {"-9223372036854775809", FC_DTYPE_I64,
     "-9223372036854775809 does not fit i64",
     "i64 in [-9223372036854775808,9223372036854775807]"},
    {"2", FC_DTYPE_I1, "2 does not fit i1", "true, false, 0 or 1"},
    {"1.5", FC_DTYPE_I32, "1.5 is not a whole number, i32 wanted", "i32"},
    {"1e999", FC_DTYPE_F64, "1e999 does not fit f64",
     "f64 in [-1.7976931348623157e+308,1.7976931348623157e+308]"},
    {"1e39", FC_DTYPE_F32, "1e39 does not fit f32",
     "f32 in [-3.4028235e+38,3.4028235e+38]"},
    {"1e5", FC_DTYPE_F16, "1e5 does not fit f16", "f16 in [-65504.0,65504.0]"},
    {"449e1", FC_DTYPE_F8E4M3FN, "449e1 does not fit f8E4M3FN",
     "f8E4M3FN in [-448.0,448.0]"},
    {"1e39", FC_DTYPE_F8E8M0FNU, "1e39 does not fit f8E8M0FNU",
     "f8E8M0FNU in [,1.7014118e+38]"},
    {"11111111112222222222333333333344444444445", FC_DTYPE_I8,
     "1111111111222222222233333333334444444444\xE2\x80\xA6 does not fit i8",
     "i8 in [-128,127]"},
};

static void complaints_name_value_and_limit(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const complaint_row_t, row, complaint_rows) {
    uint64_t bits;
    fc_error_t err;
    assert_true(fc_number_parse(fc_str(row->name), row->dtype, &bits, &err));
    assert_string_equal(err.message, row->message);
    assert_string_equal(err.expected, row->expected);
    assert_memory_equal(err.got, row->name, strlen(row->name));
  }
}

// Compares every decimal string near the limits of every width with strtoll.
static void integers_around_each_limit(void **state) {
  (void)state;
  static const fc_dtype_t dtypes[] = {
      FC_DTYPE_I2,  FC_DTYPE_I4,  FC_DTYPE_I8,  FC_DTYPE_I16,  FC_DTYPE_I32,
      FC_DTYPE_UI2, FC_DTYPE_UI4, FC_DTYPE_UI8, FC_DTYPE_UI16, FC_DTYPE_UI32,
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(dtypes); i++) {
    const fc_dtype_info_t *info = fc_dtype_info(dtypes[i]);
    bool is_unsigned = info->class_ == FC_DTYPE_CLASS_UINT;
    int64_t high = (INT64_C(1) << (info->bits - !is_unsigned)) - 1;
    int64_t low = is_unsigned ? 0 : -high - 1;
    int64_t mask = (INT64_C(1) << (8 * info->size)) - 1;
    for (int64_t step = -3; step <= 3; step++) {
      const int64_t values[] = {low + step, step, high + step};
      for (size_t j = 0; j < FC_ARRAY_COUNT(values); j++) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)values[j]);
        bool fits = values[j] >= low && values[j] <= high;
        uint64_t wanted = fits ? (uint64_t)(strtoll(text, NULL, 10) & mask)
                               : FAILED(OUT_OF_RANGE);
        assert_int_equal(parse(text, dtypes[i]), wanted);
      }
    }
  }
}

static void integers_print_as_printf_does(void **state) {
  (void)state;
  for (int i = 0; i < 300000; i++) {
    uint64_t value = next_random() >> (next_random() % 64);
    if (i < 40) value = i % 2 ? UINT64_MAX >> i : ~(UINT64_MAX >> i);
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    assert_string_equal(print(FC_DTYPE_UI64, &value), text);
    snprintf(text, sizeof text, "%lld", (long long)value);
    assert_string_equal(print(FC_DTYPE_I64, &value), text);
    assert_int_equal(parse(text, FC_DTYPE_I64), value);
  }
  for (uint64_t power = 1;; power *= 10) {
    for (int step = -1; step <= 1; step++) {
      uint64_t value = power + (uint64_t)step;
      char text[32];
      snprintf(text, sizeof text, "%llu", (unsigned long long)value);
      assert_string_equal(print(FC_DTYPE_UI64, &value), text);
    }
    if (power == 10000000000000000000u) break;
  }
}

// ---------------------------------------------------------------------------
// Reading floats

typedef struct float_row_t {
  const char *name;  // the literal
  fc_dtype_t dtype;
  uint64_t bits;
} float_row_t;

static const float_row_t float_rows[] = {
    {"0", FC_DTYPE_F64, 0},
    {"-0", FC_DTYPE_F64, UINT64_C(1) << 63},
    {"-0.0e5", FC_DTYPE_F32, 0x80000000},
    {"-0", FC_DTYPE_F16, 0x8000},
    {"-0", FC_DTYPE_BF16, 0x8000},
    {"1e-400", FC_DTYPE_F64, 0},
    {"-1e-400", FC_DTYPE_F64, UINT64_C(1) << 63},
    {"1e-999999999999999999999999", FC_DTYPE_F32, 0},
    {"1e400", FC_DTYPE_F64, FAILED(OUT_OF_RANGE)},
    // Exponents of 2^64 and more, which would wrap to 0 in 64 bits.
    {"1e18446744073709551616", FC_DTYPE_F64, FAILED(OUT_OF_RANGE)},
    {"1e-18446744073709551616", FC_DTYPE_F64, 0},
    {"1e340282366920938463463374607431768211456", FC_DTYPE_F32,
     FAILED(OUT_OF_RANGE)},
    {"-1e999999999999999999999999", FC_DTYPE_F64, FAILED(OUT_OF_RANGE)},
    {"1.7976931348623157e308", FC_DTYPE_F64, 0x7FEFFFFFFFFFFFFF},
    {"1.7976931348623158e308", FC_DTYPE_F64, 0x7FEFFFFFFFFFFFFF},
    {"1.7976931348623159e308", FC_DTYPE_F64, FAILED(OUT_OF_RANGE)},
    // The midpoint between the greatest f64 and 2^1024, and a number just below it.
    {"1797693134862315807937289714053034150799341327100378269361737789804449"
     "6829276475094664901797758720709633028641669288791094655554785194040263"
     "0657488671505820681908902000708383676273854845817711531764475730270069"
     "8555713669596228429148198608349364752927190741684443655107043427115596"
     "99508093042880177904174497792",
     FC_DTYPE_F64, FAILED(OUT_OF_RANGE)},
    {"1797693134862315807937289714053034150799341327100378269361737789804449"
     "6829276475094664901797758720709633028641669288791094655554785194040263"
     "0657488671505820681908902000708383676273854845817711531764475730270069"
     "8555713669596228429148198608349364752927190741684443655107043427115596"
     "99508093042880177904174497791.9999",
     FC_DTYPE_F64, 0x7FEFFFFFFFFFFFFF},
    {"4.9406564584124654e-324", FC_DTYPE_F64, 1},
    {"2.4703282292062327e-324", FC_DTYPE_F64, 0},
    {"2.4703282292062328e-324", FC_DTYPE_F64, 1},
    {"9007199254740993", FC_DTYPE_F64, 0x4340000000000000},
    {"9007199254740993.00000000000000000000000000000000000000001", FC_DTYPE_F64,
     0x4340000000000001},
    {"9007199254740995", FC_DTYPE_F64, 0x4340000000000002},
    {"0.1", FC_DTYPE_F32, 0x3DCCCCCD},
    {"16777217", FC_DTYPE_F32, 0x4B800000},
    {"16777217.0000000000000000000001", FC_DTYPE_F32, 0x4B800001},
    {"16777219", FC_DTYPE_F32, 0x4B800002},
    // If it were rounded to f64 first, this would be rounded twice, to 0x3F800000.
    {"1.00000005960464477540", FC_DTYPE_F32, 0x3F800001},
    {"1.00000005960464477539062500", FC_DTYPE_F32, 0x3F800000},
    {"1.00000005960464477539062501", FC_DTYPE_F32, 0x3F800001},
    {"3.4028235677973366164e38", FC_DTYPE_F32, FAILED(OUT_OF_RANGE)},
    {"3.4028235677973366163e38", FC_DTYPE_F32, 0x7F7FFFFF},
    {"1.4e-45", FC_DTYPE_F32, 1},
    {"7.006492321624085e-46", FC_DTYPE_F32, 0},
    {"7.006492321624086e-46", FC_DTYPE_F32, 1},
    {"1", FC_DTYPE_F16, 0x3C00},
    {"65504", FC_DTYPE_F16, 0x7BFF},
    {"65519.99999999999999999999999999", FC_DTYPE_F16, 0x7BFF},
    {"65520", FC_DTYPE_F16, FAILED(OUT_OF_RANGE)},
    {"2049", FC_DTYPE_F16, 0x6800},
    {"2049.0000000000000000000000000000001", FC_DTYPE_F16, 0x6801},
    {"2051", FC_DTYPE_F16, 0x6802},
    {"2050.9999999999999999999999999999999", FC_DTYPE_F16, 0x6801},
    {"2.98023223876953125e-8", FC_DTYPE_F16, 0},
    {"2.980232238769531250000000000001e-8", FC_DTYPE_F16, 1},
    {"8.94069671630859375e-8", FC_DTYPE_F16, 2},
    {"6.103515625e-5", FC_DTYPE_F16, 0x0400},
    {"1e300", FC_DTYPE_F16, FAILED(OUT_OF_RANGE)},
    {"257", FC_DTYPE_BF16, 0x4380},
    {"257.00000000000000000000000000001", FC_DTYPE_BF16, 0x4381},
    {"259", FC_DTYPE_BF16, 0x4382},
    {"3.3895313892515355e38", FC_DTYPE_BF16, 0x7F7F},
    {"3.4e38", FC_DTYPE_BF16, FAILED(OUT_OF_RANGE)},
    {"9.183549615799121e-41", FC_DTYPE_BF16, 1},
    {"57344", FC_DTYPE_F8E5M2, 0x7B},
    {"61439.99", FC_DTYPE_F8E5M2, 0x7B},
    {"61440", FC_DTYPE_F8E5M2, FAILED(OUT_OF_RANGE)},
    {"448", FC_DTYPE_F8E4M3FN, 0x7E},
    {"464", FC_DTYPE_F8E4M3FN, 0x7E},
    {"464.1", FC_DTYPE_F8E4M3FN, FAILED(OUT_OF_RANGE)},
    {"0.001953125", FC_DTYPE_F8E4M3FN, 1},
    {"0.0009765625", FC_DTYPE_F8E4M3FN, 0},
    {"0.00097656250000000000000001", FC_DTYPE_F8E4M3FN, 1},
    {"-0.0", FC_DTYPE_F8E4M3FN, 0x80},
    {"57344", FC_DTYPE_F8E5M2FNUZ, 0x7F},
    {"61440", FC_DTYPE_F8E5M2FNUZ, FAILED(OUT_OF_RANGE)},
    {"-0.0", FC_DTYPE_F8E5M2FNUZ, 0},
    {"-1e-30", FC_DTYPE_F8E5M2FNUZ, 0},
    {"240", FC_DTYPE_F8E4M3FNUZ, 0x7F},
    {"-240", FC_DTYPE_F8E4M3FNUZ, 0xFF},
    {"248", FC_DTYPE_F8E4M3FNUZ, FAILED(OUT_OF_RANGE)},
    {"1", FC_DTYPE_F8E8M0FNU, 127},
    {"1.4999", FC_DTYPE_F8E8M0FNU, 127},
    {"1.5", FC_DTYPE_F8E8M0FNU, 128},
    {"3", FC_DTYPE_F8E8M0FNU, 128},
    {"3.00000000000000000000000001", FC_DTYPE_F8E8M0FNU, 129},
    {"1e-300", FC_DTYPE_F8E8M0FNU, 0},
    {"1e-400", FC_DTYPE_F8E8M0FNU, 0},
    {"18446744073709551616e-500", FC_DTYPE_F8E8M0FNU, 0},  // 2^64
    {"18446744073709551616", FC_DTYPE_F8E8M0FNU, 127 + 64},
    {"0.00000000000000000000000000", FC_DTYPE_F8E8M0FNU, FAILED(OUT_OF_RANGE)},
    {"-18446744073709551616e-500", FC_DTYPE_F8E8M0FNU, FAILED(OUT_OF_RANGE)},
    {"0", FC_DTYPE_F8E8M0FNU, FAILED(OUT_OF_RANGE)},
    {"-1", FC_DTYPE_F8E8M0FNU, FAILED(OUT_OF_RANGE)},
    {"1.7014118e38", FC_DTYPE_F8E8M0FNU, 254},
    {"2.6e38", FC_DTYPE_F8E8M0FNU, FAILED(OUT_OF_RANGE)},
};

static void floats_are_nearest_in_their_own_type(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const float_row_t, row, float_rows) {
    assert_int_equal(parse(row->name, row->dtype), row->bits);
  }
}

static void check_against_libc(const char *text) {
  double wide = strtod(text, NULL);
  float narrow = strtof(text, NULL);
  uint64_t wanted = isinf(wide) ? FAILED(OUT_OF_RANGE) : bits_of(wide);
  uint64_t wanted32 =
      isinf(narrow) ? FAILED(OUT_OF_RANGE) : bits_of_float(narrow);
  if (parse(text, FC_DTYPE_F64) != wanted) fail_msg("f64 %s", text);
  if (parse(text, FC_DTYPE_F32) != wanted32) fail_msg("f32 %s", text);
}

// Literals of every length and magnitude, with the point at any place.
static void random_literals_read_as_strtod_does(void **state) {
  (void)state;
  for (int i = 0; i < 200000; i++) {
    char text[128], *p = text;
    int digits = 1 + (int)(next_random() % (i % 8 ? 21 : 60));
    int point = (int)(next_random() % (unsigned)(digits + 8));
    if (next_random() & 1) *p++ = '-';
    *p++ = (char)('1' + next_random() % 9);
    for (int k = 1; k < digits; k++) {
      if (k == point) *p++ = '.';
      *p++ = (char)('0' + next_random() % 10);
    }
    int range = i % 3 ? 80 : 700;
    snprintf(p, 16, "e%d", (int)(next_random() % (unsigned)range) - range / 2);
    check_against_libc(text);
  }
}

// Writes the exact middle between a value and the next one as a decimal, and decimals
// that are a little larger and a little smaller.
static void midpoints_read_as_strtod_does(void **state) {
  (void)state;
  for (int i = 0; i < 3000; i++) {
    uint64_t bits = next_random() >> 1;
    uint32_t bits32 = (uint32_t)(next_random() >> 33);
    double wide, above;
    float narrow, above32;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &bits32, sizeof narrow);
    if (!isfinite(wide) || !isfinite(narrow)) continue;
    above = nextafter(wide, (double)INFINITY);
    above32 = nextafterf(narrow, INFINITY);
    char text[1500];
    // long double holds the exact middle (64-bit mantissa), and f64 does for f32.
    snprintf(text, sizeof text, "%.1100Lf",
             ((long double)wide + (long double)above) / 2);
    check_against_libc(text);
    strncat(text, "1", 2);
    check_against_libc(text);
    snprintf(text, sizeof text, "%.200f",
             ((double)narrow + (double)above32) / 2);
    check_against_libc(text);
    size_t size = strlen(text);
    while (size && text[size - 1] == '0') text[--size] = '\0';
    strncat(text, "00000000000000000000001", 30);
    check_against_libc(text);
    text[size - 1]--;
    if (text[size - 1] >= '0') check_against_libc(text);
  }
}

// A million digits are read in linear time and rounded correctly.
static void a_million_digits(void **state) {
  (void)state;
  enum { COUNT = 1000000 };
  char *text = malloc(COUNT + 32);
  memset(text, '0', COUNT + 32);
  memcpy(text, "1.00000005960464477539062500", 28);
  text[COUNT] = '\0';
  assert_int_equal(parse(text, FC_DTYPE_F32), 0x3F800000);
  text[COUNT - 1] = '1';
  assert_int_equal(parse(text, FC_DTYPE_F32), 0x3F800001);
  memset(text, '9', COUNT);
  assert_int_equal(parse(text, FC_DTYPE_F64), FAILED(OUT_OF_RANGE));
  assert_int_equal(parse(text, FC_DTYPE_I64), FAILED(OUT_OF_RANGE));
  memcpy(text + COUNT, "e-999999", 9);
  assert_int_equal(parse(text, FC_DTYPE_F64), bits_of(10));
  assert_int_equal(parse(text, FC_DTYPE_BF16), 0x4120);
  memset(text, '0', COUNT);
  text[1] = '.';
  memcpy(text + COUNT, "1e999999", 9);
  assert_int_equal(parse(text, FC_DTYPE_F64), bits_of(1));
  assert_int_equal(parse(text, FC_DTYPE_I8), 1);
  free(text);
}

// ---------------------------------------------------------------------------
// Writing floats

typedef struct print_row_t {
  const char *name;  // the text
  double value;
} print_row_t;

static const print_row_t f64_print_rows[] = {
    {"0.0", 0.0},
    {"-0.0", -0.0},
    {"4.0", 4.0},
    {"-1.5", -1.5},
    {"0.1", 0.1},
    {"0.3", 0.3},
    {"0.30000000000000004", 0.1 + 0.2},
    {"100.0", 100.0},
    {"1e+16", 1e16},
    {"1e+20", 1e20},
    {"9999999999999998.0", 9999999999999998.0},
    {"1000000000000000.0", 1e15},
    {"1234567890123456.8", 1234567890123456.8},
    {"0.00001", 1e-5},
    {"0.000012345678901234568", 1.2345678901234568e-5},
    {"9.999e-6", 9.999e-6},
    {"1e-6", 1e-6},
    {"1.5e-7", 1.5e-7},
    {"5e-324", 5e-324},
    {"2.2250738585072014e-308", 2.2250738585072014e-308},
    {"1.7976931348623157e+308", 1.7976931348623157e308},
    {"-1.7976931348623157e+308", -1.7976931348623157e308},
    {"1.2345e+100", 1.2345e100},
    {"3.141592653589793", 3.141592653589793},
    {"\"NaN\"", (double)NAN},
    {"\"Infinity\"", (double)INFINITY},
    {"\"-Infinity\"", -(double)INFINITY},
};

static const print_row_t f32_print_rows[] = {
    {"0.1", 0.1},
    {"-5.8750005", -5.8750005},
    {"16777216.0", 16777216},
    {"33554432.0", 33554432},
    {"1e+20", 1e20},
    {"3.4028235e+38", 3.4028234663852886e38},
    {"1e-45", 1.401298464324817e-45},
    {"1.1754944e-38", 1.1754943508222875e-38},
    {"0.33333334", 1.0 / 3},
    {"1234568000000000.0", 1234567890123456},
    {"0.000012345679", 1.2345678901e-5},
    {"-0.0", -0.0},
    {"\"NaN\"", (double)NAN},
};

static const print_row_t f16_print_rows[] = {
    {"0.1", 0.1},
    {"65500.0", 65504},
    {"6e-8", 5.9604644775390625e-8},
    {"2048.0", 2048},
    {"0.3333", 1.0 / 3},
    {"-0.0", -0.0},
    {"\"NaN\"", (double)NAN},
    {"0.00006104", 6.103515625e-5},
};

static void floats_print_shortest(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const print_row_t, row, f64_print_rows) {
    assert_string_equal(print(FC_DTYPE_F64, &row->value), row->name);
  }
  FC_TEST_EACH_ROW(const print_row_t, row, f32_print_rows) {
    float value = (float)row->value;
    assert_string_equal(print(FC_DTYPE_F32, &value), row->name);
  }
  FC_TEST_EACH_ROW(const print_row_t, row, f16_print_rows) {
    uint16_t value = fc_half_from_double(row->value);
    assert_string_equal(print(FC_DTYPE_F16, &value), row->name);
  }
}

// No decimal with fewer digits reads back as the value, and none with as many digits is
// nearer. `%.*e` makes the decimals to compare with.
static void check_shortest(const char *text, double value) {
  char digits[64];
  size_t count = 0;
  for (const char *p = text; *p && *p != 'e'; p++) {
    if (*p >= '0' && *p <= '9' && (count || *p != '0')) digits[count++] = *p;
  }
  while (count > 1 && digits[count - 1] == '0') count--;
  char shorter[64];
  if (count > 1) {
    snprintf(shorter, sizeof shorter, "%.*e", (int)count - 2, value);
    if (strtod(shorter, NULL) == value) fail_msg("%s for %s", text, shorter);
  }
  snprintf(shorter, sizeof shorter, "%.*e", (int)count - 1, value);
  if (strtod(shorter, NULL) == value && strtod(text, NULL) == value) {
    long double given = strtold(text, NULL), best = strtold(shorter, NULL);
    if (fabsl(given - (long double)value) > fabsl(best - (long double)value)) {
      fail_msg("%s, but %s is nearer", text, shorter);
    }
  }
}

static void random_doubles_come_back(void **state) {
  (void)state;
  for (int i = 0; i < 200000; i++) {
    uint64_t bits = next_random();
    if (i % 4 == 1) bits &= UINT64_MAX << (next_random() % 52);
    if (i % 4 == 2) bits = bits_of((double)(int64_t)bits / 0x1p40);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    const char *text = print(FC_DTYPE_F64, &value);
    if (parse(text, FC_DTYPE_F64) != bits || strtod(text, NULL) != value) {
      fail_msg("%a is printed %s", value, text);
    }
    check_shortest(text, value);
  }
}

static void random_floats_come_back(void **state) {
  (void)state;
  for (int i = 0; i < 200000; i++) {
    uint32_t bits = (uint32_t)next_random();
    if (i % 4 == 1) bits &= UINT32_MAX << (next_random() % 23);
    float value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    const char *text = print(FC_DTYPE_F32, &value);
    if (parse(text, FC_DTYPE_F32) != bits ||
        bits_of_float(strtof(text, NULL)) != bits) {
      fail_msg("%a is printed %s", (double)value, text);
    }
  }
}

// Computes the values of the narrow types from their bits in the most direct way.
static double narrow_value(fc_dtype_t dtype, unsigned bits) {
  if (dtype == FC_DTYPE_F8E8M0FNU)
    return bits == 255 ? (double)NAN : ldexp(1, (int)bits - 127);
  int width = 8, mantissa = 2, bias = 15;
  if (dtype == FC_DTYPE_F16) width = 16, mantissa = 10;
  if (dtype == FC_DTYPE_BF16) width = 16, mantissa = 7, bias = 127;
  if (dtype == FC_DTYPE_F8E4M3FN) mantissa = 3, bias = 7;
  if (dtype == FC_DTYPE_F8E5M2FNUZ) bias = 16;
  if (dtype == FC_DTYPE_F8E4M3FNUZ) mantissa = 3, bias = 8;
  bool negative = bits >> (width - 1);
  unsigned field = bits >> mantissa & ((1u << (width - 1 - mantissa)) - 1);
  unsigned fraction = bits & ((1u << mantissa) - 1);
  unsigned top = (1u << (width - 1 - mantissa)) - 1;
  double sign = negative ? -1 : 1;
  if (dtype == FC_DTYPE_F8E5M2FNUZ || dtype == FC_DTYPE_F8E4M3FNUZ) {
    if (bits == 0x80) return (double)NAN;
  } else if (dtype == FC_DTYPE_F8E4M3FN) {
    if ((bits & 0x7F) == 0x7F) return (double)NAN;
  } else if (field == top) {
    return fraction ? (double)NAN : sign * (double)INFINITY;
  }
  if (field == 0) return sign * ldexp(fraction, 1 - bias - mantissa);
  return sign * ldexp(fraction | 1u << mantissa, (int)field - bias - mantissa);
}

// numbers/narrow tests the narrow types that are not listed here, with another oracle.
static const struct {
  const char *name;
  fc_dtype_t dtype;
  unsigned count;
} narrow_rows[] = {
    {"f16", FC_DTYPE_F16, 1 << 16},
    {"bf16", FC_DTYPE_BF16, 1 << 16},
    {"f8E5M2", FC_DTYPE_F8E5M2, 256},
    {"f8E4M3FN", FC_DTYPE_F8E4M3FN, 256},
    {"f8E5M2FNUZ", FC_DTYPE_F8E5M2FNUZ, 256},
    {"f8E4M3FNUZ", FC_DTYPE_F8E4M3FNUZ, 256},
    {"f8E8M0FNU", FC_DTYPE_F8E8M0FNU, 256},
};

// Every value is printed and read back. So is each border between two neighbours, from
// both sides; a tie goes to the even one.
static void every_narrow_value_comes_back(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(narrow_rows); i++) {
    fc_test_row(narrow_rows[i].name);
    const fc_dtype_t dtype = narrow_rows[i].dtype;
    for (unsigned bits = 0; bits < narrow_rows[i].count; bits++) {
      double value = narrow_value(dtype, bits);
      const char *text = print(dtype, &bits);
      if (isnan(value)) {
        assert_string_equal(text, "\"NaN\"");
        continue;
      }
      if (isinf(value)) {
        assert_string_equal(text, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
        continue;
      }
      if (parse(text, dtype) != bits) fail_msg("%x is printed %s", bits, text);
      char exact[1200];
      snprintf(exact, sizeof exact, "%.160f", value);
      if (parse(exact, dtype) != bits) fail_msg("%x is not %s", bits, exact);

      double next = narrow_value(dtype, bits + 1);
      bool same_sign =
          bits + 1 < narrow_rows[i].count && !signbit(value) == !signbit(next);
      if (!same_sign || !isfinite(next)) continue;
      double middle = (value + next) / 2;
      snprintf(exact, sizeof exact, "%.160f", middle);
      if (parse(exact, dtype) != bits + (bits & 1))
        fail_msg("middle %s", exact);
      strncat(exact, "1", 2);
      if (parse(exact, dtype) != bits + 1) fail_msg("above %s", exact);
      snprintf(exact, sizeof exact, "%.160f", nextafter(middle, value));
      if (parse(exact, dtype) != bits) fail_msg("below %s", exact);
    }
  }
  fc_test_row(NULL);
}

// Compares the printed text of a value with the shortest decimal that reads as the
// value. To find the latter, tries decimals of one digit, then of two digits, and so
// on.
static void narrow_values_print_shortest(void **state) {
  (void)state;
  for (size_t i = 0; i + 1 < FC_ARRAY_COUNT(narrow_rows); i++) {
    fc_test_row(narrow_rows[i].name);
    const fc_dtype_t dtype = narrow_rows[i].dtype;
    for (unsigned bits = 1; bits < narrow_rows[i].count / 2; bits++) {
      double value = narrow_value(dtype, bits);
      if (!isfinite(value)) continue;
      double printed = strtod(print(dtype, &bits), NULL);
      double best = 0;
      for (int digits = 0; digits < 8 && best == 0; digits++) {
        char text[32];
        snprintf(text, sizeof text, "%.*e", digits, value);
        // Tries the nearest decimal of that length, then the two next to it.
        if (parse(text, dtype) == bits) best = strtod(text, NULL);
        if (best != 0) break;
        double step = pow(10, floor(log10(value)) - digits);
        double nearest = strtod(text, NULL);
        for (int side = -1; side <= 1; side += 2) {
          snprintf(text, sizeof text, "%.*e", digits, nearest + side * step);
          if (parse(text, dtype) == bits) best = strtod(text, NULL);
        }
      }
      if (printed != best)
        fail_msg("%x: %s, not %g", bits, print(dtype, &bits), best);
    }
  }
  fc_test_row(NULL);
}

#if defined(__FLT16_MANT_DIG__)
static void f16_reads_as_the_compiler_does(void **state) {
  (void)state;
  for (int i = 0; i < 100000; i++) {
    double value = (double)(int64_t)next_random() /
                   (double)(UINT64_C(1) << (30 + next_random() % 34));
    _Float16 half = (_Float16)value;
    if (fabs((double)half) > 65504) continue;
    uint16_t wanted;
    memcpy(&wanted, &half, sizeof wanted);
    char text[64];
    snprintf(text, sizeof text, "%.17g", value);
    if (text[0] == '0' || strstr(text, "e+")) continue;
    assert_int_equal(parse(text, FC_DTYPE_F16), wanted);
  }
}
#endif

static void special_values_are_words(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_dtype_t dtype;
    uint64_t bits;
  } rows[] = {
      {"NaN", FC_DTYPE_F64, UINT64_C(0x7FF8) << 48},
      {"Infinity", FC_DTYPE_F64, UINT64_C(0x7FF0) << 48},
      {"-Infinity", FC_DTYPE_F64, UINT64_C(0xFFF0) << 48},
      {"NaN", FC_DTYPE_F32, 0x7FC00000},
      {"-Infinity", FC_DTYPE_F32, 0xFF800000},
      {"NaN", FC_DTYPE_F16, 0x7E00},
      {"Infinity", FC_DTYPE_F16, 0x7C00},
      {"-Infinity", FC_DTYPE_BF16, 0xFF80},
      {"NaN", FC_DTYPE_F8E4M3FN, 0x7F},
      {"Infinity", FC_DTYPE_F8E4M3FN, FAILED(OUT_OF_RANGE)},
      {"-Infinity", FC_DTYPE_F8E5M2, 0xFC},
      {"NaN", FC_DTYPE_F8E5M2FNUZ, 0x80},
      {"NaN", FC_DTYPE_F8E8M0FNU, 0xFF},
      {"Infinity", FC_DTYPE_F8E8M0FNU, FAILED(OUT_OF_RANGE)},
      {"NaN", FC_DTYPE_I32, FAILED(TYPE_MISMATCH)},
      {"nan", FC_DTYPE_F32, FAILED(TYPE_MISMATCH)},
      {"Infinity ", FC_DTYPE_F32, FAILED(TYPE_MISMATCH)},
      {"+Infinity", FC_DTYPE_F32, FAILED(TYPE_MISMATCH)},
      {"", FC_DTYPE_F32, FAILED(TYPE_MISMATCH)},
      {"1", FC_DTYPE_F32, FAILED(TYPE_MISMATCH)},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    uint64_t bits = 0;
    fc_error_t err;
    fc_str_t text = fc_str(rows[i].name);
    if (fc_number_parse_special(text, rows[i].dtype, &bits, &err)) {
      bits = UINT64_C(1) << 63 | err.code;
    }
    assert_int_equal(bits, rows[i].bits);
  }
  fc_test_row(NULL);
}

static void complex_and_small_integers_print(void **state) {
  (void)state;
  const float c64[2] = {1.5f, -0.0f};
  const double c128[2] = {-1.7976931348623157e308, -2.2250738585072014e-308};
  assert_string_equal(print(FC_DTYPE_C64, c64), "[1.5,-0.0]");
  assert_string_equal(print(FC_DTYPE_C128, c128),
                      "[-1.7976931348623157e+308,-2.2250738585072014e-308]");
  const uint8_t byte = 0xFE;
  assert_string_equal(print(FC_DTYPE_I1, &byte), "true");
  assert_string_equal(print(FC_DTYPE_I2, &byte), "-2");
  assert_string_equal(print(FC_DTYPE_I4, &byte), "-2");
  assert_string_equal(print(FC_DTYPE_UI2, &byte), "2");
  assert_string_equal(print(FC_DTYPE_UI4, &byte), "14");
  assert_string_equal(print(FC_DTYPE_I8, &byte), "-2");
  assert_string_equal(print(FC_DTYPE_UI8, &byte), "254");
}

// ---------------------------------------------------------------------------
// Runs of numbers

// Makes a literal of up to 40 characters, or something similar that is none.
static size_t make_literal(char *out) {
  char *at = out;
  if (next_random() % 2) *at++ = '-';
  size_t digits = 1 + next_random() % (next_random() % 4 ? 9 : 24);
  size_t point = next_random() % 3 ? next_random() % (digits + 1) : digits;
  for (size_t i = 0; i < digits; i++) {
    if (i == point && i) *at++ = '.';
    *at++ = (char)('0' + next_random() % (next_random() % 8 ? 10 : 1));
    if (i == 0 && at[-1] == '0' && point) point = 1;
  }
  if (next_random() % 8 == 0) {
    at += sprintf(at, "e%d", (int)(next_random() % 40) - 20);
  }
  if (next_random() % 8 == 0) {
    out[next_random() % (size_t)(at - out)] =
        "0123456789.-+eEx/:"[next_random() % 18];
  }
  return (size_t)(at - out);
}

// Whatever surrounds a literal, and however near it is to the ends of the memory, a run
// accepts only what fc_number_parse accepts, and reads the same bits.
static void a_run_reads_as_one_literal_does(void **state) {
  (void)state;
  static const fc_dtype_t kDtypes[] = {
      FC_DTYPE_I8,  FC_DTYPE_I16,  FC_DTYPE_I32,  FC_DTYPE_I64,
      FC_DTYPE_UI8, FC_DTYPE_UI16, FC_DTYPE_UI32, FC_DTYPE_UI64,
      FC_DTYPE_F16, FC_DTYPE_BF16, FC_DTYPE_F32,  FC_DTYPE_F64,
  };
  static const char kFill[] = "17,-2.5,0.001e-3,[4],123456789,\"x\",.-9";
  size_t taken = 0;
  for (int i = 0; i < 200000; i++) {
    char literal[64];
    const size_t size = make_literal(literal);
    const size_t before = next_random() % (sizeof kFill - 1);
    const size_t after = next_random() % (sizeof kFill - 1);
    static const char *const kEnds[] = {",",   " ,", "]", " ]",
                                        ",\n", ",[", ", "};
    const char *end = kEnds[next_random() % FC_ARRAY_COUNT(kEnds)];
    const size_t total = before + size + strlen(end) + after;
    char *text = malloc(total);
    assert_non_null(text);
    memcpy(text, kFill, before);
    memcpy(text + before, literal, size);
    memcpy(text + before + size, end, strlen(end));
    memcpy(text + total - after, kFill, after);
    const fc_dtype_t dtype = kDtypes[next_random() % FC_ARRAY_COUNT(kDtypes)];
    uint64_t wanted = 0, got = 0;
    const char *cursor = text + before;
    bool at_element;
    size_t count = fc_number_parse_run(dtype, text, &cursor, text + total, &got,
                                       1, &at_element);
    // The literal ended at a comma, or at a character that is no part of a number.
    fc_str_t read = {literal, size};
    if (count && !at_element) read.size = (size_t)(cursor - text) - before;
    bool number = !fc_number_parse(read, dtype, &wanted, NULL);
    if (count > number || (count && got != wanted) ||
        (!count && cursor != text + before)) {
      fail_msg("%.*s in %.*s of type %s", (int)size, literal, (int)total, text,
               fc_dtype_info(dtype)->text);
    }
    taken += count;
    free(text);
  }
  assert_true(taken > 50000);  // or it tests little
}

// Makes literals as they occur in rows of f32: short ones of any length, those of 16 to
// 19 digits, those with an exponent, exact middles of two f32, and decimals close to a
// middle.
static int make_float(char *out, size_t capacity) {
  const double value = (double)(int64_t)next_random() * 0x1p-62;
  const uint64_t middle = (next_random() >> 40 | 1u << 24) | 1;
  const int digits = 14 + (int)(next_random() % 6);
  switch (next_random() % 10) {
    case 0:
      return snprintf(out, capacity, "%.17g", value);
    case 1:
      return snprintf(out, capacity, "%.3e", value * 1e-3);
    case 2:
      return snprintf(out, capacity, "%llu", (unsigned long long)middle);
    case 3:
      return snprintf(out, capacity, "%.0f", value * 1e3);
    case 4:
      return snprintf(out, capacity, "%.*f", digits, (double)middle * 0x1p-25);
    case 5:
      return snprintf(out, capacity, "%.*f", digits - 4,
                      (double)middle * 0x1p-12);
    default:
      return snprintf(out, capacity, "%.*f", (int)(next_random() % 13), value);
  }
}

// Rows of one to nine literals, at the ends of the memory and in the middle. All of
// them are read, except the last before the end of the text. Each gets the bits that it
// has when it is read alone.
static void a_row_of_floats_reads_as_each_does(void **state) {
  (void)state;
  static const char *const kCommas[] = {",", ", ", ",\n", " , ", ",\t  "};
  for (int i = 0; i < 30000; i++) {
    const size_t before = next_random() % 40, after = next_random() % 60;
    const size_t count = 1 + next_random() % 9;
    const char *comma = kCommas[next_random() % FC_ARRAY_COUNT(kCommas)];
    char row[1024];
    float wanted[9], got[10] = {0};
    size_t size = before;
    memset(row, ' ', before);
    for (size_t k = 0; k < count; k++) {
      const int length = make_float(row + size, sizeof row - size);
      assert_false(fc_number_parse(fc_str_make(row + size, (size_t)length),
                                   FC_DTYPE_F32, &wanted[k], NULL));
      size += (size_t)length;
      if (k + 1 < count) size += (size_t)sprintf(row + size, "%s", comma);
    }
    const size_t last = size;
    row[size++] = ']';
    memset(row + size, '7', after);
    size += after;
    char *text = malloc(size);
    assert_non_null(text);
    memcpy(text, row, size);
    const char *cursor = text + before;
    const size_t capacity =
        next_random() % 2 ? count : 1 + next_random() % count;
    bool at_element;
    const size_t read = fc_number_parse_run(
        FC_DTYPE_F32, text, &cursor, text + size, got, capacity, &at_element);
    if (read != capacity || memcmp(got, wanted, read * sizeof *got) ||
        got[read] != 0 || at_element != (read < count) ||
        (read == count && cursor != text + last)) {
      fail_msg("%zu of %zu in %.*s", read, count, (int)size, row);
    }
    free(text);
  }
}

// Rows with mistakes: a run reads nothing that is not a number when it is read alone.
static void a_row_stops_at_a_mistake(void **state) {
  (void)state;
  static const char *const kCommas[] = {",",   ", ", ",  ", " ,",
                                        ",\n", "]",  ",-"};
  size_t taken = 0;
  for (int i = 0; i < 100000; i++) {
    enum { COUNT = 5 };
    char row[512];
    size_t starts[COUNT], sizes[COUNT], size = 20;
    memset(row, '7', sizeof row);
    for (size_t k = 0; k < COUNT; k++) {
      starts[k] = size;
      sizes[k] = next_random() % 16 ? make_literal(row + size) : 0;
      size += sizes[k];
      const char *comma =
          kCommas[next_random() % 8 ? next_random() % 2 : next_random() % 7];
      memcpy(row + size, comma, strlen(comma));
      size += strlen(comma);
    }
    // The end of the text is far away.
    const char *cursor = row + starts[0];
    float got[COUNT], wanted = 0;
    bool at_element;
    const size_t read = fc_number_parse_run(
        FC_DTYPE_F32, row, &cursor, row + size + 40, got, COUNT, &at_element);
    for (size_t k = 0; k < read; k++) {
      const bool last = k + 1 == read && !at_element;
      fc_str_t literal = {row + starts[k], sizes[k]};
      // A '-' after the comma belongs to the next literal.
      if (literal.data[-1] == '-') literal.data--, literal.size++;
      if (last) literal.size = (size_t)(cursor - literal.data);
      if (fc_number_parse(literal, FC_DTYPE_F32, &wanted, NULL) ||
          bits_of_float(wanted) != bits_of_float(got[k])) {
        fail_msg("element %zu of %.*s", k, (int)size, row);
      }
    }
    taken += read;
  }
  assert_true(taken > 100000);  // or it tests little
}

// Each float of a row is printed as it is alone, whatever its neighbours are and
// however far apart they are.
static void a_row_of_floats_prints_as_each_does(void **state) {
  (void)state;
  for (int i = 0; i < 30000; i++) {
    float values[2 * 13];
    const size_t count = next_random() % 14;
    const ptrdiff_t step = (ptrdiff_t)(next_random() % 3) - 1;
    for (size_t k = 0; k < FC_ARRAY_COUNT(values); k++) {
      const uint32_t bits = (uint32_t)next_random();
      const unsigned kind = next_random() % 8;
      const double uniform = (double)(int32_t)next_random() * 0x1p-31;
      values[k] = (float)uniform;
      if (kind == 0) memcpy(&values[k], &bits, sizeof bits);
      // Values with few binary digits: whole numbers, powers of two, ties between
      // decimals.
      if (kind == 1)
        values[k] = ldexpf((float)(bits % 4096), -(int)(bits >> 28));
      if (kind == 2) values[k] = ldexpf((float)uniform, (int)(bits % 50) - 25);
      if (kind == 4) values[k] = ldexpf(1, -(int)(bits % 18));
      if (kind == 3) values[k] = (float)(round(uniform * 1e4) / 1e4);
    }
    const float *first = step < 0 ? values + count : values;
    const ptrdiff_t stride = (step ? step : 2) * (ptrdiff_t)sizeof *values;
    char row[14 * FC_NUMBER_CHARS_MAX], wanted[14 * FC_NUMBER_CHARS_MAX];
    char *end = fc_number_print_run(FC_DTYPE_F32, first, stride, count, row);
    char *at = wanted;
    for (size_t k = 0; k < count; k++) {
      if (k) *at++ = ',';
      at = fc_number_print(FC_DTYPE_F32,
                           (const char *)first + (ptrdiff_t)k * stride, at);
    }
    if (end - row != at - wanted || memcmp(row, wanted, (size_t)(end - row))) {
      fail_msg("%.*s, not %.*s", (int)(end - row), row, (int)(at - wanted),
               wanted);
    }
  }
}

// The f64 nearest to each literal is the middle of two f32, but the literal itself is
// not. Rounding twice would give the even f32, which is wrong.
static const struct {
  const char *name;
  uint32_t bits;
} beside_ties[] = {
    {"0.00272479688283056", 0x3B329281},  {"0.0806516520678997", 0x3DA52CB1},
    {"0.0837574340403080", 0x3DAB8905},   {"0.492467537522316", 0x3EFC24B5},
    {"0.433119460940361", 0x3EDDC1D5},    {"0.00462309573777020", 0x3B977D57},
    {"0.000962689082371071", 0x3A7C5CF9}, {"0.0170184513553977", 0x3C8B6A47},
};

static void a_float_of_a_run_is_rounded_once(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(beside_ties); i++) {
    char text[256];
    fc_test_row(beside_ties[i].name);
    // The spaces put the literal far from both ends of the text. Only there the quick
    // reader, which also loads bytes before and after a literal, reads it.
    const int size = snprintf(text, sizeof text, "%64s,%s,%64s", "",
                              beside_ties[i].name, "");
    const char *cursor = text + 65;
    uint32_t bits = 0;
    bool at_element;
    assert_int_equal(fc_number_parse_run(FC_DTYPE_F32, text, &cursor,
                                         text + size, &bits, 1, &at_element),
                     1);
    assert_int_equal(bits, beside_ties[i].bits);
    assert_int_equal(
        fc_number_parse(fc_str(beside_ties[i].name), FC_DTYPE_F32, &bits, NULL),
        FC_OK);
    assert_int_equal(bits, beside_ties[i].bits);
  }
  fc_test_row(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    FC_TEST(integers_are_exact_or_refused),
    FC_TEST(complaints_name_value_and_limit),
    FC_TEST(integers_around_each_limit),
    FC_TEST(integers_print_as_printf_does),
    FC_TEST(floats_are_nearest_in_their_own_type),
    FC_TEST(random_literals_read_as_strtod_does),
    FC_TEST(midpoints_read_as_strtod_does),
    FC_TEST(a_million_digits),
    FC_TEST(floats_print_shortest),
    FC_TEST(random_doubles_come_back),
    FC_TEST(random_floats_come_back),
    FC_TEST(every_narrow_value_comes_back),
    FC_TEST(narrow_values_print_shortest),
#if defined(__FLT16_MANT_DIG__)
    FC_TEST(f16_reads_as_the_compiler_does),
#endif
    FC_TEST(special_values_are_words),
    FC_TEST(complex_and_small_integers_print),
    FC_TEST(a_run_reads_as_one_literal_does),
    FC_TEST(a_row_of_floats_reads_as_each_does),
    FC_TEST(a_row_stops_at_a_mistake),
    FC_TEST(a_row_of_floats_prints_as_each_does),
    FC_TEST(a_float_of_a_run_is_rounded_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
