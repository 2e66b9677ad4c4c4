// SPDX-License-Identifier: Apache-2.0
//
// Converts f16 and bf16 to and from f32 and f64, rounding to nearest, ties to even. All
// steps are integer arithmetic, except the exact step from f32 to f64, so neither the
// rounding mode nor FTZ matters. Any thread.
#include "farcall/base.h"

static uint32_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float bits_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

float fc_half_to_float(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 31;
  uint32_t mantissa = bits & 0x3FF;
  if (exponent == 31) return bits_float(sign | 0x7F800000 | mantissa << 13);
  if (exponent)
    return bits_float(sign | (exponent + 112) << 23 | mantissa << 13);
  if (!mantissa) return bits_float(sign);
  // Subnormal: shift the leading one into the hidden place.
  unsigned shift = (unsigned)__builtin_clz(mantissa) - 21;
  mantissa = (mantissa << shift) & 0x3FF;
  return bits_float(sign | (113 - shift) << 23 | mantissa << 13);
}

float fc_bfloat_to_float(uint16_t bits) {
  return bits_float((uint32_t)bits << 16);
}

// Rounds an f64 to a format of `exponent_bits` and `mantissa_bits`. An infinity stays
// infinite; a NaN becomes quiet and keeps its sign and top payload bits.
static uint16_t round_to(double value, unsigned exponent_bits,
                         unsigned mantissa_bits) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint16_t sign = (uint16_t)(bits >> 63 << 15);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t infinity =
      (uint16_t)(((1u << exponent_bits) - 1) << mantissa_bits);
  uint64_t mantissa = bits & 0xFFFFFFFFFFFFFull;
  int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
  if (exponent == 1024) {
    if (!mantissa) return sign | infinity;
    uint16_t payload = (uint16_t)(mantissa >> (52 - mantissa_bits));
    uint16_t quiet = (uint16_t)(1u << (mantissa_bits - 1));
    return (uint16_t)(sign | infinity | payload | quiet);
  }
  if (exponent == -1023) return sign;  // 0, or far below any subnormal
  mantissa |= 1ull << 52;
  // How many low bits of `mantissa`, which has 53, are dropped; more when the result is
  // subnormal.
  int drop = 52 - (int)mantissa_bits;
  int biased = exponent + bias;
  if (biased < 1) {
    drop += 1 - biased;
    biased = 0;
  }
  if (drop > 54) return sign;
  uint64_t kept = mantissa >> drop;
  uint64_t rest = mantissa & ((1ull << drop) - 1);
  uint64_t halfway = 1ull << (drop - 1);
  if (rest > halfway || (rest == halfway && (kept & 1))) kept++;
  // The hidden bit, which a normal result has, adds 1 to the exponent field,
  // and so does a carry out of the mantissa.
  uint64_t field = biased ? (uint64_t)(biased - 1) << mantissa_bits : 0;
  uint64_t result = field + kept;
  if (result >= infinity) return sign | infinity;
  return (uint16_t)(sign | result);
}

uint16_t fc_half_from_double(double value) { return round_to(value, 5, 10); }
uint16_t fc_bfloat_from_double(double value) { return round_to(value, 8, 7); }
uint16_t fc_half_from_float(float value) {
  return round_to((double)value, 5, 10);
}

uint16_t fc_bfloat_from_float(float value) {
  uint32_t bits = float_bits(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
