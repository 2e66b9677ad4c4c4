// SPDX-License-Identifier: Apache-2.0
#include "base/float_format.h"

#include <math.h>

// In the order of fc_dtype_t, which begins with NONE.
const fc_float_format_t fc_float_formats[FC_DTYPE_COUNT] = {
    {.bias = 0},
#define NOT_FLOAT \
  { .bias = 0 }
#define FLOAT(...) \
  { __VA_ARGS__ }
#define FC_DTYPE(name, text, class_, bits, bytes, hal, oip, npy, aliases, \
                 part, format)                                            \
  format,
#include "farcall/dtype.def"
#undef FC_DTYPE
#undef FLOAT
#undef NOT_FLOAT
};

double fc_float_value(const fc_float_format_t *format, uint64_t bits) {
  if (fc_float_is_nan(format, bits)) return (double)NAN;
  const uint64_t size = bits & ~format->sign;
  const int mantissa = format->mantissa_bits;
  const uint64_t rest = size & ((UINT64_C(1) << mantissa) - 1);
  const int exponent = (int)(size >> mantissa);
  double value;
  if (format->infinity && size == format->infinity) {
    value = (double)INFINITY;
  } else if (exponent || fc_float_is_positive(format)) {
    value = ldexp((double)(rest | UINT64_C(1) << mantissa),
                  exponent - format->bias - mantissa);
  } else {
    value = ldexp((double)rest, 1 - format->bias - mantissa);
  }
  return bits & format->sign ? -value : value;
}
