// SPDX-License-Identifier: Apache-2.0
//
// Private to core/json: the shortest digits of four f32 at a time, for values from
// 2^-16 up to 2^23 that are not whole. Needs vectors.h; without vectors shortest.h
// finds all digits. Any thread.
//
// The method is that of shortest.h: v = m * 2^e, 10^k <= 2^e < 10^(k+1), x = v / 10^k.
// The digits are the multiple of ten nearest to x, if it is less than half a step d =
// 2^e / 10^k away, else the integer nearest to x. Here k is at least -12, so d has at
// most the 28 bits of 5^12, and x has the 24 bits of m more: all of this is exact in
// f64. No multiple is exactly half a step away, since middles of two f32 have more
// binary digits after the point than multiples of 10^(k+1). Below a power of two the
// step is half as long, but none of these 16 powers has a multiple between a quarter
// and half of d below it.
#ifndef FARCALL_JSON_QUAD_H_
#define FARCALL_JSON_QUAD_H_

#include "json/decimal.h"
#include "json/vectors.h"

#if FC_VECTORS

typedef struct fc_quad_t {
  uint32_t bits[4];    // of the values
  uint64_t digits[4];  // the values of eight digits, the first in the low byte
  uint32_t nine[4];    // 1: a ninth digit, a 1, stands before them; else 0
} fc_quad_t;

typedef struct fc_quad_scale_t {
  double step;    // d
  int64_t point;  // how many of the eight digits stand before the point: 8 + k
} fc_quad_scale_t;

// Indexed by the exponent field of an f32. Rows for values below 2^-16, and for
// values of 2^23 or more, are 0.
extern const fc_quad_scale_t fc_quad_scales[256];

FC_INLINE const fc_quad_scale_t *fc_quad_scale(uint32_t bits) {
  return &fc_quad_scales[bits >> 23 & 0xFF];
}

// Returns the digits of two values as integers, in the low half. Both mantissas must be
// in the low half, too.
FC_INLINE __m128i fc_quad_pair(__m128i mantissas, const uint32_t bits[2]) {
  const __m128d sign = _mm_set1_pd(-0.0);
  const __m128d step = _mm_loadh_pd(_mm_load_sd(&fc_quad_scale(bits[0])->step),
                                    &fc_quad_scale(bits[1])->step);
  const __m128d x = _mm_mul_pd(_mm_cvtepi32_pd(mantissas), step);
  const __m128i tens = _mm_cvtpd_epi32(_mm_mul_pd(x, _mm_set1_pd(0.1)));
  const __m128d multiple = _mm_mul_pd(_mm_cvtepi32_pd(tens), _mm_set1_pd(10));
  const __m128d distance = _mm_andnot_pd(sign, _mm_sub_pd(x, multiple));
  const __m128d near = _mm_cmplt_pd(_mm_add_pd(distance, distance), step);
  // The conversion rounds to the nearest integer, and a tie to the even one.
  return _mm_cvtpd_epi32(
      _mm_or_pd(_mm_and_pd(near, multiple), _mm_andnot_pd(near, x)));
}

// Splits two integers below 10^8, in the low halves of 64-bit lanes, into digit values.
// Each step splits every lane in two: the quotient stays in place, and the
// remainder goes above it.
FC_INLINE __m128i fc_quad_eights(__m128i values) {
  // Computes values / 10000, for all 32-bit values.
  const __m128i high = _mm_srli_epi64(
      _mm_mul_epu32(values, _mm_set1_epi64x(INT64_C(3518437209))), 45);
  const __m128i low =
      _mm_sub_epi32(values, _mm_mul_epu32(high, _mm_set1_epi64x(10000)));
  const __m128i fours = _mm_or_si128(high, _mm_slli_epi64(low, 32));
  const __m128i hundreds =
      _mm_srli_epi16(_mm_mulhi_epu16(fours, _mm_set1_epi16(10486)), 4);
  // Computes hundreds + (n - 100 hundreds) * 2^16, where n is below 10^4.
  const __m128i twos = _mm_add_epi32(
      _mm_slli_epi32(fours, 16),
      _mm_mullo_epi16(_mm_or_si128(hundreds, _mm_slli_epi32(hundreds, 16)),
                      _mm_set1_epi32(-100 * (1 << 16) + 1)));
  // Computes tens + (n - 10 tens) * 2^8, where n is below 100.
  const __m128i tens = _mm_mulhi_epu16(twos, _mm_set1_epi16(6554));
  return _mm_sub_epi16(_mm_slli_epi16(twos, 8),
                       _mm_mullo_epi16(tens, _mm_set1_epi16(2559)));
}

FC_INLINE __m128i fc_quad_load(const char *elements, ptrdiff_t stride) {
  int value[4];
  if (stride == sizeof(float)) {
    return _mm_loadu_si128((const __m128i *)(const void *)elements);
  }
  memcpy(&value[0], elements, 4);
  memcpy(&value[1], elements + stride, 4);
  memcpy(&value[2], elements + 2 * stride, 4);
  memcpy(&value[3], elements + 3 * stride, 4);
  return _mm_set_epi32(value[3], value[2], value[1], value[0]);
}

// Finds the digits of four f32 that are `stride` bytes apart. Bit i of the result tells
// whether the digits of out->bits[i] were found.
FC_INLINE unsigned fc_quad_digits(const char *elements, ptrdiff_t stride,
                                  fc_quad_t *out) {
  const __m128i all = fc_quad_load(elements, stride);
  const uint32_t *bits = out->bits;
  _mm_storeu_si128((__m128i *)(void *)out->bits, all);
  const __m128i magnitude = _mm_and_si128(all, _mm_set1_epi32(INT32_MAX));
  const __m128i fraction = _mm_and_si128(all, _mm_set1_epi32(0x7FFFFF));
  const __m128 value = _mm_castsi128_ps(magnitude);
  const __m128 whole =
      _mm_cmpeq_ps(value, _mm_cvtepi32_ps(_mm_cvttps_epi32(value)));
  __m128i unusual =
      _mm_or_si128(_mm_cmplt_epi32(magnitude, _mm_set1_epi32(111 << 23)),
                   _mm_cmpgt_epi32(magnitude, _mm_set1_epi32((150 << 23) - 1)));
  unusual = _mm_or_si128(unusual, _mm_castps_si128(whole));
  if (_mm_movemask_epi8(unusual) == 0xFFFF) return 0;

  const __m128i mantissas = _mm_or_si128(fraction, _mm_set1_epi32(1 << 23));
  const __m128i first = fc_quad_pair(mantissas, bits);
  const __m128i second =
      fc_quad_pair(_mm_unpackhi_epi64(mantissas, mantissas), bits + 2);
  const __m128i e8 = _mm_set1_epi32(100000000);
  __m128i digits = _mm_unpacklo_epi64(first, second);
  const __m128i nine = _mm_cmpgt_epi32(digits, _mm_set1_epi32(99999999));
  digits = _mm_sub_epi32(digits, _mm_and_si128(nine, e8));
  const __m128i zero = _mm_setzero_si128();
  _mm_storeu_si128((__m128i *)(void *)&out->nine[0], _mm_sub_epi32(zero, nine));
  _mm_storeu_si128((__m128i *)(void *)&out->digits[0],
                   fc_quad_eights(_mm_unpacklo_epi32(digits, zero)));
  _mm_storeu_si128((__m128i *)(void *)&out->digits[2],
                   fc_quad_eights(_mm_unpackhi_epi32(digits, zero)));
  return ~(unsigned)_mm_movemask_ps(_mm_castsi128_ps(unusual)) & 0xF;
}
#endif  // FC_VECTORS

#endif  // FARCALL_JSON_QUAD_H_
