// SPDX-License-Identifier: Apache-2.0
//
// The floats of farcall/dtype.def: where their bits are, and which of them are special.
// Programs are optimised across files, so the compiler knows these numbers in a loop
// over one type.
#ifndef FARCALL_CORE_BASE_FLOAT_FORMAT_H_
#define FARCALL_CORE_BASE_FLOAT_FORMAT_H_

#include "farcall/type.h"

// The columns of FLOAT in dtype.def. If all are 0, the type is not a float.
typedef struct fc_float_format_t {
  int mantissa_bits;
  int bias;
  uint64_t sign;
  uint64_t highest;
  uint64_t infinity;
  uint64_t nan;
  bool negative_zero;
  const char *limit;
  bool limit_fits;
} fc_float_format_t;

// In the order of fc_dtype_t, which begins with NONE.
extern const fc_float_format_t fc_float_formats[FC_DTYPE_COUNT];

// True when the type has neither zero nor negative numbers.
static inline bool fc_float_is_positive(const fc_float_format_t *format) {
  return format->bias != 0 && format->sign == 0;
}

// True when `bits`, the bits of an element, are a NaN. If the type has several NaNs,
// they are above its greatest finite number. If it has no NaN, `nan` is 0.
static inline bool fc_float_is_nan(const fc_float_format_t *format,
                                   uint64_t bits) {
  const uint64_t size = bits & ~format->sign;
  return (format->nan && bits == format->nan) ||
         (size > format->highest && size != format->infinity);
}

// Returns the number that `bits`, the bits of an element, stand for.
double fc_float_value(const fc_float_format_t *format, uint64_t bits);

#endif  // FARCALL_CORE_BASE_FLOAT_FORMAT_H_
