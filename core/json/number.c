// SPDX-License-Identifier: Apache-2.0
//
// Converts the text of numbers to elements, by the rules of each dtype, on top of
// decimal.h. A macro makes a separate loop over arrays for each type, so that no
// element costs a call through a pointer. Any thread.
#include "json/number.h"

#include "base/float_format.h"
#include "base/width.h"
#include "json/decimal.h"
#include "json/token.h"

// ---------------------------------------------------------------------------
// Narrow floats

// Returns the sign of |literal| - |value|, where `value` (mantissa * 2^exponent) is the
// f64 nearest to the literal.
static int error_sign(const fc_decimal_t *decimal, uint64_t mantissa,
                      int exponent) {
  bool exact = !decimal->long_ && decimal->exponent == 0 &&
               decimal->digits <= UINT64_C(1) << 53;
  return exact ? 0 : fc_decimal_compare(decimal, mantissa, exponent);
}

// Rounds the bits of an f64 without its sign towards zero to `format`. Returns
// where the f64 lies between the rounded value and the next one: -1 below the
// middle, 0 in the middle, 1 above it.
FC_INLINE int cut_narrow(uint64_t bits, const fc_float_format_t *format,
                         uint64_t *out_bits) {
  *out_bits = 0;
  if (FC_UNLIKELY(bits >> 52 == 0)) return -1;  // smaller than any value of it
  uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  int drop = 52 - format->mantissa_bits;
  int field = (int)(bits >> 52) - 1023 + format->bias;
  if (FC_UNLIKELY(field < 1)) {
    drop += 1 - field;
    field = 1;
    if (drop > 53) return -1;
  }
  // The mantissa's hidden bit adds 1 to the exponent field.
  *out_bits =
      ((uint64_t)(field - 1) << format->mantissa_bits) + (mantissa >> drop);
  uint64_t rest = mantissa << (64 - drop), half = UINT64_C(1) << 63;
  return (rest > half) - (rest < half);
}

// Writes rounded bits with the sign. False when they are more than the greatest finite
// value.
FC_INLINE bool finish_narrow(uint64_t bits, bool negative,
                             const fc_float_format_t *format, uint16_t *out) {
  const uint64_t sign = negative ? format->sign : 0;
  if (FC_UNLIKELY(bits > format->highest)) return false;
  *out = (uint16_t)(bits || format->negative_zero ? bits | sign : 0);
  return true;
}

// Rounds a literal to a float type of at most 16 bits. False when the result is
// more than the greatest finite value.
static bool round_narrow(const fc_decimal_t *decimal,
                         const fc_float_format_t *format, uint16_t *out) {
  double value = fc_decimal_f64(decimal);
  uint64_t bits, kept;
  memcpy(&bits, &value, sizeof bits);
  bits &= INT64_MAX;
  int order = cut_narrow(bits, format, &kept);
  if (order == 0) {
    uint64_t hidden = UINT64_C(1) << 52;
    order = error_sign(decimal, (bits & (hidden - 1)) | hidden,
                       (int)(bits >> 52) - 1023 - 52);
    if (order == 0) order = kept & 1 ? 1 : -1;
  }
  return finish_narrow(kept + (order > 0), decimal->negative, format, out);
}

// True when the literal is 0. `digits` may also be 0 for a literal of more than 19 digits
// that is not 0.
static bool is_zero(const fc_decimal_t *decimal) {
  if (decimal->digits) return false;
  for (const char *p = decimal->begin; p < decimal->end; p++) {
    if (*p >= '1' && *p <= '9') return false;
  }
  return true;
}

// Rounds to f8E8M0FNU, which has the powers of two from 2^-127 to 2^127. Its bits
// are the exponent plus 127. False when the value is zero, negative or too large.
static bool round_e8m0(const fc_decimal_t *decimal, uint8_t *out) {
  double value = fc_decimal_f64(decimal);
  if (!(value > 0) && (decimal->negative || is_zero(decimal))) return false;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  int field = (int)(bits >> 52) - 1023 + 127;
  uint64_t rest = bits & ((UINT64_C(1) << 52) - 1);
  uint64_t half = UINT64_C(1) << 51;
  if (field < 0) {
    *out = 0;
    return true;
  }
  int order = rest > half ? 1 : -1;
  if (rest == half) {
    order = error_sign(decimal, rest | UINT64_C(1) << 52, field - 127 - 52);
    if (order == 0) order = field & 1 ? 1 : -1;
  }
  field += order > 0;
  if (field > 254) return false;
  *out = (uint8_t)field;
  return true;
}

// ---------------------------------------------------------------------------
// Failing

// Returns the beginning of a literal, for messages: a literal can have megabytes.
static fc_str_t head(fc_str_t literal, const char **out_ellipsis) {
  const size_t limit = 40;
  *out_ellipsis = literal.size > limit ? "\xE2\x80\xA6" : "";
  return fc_str_make(literal.data, literal.size > limit ? limit : literal.size);
}

static double greatest_float(const fc_float_format_t *format) {
  int field = (int)(format->highest >> format->mantissa_bits);
  uint64_t hidden = UINT64_C(1) << format->mantissa_bits;
  double value = (double)(hidden | (format->highest & (hidden - 1)));
  for (int e = field - format->bias - format->mantissa_bits; e > 0; e--) {
    value *= 2;
  }
  for (int e = field - format->bias - format->mantissa_bits; e < 0; e++) {
    value /= 2;
  }
  return value;
}

static fc_status_t fail_range(fc_str_t literal, fc_dtype_t dtype,
                              fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  const char *ellipsis;
  fc_str_t shown = head(literal, &ellipsis);
  fc_status_t status =
      fc_fail(err, FC_CODE_OUT_OF_RANGE, "%.*s%s does not fit %s",
              FC_STR_ARG(shown), ellipsis, info->text);
  if (!err) return status;
  fc_error_got(err, literal);
  if (info->class_ == FC_DTYPE_CLASS_BOOL) {
    fc_error_expected(err, "true, false, 0 or 1");
  } else if (fc_dtype_is_integer(info)) {
    uint64_t low = fc_width_most(info, true);
    fc_error_expected(err, "%s in [%s%llu,%llu]", info->text, low ? "-" : "",
                      (unsigned long long)low,
                      (unsigned long long)fc_width_most(info, false));
  } else {
    char text[FC_NUMBER_CHARS_MAX];
    const fc_float_format_t *format = &fc_float_formats[dtype];
    double greatest = greatest_float(format);
    float single = (float)greatest;
    bool wide = dtype == FC_DTYPE_F64;
    char *end =
        fc_number_print(wide ? FC_DTYPE_F64 : FC_DTYPE_F32,
                        wide ? (void *)&greatest : (void *)&single, text);
    bool is_signed = !fc_float_is_positive(format);
    fc_error_expected(err, "%s in [%s%.*s,%.*s]", info->text,
                      is_signed ? "-" : "", is_signed ? (int)(end - text) : 0,
                      text, (int)(end - text), text);
  }
  return status;
}

static fc_status_t fail_type(fc_str_t text, const char *complaint,
                             fc_dtype_t dtype, fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  const char *ellipsis;
  fc_str_t shown = head(text, &ellipsis);
  fc_status_t status =
      fc_fail(err, FC_CODE_TYPE_MISMATCH, "%.*s%s is %s, %s wanted",
              FC_STR_ARG(shown), ellipsis, complaint, info->text);
  fc_error_expected(err, "%s", info->text);
  fc_error_got(err, text);
  return status;
}

// Fails because the text of a number is in quotes. The message shows the
// quotes, because '1' is text and 1 is not.
static fc_status_t fail_text(fc_str_t text, fc_dtype_t dtype, fc_error_t *err) {
  const char *ellipsis;
  const char *wanted = fc_dtype_info(dtype)->text;
  fc_str_t shown = head(text, &ellipsis);
  fc_status_t status =
      fc_fail(err, FC_CODE_TYPE_MISMATCH, "'%.*s%s' is text, %s wanted",
              FC_STR_ARG(shown), ellipsis, wanted);
  fc_error_expected(err, "%s", wanted);
  fc_error_got(err, text);
  return status;
}

// ---------------------------------------------------------------------------
// One literal

typedef enum whole_t { WHOLE, FRACTION, TOO_LARGE } whole_t;

// Reads the magnitude of an integer, exact up to 64 bits. A literal is also an integer if
// it has a fraction of zeros, or an exponent that moves all its digits before the point.
static whole_t read_whole(const fc_decimal_t *decimal, uint64_t *out) {
  *out = decimal->digits;
  if (FC_LIKELY(!decimal->long_ && decimal->exponent == 0)) return WHOLE;
  const char *p = decimal->begin + decimal->negative;
  const char *dot = memchr(p, '.', (size_t)(decimal->end - p));
  // The power of ten that belongs to the digit before `p`. Each further digit lowers it
  // by one.
  int64_t power = decimal->exponent + (decimal->end - p) - (dot != NULL);
  bool fits = true;
  uint64_t value = 0;
  for (; p < decimal->end; p++) {
    if (p == dot) continue;
    unsigned digit = (unsigned)(*p - '0');
    if (--power < 0) {
      if (digit) return FRACTION;
      continue;
    }
    fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
           !__builtin_add_overflow(value, digit, &value);
  }
  // 0 stays 0, however large the exponent is.
  for (; power > 0 && fits && value; power--) {
    fits = !__builtin_mul_overflow(value, 10, &value);
  }
  *out = value;
  return fits ? WHOLE : TOO_LARGE;
}

static fc_status_t parse_integer(fc_str_t literal, const fc_decimal_t *decimal,
                                 fc_dtype_t dtype, void *out, fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  uint64_t value = 0;
  whole_t whole = read_whole(decimal, &value);
  if (whole == FRACTION) {
    return fail_type(literal, "not a whole number", dtype, err);
  }
  if (whole == TOO_LARGE || value > fc_width_most(info, decimal->negative)) {
    return fail_range(literal, dtype, err);
  }
  if (decimal->negative) value = 0 - value;
  memcpy(out, &value, info->size);
  return FC_OK;
}

// Converts a literal to a float type. False when the value is beyond the type's greatest
// finite value, or when the type is f8E8M0FNU and the value is zero or negative.
static bool parse_float(const fc_decimal_t *decimal, fc_dtype_t dtype,
                        void *out) {
  uint16_t bits;
  uint8_t exponent;
  if (dtype == FC_DTYPE_F64) {
    double value = fc_decimal_f64(decimal);
    memcpy(out, &value, sizeof value);
    return !__builtin_isinf(value);
  }
  if (dtype == FC_DTYPE_F32) {
    float value = fc_decimal_f32(decimal);
    memcpy(out, &value, sizeof value);
    return !__builtin_isinf(value);
  }
  if (dtype == FC_DTYPE_F8E8M0FNU) {
    if (!round_e8m0(decimal, &exponent)) return false;
    memcpy(out, &exponent, 1);
    return true;
  }
  if (!round_narrow(decimal, &fc_float_formats[dtype], &bits)) return false;
  memcpy(out, &bits, fc_dtype_info(dtype)->size);
  return true;
}

fc_status_t fc_number_parse(fc_str_t literal, fc_dtype_t dtype, void *out,
                            fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  const char *end = literal.data + literal.size;
  fc_decimal_t decimal;
  if (literal.size == 0 ||
      fc_decimal_scan(literal.data, end, &decimal) != end) {
    const char *ellipsis;
    fc_str_t shown = head(literal, &ellipsis);
    return fc_fail(err, FC_CODE_JSON_SYNTAX, "'%.*s%s' is not a JSON number",
                   FC_STR_ARG(shown), ellipsis);
  }
  if (fc_dtype_is_whole(info)) {
    return parse_integer(literal, &decimal, dtype, out, err);
  }
  if (info->class_ != FC_DTYPE_CLASS_FLOAT) {
    return fail_type(literal, "a number", dtype, err);
  }
  if (!parse_float(&decimal, dtype, out))
    return fail_range(literal, dtype, err);
  return FC_OK;
}

fc_status_t fc_number_parse_special(fc_str_t text, fc_dtype_t dtype, void *out,
                                    fc_error_t *err) {
  bool nan = fc_str_equal(text, FC_STR("NaN"));
  bool negative = fc_str_equal(text, FC_STR("-Infinity"));
  bool infinite = negative || fc_str_equal(text, FC_STR("Infinity"));
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  if (info->class_ != FC_DTYPE_CLASS_FLOAT || !(nan || infinite)) {
    return fail_text(text, dtype, err);
  }
  const fc_float_format_t *format = &fc_float_formats[dtype];
  uint64_t bits = infinite ? format->infinity : format->nan;
  if (!bits) return fail_range(text, dtype, err);
  if (negative) bits |= format->sign;
  memcpy(out, &bits, info->size);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Runs

// Each plain reader reads one plain literal that ends before `end` and returns its end,
// or NULL if the literal is not plain. On processors with vectors the quick readers
// below do most of the work, and the plain readers are not inlined into the loop.
#if FC_VECTORS
#define RARE static __attribute__((noinline))
#else
#define RARE FC_INLINE
#endif

FC_INLINE bool is_scaled(char c) { return c == '.' || (c | 0x20) == 'e'; }

RARE const char *read_u64(const char *p, const char *end, uint64_t *out) {
  const char *first = p;
  uint64_t value = 0;
  if (FC_UNLIKELY(end - p < 2 || !fc_is_digit(*p))) return NULL;
  if (!fc_is_digit(p[1])) {
    value = (uint64_t)(*p++ - '0');
  } else {
    if (FC_UNLIKELY(*p == '0')) return NULL;
    p = fc_scan_digits(p, end, &value);
    if (FC_UNLIKELY(p - first > 19)) return NULL;
  }
  if (FC_UNLIKELY(p == end || is_scaled(*p))) return NULL;
  *out = value;
  return p;
}

RARE const char *read_i64(const char *p, const char *end, int64_t *out) {
  bool negative = p < end && *p == '-';
  uint64_t value;
  p = read_u64(p + negative, end, &value);
  if (FC_UNLIKELY(!p || value > (uint64_t)INT64_MAX + negative)) return NULL;
  *out = (int64_t)(negative ? 0 - value : value);
  return p;
}

#define DEFINE_READ_INTEGER(name, type, wide, read_wide)                  \
  FC_INLINE const char *name(const char *p, const char *end, type *out) { \
    wide value = 0;                                                       \
    p = read_wide(p, end, &value);                                        \
    *out = (type)value;                                                   \
    return p && *out == value ? p : NULL;                                 \
  }
DEFINE_READ_INTEGER(read_i8, int8_t, int64_t, read_i64)
DEFINE_READ_INTEGER(read_i16, int16_t, int64_t, read_i64)
DEFINE_READ_INTEGER(read_i32, int32_t, int64_t, read_i64)
DEFINE_READ_INTEGER(read_u8, uint8_t, uint64_t, read_u64)
DEFINE_READ_INTEGER(read_u16, uint16_t, uint64_t, read_u64)
DEFINE_READ_INTEGER(read_u32, uint32_t, uint64_t, read_u64)

FC_INLINE const char *read_f64(const char *p, const char *end, double *out) {
  fc_decimal_t decimal;
  p = fc_decimal_scan(p, end, &decimal);
  if (FC_UNLIKELY(!p || p == end)) return NULL;
  *out = fc_decimal_f64(&decimal);
  return FC_UNLIKELY(__builtin_isinf(*out)) ? NULL : p;
}

RARE const char *read_f32(const char *p, const char *end, float *out) {
  fc_decimal_t decimal;
  p = fc_decimal_scan(p, end, &decimal);
  if (FC_UNLIKELY(!p || p == end)) return NULL;
  *out = fc_decimal_f32(&decimal);
  return FC_UNLIKELY(__builtin_isinf(*out)) ? NULL : p;
}

FC_INLINE const char *read_f16(const char *p, const char *end, uint16_t *out) {
  fc_decimal_t decimal;
  p = fc_decimal_scan(p, end, &decimal);
  if (FC_UNLIKELY(!p || p == end)) return NULL;
  return round_narrow(&decimal, &fc_float_formats[FC_DTYPE_F16], out) ? p
                                                                      : NULL;
}

FC_INLINE const char *read_bf16(const char *p, const char *end, uint16_t *out) {
  fc_decimal_t decimal;
  p = fc_decimal_scan(p, end, &decimal);
  if (FC_UNLIKELY(!p || p == end)) return NULL;
  return round_narrow(&decimal, &fc_float_formats[FC_DTYPE_BF16], out) ? p
                                                                       : NULL;
}

FC_INLINE const char *read_bool(const char *p, const char *end, uint8_t *out) {
  if (FC_UNLIKELY(end - p < 6)) return NULL;
  *out = *p == 't' || *p == '1';
  if (memcmp(p, "true", 4) == 0) return p + 4;
  if (memcmp(p, "false", 5) == 0) return p + 5;
  bool single = (*p == '0' || *p == '1') && !fc_is_digit(p[1]);
  return single && !is_scaled(p[1]) ? p + 1 : NULL;
}

// The quick readers need FC_TOKEN_BEFORE bytes before the literal, and more
// than FC_TOKEN_AFTER bytes from its first character on. The caller checks the
// text after the literal, which can be a point or an exponent.

// Reads an integer's magnitude, and whether it has a minus. Up to seven characters are
// read as one word, in which a 0 replaces the minus. So the place of the next literal
// does not depend on a branch on the sign.
FC_INLINE const char *quick_integer(const char *p, bool is_signed,
                                    uint64_t *out, unsigned *out_negative) {
  uint64_t word = fc_load8(p);
  unsigned minus = is_signed ? fc_minus((char)word) : 0;
  uint64_t sign = (0 - (uint64_t)minus) & 0xFF;
  uint64_t stop = fc_nondigits(word) & ~sign;
  *out_negative = minus;
  if (FC_LIKELY(stop)) {
    unsigned size = (unsigned)__builtin_ctzll(stop) >> 3;
    bool zero = (char)(word >> (8 * minus)) == '0';
    if (FC_UNLIKELY(size <= minus || (zero && size - minus > 1))) return NULL;
    uint64_t values = (word ^ 0x3030303030303030u) & ~sign;
    *out = fc_eight_digits(values << (64 - 8 * size));
    return p + size;
  }
#if FC_VECTORS
  fc_numeral_t token;
  p = fc_token_scan(p + minus, false, &token);
  if (!p || token.negative) return NULL;
  *out = fc_token_value(&token);
  return p;
#else
  return NULL;
#endif
}

FC_INLINE const char *quick_u64(const char *p, uint64_t *out) {
  unsigned negative;
  return quick_integer(p, false, out, &negative);
}

FC_INLINE const char *quick_i64(const char *p, int64_t *out) {
  unsigned negative;
  uint64_t value;
  p = quick_integer(p, true, &value, &negative);
  if (FC_UNLIKELY(!p || value > (uint64_t)INT64_MAX + negative)) return NULL;
  *out = (int64_t)((value ^ (0 - (uint64_t)negative)) + negative);
  return p;
}

#define quick_bool(p, out) read_bool(p, (p) + FC_TOKEN_AFTER, out)

#define DEFINE_QUICK_INTEGER(name, type, wide, quick_wide) \
  FC_INLINE const char *name(const char *p, type *out) {   \
    wide value = 0;                                        \
    p = quick_wide(p, &value);                             \
    *out = (type)value;                                    \
    return p && *out == value ? p : NULL;                  \
  }
DEFINE_QUICK_INTEGER(quick_i8, int8_t, int64_t, quick_i64)
DEFINE_QUICK_INTEGER(quick_i16, int16_t, int64_t, quick_i64)
DEFINE_QUICK_INTEGER(quick_i32, int32_t, int64_t, quick_i64)
DEFINE_QUICK_INTEGER(quick_u8, uint8_t, uint64_t, quick_u64)
DEFINE_QUICK_INTEGER(quick_u16, uint16_t, uint64_t, quick_u64)
DEFINE_QUICK_INTEGER(quick_u32, uint32_t, uint64_t, quick_u64)

// For these types there are no quick readers: vectors would save less than a twentieth of
// the time of a call.
#define quick_f64(p, out) NULL
#define quick_f16(p, out) NULL
#define quick_bf16(p, out) NULL

FC_INLINE const char *skip_space(const char *p, const char *end) {
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
  return p;
}

// Moves past a comma and the white space after it, which is usually nothing or
// one blank. Two bytes after the comma must be readable.
FC_INLINE const char *skip_comma(const char *p, const char *end) {
  p++;
  if ((unsigned char)*p > ' ') return p;
  if (*p == ' ' && (unsigned char)p[1] > ' ') return p + 1;
  return skip_space(p, end);
}

// f32 are read in pairs, so that one vector computes both, from at most 15 digits each.
// Where 15 digits do not decide the value, read_f32 reads all of them.
#if FC_VECTORS
// Removes digits after the point from a token, so that 15 digits remain. False: there
// are too few digits after the point, or the remaining number is below 10^12.
FC_INLINE bool shorten(fc_numeral_t *token) {
  if (token->count <= 15) return true;
  const unsigned excess = token->count - 15;
  if (token->fraction < excess) return false;
  if (memcmp(token->end - token->count - 1, "0.00", 4) == 0) return false;
  token->end -= excess;
  token->count -= excess;
  token->fraction -= excess;
  return true;
}

// Reads two tokens of up to 15 digits into f32. False if a character is not a digit, or
// if an f64 that the digits make is near the middle of two f32. Digits that were left
// out are less than 10^-12 of the value, so they change the f64 by less than 2^14 of
// its last place.
FC_INLINE bool read_pair(const fc_numeral_t *first, const fc_numeral_t *second,
                         float out[2]) {
  const __m128i zero = _mm_setzero_si128();
  const __m128i one = fc_token_values(first), two = fc_token_values(second);
  const __m128i above = _mm_subs_epu8(one, _mm_set1_epi8(9));
  const __m128i over = _mm_subs_epu8(two, _mm_set1_epi8(9));
  const __m128i eights = _mm_shuffle_epi32(
      fc_token_eights(fc_token_fours(one), fc_token_fours(two)),
      _MM_SHUFFLE(3, 1, 2, 0));
  const __m128d high = _mm_cvtepi32_pd(eights);
  const __m128d low = _mm_cvtepi32_pd(_mm_unpackhi_epi64(eights, eights));
  const __m128d power = _mm_loadh_pd(
      _mm_load_sd(&fc_signed_powers[first->negative][first->fraction]),
      &fc_signed_powers[second->negative][second->fraction]);
  // All operations except the division are exact.
  const __m128d values =
      _mm_div_pd(_mm_add_pd(_mm_mul_pd(high, _mm_set1_pd(1e8)), low), power);
  const __m128i near =
      _mm_set_epi32(0, (1 << 28) - (1 << 15), 0, (1 << 28) - (1 << 15));
  const __m128i mask = _mm_set_epi32(0, 0x1FFF0000, 0, 0x1FFF0000);
  const __m128i far =
      _mm_and_si128(_mm_sub_epi32(_mm_castpd_si128(values), near), mask);
  // The mask is 0xF0F0 when the upper halves of the lanes of `far` are 0 and the lower
  // halves are not.
  if (FC_UNLIKELY(_mm_movemask_epi8(_mm_cmpeq_epi32(far, zero)) != 0xF0F0 ||
                  _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_or_si128(above, over),
                                                   zero)) != 0xFFFF)) {
    return false;
  }
  _mm_storel_epi64((__m128i *)(void *)out,
                   _mm_castps_si128(_mm_cvtpd_ps(values)));
  return true;
}

// Reads the literal at `p`. If a comma follows it and then a literal that begins before
// `high`, reads both. *out_count becomes the number of literals.
FC_INLINE const char *quick_pair(const char *p, const char *high,
                                 const char *end, float out[2],
                                 size_t *out_count) {
  fc_numeral_t first, second;
  const char *next = fc_token_scan(p, true, &first), *more = NULL;
  if (FC_UNLIKELY(!next)) return NULL;
  if (*next == ',') {
    p = skip_comma(next, end);
    if (p < high) more = fc_token_scan(p, true, &second);
  } else if (*next != ']') {
    return NULL;
  }
  const bool two = more && (*more == ',' || *more == ']');
  if (!two) second = first;
  if ((first.long_ || second.long_) && !(shorten(&first) && shorten(&second))) {
    return NULL;
  }
  float pair[2];
  if (FC_UNLIKELY(!read_pair(&first, &second, pair))) return NULL;
  memcpy(out, pair, two ? sizeof pair : sizeof *pair);
  *out_count = two ? 2 : 1;
  return two ? more : next;
}
// Used only in DEFINE_RUN: it reads that macro's variables.
#define quick_f32(p, out) \
  quick_pair(p, capacity - count > 1 ? high : begin, end, out, &taken)
#else
#define quick_f32(p, out) NULL
#endif

#define DEFINE_RUN(type, suffix)                                          \
  static size_t run_##suffix(const char *begin, const char **cursor,      \
                             const char *end, type *out, size_t capacity, \
                             bool *out_at_element) {                      \
    const char *p = *cursor, *next;                                       \
    const bool room = end - begin > FC_TOKEN_BEFORE + FC_TOKEN_AFTER;     \
    const char *low = room ? begin + FC_TOKEN_BEFORE : end;               \
    const char *high = room ? end - FC_TOKEN_AFTER : begin;               \
    size_t count = 0;                                                     \
    *out_at_element = true;                                               \
    while (count < capacity) {                                            \
      size_t taken = 1;                                                   \
      if (FC_LIKELY(p >= low && p < high)) {                              \
        next = quick_##suffix(p, &out[count]);                            \
        if (FC_LIKELY(next && *next == ',')) {                            \
          count += taken;                                                 \
          p = skip_comma(next, end);                                      \
          continue;                                                       \
        }                                                                 \
        if (FC_UNLIKELY(!next || *next != ']')) {                         \
          next = read_##suffix(p, end, &out[count]);                      \
        }                                                                 \
      } else {                                                            \
        next = read_##suffix(p, end, &out[count]);                        \
      }                                                                   \
      if (FC_UNLIKELY(!next)) break;                                      \
      count += taken;                                                     \
      p = skip_space(next, end);                                          \
      if (p == end || *p != ',') {                                        \
        p = next;                                                         \
        *out_at_element = false;                                          \
        break;                                                            \
      }                                                                   \
      p = skip_space(p + 1, end);                                         \
    }                                                                     \
    *cursor = p;                                                          \
    return count;                                                         \
  }
DEFINE_RUN(uint8_t, bool)
DEFINE_RUN(int8_t, i8)
DEFINE_RUN(int16_t, i16)
DEFINE_RUN(int32_t, i32)
DEFINE_RUN(int64_t, i64)
DEFINE_RUN(uint8_t, u8)
DEFINE_RUN(uint16_t, u16)
DEFINE_RUN(uint32_t, u32)
DEFINE_RUN(uint64_t, u64)
DEFINE_RUN(uint16_t, f16)
DEFINE_RUN(uint16_t, bf16)
DEFINE_RUN(float, f32)
DEFINE_RUN(double, f64)

#if FC_VECTORS
// Reads pairs of short literals. Where the text is anything else, reads the
// next few elements in the usual way.
static size_t run_pairs(const char *begin, const char **cursor, const char *end,
                        float *out, size_t capacity, bool *out_at_element) {
  const bool room = end - begin > FC_TOKEN_BEFORE + FC_TOKEN_AFTER;
  const char *low = room ? begin + FC_TOKEN_BEFORE : end;
  const char *high = room ? end - FC_TOKEN_AFTER : begin;
  size_t count = 0, some, got;
  *out_at_element = true;
  do {
    const char *p = *cursor, *next;
    fc_numeral_t first, second;
    if (FC_UNLIKELY(p < low)) p = high;
    while (p < high && capacity - count >= 2) {
      next = fc_token_scan_two(p, &first, &second);
      if (FC_UNLIKELY(!next || !read_pair(&first, &second, &out[count]))) break;
      count += 2;
      if (FC_UNLIKELY(*next != ',')) {
        *cursor = next;
        *out_at_element = false;
        return count;
      }
      *cursor = p = skip_comma(next, end);
    }
    some = capacity - count < 8 ? capacity - count : 8;
    got = run_f32(begin, cursor, end, out + count, some, out_at_element);
    count += got;
  } while (got == some && *out_at_element && count < capacity);
  return count;
}
#else
#define run_pairs run_f32
#endif

size_t fc_number_parse_run(fc_dtype_t dtype, const char *begin,
                           const char **cursor, const char *end, void *out,
                           size_t capacity, bool *out_at_element) {
  switch (dtype) {
    case FC_DTYPE_I1:
      return run_bool(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_I8:
    case FC_DTYPE_SI8:
      return run_i8(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_I16:
    case FC_DTYPE_SI16:
      return run_i16(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_I32:
    case FC_DTYPE_SI32:
      return run_i32(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_I64:
    case FC_DTYPE_SI64:
    case FC_DTYPE_INDEX:
      return run_i64(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_UI8:
      return run_u8(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_UI16:
      return run_u16(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_UI32:
      return run_u32(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_UI64:
      return run_u64(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_F16:
      return run_f16(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_BF16:
      return run_bf16(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_F32:
      return run_pairs(begin, cursor, end, out, capacity, out_at_element);
    case FC_DTYPE_F64:
      return run_f64(begin, cursor, end, out, capacity, out_at_element);
    default:
      *out_at_element = true;
      return 0;
  }
}
