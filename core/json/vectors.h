// SPDX-License-Identifier: Apache-2.0
//
// Private to core/json: vectors of 16 bytes, in the operations of SSE2, which every
// x86-64 has. On AArch64 the few operations that token.h, quad.h and number.c use are
// made from NEON operations, under the same names. FC_VECTORS is 0 on other processors;
// there decimal.h and shortest.h do all the work. Any thread.
#ifndef FARCALL_JSON_VECTORS_H_
#define FARCALL_JSON_VECTORS_H_

#include "json/decimal.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#define FC_VECTORS 1
#elif defined(__aarch64__) && defined(__ARM_NEON) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_neon.h>
#define FC_VECTORS 1

typedef uint8x16_t __m128i;
typedef float32x4_t __m128;
typedef float64x2_t __m128d;

// These convert bytes to lanes of a width, and back.
#define U16(v) vreinterpretq_u16_u8(v)
#define U32(v) vreinterpretq_u32_u8(v)
#define U64(v) vreinterpretq_u64_u8(v)
#define S8(v) vreinterpretq_s8_u8(v)
#define S16(v) vreinterpretq_s16_u8(v)
#define S32(v) vreinterpretq_s32_u8(v)
#define OF_U16(v) vreinterpretq_u8_u16(v)
#define OF_U32(v) vreinterpretq_u8_u32(v)
#define OF_U64(v) vreinterpretq_u8_u64(v)
#define OF_S16(v) vreinterpretq_u8_s16(v)
#define OF_S32(v) vreinterpretq_u8_s32(v)
#define BITS(v) vreinterpretq_u64_f64(v)
#define OF_BITS(v) vreinterpretq_f64_u64(v)

FC_INLINE __m128i _mm_loadu_si128(const void *p) { return vld1q_u8(p); }
FC_INLINE void _mm_storeu_si128(void *p, __m128i v) { vst1q_u8(p, v); }
FC_INLINE void _mm_storel_epi64(void *p, __m128i v) {
  vst1_u8(p, vget_low_u8(v));
}
FC_INLINE __m128i _mm_setzero_si128(void) { return vdupq_n_u8(0); }
FC_INLINE __m128i _mm_set1_epi8(char n) { return vdupq_n_u8((uint8_t)n); }
FC_INLINE __m128i _mm_set1_epi16(int16_t n) { return OF_S16(vdupq_n_s16(n)); }
FC_INLINE __m128i _mm_set1_epi32(int32_t n) { return OF_S32(vdupq_n_s32(n)); }
FC_INLINE __m128i _mm_set1_epi64x(int64_t n) {
  return OF_U64(vdupq_n_u64((uint64_t)n));
}
FC_INLINE __m128i _mm_set_epi32(int32_t d, int32_t c, int32_t b, int32_t a) {
  return OF_S32(((int32x4_t){a, b, c, d}));
}
FC_INLINE int32_t _mm_cvtsi128_si32(__m128i v) {
  return vgetq_lane_s32(S32(v), 0);
}
FC_INLINE int64_t _mm_cvtsi128_si64(__m128i v) {
  return (int64_t)vgetq_lane_u64(U64(v), 0);
}

FC_INLINE __m128i _mm_and_si128(__m128i a, __m128i b) { return vandq_u8(a, b); }
FC_INLINE __m128i _mm_or_si128(__m128i a, __m128i b) { return vorrq_u8(a, b); }
FC_INLINE __m128i _mm_andnot_si128(__m128i a, __m128i b) {
  return vbicq_u8(b, a);
}

FC_INLINE __m128i _mm_add_epi8(__m128i a, __m128i b) { return vaddq_u8(a, b); }
FC_INLINE __m128i _mm_sub_epi8(__m128i a, __m128i b) { return vsubq_u8(a, b); }
FC_INLINE __m128i _mm_subs_epu8(__m128i a, __m128i b) {
  return vqsubq_u8(a, b);
}
FC_INLINE __m128i _mm_sub_epi16(__m128i a, __m128i b) {
  return OF_U16(vsubq_u16(U16(a), U16(b)));
}
FC_INLINE __m128i _mm_add_epi32(__m128i a, __m128i b) {
  return OF_U32(vaddq_u32(U32(a), U32(b)));
}
FC_INLINE __m128i _mm_sub_epi32(__m128i a, __m128i b) {
  return OF_U32(vsubq_u32(U32(a), U32(b)));
}

FC_INLINE __m128i _mm_mullo_epi16(__m128i a, __m128i b) {
  return OF_U16(vmulq_u16(U16(a), U16(b)));
}
FC_INLINE __m128i _mm_mulhi_epu16(__m128i a, __m128i b) {
  const uint32x4_t low = vmull_u16(vget_low_u16(U16(a)), vget_low_u16(U16(b)));
  const uint32x4_t high = vmull_high_u16(U16(a), U16(b));
  return OF_U16(
      vuzp2q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high)));
}
// Multiplies the even 32-bit lanes.
FC_INLINE __m128i _mm_mul_epu32(__m128i a, __m128i b) {
  return OF_U64(vmull_u32(vmovn_u64(U64(a)), vmovn_u64(U64(b))));
}
FC_INLINE __m128i _mm_madd_epi16(__m128i a, __m128i b) {
  const int32x4_t low = vmull_s16(vget_low_s16(S16(a)), vget_low_s16(S16(b)));
  return OF_S32(vpaddq_s32(low, vmull_high_s16(S16(a), S16(b))));
}
FC_INLINE __m128i _mm_packs_epi32(__m128i a, __m128i b) {
  return OF_S16(vqmovn_high_s32(vqmovn_s32(S32(a)), S32(b)));
}

// Shifts by constants.
#define _mm_slli_epi16(v, n) \
  vreinterpretq_u8_u16(vshlq_n_u16(vreinterpretq_u16_u8(v), n))
#define _mm_slli_epi32(v, n) \
  vreinterpretq_u8_u32(vshlq_n_u32(vreinterpretq_u32_u8(v), n))
#define _mm_slli_epi64(v, n) \
  vreinterpretq_u8_u64(vshlq_n_u64(vreinterpretq_u64_u8(v), n))
#define _mm_srli_epi16(v, n) \
  vreinterpretq_u8_u16(vshrq_n_u16(vreinterpretq_u16_u8(v), n))
#define _mm_srli_epi64(v, n) \
  vreinterpretq_u8_u64(vshrq_n_u64(vreinterpretq_u64_u8(v), n))
#define _mm_srli_si128(v, n) vextq_u8(v, vdupq_n_u8(0), n)

FC_INLINE __m128i _mm_unpacklo_epi32(__m128i a, __m128i b) {
  return OF_U32(vzip1q_u32(U32(a), U32(b)));
}
FC_INLINE __m128i _mm_unpackhi_epi32(__m128i a, __m128i b) {
  return OF_U32(vzip2q_u32(U32(a), U32(b)));
}
FC_INLINE __m128i _mm_unpacklo_epi64(__m128i a, __m128i b) {
  return OF_U64(vzip1q_u64(U64(a), U64(b)));
}
FC_INLINE __m128i _mm_unpackhi_epi64(__m128i a, __m128i b) {
  return OF_U64(vzip2q_u64(U64(a), U64(b)));
}
#define _MM_SHUFFLE(d, c, b, a) a, b, c, d
#define _mm_shuffle_epi32(v, ...)               \
  vreinterpretq_u8_u32(__builtin_shufflevector( \
      vreinterpretq_u32_u8(v), vreinterpretq_u32_u8(v), __VA_ARGS__))

FC_INLINE __m128i _mm_cmpeq_epi8(__m128i a, __m128i b) {
  return vceqq_u8(a, b);
}
FC_INLINE __m128i _mm_cmplt_epi8(__m128i a, __m128i b) {
  return vcltq_s8(S8(a), S8(b));
}
FC_INLINE __m128i _mm_cmpeq_epi32(__m128i a, __m128i b) {
  return OF_U32(vceqq_u32(U32(a), U32(b)));
}
FC_INLINE __m128i _mm_cmpgt_epi32(__m128i a, __m128i b) {
  return OF_U32(vcgtq_s32(S32(a), S32(b)));
}
FC_INLINE __m128i _mm_cmplt_epi32(__m128i a, __m128i b) {
  return OF_U32(vcltq_s32(S32(a), S32(b)));
}
// One bit for each lane. All bits of a lane must be equal, as in the result of a
// comparison.
FC_INLINE int _mm_movemask_epi8(__m128i v) {
  const uint8x16_t kBits = {1, 2, 4, 8, 16, 32, 64, 128,
                            1, 2, 4, 8, 16, 32, 64, 128};
  uint8x16_t bits = vandq_u8(v, kBits);
  bits = vpaddq_u8(bits, bits);
  bits = vpaddq_u8(bits, bits);
  bits = vpaddq_u8(bits, bits);
  return vgetq_lane_u16(U16(bits), 0);
}
FC_INLINE int _mm_movemask_ps(__m128 v) {
  const uint32x4_t kBits = {1, 2, 4, 8};
  return (int)vaddvq_u32(vandq_u32(vreinterpretq_u32_f32(v), kBits));
}

#define _mm_castsi128_ps(v) vreinterpretq_f32_u8(v)
#define _mm_castps_si128(v) vreinterpretq_u8_f32(v)
#define _mm_castpd_si128(v) vreinterpretq_u8_f64(v)

FC_INLINE __m128 _mm_cmpeq_ps(__m128 a, __m128 b) {
  return vreinterpretq_f32_u32(vceqq_f32(a, b));
}
FC_INLINE __m128 _mm_cvtepi32_ps(__m128i v) { return vcvtq_f32_s32(S32(v)); }
// A value out of range becomes the nearest int32_t, and NaN becomes 0; SSE2
// turns both into INT32_MIN.
FC_INLINE __m128i _mm_cvttps_epi32(__m128 v) {
  return OF_S32(vcvtq_s32_f32(v));
}

FC_INLINE __m128d _mm_set1_pd(double n) { return vdupq_n_f64(n); }
FC_INLINE __m128d _mm_load_sd(const double *p) {
  return vsetq_lane_f64(*p, vdupq_n_f64(0), 0);
}
FC_INLINE __m128d _mm_loadh_pd(__m128d v, const double *p) {
  return vld1q_lane_f64(p, v, 1);
}
FC_INLINE __m128d _mm_add_pd(__m128d a, __m128d b) { return vaddq_f64(a, b); }
FC_INLINE __m128d _mm_sub_pd(__m128d a, __m128d b) { return vsubq_f64(a, b); }
FC_INLINE __m128d _mm_mul_pd(__m128d a, __m128d b) { return vmulq_f64(a, b); }
FC_INLINE __m128d _mm_div_pd(__m128d a, __m128d b) { return vdivq_f64(a, b); }
FC_INLINE __m128d _mm_and_pd(__m128d a, __m128d b) {
  return OF_BITS(vandq_u64(BITS(a), BITS(b)));
}
FC_INLINE __m128d _mm_or_pd(__m128d a, __m128d b) {
  return OF_BITS(vorrq_u64(BITS(a), BITS(b)));
}
FC_INLINE __m128d _mm_andnot_pd(__m128d a, __m128d b) {
  return OF_BITS(vbicq_u64(BITS(b), BITS(a)));
}
FC_INLINE __m128d _mm_cmplt_pd(__m128d a, __m128d b) {
  return OF_BITS(vcltq_f64(a, b));
}
// Converts between the low two 32-bit lanes and both f64; the other lanes become 0.
FC_INLINE __m128d _mm_cvtepi32_pd(__m128i v) {
  return vcvtq_f64_s64(vmovl_s32(vget_low_s32(S32(v))));
}
FC_INLINE __m128i _mm_cvtpd_epi32(__m128d v) {
  return OF_S32(vcombine_s32(vmovn_s64(vcvtnq_s64_f64(v)), vdup_n_s32(0)));
}
FC_INLINE __m128 _mm_cvtpd_ps(__m128d v) {
  return vcombine_f32(vcvt_f32_f64(v), vdup_n_f32(0));
}

#undef U16
#undef U32
#undef U64
#undef S8
#undef S16
#undef S32
#undef OF_U16
#undef OF_U32
#undef OF_U64
#undef OF_S16
#undef OF_S32
#undef BITS
#undef OF_BITS
#else
#define FC_VECTORS 0
#endif

#endif  // FARCALL_JSON_VECTORS_H_
