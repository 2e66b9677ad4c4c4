// SPDX-License-Identifier: Apache-2.0
//
// The rarely used parts of decimal.h: Eisel-Lemire out of line, literals of
// more than 19 digits, and exact comparison by big integers of bounded size. Any thread.
#include "json/decimal.h"

#include "json/token.h"

#include "json/powers.inc"

_Static_assert(FC_ARRAY_COUNT(fc_powers_of_ten) ==
                   FC_POWERS_HIGH - FC_POWERS_LOW + 1,
               "one row for each exponent");

// A midpoint of two f64 has at most 767 significant digits. So after 800 digits
// it only matters whether a further digit is not 0.
#define DIGITS_MAX 800

const uint64_t fc_u64_powers[20] = {
    1u,
    10u,
    100u,
    1000u,
    10000u,
    100000u,
    1000000u,
    10000000u,
    100000000u,
    1000000000u,
    10000000000u,
    100000000000u,
    1000000000000u,
    10000000000000u,
    100000000000000u,
    1000000000000000u,
    10000000000000000u,
    100000000000000000u,
    1000000000000000000u,
    10000000000000000000u,
};
const double fc_f64_powers[23] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

#if FC_VECTORS
#define SET8 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF
const double fc_signed_powers[2][16] = {
    {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
     1e14, 1e15},
    {-1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8, -1e9, -1e10, -1e11,
     -1e12, -1e13, -1e14, -1e15},
};
const uint8_t fc_token_masks[64] = {[32] = SET8, SET8, SET8, SET8};
#endif

// ---------------------------------------------------------------------------
// Eisel-Lemire

static double f64_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float f32_of(uint64_t bits) {
  uint32_t narrow = (uint32_t)bits;
  float value;
  memcpy(&value, &narrow, sizeof value);
  return value;
}

double fc_eisel_lemire_f64(uint64_t digits, int64_t exponent) {
  return f64_of(fc_eisel_lemire(digits, exponent, fc_binary_f64));
}

float fc_eisel_lemire_f32(uint64_t digits, int64_t exponent) {
  return f32_of(fc_eisel_lemire(digits, exponent, fc_binary_f32));
}

// ---------------------------------------------------------------------------
// More than 19 digits

// The first 19 significant digits of a literal, times 10^exponent. `more` tells
// whether a digit after them is not 0.
typedef struct cut_t {
  uint64_t digits;
  int64_t exponent;
  bool more;
} cut_t;

static cut_t cut_digits(const fc_decimal_t *decimal) {
  cut_t out = {0};
  const char *p = decimal->begin + decimal->negative;
  const char *dot = memchr(p, '.', (size_t)(decimal->end - p));
  // The power of ten that belongs to the digit before `p`. Each further digit lowers it
  // by one.
  int64_t power = decimal->exponent + (decimal->end - p) - (dot != NULL);
  int count = 0;
  out.exponent = power;
  for (; p < decimal->end; p++) {
    if (p == dot) continue;
    power--;
    unsigned digit = (unsigned)(*p - '0');
    if (count == 0 && digit == 0) continue;
    if (count < 19) {
      out.digits = out.digits * 10 + digit;
      out.exponent = power;
      count++;
    } else if (digit) {
      out.more = true;
    }
  }
  return out;
}

// Splits f64 or f32 bits below infinity: the value is the result times 2^*exponent.
static uint64_t take_apart(uint64_t bits, fc_binary_t format, int *exponent) {
  int field = (int)(bits >> format.mantissa_bits);
  uint64_t hidden = UINT64_C(1) << format.mantissa_bits;
  uint64_t fraction = bits & (hidden - 1);
  *exponent = (field ? field : 1) - format.bias - format.mantissa_bits;
  return field ? fraction | hidden : fraction;
}

static uint64_t long_bits(const fc_decimal_t *decimal, fc_binary_t format) {
  cut_t cut = cut_digits(decimal);
  uint64_t low = fc_eisel_lemire(cut.digits, cut.exponent, format);
  if (!cut.more) return low;
  uint64_t high = fc_eisel_lemire(cut.digits + 1, cut.exponent, format);
  if (low == high) return low;
  // The value lies between two neighbours: compare it with the middle between them.
  int exponent;
  uint64_t mantissa = take_apart(low, format, &exponent);
  int order = fc_decimal_compare(decimal, 2 * mantissa + 1, exponent - 1);
  if (order == 0) order = mantissa & 1 ? 1 : -1;
  return low + (order > 0);
}

double fc_decimal_long_f64(const fc_decimal_t *decimal) {
  return f64_of(long_bits(decimal, fc_binary_f64));
}

float fc_decimal_long_f32(const fc_decimal_t *decimal) {
  return f32_of(long_bits(decimal, fc_binary_f32));
}

// ---------------------------------------------------------------------------
// Big integers

// Both sides of a comparison stay below 2^4096: 800 digits (2658 bits) times
// 2^1080, or 55 bits times 10^(342 + 800) (3794 bits) times a small power.
#define WORDS_MAX 66

typedef struct big_t {
  size_t size;  // words in use
  uint64_t words[WORDS_MAX];
} big_t;

static void big_multiply_add(big_t *big, uint64_t factor, uint64_t addend) {
  uint64_t carry = addend;
  for (size_t i = 0; i < big->size; i++) {
    unsigned __int128 product =
        (unsigned __int128)big->words[i] * factor + carry;
    big->words[i] = (uint64_t)product;
    carry = (uint64_t)(product >> 64);
  }
  if (carry == 0) return;
  FC_ASSERT(big->size < WORDS_MAX);
  big->words[big->size++] = carry;
}

// Multiplies by 5^power. To multiply by 10^power, which is 5^power times 2^power, the
// caller also shifts.
static void big_times_power_of_5(big_t *big, unsigned power) {
  static const uint64_t kFiveTo27 = 7450580596923828125u;
  for (; power >= 27; power -= 27) big_multiply_add(big, kFiveTo27, 0);
  uint64_t rest = 1;
  for (; power; power--) rest *= 5;
  big_multiply_add(big, rest, 0);
}

static void big_shift(big_t *big, unsigned bits) {
  unsigned words = bits / 64;
  if (big->size == 0) return;
  FC_ASSERT(big->size + words < WORDS_MAX);
  memmove(big->words + words, big->words, big->size * sizeof *big->words);
  memset(big->words, 0, words * sizeof *big->words);
  big->size += words;
  if (bits % 64) big_multiply_add(big, UINT64_C(1) << (bits % 64), 0);
}

static int big_compare(const big_t *a, const big_t *b) {
  if (a->size != b->size) return a->size < b->size ? -1 : 1;
  for (size_t i = a->size; i-- > 0;) {
    if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
  }
  return 0;
}

// Reads up to DIGITS_MAX significant digits. *power is the power of ten of the
// last digit that was read; *more is set when a digit that was not read is not 0.
static void big_read(big_t *big, const fc_decimal_t *decimal, int64_t *power,
                     bool *more) {
  const char *p = decimal->begin + decimal->negative;
  const char *dot = memchr(p, '.', (size_t)(decimal->end - p));
  int64_t at = decimal->exponent + (decimal->end - p) - (dot != NULL);
  uint64_t chunk = 0;
  unsigned chunk_digits = 0, count = 0;
  big->size = 0;
  *more = false;
  *power = 0;
  for (; p < decimal->end; p++) {
    if (p == dot) continue;
    at--;
    if (count == 0 && *p == '0') continue;
    if (count == DIGITS_MAX) {
      if (*p == '0') continue;
      *more = true;
      break;
    }
    chunk = chunk * 10 + (uint64_t)(*p - '0');
    *power = at;
    count++;
    if (++chunk_digits < 19) continue;
    big_multiply_add(big, fc_u64_powers[19], chunk);
    chunk = chunk_digits = 0;
  }
  if (chunk_digits) big_multiply_add(big, fc_u64_powers[chunk_digits], chunk);
}

int fc_decimal_compare(const fc_decimal_t *decimal, uint64_t mantissa,
                       int exponent) {
  big_t left, right;
  int64_t power;
  bool more;
  big_read(&left, decimal, &power, &more);
  right.size = mantissa != 0;
  right.words[0] = mantissa;
  // Compares left * 10^power with right * 2^exponent. Instead of multiplying one side
  // by a factor with a negative exponent, the other side is multiplied by its inverse.
  int64_t twos = exponent - power;
  if (power < 0) big_times_power_of_5(&right, (unsigned)-power);
  else big_times_power_of_5(&left, (unsigned)power);
  if (twos < 0) big_shift(&left, (unsigned)-twos);
  else big_shift(&right, (unsigned)twos);
  int order = big_compare(&left, &right);
  return order ? order : more;
}
