// SPDX-License-Identifier: Apache-2.0
//
// One function for each scalar type, and for each way in which results are returned.
// Narrow integers have garbage above their width, as in compiled code.
#include "memref.h"

#include <string.h>

typedef struct i32_i64_t {
  int32_t a;
  int64_t b;
} i32_i64_t;
typedef struct i8_f64_i1_t {
  int8_t a;
  double b;
  uint8_t c;
} i8_f64_i1_t;
typedef struct i8_memref_f16_t {
  int8_t a;
  r1_t m;
  _Float16 h;
} i8_memref_f16_t;
typedef struct i8_complex_i8_t {
  int8_t a;
  float c[2];
  int8_t b;
} i8_complex_i8_t;

#define CI(ret, name) EXPORT ret _mlir_ciface_##name

CI(int64_t, s_i1)(int64_t a) { return ~a; }  // upper bits all set for 0
CI(int64_t, s_i4)(int64_t a) { return (a & 15) | 0x7f0; }
CI(int64_t, s_i8)(int8_t a) { return (int8_t)(a + a) ^ 0x7700; }
CI(int64_t, s_ui8)(uint8_t a) { return a | 0x4400; }
CI(int64_t, s_i16)(int16_t a) { return (uint16_t)(a + a) | 0x990000; }
// The caller has extended these arguments to 32 bits.
CI(int32_t, w_i1)(int32_t a) { return a; }
CI(int32_t, w_i4)(int32_t a) { return a; }
CI(int32_t, w_i8)(int32_t a) { return a; }
CI(int32_t, w_ui8)(int32_t a) { return a; }
CI(int32_t, w_i16)(int32_t a) { return a; }
CI(int32_t, w_ui16)(int32_t a) { return a; }
CI(int32_t, s_i32)(int32_t a) { return a + a; }
CI(int64_t, s_i64)(int64_t a) { return a + a; }
CI(int64_t, s_index)(int64_t a) { return a + a; }
CI(uint8_t, s_f8)(uint8_t a) { return a; }
CI(_Float16, s_f16)(_Float16 a) { return a + a; }
// bf16 is the low half of a float register.
CI(float, s_bf16)(float a) {
  uint32_t bits;
  memcpy(&bits, &a, sizeof bits);
  uint32_t wide = bits << 16;
  memcpy(&a, &wide, sizeof a);
  a += a;
  memcpy(&bits, &a, sizeof bits);
  bits = bits >> 16 | 0xdead0000;
  memcpy(&a, &bits, sizeof a);
  return a;
}
CI(float, s_f32)(float a) { return a + a; }
CI(double, s_f64)(double a) { return a + a; }
CI(void, s_c64)(float out[2], float re, float im) {
  out[0] = re + re;
  out[1] = im + im;
}
CI(void, s_c128)(double out[2], double re, double im) {
  out[0] = re + re;
  out[1] = im + im;
}
CI(void, s_void)(void) {}
CI(double, s_mixed)(int8_t a, double b, bool c, float d, int64_t e) {
  return a + b + c + (double)d + (double)e;
}

// Some of the many arguments do not fit into registers and are on the stack.
CI(double, s_many)
(int8_t a, double b, int64_t c, double d, int16_t e, double f, int32_t g,
 double h, int64_t i, double j, int8_t k, double l, int64_t m, double n, bool o,
 double p, float q, float r, _Float16 s) {
  return a + b * 2 + (double)c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 +
         (double)i * 9 + j * 10 + k * 11 + l * 12 + (double)m * 13 + n * 14 +
         o * 15 + p * 16 + (double)q * 17 + (double)r * 18 + (double)s * 19;
}

CI(void, m_i32_i64)(i32_i64_t *out, int32_t a, int64_t b) {
  out->a = a;
  out->b = b;
}
CI(void, m_i8_f64_i1)(i8_f64_i1_t *out, int8_t a, double b, bool c) {
  out->a = a;
  out->b = b;
  out->c = c | 0xfe;
}
CI(void, m_f32x3)(float out[3], float a) { out[0] = out[1] = out[2] = a; }
CI(void, m_scalar_memref)
(i8_memref_f16_t *out, int8_t a, const r1_t *m, _Float16 h) {
  out->a = a;
  out->m = *m;
  out->h = h;
}
CI(void, m_complex_i8)(i8_complex_i8_t *out, int8_t a, float re, float im) {
  out->a = a;
  out->c[0] = re;
  out->c[1] = im;
  out->b = (int8_t)-a;
}
