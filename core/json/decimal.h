// SPDX-License-Identifier: Apache-2.0
//
// Private to core/json: a decimal literal taken apart, and its correctly rounded value
// as f64 or f32. number.c makes narrower formats. The scanning and the two usual
// conversions are inline because the loops over arrays consist of them. Any thread.
//
// f64: Clinger's exact case, else Eisel-Lemire, which is proved to need no fallback for
// up to 19 digits (Mushtak and Lemire, "Fast Number Parsing Without Fallback", 2023).
// If a literal has more digits, two numbers are converted: its first 19 digits, and the
// next greater number of 19 digits. If the results differ, big integers decide. Narrow
// formats round the f64 once more. This is safe unless the f64 lies exactly between two
// of their values; then the literal is compared with that midpoint.
#ifndef FARCALL_JSON_DECIMAL_H_
#define FARCALL_JSON_DECIMAL_H_

#include "farcall/base.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "words of text are read first byte lowest");

// Forces inlining, which the compiler would not choose for functions this large. Without
// it, a call costs as much as reading a number, because of the options that harden the
// code (cmake/Flags.cmake).
#define FC_INLINE static inline __attribute__((always_inline))

// value = digits * 10^exponent
typedef struct fc_decimal_t {
  uint64_t digits;   // mod 2^64 when there are more than 19
  int64_t exponent;  // cut off far beyond any format's range
  bool negative;
  bool long_;         // more than 19 digits, counting leading zeros
  const char *begin;  // of the literal
  const char *end;    // of its digits, before an exponent
} fc_decimal_t;

// The powers 10^e, from e = FC_POWERS_LOW on, as 128 bits with the top bit set, the high
// word first. Rounded down for e >= 0, up for e < 0.
#define FC_POWERS_LOW (-342)
#define FC_POWERS_HIGH 324
extern const uint64_t fc_powers_of_ten[][2];
extern const uint64_t fc_u64_powers[20];
extern const double fc_f64_powers[23];

FC_INLINE bool fc_is_digit(char c) { return (unsigned char)(c - '0') < 10; }

// Returns 1 for a minus, else 0. There is no comparison, because the compiler would merge
// its result into a register, and the processor would wait for that register's old value.
FC_INLINE unsigned fc_minus(char c) {
  return (((unsigned)(unsigned char)c ^ '-') - 1) >> 31;
}

FC_INLINE uint64_t fc_load8(const char *text) {
  uint64_t word;
  memcpy(&word, text, 8);
  return word;
}

// Sets bit 7 of every byte that is not a digit. Only the lowest bit that is set
// is reliable, because a byte that is not a digit may carry into the next byte.
FC_INLINE uint64_t fc_nondigits(uint64_t word) {
  uint64_t values = word ^ 0x3030303030303030u;
  return ((values + 0x7676767676767676u) | values) & 0x8080808080808080u;
}

// Makes one number of eight digit values. The first digit (the most significant) is in
// the low byte.
FC_INLINE uint64_t fc_eight_digits(uint64_t values) {
  values = values * 10 + (values >> 8);
  return ((values & 0x000000FF000000FFu) * 0x000F424000000064u +
          ((values >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >>
         32;
}

// Appends the digits at `p` to *value, mod 2^64, and returns their end.
FC_INLINE const char *fc_scan_digits(const char *p, const char *end,
                                     uint64_t *value) {
  while (FC_LIKELY(end - p >= 8)) {
    uint64_t word = fc_load8(p);
    uint64_t stop = fc_nondigits(word);
    word ^= 0x3030303030303030u;
    if (stop == 0) {
      *value = *value * 100000000 + fc_eight_digits(word);
      p += 8;
      continue;
    }
    unsigned count = (unsigned)__builtin_ctzll(stop) >> 3;
    if (count == 0) return p;
    *value = *value * fc_u64_powers[count] +
             fc_eight_digits(word << (64 - 8 * count));
    return p + count;
  }
  for (; p < end && fc_is_digit(*p); p++) {
    *value = *value * 10 + (uint64_t)(*p - '0');
  }
  return p;
}

// Reads the JSON number at `p` and returns its end. NULL when the text there breaks the
// grammar of RFC 8259, as "01", "1." and "1e" do. The text after the number is not
// checked.
FC_INLINE const char *fc_decimal_scan(const char *p, const char *end,
                                      fc_decimal_t *out) {
  out->begin = p;
  out->negative = p < end && *p == '-';
  p += out->negative;
  const char *first = p;
  uint64_t digits = 0;
  if (FC_UNLIKELY(p == end || !fc_is_digit(*p))) return NULL;
  if (end - p < 2 || !fc_is_digit(p[1])) {
    digits = (uint64_t)(*p++ - '0');
  } else {
    if (*p == '0') return NULL;
    p = fc_scan_digits(p, end, &digits);
  }
  int64_t count = p - first;
  int64_t exponent = 0;
  if (p < end && *p == '.') {
    const char *fraction = ++p;
    p = fc_scan_digits(p, end, &digits);
    if (FC_UNLIKELY(p == fraction)) return NULL;
    exponent = fraction - p;
    count -= exponent;
  }
  out->end = p;
  if (FC_UNLIKELY(p < end && (*p | 0x20) == 'e')) {
    p++;
    bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || !fc_is_digit(*p)) return NULL;
    int64_t given = 0;
    for (; p < end && fc_is_digit(*p); p++) {
      if (given < INT64_C(1000000000000000)) given = given * 10 + (*p - '0');
    }
    exponent += minus ? -given : given;
  }
  out->digits = digits;
  out->exponent = exponent;
  out->long_ = count > 19;
  return p;
}

typedef struct fc_binary_t {
  int mantissa_bits;  // stored
  int bias;
  int infinity;   // the exponent field of infinity
  int low, high;  // decimal exponents that can give a finite value but 0
  // The decimal exponents with which a 64-bit number can be a midpoint.
  int tie_low, tie_high;
} fc_binary_t;

static const fc_binary_t fc_binary_f64 = {52, 1023, 2047, -342, 308, -4, 23};
static const fc_binary_t fc_binary_f32 = {23, 127, 255, -64, 38, -17, 10};

// Returns the bits of the value nearest to digits * 10^exponent. Inlined for each format.
FC_INLINE uint64_t fc_eisel_lemire(uint64_t digits, int64_t exponent,
                                   fc_binary_t format) {
  const int width = format.mantissa_bits;
  const uint64_t infinity = (uint64_t)format.infinity << width;
  if (digits == 0 || exponent < format.low) return 0;
  if (exponent > format.high) return infinity;
  const int e = (int)exponent;

  // The 128-bit product of digits and power; its high word is precise enough to
  // round.
  int zeros = __builtin_clzll(digits);
  digits <<= zeros;
  const uint64_t *power = fc_powers_of_ten[e - FC_POWERS_LOW];
  unsigned __int128 product = (unsigned __int128)digits * power[0];
  uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
  const uint64_t spare = UINT64_MAX >> (width + 3);
  if ((high & spare) == spare) {
    product = (unsigned __int128)digits * power[1];
    low += (uint64_t)(product >> 64);
    high += low < (uint64_t)(product >> 64);
  }

  int top = (int)(high >> 63);
  int shift = top + 64 - width - 3;
  uint64_t mantissa = high >> shift;  // one bit too many, for rounding
  // floor(log2(10^e)) = 217706 e >> 16
  int field = ((217706 * e) >> 16) + 63 + top - zeros + format.bias;
  if (field <= 0) {
    if (field < -62) return 0;
    mantissa >>= 1 - field;
    // A half is rounded up. No tie is possible, since no subnormal midpoint is
    // a 64-bit number times a power of ten.
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    return mantissa;  // a carry makes it the smallest normal
  }
  // Rounding a half up is wrong only for an exact midpoint after an even value.
  if (low <= 1 && e >= format.tie_low && e <= format.tie_high &&
      (mantissa & 3) == 1 && mantissa << shift == high) {
    mantissa &= ~UINT64_C(1);
  }
  mantissa = (mantissa + (mantissa & 1)) >> 1;
  // The mantissa's hidden bit adds 1 to the exponent field; a carry adds another 1.
  uint64_t bits = ((uint64_t)(field - 1) << width) + mantissa;
  return bits < infinity ? bits : infinity;
}

// Returns the f64 or f32 nearest to digits * 10^exponent, ties to even; infinite when
// it is out of range.
double fc_eisel_lemire_f64(uint64_t digits, int64_t exponent);
float fc_eisel_lemire_f32(uint64_t digits, int64_t exponent);
// Return the value nearest to a literal of any length, without its sign.
double fc_decimal_long_f64(const fc_decimal_t *decimal);
float fc_decimal_long_f32(const fc_decimal_t *decimal);

FC_INLINE bool fc_decimal_is_simple(const fc_decimal_t *decimal) {
  return !decimal->long_ && decimal->digits <= UINT64_C(1) << 53 &&
         (uint64_t)(decimal->exponent + 22) <= 44;
}

// Returns the value for a few digits and a small exponent: digits and 10^|exponent| are
// both exact in f64, so one operation rounds once.
FC_INLINE double fc_decimal_simple_f64(const fc_decimal_t *decimal) {
  double value = (double)(int64_t)decimal->digits;
  int64_t exponent = decimal->exponent;
  value = exponent < 0 ? value / fc_f64_powers[-exponent]
                       : value * fc_f64_powers[exponent];
  return decimal->negative ? -value : value;
}

FC_INLINE double fc_decimal_f64(const fc_decimal_t *decimal) {
  if (FC_LIKELY(fc_decimal_is_simple(decimal))) {
    return fc_decimal_simple_f64(decimal);
  }
  double value = FC_UNLIKELY(decimal->long_)
                     ? fc_decimal_long_f64(decimal)
                     : fc_eisel_lemire_f64(decimal->digits, decimal->exponent);
  return decimal->negative ? -value : value;
}

FC_INLINE float fc_decimal_f32(const fc_decimal_t *decimal) {
  if (FC_LIKELY(fc_decimal_is_simple(decimal))) {
    double value = fc_decimal_simple_f64(decimal);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    // Rounding twice gives the same result as rounding once, unless the f64 is
    // a midpoint of two f32. A simple value is 0 or within [1e-22, 2^53 *
    // 1e22], so it is neither subnormal nor infinite as an f32.
    if (FC_LIKELY((bits & 0x1FFFFFFF) != 0x10000000)) return (float)value;
  }
  float value = FC_UNLIKELY(decimal->long_)
                    ? fc_decimal_long_f32(decimal)
                    : fc_eisel_lemire_f32(decimal->digits, decimal->exponent);
  return decimal->negative ? -value : value;
}

// Returns the sign of |literal| - mantissa * 2^exponent, computed exactly. The literal
// is at most one order of magnitude outside f64's range, and mantissa < 2^55.
int fc_decimal_compare(const fc_decimal_t *decimal, uint64_t mantissa,
                       int exponent);

#endif  // FARCALL_JSON_DECIMAL_H_
