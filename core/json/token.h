// SPDX-License-Identifier: Apache-2.0
//
// Private to core/json: reads numbers of up to 31 characters without an
// exponent by looking at all characters at once, so that numbers of mixed
// lengths cause no mispredicted jumps. It needs SSE2, which every x86-64 has;
// elsewhere decimal.h reads everything. Any thread.
//
// The digits are loaded so that the last one is in the last byte, whatever the
// length. They are loaded twice: as they are, for the digits behind the point,
// and moved by a byte, which skips the point, for the digits before it. So
// bytes before and behind the literal are read as well (and masked away):
// FC_TOKEN_BEFORE bytes before its first character must be readable, and
// FC_TOKEN_AFTER bytes from its first character on.
#ifndef FARCALL_JSON_TOKEN_H_
#define FARCALL_JSON_TOKEN_H_

#include "json/decimal.h"

#define FC_TOKEN_BEFORE 17
#define FC_TOKEN_AFTER 32

#ifdef __SSE2__
#include <emmintrin.h>

// value = digits / 10^fraction
typedef struct fc_token_t {
  uint64_t digits;    // at most 15 of them, 19 if it is long
  unsigned fraction;  // no size_t, which GCC 12 would keep in memory
  unsigned negative;  // 1 or 0
  bool long_;         // the literal has more than 15 characters
} fc_token_t;

extern const uint8_t fc_token_masks[64];  // the upper half is 0xFF

FC_INLINE __m128i fc_token_load(const void *p) { return _mm_loadu_si128(p); }

// A mask whose last `count` bytes are set: none if `count` is negative, all if it
// is above 16.
FC_INLINE __m128i fc_token_mask(ptrdiff_t count) {
  return fc_token_load(fc_token_masks + 16 + count);
}

// Bit i of the result tells whether character i of the 16 is a digit; of
// fc_token_find, whether it is `c`.
FC_INLINE unsigned fc_token_digits(__m128i text) {
  // '0' becomes the least of the signed values, '9' the tenth.
  __m128i shifted = _mm_add_epi8(text, _mm_set1_epi8((char)(0x80 - '0')));
  return (unsigned)_mm_movemask_epi8(
      _mm_cmplt_epi8(shifted, _mm_set1_epi8((char)(0x80 + 10))));
}

FC_INLINE unsigned fc_token_find(__m128i text, char c) {
  return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(c)));
}

// The values of the digits before `end`. The point among them, behind which the
// last `fraction` digits stand, is left out. Only the last `count` values are kept,
// the others are 0.
FC_INLINE __m128i fc_token_gather(const char *end, ptrdiff_t fraction,
                                  ptrdiff_t count) {
  __m128i behind = fc_token_mask(fraction);
  __m128i text =
      _mm_or_si128(_mm_and_si128(behind, fc_token_load(end - 16)),
                   _mm_andnot_si128(behind, fc_token_load(end - 17)));
  return _mm_and_si128(_mm_sub_epi8(text, _mm_set1_epi8('0')),
                       fc_token_mask(count));
}

// The number that 16 digit values make, the first in the low byte.
FC_INLINE uint64_t fc_token_value(__m128i values) {
  __m128i evens = _mm_and_si128(values, _mm_set1_epi16(0xFF));
  __m128i odds = _mm_srli_epi16(values, 8);
  __m128i fours =
      _mm_add_epi32(_mm_madd_epi16(evens, _mm_set1_epi32(10 << 16 | 1000)),
                    _mm_madd_epi16(odds, _mm_set1_epi32(1 << 16 | 100)));
  __m128i eights = _mm_madd_epi16(_mm_packs_epi32(fours, fours),
                                  _mm_set1_epi32(1 << 16 | 10000));
  uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
  return (both & UINT32_MAX) * 100000000 + (both >> 32);
}

// Reads the literal at `p` and returns its end; NULL when it is too long for this,
// or no number. Without `point` a point ends the literal. What follows the literal
// is not looked at.
FC_INLINE const char *fc_token_scan(const char *p, bool point,
                                    fc_token_t *out) {
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
  dots &= 0 - dots;  // only the first; a second one ends the number
  unsigned stop = ~(digits | dots | minus);
  if (is_long && (stop == 0 || (stop & 0xFFFF))) return NULL;
  dots &= stop ^ (stop - 1);  // none, if the first stands behind the end
  // There must be a digit first and a digit behind the point, and a leading 0
  // must be the only digit before it.
  unsigned first = 1 + minus;
  unsigned bad =
      ((dots << 1 | first) & ~digits) | (zeros & digits >> 1 & first);
  if (FC_UNLIKELY(bad)) return NULL;
  // A literal without a point is read as if one stood behind its digits.
  ptrdiff_t size = __builtin_ctz(stop);
  ptrdiff_t dot = __builtin_ctz(dots | stop);
  ptrdiff_t taken = size + (dots == 0);
  ptrdiff_t count = taken - 1 - (ptrdiff_t)minus, fraction = taken - 1 - dot;
  const char *end = p + taken;
  out->digits = fc_token_value(fc_token_gather(end, fraction, count));
  if (FC_UNLIKELY(is_long)) {
    if (count > 19) return NULL;
    // The up to three digits before the last sixteen.
    __m128i values = fc_token_gather(end - 16, fraction - 16, count - 16);
    uint32_t front = (uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(values, 12));
    front = (front * 10 + (front >> 8)) & 0x00FF00FF;
    front = (front & 0xFF) * 100 + (front >> 16);
    out->digits += front * UINT64_C(10000000000000000);
  }
  out->fraction = (unsigned)fraction;
  out->negative = minus;
  out->long_ = is_long;
  return p + size;
}
#endif  // __SSE2__

#endif  // FARCALL_JSON_TOKEN_H_
