// SPDX-License-Identifier: Apache-2.0
//
// Numbers with a unit, as people write them: 65536, 64k, 2M, 10s. Any thread.
#ifndef FARCALL_CORE_BASE_UNITS_H_
#define FARCALL_CORE_BASE_UNITS_H_

#include "farcall/base.h"

typedef struct fc_unit_t {
  const char *text;  // NULL in the row after the last unit
  uint64_t factor;
} fc_unit_t;

// Units of bytes: none, "k", "M", "G" and other spellings of these.
extern const fc_unit_t fc_units_bytes[];
// The most bytes that a setting may have: more than any machine has, and small enough
// that sums do not overflow.
#define FC_UNITS_BYTES_MAX ((uint64_t)1 << 50)

// Reads a number with a unit. False: `text` is not a decimal number with one of `units`,
// or it is more than `limit`.
bool fc_units_parse(fc_str_t text, const fc_unit_t *units, uint64_t limit,
                    uint64_t *out);

#endif  // FARCALL_CORE_BASE_UNITS_H_
