// SPDX-License-Identifier: Apache-2.0
//
// Elements to number text: digits eight at a time in one word, placed by
// overlapping stores, so the room an element is promised may be written beyond
// its end. Any thread.
#include "json/decimal.h"
#include "json/number.h"
#include "json/shortest.h"

#define ZEROS UINT64_C(0x3030303030303030)

static inline void store8(char *out, uint64_t word) { memcpy(out, &word, 8); }

// Eight digit values, the first in the low byte. value < 10^8.
static inline uint64_t eight_digits(uint64_t value) {
  uint64_t high = (value * 109951163) >> 40;  // / 10000
  uint64_t fours = high | (value - 10000 * high) << 32;
  uint64_t hundreds = ((fours * 10486) >> 20) & UINT64_C(0x0000007F0000007F);
  uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
  uint64_t tens = ((twos * 103) >> 10) & UINT64_C(0x000F000F000F000F);
  return tens | (twos - 10 * tens) << 8;
}

// value < 10^8, without leading zeros.
static inline char *print_short(uint64_t value, char *out) {
  uint64_t digits = eight_digits(value);
  unsigned skip = value ? (unsigned)__builtin_ctzll(digits) >> 3 : 7;
  store8(out, (digits + ZEROS) >> (8 * skip));
  return out + 8 - skip;
}

char *fc_number_print_u64(uint64_t value, char *out) {
  const uint64_t e8 = 100000000;
  if (value < e8) return print_short(value, out);
  uint64_t high = value / e8, low = value % e8;
  if (high < e8) {
    out = print_short(high, out);
  } else {
    out = print_short(high / e8, out);
    store8(out, eight_digits(high % e8) + ZEROS);
    out += 8;
  }
  store8(out, eight_digits(low) + ZEROS);
  return out + 8;
}

char *fc_number_print_i64(int64_t value, char *out) {
  *out = '-';
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  return fc_number_print_u64(magnitude, out + (value < 0));
}

static inline int count_digits(uint64_t value) {
  int guess = ((64 - __builtin_clzll(value | 1)) * 1233) >> 12;
  return guess + (value >= fc_u64_powers[guess]);
}

static char *print_exponent(int exponent, char *out) {
  *out++ = 'e';
  *out++ = exponent < 0 ? '-' : '+';
  return print_short((uint64_t)(exponent < 0 ? -exponent : exponent), out);
}

// digits (up to 17 of them, not 0) * 10^exponent
static char *print_decimal(fc_shortest_t value, char *out) {
  uint64_t digits = value.digits;
  int count = count_digits(digits);
  int point = count + value.exponent;  // digits before the decimal point
  // Left-aligned, zeros behind, so that the trailing zeros can be counted.
  char text[40];
  int size;
  store8(text + 16, ZEROS);
  store8(text + 24, ZEROS);
  store8(text + 32, ZEROS);
  if (count <= 8) {
    uint64_t word = eight_digits(digits * fc_u64_powers[8 - count]);
    size = 8 - (__builtin_clzll(word) >> 3);
    store8(text, word + ZEROS);
    store8(text + 8, ZEROS);
  } else {
    digits *= fc_u64_powers[17 - count];
    uint64_t high = digits / 1000000000, low = digits % 1000000000;
    uint64_t first = eight_digits(high), second = eight_digits(low / 10);
    store8(text, first + ZEROS);
    store8(text + 8, second + ZEROS);
    text[16] = (char)('0' + low % 10);
    size = low % 10 ? 17
           : second ? 16 - (__builtin_clzll(second) >> 3)
                    : 8 - (__builtin_clzll(first) >> 3);
  }
  if (point > 0 && point <= 16) {
    memcpy(out, text, 24);
    if (size <= point) {
      memcpy(out + point, ".0", 2);
      return out + point + 2;
    }
    out[point] = '.';
    memcpy(out + point + 1, text + point, 17);
    return out + size + 1;
  }
  if (point <= 0 && point > -5) {
    store8(out, UINT64_C(0x3030303030302E30));  // 0.000000
    memcpy(out + 2 - point, text, 24);
    return out + 2 - point + size;
  }
  out[0] = text[0];
  out[1] = '.';
  memcpy(out + 2, text + 1, 23);
  out += size > 1 ? size + 1 : 1;
  return print_exponent(point - 1, out);
}

static char *print_text(fc_str_t text, char *out) {
  memcpy(out, text.data, text.size);
  return out + text.size;
}

static char *print_special(bool nan, bool negative, char *out) {
  if (nan) return print_text(FC_STR("\"NaN\""), out);
  if (negative) return print_text(FC_STR("\"-Infinity\""), out);
  return print_text(FC_STR("\"Infinity\""), out);
}

static char *print_whole(uint64_t value, char *out) {
  out = fc_number_print_u64(value, out);
  memcpy(out, ".0", 2);
  return out + 2;
}

static inline char *print_f64(double number, char *out) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  bool negative = bits >> 63;
  bits &= INT64_MAX;
  const uint64_t infinity = UINT64_C(0x7FF) << 52;
  if (FC_UNLIKELY(bits >= infinity)) {
    return print_special(bits > infinity, negative, out);
  }
  *out = '-';
  out += negative;
  double magnitude = negative ? -number : number;
  if (magnitude < 0x1p53) {
    uint64_t whole = (uint64_t)magnitude;
    if ((double)whole == magnitude) return print_whole(whole, out);
  }
  uint64_t hidden = UINT64_C(1) << 52;
  uint64_t fraction = bits & (hidden - 1);
  int field = (int)(bits >> 52);
  uint64_t mantissa = field ? fraction | hidden : fraction;
  int exponent = (field ? field : 1) - 1075;
  return print_decimal(
      fc_shortest_wide(mantissa, exponent, fraction == 0 && field > 1,
                       !(mantissa & 1)),
      out);
}

// A positive finite value in a format of at most 24 bits.
static inline char *print_narrow_value(uint32_t bits, int mantissa_bits,
                                       int bias, char *out) {
  uint32_t hidden = 1u << mantissa_bits;
  uint32_t fraction = bits & (hidden - 1);
  int field = (int)(bits >> mantissa_bits);
  uint32_t mantissa = field ? fraction | hidden : fraction;
  int exponent = (field ? field : 1) - bias - mantissa_bits;
  if (mantissa == 0) return print_text(FC_STR("0.0"), out);
  if (exponent <= 0 && exponent >= -mantissa_bits) {
    uint32_t whole = mantissa >> -exponent;
    if (whole << -exponent == mantissa) return print_whole(whole, out);
  }
  return print_decimal(
      fc_shortest_narrow(mantissa, exponent, fraction == 0 && field > 1,
                         !(mantissa & 1)),
      out);
}

// IEEE-like formats of up to 32 bits, with infinities and NaNs.
static inline char *print_ieee(uint32_t bits, int width, int mantissa_bits,
                               int bias, char *out) {
  bool negative = bits >> (width - 1) & 1;
  bits &= (1u << (width - 1)) - 1;
  uint32_t infinity = (1u << (width - 1)) - (1u << mantissa_bits);
  if (FC_UNLIKELY(bits >= infinity)) {
    return print_special(bits > infinity, negative, out);
  }
  *out = '-';
  return print_narrow_value(bits, mantissa_bits, bias, out + negative);
}

// Formats whose only special value is the NaN of `nan`; `ignore_sign` where
// both signs have one.
static char *print_finite(uint8_t bits, int mantissa_bits, int bias,
                          uint8_t nan, bool ignore_sign, char *out) {
  uint8_t magnitude = bits & 0x7F;
  if ((ignore_sign ? magnitude : bits) == nan) {
    return print_special(true, false, out);
  }
  *out = '-';
  return print_narrow_value(magnitude, mantissa_bits, bias, out + (bits >> 7));
}

// 2^(bits - 127), printed as the f32 it is: a scale of 16 should not read 20.
static char *print_e8m0(uint8_t bits, char *out) {
  if (bits == 0xFF) return print_special(true, false, out);
  return print_narrow_value(bits ? (uint32_t)bits << 23 : 1u << 22, 23, 127,
                            out);
}

static inline char *print_f32(float number, char *out) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return print_ieee(bits, 32, 23, 127, out);
}
static inline char *print_f16(uint16_t bits, char *out) {
  return print_ieee(bits, 16, 10, 15, out);
}
static inline char *print_bf16(uint16_t bits, char *out) {
  return print_ieee(bits, 16, 7, 127, out);
}
static char *print_f8e5m2(uint8_t bits, char *out) {
  return print_ieee(bits, 8, 2, 15, out);
}
static char *print_f8e4m3fn(uint8_t bits, char *out) {
  return print_finite(bits, 3, 7, 0x7F, true, out);
}
static char *print_f8e5m2fnuz(uint8_t bits, char *out) {
  return print_finite(bits, 2, 16, 0x80, false, out);
}
static char *print_f8e4m3fnuz(uint8_t bits, char *out) {
  return print_finite(bits, 3, 8, 0x80, false, out);
}

static char *print_bool(uint8_t value, char *out) {
  return value ? print_text(FC_STR("true"), out)
               : print_text(FC_STR("false"), out);
}
// i2 and i4 take a byte each, of which only the low bits count.
static char *print_i2(uint8_t value, char *out) {
  return fc_number_print_i64((int8_t)(uint8_t)(value << 6) >> 6, out);
}
static char *print_i4(uint8_t value, char *out) {
  return fc_number_print_i64((int8_t)(uint8_t)(value << 4) >> 4, out);
}
static char *print_u2(uint8_t value, char *out) {
  return fc_number_print_u64(value & 3, out);
}
static char *print_u4(uint8_t value, char *out) {
  return fc_number_print_u64(value & 15, out);
}
static inline char *print_i64(int64_t value, char *out) {
  return fc_number_print_i64(value, out);
}
static inline char *print_u64(uint64_t value, char *out) {
  return fc_number_print_u64(value, out);
}

typedef struct c64_t {
  float re, im;
} c64_t;
typedef struct c128_t {
  double re, im;
} c128_t;

static char *print_c64(c64_t value, char *out) {
  *out++ = '[';
  out = print_f32(value.re, out);
  *out++ = ',';
  out = print_f32(value.im, out);
  *out++ = ']';
  return out;
}

static char *print_c128(c128_t value, char *out) {
  *out++ = '[';
  out = print_f64(value.re, out);
  *out++ = ',';
  out = print_f64(value.im, out);
  *out++ = ']';
  return out;
}

// Elements may lie anywhere: memcpy, never a cast.
#define DEFINE_RUN(name, type, print)                                     \
  static char *name(const char *elements, ptrdiff_t stride, size_t count, \
                    char *out) {                                          \
    for (size_t i = 0; i < count; i++, elements += stride) {              \
      type value;                                                         \
      memcpy(&value, elements, sizeof value);                             \
      if (i) *out++ = ',';                                                \
      out = print(value, out);                                            \
    }                                                                     \
    return out;                                                           \
  }
DEFINE_RUN(run_bool, uint8_t, print_bool)
DEFINE_RUN(run_i2, uint8_t, print_i2)
DEFINE_RUN(run_i4, uint8_t, print_i4)
DEFINE_RUN(run_u2, uint8_t, print_u2)
DEFINE_RUN(run_u4, uint8_t, print_u4)
DEFINE_RUN(run_i8, int8_t, print_i64)
DEFINE_RUN(run_i16, int16_t, print_i64)
DEFINE_RUN(run_i32, int32_t, print_i64)
DEFINE_RUN(run_i64, int64_t, print_i64)
DEFINE_RUN(run_u8, uint8_t, print_u64)
DEFINE_RUN(run_u16, uint16_t, print_u64)
DEFINE_RUN(run_u32, uint32_t, print_u64)
DEFINE_RUN(run_u64, uint64_t, print_u64)
DEFINE_RUN(run_f16, uint16_t, print_f16)
DEFINE_RUN(run_bf16, uint16_t, print_bf16)
DEFINE_RUN(run_f32, float, print_f32)
DEFINE_RUN(run_f64, double, print_f64)
DEFINE_RUN(run_f8e5m2, uint8_t, print_f8e5m2)
DEFINE_RUN(run_f8e4m3fn, uint8_t, print_f8e4m3fn)
DEFINE_RUN(run_f8e5m2fnuz, uint8_t, print_f8e5m2fnuz)
DEFINE_RUN(run_f8e4m3fnuz, uint8_t, print_f8e4m3fnuz)
DEFINE_RUN(run_e8m0, uint8_t, print_e8m0)
DEFINE_RUN(run_c64, c64_t, print_c64)
DEFINE_RUN(run_c128, c128_t, print_c128)

typedef char *(*run_t)(const char *elements, ptrdiff_t stride, size_t count,
                       char *out);

static const run_t kRuns[FC_DTYPE_COUNT] = {
    [FC_DTYPE_I1] = run_bool,
    [FC_DTYPE_I2] = run_i2,
    [FC_DTYPE_I4] = run_i4,
    [FC_DTYPE_I8] = run_i8,
    [FC_DTYPE_I16] = run_i16,
    [FC_DTYPE_I32] = run_i32,
    [FC_DTYPE_I64] = run_i64,
    [FC_DTYPE_SI2] = run_i2,
    [FC_DTYPE_SI4] = run_i4,
    [FC_DTYPE_SI8] = run_i8,
    [FC_DTYPE_SI16] = run_i16,
    [FC_DTYPE_SI32] = run_i32,
    [FC_DTYPE_SI64] = run_i64,
    [FC_DTYPE_UI2] = run_u2,
    [FC_DTYPE_UI4] = run_u4,
    [FC_DTYPE_UI8] = run_u8,
    [FC_DTYPE_UI16] = run_u16,
    [FC_DTYPE_UI32] = run_u32,
    [FC_DTYPE_UI64] = run_u64,
    [FC_DTYPE_INDEX] = run_i64,
    [FC_DTYPE_F16] = run_f16,
    [FC_DTYPE_BF16] = run_bf16,
    [FC_DTYPE_F32] = run_f32,
    [FC_DTYPE_F64] = run_f64,
    [FC_DTYPE_F8E5M2] = run_f8e5m2,
    [FC_DTYPE_F8E4M3FN] = run_f8e4m3fn,
    [FC_DTYPE_F8E5M2FNUZ] = run_f8e5m2fnuz,
    [FC_DTYPE_F8E4M3FNUZ] = run_f8e4m3fnuz,
    [FC_DTYPE_F8E8M0FNU] = run_e8m0,
    [FC_DTYPE_C64] = run_c64,
    [FC_DTYPE_C128] = run_c128,
};

char *fc_number_print_run(fc_dtype_t dtype, const void *elements,
                          ptrdiff_t stride, size_t count, char *out) {
  FC_ASSERT((size_t)dtype < FC_DTYPE_COUNT && kRuns[dtype]);
  return kRuns[dtype](elements, stride, count, out);
}

char *fc_number_print(fc_dtype_t dtype, const void *element, char *out) {
  return fc_number_print_run(dtype, element, 0, 1, out);
}
