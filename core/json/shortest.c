// SPDX-License-Identifier: Apache-2.0
//
// Schubfach. Both widths use the same steps; the narrow one needs only the high
// word of the power. Values are multiplied by four, so that the borders of the
// rounding interval are whole. The lowest bit of a product is set if the product is
// inexact, so that comparisons are right.
#include "json/shortest.h"

#include "json/quad.h"

// ---------------------------------------------------------------------------
// Four f32 at a time (quad.h)

#if FC_VECTORS
// The exponent field of 2^-n * m is 150 - n.
#define SCALE(n, down) \
  [150 - (n)] = {1e##down / (double)(1ull << (n)), 8 - (down)}
#define SCALES(n, down) \
  SCALE(n, down), SCALE((n) + 1, down), SCALE((n) + 2, down)
const fc_quad_scale_t fc_quad_scales[256] = {
    SCALES(1, 1),  SCALES(4, 2),   SCALES(7, 3),   SCALES(10, 4),
    SCALE(13, 4),  SCALES(14, 5),  SCALES(17, 6),  SCALES(20, 7),
    SCALE(23, 7),  SCALES(24, 8),  SCALES(27, 9),  SCALES(30, 10),
    SCALE(33, 10), SCALES(34, 11), SCALES(37, 12),
};
#endif  // FC_VECTORS

// ---------------------------------------------------------------------------
// Schubfach

// From 10^0 to 10^55 the table's 128 bits are the exact power: 5^55 < 2^128 < 5^56.
#define POWER_EXACT_HIGH 55

// floor(log10(3/4 * 2^e))
static int log10_pow2_below(int e) { return (e * 1262611 - 524031) >> 22; }

// Chooses the decimal from two pairs of candidates. The first pair are the two multiples
// of 10^(k + 1) around the value, which are one digit shorter; the second pair are s *
// 10^k and (s + 1) * 10^k. If exactly one of a pair lies inside [lower, upper], it is
// chosen. Otherwise the candidate of the second pair that is nearest to the value is
// chosen.
static inline fc_shortest_t choose(uint64_t lower, uint64_t value,
                                   uint64_t upper, int k) {
  uint64_t s = value / 4;
  if (s >= 10) {
    uint64_t tens = s / 10;
    bool down = lower <= 40 * tens;
    bool up = 40 * tens + 40 <= upper;
    if (down != up) return (fc_shortest_t){tens + up, k + 1};
  }
  bool down = lower <= 4 * s;
  bool up = 4 * s + 4 <= upper;
  if (down != up) return (fc_shortest_t){s + up, k};
  uint64_t middle = 4 * s + 2;
  bool round_up = value > middle || (value == middle && (s & 1));
  return (fc_shortest_t){s + round_up, k};
}

// mantissa * power >> 128, rounded to odd.
static inline uint64_t scale_wide(uint64_t high, uint64_t low,
                                  uint64_t mantissa) {
  unsigned __int128 x = (unsigned __int128)low * mantissa;
  unsigned __int128 y =
      (unsigned __int128)high * mantissa + (uint64_t)(x >> 64);
  return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

fc_shortest_t fc_shortest_wide(uint64_t mantissa, int exponent, bool step_below,
                               bool ties) {
  int k = step_below ? log10_pow2_below(exponent) : fc_log10_pow2(exponent);
  int h = exponent + fc_log2_pow10(-k) + 1;
  const uint64_t *power = fc_powers_of_ten[-k - FC_POWERS_LOW];
  uint64_t high = power[0], low = power[1];
  if (-k > POWER_EXACT_HIGH) high += ++low == 0;  // the table is rounded down
  uint64_t lower = scale_wide(high, low, (4 * mantissa - 2 + step_below) << h);
  uint64_t value = scale_wide(high, low, 4 * mantissa << h);
  uint64_t upper = scale_wide(high, low, (4 * mantissa + 2) << h);
  return choose(lower + !ties, value, upper - !ties, k);
}

static inline uint64_t scale_narrow(uint64_t power, uint32_t mantissa) {
  unsigned __int128 product = (unsigned __int128)power * mantissa;
  uint32_t high = (uint32_t)(product >> 64);
  return high | ((uint32_t)(product >> 32) > 1);
}

fc_shortest_t fc_shortest_narrow(uint32_t mantissa, int exponent,
                                 bool step_below, bool ties) {
  int k = step_below ? log10_pow2_below(exponent) : fc_log10_pow2(exponent);
  int h = exponent + fc_log2_pow10(-k) + 1;
  uint64_t power = fc_powers_of_ten[-k - FC_POWERS_LOW][0];
  // The power is rounded up, unless the high word is the whole power; 10^27 is
  // the last such power.
  if (-k < 0 || -k > 27) power++;
  uint64_t lower = scale_narrow(power, (4 * mantissa - 2 + step_below) << h);
  uint64_t value = scale_narrow(power, 4 * mantissa << h);
  uint64_t upper = scale_narrow(power, (4 * mantissa + 2) << h);
  return choose(lower + !ties, value, upper - !ties, k);
}
