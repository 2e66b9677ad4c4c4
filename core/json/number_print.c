// SPDX-License-Identifier: Apache-2.0
//
// Prints elements as number text, eight digits at a time in one word. The words
// overlap when they are stored, so bytes after the end of an element's text are
// also written, but never outside its room. Any thread.
#include "base/float_format.h"
#include "base/width.h"
#include "json/decimal.h"
#include "json/number.h"
#include "json/quad.h"
#include "json/shortest.h"

#define ZEROS UINT64_C(0x3030303030303030)

FC_INLINE void store8(char *out, uint64_t word) { memcpy(out, &word, 8); }

// Returns the eight digits of value < 10^8, one in each byte, the first in the low byte.
// Each step splits every lane n of the word in two: the quotient q by d stays in place,
// and the remainder goes s bits above it. q + ((n - q * d) << s) is (n << s) - q * ((d <<
// s) - 1).
FC_INLINE uint64_t eight_digits(uint64_t value) {
  uint64_t high = (value * 109951163) >> 40;  // / 10000
  uint64_t fours = (value << 32) - high * ((UINT64_C(10000) << 32) - 1);
  uint64_t hundreds = ((fours * 10486) >> 20) & UINT64_C(0x0000007F0000007F);
  uint64_t twos = (fours << 16) - hundreds * ((100 << 16) - 1);
  uint64_t tens = ((twos * 103) >> 10) & UINT64_C(0x000F000F000F000F);
  return (twos << 8) - tens * ((10 << 8) - 1);
}

// Prints value < 10^8, without leading zeros.
FC_INLINE char *print_short(uint64_t value, char *out) {
  uint64_t digits = eight_digits(value);
  unsigned skip = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) >> 3;
  store8(out, (digits + ZEROS) >> (8 * skip));
  return out + 8 - skip;
}

// Prints value < 10^4 in the last two steps of eight_digits.
FC_INLINE char *print_tiny(uint64_t value, char *out) {
  uint32_t hundreds = (uint32_t)(value * 10486) >> 20;
  uint32_t twos = (uint32_t)(value << 16) - hundreds * ((100 << 16) - 1);
  uint32_t tens = ((twos * 103) >> 10) & 0x000F000F;
  uint32_t digits = (twos << 8) - tens * ((10 << 8) - 1);
  unsigned skip = (unsigned)__builtin_ctz(digits | 1u << 24) >> 3;
  digits = (digits + (uint32_t)ZEROS) >> (8 * skip);
  memcpy(out, &digits, 4);
  return out + 4 - skip;
}

FC_INLINE char *print_u64(uint64_t value, char *out) {
  const uint64_t e8 = 100000000;
  if (value < 10000) return print_tiny(value, out);
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

FC_INLINE char *print_i64(int64_t value, char *out) {
  *out = '-';
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  return print_u64(magnitude, out + (value < 0));
}

char *fc_number_print_u64(uint64_t value, char *out) {
  return print_u64(value, out);
}

char *fc_number_print_i64(int64_t value, char *out) {
  return print_i64(value, out);
}

FC_INLINE int count_digits(uint64_t value) {
  int guess = ((64 - __builtin_clzll(value | 1)) * 1233) >> 12;
  return guess + (value >= fc_u64_powers[guess]);
}

static char *print_exponent(int exponent, char *out) {
  *out++ = 'e';
  *out++ = exponent < 0 ? '-' : '+';
  return print_short((uint64_t)(exponent < 0 ? -exponent : exponent), out);
}

// Where the digits of a number in fixed notation go. kLayouts has one layout for each
// value of `point`. If `point` is above 0, the decimal point stands after the first
// `point` digits. Otherwise it stands before -`point` zeros, which are before all digits.
typedef struct layout_t {
  uint8_t digits;  // offset of the first digit; "0.000" is before it
  uint8_t dot;     // offset of the point
  uint8_t skip;    // digits before those at `tail`, at least 1
  uint8_t tail;    // offset of the digits that follow
  uint8_t extra;   // number of characters that are not digits
  uint8_t unused[3];
} layout_t;

#define POINT_LOW (-4)
#define POINT_HIGH 16
#define SMALL(zeros)                                   \
  {                                                    \
    2 + (zeros), 1, 1, 3 + (zeros), 2 + (zeros), { 0 } \
  }
#define LARGE(point)                       \
  {                                        \
    0, point, point, (point) + 1, 1, { 0 } \
  }
static const layout_t kLayouts[] = {
    SMALL(4),  SMALL(3),  SMALL(2),  SMALL(1),  SMALL(0),  LARGE(1),  LARGE(2),
    LARGE(3),  LARGE(4),  LARGE(5),  LARGE(6),  LARGE(7),  LARGE(8),  LARGE(9),
    LARGE(10), LARGE(11), LARGE(12), LARGE(13), LARGE(14), LARGE(15), LARGE(16),
};
_Static_assert(FC_ARRAY_COUNT(kLayouts) == POINT_HIGH - POINT_LOW + 1,
               "one for each place of the point");

// Prints digits * 10^exponent for any exponent. `digits` is not 0 and has at
// most 17 digits.
static char *print_decimal(fc_shortest_t value, char *out) {
  uint64_t digits = value.digits;
  int count = count_digits(digits);
  int point = count + value.exponent;  // digits before the decimal point
  // Holds the digits, left-aligned, with zeros after them, so that trailing
  // zeros can be counted.
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

// Returns how many of eight digit values (the first in the low byte) remain without the
// zeros at their end; 0 if all are 0.
FC_INLINE unsigned significant(uint64_t values) {
  return (67 - (unsigned)__builtin_clzll(values << 4 | 1)) >> 3;
}

// Prints eight digits of a number that is not whole, without a branch. If `nine` is 1,
// a digit 1 is printed before them. All digits are stored in a row, beginning at the
// place of the first. Then those after the point are stored again, one place further.
FC_INLINE char *print_eight(uint64_t values, unsigned nine, int point,
                            char *out) {
  layout_t layout = kLayouts[point - POINT_LOW];
  uint64_t text = values + ZEROS;
  store8(out, UINT64_C(0x3030303030302E30));  // 0.000000
  out[layout.digits] = '1';
  store8(out + layout.digits + nine, text);
  store8(out + layout.tail, text >> (8 * (layout.skip - nine)));
  out[layout.dot] = '.';
  return out + layout.extra + nine + significant(values);
}

// Prints the usual numbers faster than print_decimal: those with digits below 2 * 10^8.
// Numbers that are whole, 10^8 or more, or need an exponent are left to print_decimal.
FC_INLINE char *print_narrow(fc_shortest_t value, char *out) {
  const uint64_t e8 = 100000000;
  unsigned nine = value.digits >= e8;  // there are nine digits, the first is 1
  uint64_t values = eight_digits(value.digits - (nine ? e8 : 0));
  unsigned zeros = (unsigned)__builtin_ctzll(values | nine) >> 3;
  int point = (int)(8 + nine - zeros) + value.exponent;
  values >>= 8 * zeros;
  int size = (int)(nine + significant(values));
  // After this check the point has digits after it, and at most eight before it.
  if (FC_UNLIKELY((unsigned)(point - POINT_LOW) > 8 - POINT_LOW ||
                  size <= point)) {
    return print_decimal(value, out);
  }
  return print_eight(values, nine, point, out);
}

// Does the same as print_narrow for 16 or 17 digits. Fewer digits, and numbers
// that are whole or need an exponent, are left to print_decimal.
FC_INLINE char *print_wide(fc_shortest_t value, char *out) {
  const uint64_t e8 = 100000000;
  uint64_t high = value.digits / e8, low = value.digits % e8;
  unsigned first = (unsigned)(high / e8);
  unsigned more = first != 0;
  int point = (int)(16 + more) + value.exponent;
  uint64_t front = eight_digits(high - first * e8), back = eight_digits(low);
  int size = (int)(more + (back ? 8 + significant(back) : significant(front)));
  if (FC_UNLIKELY(high < e8 / 10 ||
                  (unsigned)(point - POINT_LOW) > POINT_HIGH - POINT_LOW ||
                  size <= point)) {
    return print_decimal(value, out);
  }
  layout_t layout = kLayouts[point - POINT_LOW];
  unsigned __int128 text =
      (unsigned __int128)(back + ZEROS) << 64 | (front + ZEROS);
  unsigned __int128 tail = text >> (8 * (layout.skip - more));
  store8(out, UINT64_C(0x3030303030302E30));  // 0.000000
  out[layout.digits] = (char)('0' + first);
  memcpy(out + layout.digits + more, &text, 16);
  memcpy(out + layout.tail, &tail, 16);
  out[layout.dot] = '.';
  return out + layout.extra + size;
}

FC_INLINE char *print_text(fc_str_t text, char *out) {
  memcpy(out, text.data, text.size);
  return out + text.size;
}

static char *print_special(bool nan, bool negative, char *out) {
  if (nan) return print_text(FC_STR("\"NaN\""), out);
  if (negative) return print_text(FC_STR("\"-Infinity\""), out);
  return print_text(FC_STR("\"Infinity\""), out);
}

FC_INLINE char *print_whole(uint64_t value, char *out) {
  out = print_u64(value, out);
  memcpy(out, ".0", 2);
  return out + 2;
}

// True when mantissa * 2^exponent is whole and the exponent is at most 0. The
// mantissa is not 0.
FC_INLINE bool is_whole(uint64_t mantissa, int exponent) {
  return (unsigned)-exponent <= (unsigned)__builtin_ctzll(mantissa);
}

// Prints a positive finite value for which is_whole is false.
static char *print_rare_f64(uint64_t bits, char *out) {
  uint64_t hidden = UINT64_C(1) << 52;
  uint64_t fraction = bits & (hidden - 1);
  int field = (int)(bits >> 52);
  uint64_t mantissa = field ? fraction | hidden : fraction;
  return print_decimal(
      fc_shortest_wide(mantissa, (field ? field : 1) - 1075,
                       fraction == 0 && field > 1, !(mantissa & 1)),
      out);
}

FC_INLINE char *print_f64(double number, char *out) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  bool negative = bits >> 63;
  bits &= INT64_MAX;
  const uint64_t hidden = UINT64_C(1) << 52, infinity = UINT64_C(0x7FF) << 52;
  *out = '-';
  char *at = out + negative;
  // The value is not 0, subnormal, infinite or NaN.
  if (FC_LIKELY(bits - hidden < infinity - hidden)) {
    uint64_t fraction = bits & (hidden - 1), mantissa = fraction | hidden;
    int exponent = (int)(bits >> 52) - 1075;
    if (is_whole(mantissa, exponent)) {
      return print_whole(mantissa >> -exponent, at);
    }
    if (FC_LIKELY(fraction)) {
      return print_wide(fc_shortest_f64(mantissa, exponent), at);
    }
  }
  if (bits == 0) return print_text(FC_STR("0.0"), at);
  if (bits >= infinity) return print_special(bits > infinity, negative, out);
  return print_rare_f64(bits, at);
}

// Prints a finite value that is 0 or positive. `format` has at most 24 bits for
// mantissas, with the hidden bit.
static char *print_rare(uint32_t bits, const fc_float_format_t *format,
                        char *out) {
  const int mantissa_bits = format->mantissa_bits, bias = format->bias;
  uint32_t hidden = 1u << mantissa_bits;
  uint32_t fraction = bits & (hidden - 1);
  int field = (int)(bits >> mantissa_bits);
  uint32_t mantissa = field ? fraction | hidden : fraction;
  int exponent = (field ? field : 1) - bias - mantissa_bits;
  if (mantissa == 0) return print_text(FC_STR("0.0"), out);
  if (is_whole(mantissa, exponent)) {
    return print_whole(mantissa >> -exponent, out);
  }
  return print_decimal(
      fc_shortest_narrow(mantissa, exponent, fraction == 0 && field > 1,
                         !(mantissa & 1)),
      out);
}

// Prints an element of an IEEE-like format of 16 to 32 bits, with infinities and NaNs.
FC_INLINE char *print_ieee(uint32_t bits, const fc_float_format_t *format,
                           char *out) {
  const int mantissa_bits = format->mantissa_bits, bias = format->bias;
  const uint32_t sign = (uint32_t)format->sign;
  const uint32_t infinity = (uint32_t)format->infinity;
  bool negative = (bits & sign) != 0;
  bits &= sign - 1;
  uint32_t hidden = 1u << mantissa_bits;
  *out = '-';
  char *at = out + negative;
  // The value is not 0, subnormal, infinite or NaN.
  if (FC_LIKELY(bits - hidden < infinity - hidden)) {
    uint32_t fraction = bits & (hidden - 1), mantissa = fraction | hidden;
    int exponent = (int)(bits >> mantissa_bits) - bias - mantissa_bits;
    if (is_whole(mantissa, exponent)) {
      return print_whole(mantissa >> -exponent, at);
    }
    if (FC_LIKELY(fraction)) {
      return print_narrow(fc_shortest_f32(mantissa, exponent), at);
    }
  }
  if (bits == 0) return print_text(FC_STR("0.0"), at);
  if (bits >= infinity) return print_special(bits > infinity, negative, out);
  return print_rare(bits, format, at);
}

// Prints an element of a signed float format of at most 8 bits.
static char *print_f8(uint8_t bits, const fc_float_format_t *format,
                      char *out) {
  const bool negative = (bits & format->sign) != 0;
  const uint8_t magnitude = (uint8_t)(bits & (format->sign - 1));
  const bool nan = fc_float_is_nan(format, bits);
  if (nan || (format->infinity && magnitude == format->infinity)) {
    return print_special(nan, negative, out);
  }
  *out = '-';
  return print_rare(magnitude, format, out + negative);
}

// Prints 2^(bits - 127) as an f32. The shortest decimal that is read back in f8E8M0FNU
// itself would be misleading: 20 for the scale 16.
static char *print_e8m0(uint8_t bits, char *out) {
  if (bits == fc_float_formats[FC_DTYPE_F8E8M0FNU].nan) {
    return print_special(true, false, out);
  }
  return print_rare(bits ? (uint32_t)bits << 23 : 1u << 22,
                    &fc_float_formats[FC_DTYPE_F32], out);
}

FC_INLINE char *print_f32(float number, char *out) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return print_ieee(bits, &fc_float_formats[FC_DTYPE_F32], out);
}
FC_INLINE char *print_f16(uint16_t bits, char *out) {
  return print_ieee(bits, &fc_float_formats[FC_DTYPE_F16], out);
}
FC_INLINE char *print_bf16(uint16_t bits, char *out) {
  return print_ieee(bits, &fc_float_formats[FC_DTYPE_BF16], out);
}
static char *print_bool(uint8_t value, char *out) {
  return value ? print_text(FC_STR("true"), out)
               : print_text(FC_STR("false"), out);
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

// Defines a function that prints a run of elements. Elements need not be aligned, so they
// are copied by memcpy and never cast.
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
DEFINE_RUN(run_f64, double, print_f64)
DEFINE_RUN(run_e8m0, uint8_t, print_e8m0)
DEFINE_RUN(run_c64, c64_t, print_c64)
DEFINE_RUN(run_c128, c128_t, print_c128)
DEFINE_RUN(run_each_f32, float, print_f32)

#if FC_VECTORS
// Prints one number. Not inlined, because print_eight prints most elements.
static __attribute__((noinline)) char *print_alone(float number, char *out) {
  return print_f32(number, out);
}

FC_INLINE char *print_lane(const fc_quad_t *quad, int i, bool usual,
                           char *out) {
  const uint32_t bits = quad->bits[i];
  const int point = (int)fc_quad_scale(bits)->point;
  if (FC_LIKELY(usual)) {
    *out = '-';
    out = print_eight(quad->digits[i], quad->nine[i],
                      point + (int)quad->nine[i], out + (bits >> 31));
  } else {
    float number;
    memcpy(&number, &bits, sizeof number);
    out = print_alone(number, out);
  }
  *out = ',';
  return out + 1;
}

static __attribute__((noinline)) char *run_quads(const char *elements,
                                                 ptrdiff_t stride, size_t count,
                                                 char *out) {
  fc_quad_t quad;
  for (; count > 4; count -= 4, elements += 4 * stride) {
    const unsigned usual = fc_quad_digits(elements, stride, &quad);
    if (!usual) {  // most of these are whole numbers
      out = run_each_f32(elements, stride, 4, out);
      *out++ = ',';
      continue;
    }
    out = print_lane(&quad, 0, usual & 1, out);
    out = print_lane(&quad, 1, usual & 2, out);
    out = print_lane(&quad, 2, usual & 4, out);
    out = print_lane(&quad, 3, usual & 8, out);
  }
  return run_each_f32(elements, stride, count, out);
}

// Prints f32. For few elements no quad is used, because the compiler's hardening clears
// it on the stack, which costs as much as a few numbers.
static char *run_f32(const char *elements, ptrdiff_t stride, size_t count,
                     char *out) {
  return count > 4 ? run_quads(elements, stride, count, out)
                   : run_each_f32(elements, stride, count, out);
}
#else
#define run_f32 run_each_f32
#endif

typedef char *(*run_t)(const char *elements, ptrdiff_t stride, size_t count,
                       char *out);

// Prints integers of odd widths and floats of at most 8 bits. The bits above the width of
// such an element are ignored.
static __attribute__((noinline)) char *run_narrow(
    const fc_dtype_info_t *info, const fc_float_format_t *format,
    const char *elements, ptrdiff_t stride, size_t count, char *out) {
  const bool is_signed = fc_dtype_is_signed(info);
  for (size_t i = 0; i < count; i++, elements += stride) {
    const uint64_t bits = fc_width_extend(info, fc_width_load(info, elements));
    if (i) *out++ = ',';
    if (format->bias) out = print_f8((uint8_t)bits, format, out);
    else if (is_signed) out = print_i64((int64_t)bits, out);
    else out = print_u64(bits, out);
  }
  return out;
}

// The types that have a function of their own.
static const run_t kRuns[FC_DTYPE_COUNT] = {
    [FC_DTYPE_I1] = run_bool,        [FC_DTYPE_I8] = run_i8,
    [FC_DTYPE_I16] = run_i16,        [FC_DTYPE_I32] = run_i32,
    [FC_DTYPE_I64] = run_i64,        [FC_DTYPE_SI8] = run_i8,
    [FC_DTYPE_SI16] = run_i16,       [FC_DTYPE_SI32] = run_i32,
    [FC_DTYPE_SI64] = run_i64,       [FC_DTYPE_UI8] = run_u8,
    [FC_DTYPE_UI16] = run_u16,       [FC_DTYPE_UI32] = run_u32,
    [FC_DTYPE_UI64] = run_u64,       [FC_DTYPE_INDEX] = run_i64,
    [FC_DTYPE_F16] = run_f16,        [FC_DTYPE_BF16] = run_bf16,
    [FC_DTYPE_F32] = run_f32,        [FC_DTYPE_F64] = run_f64,
    [FC_DTYPE_F8E8M0FNU] = run_e8m0, [FC_DTYPE_C64] = run_c64,
    [FC_DTYPE_C128] = run_c128,
};

// run_narrow prints integers, and floats of a byte at most.
enum {
  WIDE = 0
#define FC_DTYPE(name, text, class_, bits, ...)          \
  +(FC_DTYPE_CLASS_##class_ == FC_DTYPE_CLASS_COMPLEX || \
    (FC_DTYPE_CLASS_##class_ == FC_DTYPE_CLASS_FLOAT && (bits) > 8))
#include "farcall/dtype.def"
#undef FC_DTYPE
};
_Static_assert(WIDE == 6, "wider floats and complex numbers are in kRuns");

char *fc_number_print_run(fc_dtype_t dtype, const void *elements,
                          ptrdiff_t stride, size_t count, char *out) {
  FC_ASSERT(dtype > FC_DTYPE_NONE && dtype < FC_DTYPE_COUNT);
  if (!kRuns[dtype]) {
    return run_narrow(fc_dtype_info(dtype), &fc_float_formats[dtype], elements,
                      stride, count, out);
  }
  return kRuns[dtype](elements, stride, count, out);
}

char *fc_number_print(fc_dtype_t dtype, const void *element, char *out) {
  return fc_number_print_run(dtype, element, 0, 1, out);
}
