// SPDX-License-Identifier: Apache-2.0
//
// Private to core/json: finds the shortest decimals that are read back as a given
// binary float, and of these the one nearest to it. The usual case is inline, because
// the loops over arrays consist of it. Values close to a tie, powers of two and
// subnormals are left to Schubfach (Raffaello Giulietti, "The Schubfach way to render
// doubles", 2020). Any thread.
//
// The usual case is one product. The idea is Schubfach's k, with the borders not scaled
// but compared as distances, as in Victor Zverovich's Zmij and Russ Cox, "Floating-Point
// Printing and Parsing Can Be Simple And Fast", 2026. Let v = m * 2^e, 10^k <= 2^e <
// 10^(k+1), x = v / 10^k and d = 2^e / 10^k, so that 1 <= d < 10. All decimals that are
// read back as v lie within d/2 of x. At most one multiple of ten is among them. If
// there is one and x >= 10, it is the answer, one digit shorter (a multiple of 100 would
// be the same number). Otherwise the answer is the integer nearest to x, which is at
// most 1/2 away. To find either, only distances from x are needed. They are known up to
// a few units of the last place; where such an error could matter, Schubfach decides.
#ifndef FARCALL_JSON_SHORTEST_H_
#define FARCALL_JSON_SHORTEST_H_

#include "json/decimal.h"

// digits * 10^exponent; the digits may end in zeros.
typedef struct fc_shortest_t {
  uint64_t digits;
  int exponent;
} fc_shortest_t;

// Finds the shortest decimal of any mantissa * 2^exponent that is not 0. `step_below`:
// the value is a power of two above the smallest normal, so that the next value below is
// half as far away as the next value above. `ties`: a decimal halfway to a neighbour is
// read back as this value.
fc_shortest_t fc_shortest_wide(uint64_t mantissa, int exponent, bool step_below,
                               bool ties);
// Does the same as fc_shortest_wide for mantissas of up to 24 bits and exponents of f32.
fc_shortest_t fc_shortest_narrow(uint32_t mantissa, int exponent,
                                 bool step_below, bool ties);

// floor(log10(2^e)) and floor(log2(10^e)), for the exponents of f64.
FC_INLINE int fc_log10_pow2(int e) { return (e * 1262611) >> 22; }
FC_INLINE int fc_log2_pow10(int e) { return (e * 1741647) >> 19; }

// Chooses the digits for x = whole + fraction / 2^64. `half` is d / 2 in units of 2^-60.
// The error of the fraction is less than `error`, in units of 2^-64. False if that error
// could matter.
FC_INLINE bool fc_shortest_choose(uint64_t whole, uint64_t fraction,
                                  uint64_t half, uint64_t error,
                                  uint64_t *out_digits) {
  const uint64_t five = UINT64_C(5) << 60, middle = UINT64_C(1) << 63;
  uint64_t tens = whole / 10;
  // How far x, modulo ten, is above five. The nearest multiple of ten is read
  // back as v if this distance is more than five minus `half`.
  int64_t side = (int64_t)(((whole - 10 * tens) << 60 | fraction >> 4) - five);
  int64_t down = side >> 63;  // -1: the multiple below is nearer
  int64_t inside = ((side ^ down) - down) - (int64_t)(five - half);
  // No branch, because the processor could not predict which of the two is chosen.
  uint64_t longer = (uint64_t)(inside >> 63);
  *out_digits = ((10 * (tens + 1 + (uint64_t)down)) & ~longer) |
                ((whole + (fraction >> 63)) & longer);
  uint64_t near = error / 16 + 4;
  bool unclear = (uint64_t)inside + near < 2 * near;
  unclear |= fraction - middle + error < 2 * error;
  return !unclear;
}

// The usual case of fc_shortest_wide: a normal value whose neighbours below and
// above are equally far away.
FC_INLINE fc_shortest_t fc_shortest_f64(uint64_t mantissa, int exponent) {
  int k = fc_log10_pow2(exponent);
  int shift = exponent + fc_log2_pow10(-k) + 1;
  const uint64_t *power = fc_powers_of_ten[-k - FC_POWERS_LOW];
  // The error of the power is less than its last bit, so the error of the product is
  // less than 2^57 of its last bits. A unit of x is 2^64 of these bits. Dropping the
  // low half of `low` adds an error of less than one unit of x.
  uint64_t scaled = mantissa << shift;
  unsigned __int128 low = (unsigned __int128)power[1] * scaled;
  unsigned __int128 x =
      (unsigned __int128)power[0] * scaled + (uint64_t)(low >> 64);
  fc_shortest_t out = {.exponent = k};
  if (FC_LIKELY(fc_shortest_choose((uint64_t)(x >> 64), (uint64_t)x,
                                   power[0] >> (5 - shift), 4, &out.digits))) {
    return out;
  }
  return fc_shortest_wide(mantissa, exponent, false, !(mantissa & 1));
}

// The usual case of fc_shortest_narrow: like fc_shortest_f64, for mantissa >= 10.
FC_INLINE fc_shortest_t fc_shortest_f32(uint32_t mantissa, int exponent) {
  int k = fc_log10_pow2(exponent);
  int shift = exponent + fc_log2_pow10(-k) + 1;
  uint64_t power = fc_powers_of_ten[-k - FC_POWERS_LOW][0];
  // The error of the power is less than one unit of its 64 bits, that of the
  // product less than 2^28 units.
  unsigned __int128 x =
      (unsigned __int128)power * ((uint64_t)mantissa << shift);
  fc_shortest_t out = {.exponent = k};
  if (FC_LIKELY(fc_shortest_choose((uint64_t)(x >> 64), (uint64_t)x,
                                   power >> (5 - shift), UINT64_C(1) << 28,
                                   &out.digits))) {
    return out;
  }
  return fc_shortest_narrow(mantissa, exponent, false, !(mantissa & 1));
}

#endif  // FARCALL_JSON_SHORTEST_H_
