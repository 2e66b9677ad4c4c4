// SPDX-License-Identifier: Apache-2.0
#include "base/float_format.h"

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
