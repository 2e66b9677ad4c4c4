// SPDX-License-Identifier: Apache-2.0
//
// Private to core/json: the shortest decimal that reads back as a given binary
// float, and the nearest to it among those (Raffaello Giulietti, "The
// Schubfach way to render doubles"). Any thread.
#ifndef FARCALL_JSON_SHORTEST_H_
#define FARCALL_JSON_SHORTEST_H_

#include "farcall/base.h"

// digits * 10^exponent; the digits may end in zeros.
typedef struct fc_shortest_t {
  uint64_t digits;
  int exponent;
} fc_shortest_t;

// Of mantissa * 2^exponent, not 0. `step_below`: the mantissa is a power of two
// above the smallest normal, so that the next value below is half as far.
// `ties`: a decimal halfway to a neighbour reads back as this value.
fc_shortest_t fc_shortest_wide(uint64_t mantissa, int exponent, bool step_below,
                               bool ties);
// The same for mantissas of up to 24 bits and exponents of f32.
fc_shortest_t fc_shortest_narrow(uint32_t mantissa, int exponent,
                                 bool step_below, bool ties);

#endif  // FARCALL_JSON_SHORTEST_H_
