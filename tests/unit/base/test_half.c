// SPDX-License-Identifier: Apache-2.0
//
// f16 and bf16: all 2^16 bit patterns in both directions, every border between
// neighbours, and f64 without double rounding. The oracles are ldexp and, if the
// compiler has it, _Float16.
#include "helpers/test.h"

#include <math.h>

// The value of the bits, computed as the format is defined.
static double value_of(unsigned bits, int mantissa, int bias) {
  double sign = bits >> 15 ? -1 : 1;
  unsigned top = (1u << (15 - mantissa)) - 1;
  unsigned field = bits >> mantissa & top;
  unsigned fraction = bits & ((1u << mantissa) - 1);
  if (field == top) {
    return fraction ? (double)NAN : sign * (double)INFINITY;
  }
  if (field == 0) return sign * ldexp(fraction, 1 - bias - mantissa);
  return sign * ldexp(fraction | 1u << mantissa, (int)field - bias - mantissa);
}

typedef struct format_t {
  const char *name;
  int mantissa, bias;
  float (*to_float)(uint16_t bits);
  uint16_t (*from_float)(float value);
  uint16_t (*from_double)(double value);
} format_t;

static const format_t formats[] = {
    {"f16", 10, 15, fc_half_to_float, fc_half_from_float, fc_half_from_double},
    {"bf16", 7, 127, fc_bfloat_to_float, fc_bfloat_from_float,
     fc_bfloat_from_double},
};

static void every_pattern_comes_back(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const format_t, row, formats) {
    for (unsigned bits = 0; bits < 1 << 16; bits++) {
      double wanted = value_of(bits, row->mantissa, row->bias);
      float value = row->to_float((uint16_t)bits);
      if (isnan(wanted)) {
        // A NaN stays a NaN, keeps its sign, and becomes quiet.
        assert_true(isnan(value));
        uint16_t back = row->from_float(value);
        assert_true(isnan(value_of(back, row->mantissa, row->bias)));
        assert_int_equal(back >> 15, bits >> 15);
        continue;
      }
      assert_true((double)value == wanted);
      assert_int_equal(signbit(value) != 0, bits >> 15);
      assert_int_equal(row->from_float(value), bits);
      assert_int_equal(row->from_double(wanted), bits);
    }
  }
}

// The middle between two neighbours rounds to the even one. Any other value rounds to
// the nearer one, however close it is to the middle.
static void borders_go_to_even(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const format_t, row, formats) {
    unsigned infinity = (1u << 15) - (1u << row->mantissa);
    for (unsigned bits = 0; bits < infinity; bits++) {
      double low = value_of(bits, row->mantissa, row->bias);
      double high = bits + 1 == infinity
                        ? ldexp(1, row->bias + 1)
                        : value_of(bits + 1, row->mantissa, row->bias);
      double middle = (low + high) / 2;
      unsigned even = bits + (bits & 1);
      assert_int_equal(row->from_double(middle), even);
      assert_int_equal(row->from_double(nextafter(middle, low)), bits);
      assert_int_equal(row->from_double(nextafter(middle, high)), bits + 1);
      assert_int_equal(row->from_double(-middle), even | 0x8000);
      float single = (float)middle;
      if ((double)single != middle) continue;
      assert_int_equal(row->from_float(single), even);
      assert_int_equal(row->from_float(nextafterf(single, (float)low)), bits);
      assert_int_equal(row->from_float(nextafterf(single, (float)high)),
                       bits + 1);
    }
  }
}

static void extremes(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const format_t, row, formats) {
    uint16_t infinity = (uint16_t)((1u << 15) - (1u << row->mantissa));
    assert_int_equal(row->from_double(1e308), infinity);
    assert_int_equal(row->from_double(-1e308), infinity | 0x8000);
    assert_int_equal(row->from_double((double)INFINITY), infinity);
    assert_int_equal(row->from_float(INFINITY), infinity);
    assert_int_equal(row->from_double(1e-308), 0);
    assert_int_equal(row->from_double(-5e-324), 0x8000);
    assert_int_equal(row->from_float(-0.0f), 0x8000);
    assert_true(isnan(row->to_float(row->from_double((double)NAN))));
  }
}

#if defined(__FLT16_MANT_DIG__)
static void f16_agrees_with_the_compiler(void **state) {
  (void)state;
  uint64_t random = 88172645463325252u;
  for (int i = 0; i < 1000000; i++) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    uint32_t bits = (uint32_t)random;
    // Most f32 patterns are far outside f16's range, so most are moved near it.
    if (i % 4) bits = (bits & 0x8FFFFFFF) | 0x30000000 | (bits & 0x0F000000);
    float value;
    memcpy(&value, &bits, sizeof value);
    if (isnan(value)) continue;
    _Float16 half = (_Float16)value;
    uint16_t wanted;
    memcpy(&wanted, &half, sizeof wanted);
    assert_int_equal(fc_half_from_float(value), wanted);
  }
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    FC_TEST(every_pattern_comes_back),
    FC_TEST(borders_go_to_even),
    FC_TEST(extremes),
#if defined(__FLT16_MANT_DIG__)
    FC_TEST(f16_agrees_with_the_compiler),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
