// SPDX-License-Identifier: Apache-2.0
//
// Private to core/json: reads numbers of up to 19 digits without an exponent. It looks
// at 16 characters at once, so that numbers of mixed lengths cause no mispredicted
// jumps. It needs vectors.h; without vectors decimal.h reads all numbers. Any thread.
//
// The digits are loaded so that the last one is in the last byte, whatever the length.
// They are loaded twice: unchanged, for the digits after the point, and moved by one
// byte, which skips the point, for the digits before it. So bytes before and after the
// literal are read as well (and masked away): FC_TOKEN_BEFORE bytes before its first
// character must be readable, and FC_TOKEN_AFTER bytes from its first character on.
// FC_TOKEN_AFTER is 32, and one more because two bytes after a comma are read.
#ifndef FARCALL_JSON_TOKEN_H_
#define FARCALL_JSON_TOKEN_H_

#include "json/decimal.h"
#include "json/vectors.h"

#define FC_TOKEN_BEFORE 17
#define FC_TOKEN_AFTER 33

#if FC_VECTORS

// A literal that was found, and how many digits it has.
typedef struct fc_numeral_t {
  const char *end;    // after the last digit and the point
  unsigned count;     // of digits; not size_t: GCC 12 keeps that in memory
  unsigned fraction;  // number of digits after the point
  unsigned negative;  // 1 or 0
  bool long_;  // 16 characters or more, up to 19 digits; else up to 15 digits
} fc_numeral_t;

extern const uint8_t fc_token_masks[64];      // the upper half is 0xFF
extern const double fc_signed_powers[2][16];  // 10^e and -10^e

FC_INLINE __m128i fc_token_load(const void *p) { return _mm_loadu_si128(p); }

// Returns a mask whose last `count` bytes are set: none if `count` is negative, all
// if it is above 16.
FC_INLINE __m128i fc_token_mask(ptrdiff_t count) {
  return fc_token_load(fc_token_masks + 16 + count);
}

// fc_token_digits: bit i of the result tells whether character i of the 16 is a digit.
// fc_token_find: bit i tells whether the character is `c`.
FC_INLINE unsigned fc_token_digits(__m128i text) {
  // '0' becomes the least signed value, '9' the tenth.
  __m128i shifted = _mm_add_epi8(text, _mm_set1_epi8((char)(0x80 - '0')));
  return (unsigned)_mm_movemask_epi8(
      _mm_cmplt_epi8(shifted, _mm_set1_epi8((char)(0x80 + 10))));
}

FC_INLINE unsigned fc_token_find(__m128i text, char c) {
  return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(c)));
}

// Returns the values of the digits before `end`, without the point, which stands before
// the last `fraction` digits. Only the last `count` values are kept; the others are 0.
FC_INLINE __m128i fc_token_gather(const char *end, ptrdiff_t fraction,
                                  ptrdiff_t count) {
  __m128i behind = fc_token_mask(fraction);
  __m128i text =
      _mm_or_si128(_mm_and_si128(behind, fc_token_load(end - 16)),
                   _mm_andnot_si128(behind, fc_token_load(end - 17)));
  return _mm_and_si128(_mm_sub_epi8(text, _mm_set1_epi8('0')),
                       fc_token_mask(count));
}

// Returns the values of the last 16 digits of a token.
FC_INLINE __m128i fc_token_values(const fc_numeral_t *token) {
  return fc_token_gather(token->end, (ptrdiff_t)token->fraction,
                         (ptrdiff_t)token->count);
}

// Makes four numbers below 10^4 from the values of 16 digits.
FC_INLINE __m128i fc_token_fours(__m128i values) {
  __m128i evens = _mm_and_si128(values, _mm_set1_epi16(0xFF));
  __m128i odds = _mm_srli_epi16(values, 8);
  return _mm_add_epi32(_mm_madd_epi16(evens, _mm_set1_epi32(10 << 16 | 1000)),
                       _mm_madd_epi16(odds, _mm_set1_epi32(1 << 16 | 100)));
}

// Makes four numbers below 10^8 from the fours of two tokens.
FC_INLINE __m128i fc_token_eights(__m128i fours, __m128i more) {
  return _mm_madd_epi16(_mm_packs_epi32(fours, more),
                        _mm_set1_epi32(1 << 16 | 10000));
}

// Returns the number that a token's digits form.
FC_INLINE uint64_t fc_token_value(const fc_numeral_t *token) {
  __m128i fours = fc_token_fours(fc_token_values(token));
  uint64_t both = (uint64_t)_mm_cvtsi128_si64(fc_token_eights(fours, fours));
  uint64_t value = (both & UINT32_MAX) * 100000000 + (both >> 32);
  if (FC_UNLIKELY(token->long_)) {
    // Up to three digits stand before the last sixteen.
    __m128i values =
        fc_token_gather(token->end - 16, (ptrdiff_t)token->fraction - 16,
                        (ptrdiff_t)token->count - 16);
    uint32_t front = (uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(values, 12));
    front = (front * 10 + (front >> 8)) & 0x00FF00FF;
    front = (front & 0xFF) * 100 + (front >> 16);
    value += front * UINT64_C(10000000000000000);
  }
  return value;
}

// Finds the number at `p` and returns its end; the caller checks the text after it.
// NULL: there is no number, or it is too long for this function. Without `point`, a
// point ends the number.
FC_INLINE const char *fc_token_scan(const char *p, bool point,
                                    fc_numeral_t *out) {
  __m128i text = fc_token_load(p);
  unsigned minus = fc_minus(*p);
  unsigned digits = fc_token_digits(text);
  unsigned zeros = fc_token_find(text, '0');
  unsigned dots = point ? fc_token_find(text, '.') : 0;
  bool is_long = (~(digits | dots | minus) & 0xFFFF) == 0;
  if (FC_UNLIKELY(is_long)) {
    __m128i more = fc_token_load(p + 16);
    digits |= fc_token_digits(more) << 16;
    if (point) dots |= fc_token_find(more, '.') << 16;
  }
  dots &= 0 - dots;  // only the first point; a second one ends the number
  unsigned stop = ~(digits | dots | minus);
  if (is_long && (stop == 0 || (stop & 0xFFFF))) return NULL;
  dots &= stop ^ (stop - 1);  // none, if the point is after the number's end
  // The first character must be a digit, a digit must follow the point, and no
  // digit may follow a leading 0.
  unsigned first = 1 + minus;
  unsigned bad =
      ((dots << 1 | first) & ~digits) | (zeros & digits >> 1 & first);
  if (FC_UNLIKELY(bad)) return NULL;
  // A literal without a point is read as if a point stood after its digits.
  unsigned size = (unsigned)__builtin_ctz(stop);
  unsigned dot = (unsigned)__builtin_ctz(dots | stop);
  unsigned taken = size + (dots == 0);
  *out = (fc_numeral_t){.end = p + taken,
                        .count = taken - 1 - minus,
                        .fraction = taken - 1 - dot,
                        .negative = minus,
                        .long_ = is_long};
  if (FC_UNLIKELY(is_long) && out->count > 19) return NULL;
  return p + size;
}

// These return a bit for each of 32 characters.
FC_INLINE unsigned fc_token_both(unsigned low, unsigned high) {
  return low | high << 16;
}
FC_INLINE unsigned fc_token_ends(__m128i text) {
  return (unsigned)_mm_movemask_epi8(
      _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8(',')),
                   _mm_cmpeq_epi8(text, _mm_set1_epi8(']'))));
}

// Finds two literals of up to 15 digits, all in the 32 characters at `p`. Between them
// there must be a comma and perhaps a blank, and after the second a comma or bracket.
// NULL: the text has another form. The caller checks that the digits are digits. Returns
// the end of the second literal, which depends only on commas and brackets. So the
// processor can continue there before it has decoded the literals.
FC_INLINE const char *fc_token_scan_two(const char *p, fc_numeral_t *out_first,
                                        fc_numeral_t *out_second) {
  const __m128i text = fc_token_load(p), more = fc_token_load(p + 16);
  const unsigned ends = fc_token_both(fc_token_ends(text), fc_token_ends(more));
  const unsigned later = ends & (ends - 1);
  if (FC_UNLIKELY(later == 0)) return NULL;
  const unsigned comma = (unsigned)__builtin_ctz(ends);
  const unsigned stop = (unsigned)__builtin_ctz(later);
  const unsigned begin = comma + 1 + (p[comma + 1] == ' ');
  const unsigned points =
      fc_token_both(fc_token_find(text, '.'), fc_token_find(more, '.'));
  const unsigned zeros =
      fc_token_both(fc_token_find(text, '0'), fc_token_find(more, '0'));
  const unsigned minus = fc_minus(*p), second_minus = fc_minus(p[begin]);
  // Where a literal's digits begin there must be neither a point nor the end;
  // if the first digit is 0, a point or the end must follow it. A point must
  // not be the last character.
  const unsigned firsts = 1u << minus | 1u << (begin + second_minus);
  const unsigned others = points | ends;
  const unsigned bad =
      (((zeros & ~(others >> 1)) | others) & firsts) | (points & ends >> 1);
  if (FC_UNLIKELY(bad || p[comma] != ',')) return NULL;
  const unsigned dot = (unsigned)__builtin_ctz(others);
  const unsigned second_dot =
      (unsigned)__builtin_ctz((points & (0 - (1u << begin))) | later);
  const unsigned taken = comma + (dot == comma);
  const unsigned second_taken = stop + (second_dot == stop);
  out_first->end = p + taken;
  out_first->count = taken - 1 - minus;
  out_first->fraction = taken - 1 - dot;
  out_first->negative = minus;
  out_second->end = p + second_taken;
  out_second->count = second_taken - 1 - second_minus - begin;
  out_second->fraction = second_taken - 1 - second_dot;
  out_second->negative = second_minus;
  return FC_LIKELY((out_first->count | out_second->count) <= 15) ? p + stop
                                                                 : NULL;
}
#endif  // FC_VECTORS

#endif  // FARCALL_JSON_TOKEN_H_
