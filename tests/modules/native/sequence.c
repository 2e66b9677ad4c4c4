// SPDX-License-Identifier: Apache-2.0
//
// Functions with state, for sequences of calls. The first one answers what another
// server's client examples expect of the model simple_sequence.
#include "memref.h"

// Returns the input; in the first call of a sequence, the input plus one.
EXPORT void mark_first(const int32_t *input, int32_t *seen, int32_t *output) {
  *output = (int32_t)((uint32_t)*input + !*seen);
  *seen = 1;
}

// Returns the sum of all inputs so far.
EXPORT void add_up(const int32_t *input, int32_t *sum, int32_t *output) {
  *output = *sum = (int32_t)((uint32_t)*input + (uint32_t)*sum);
}

// Divides by the input before it adds: for 0 the processor raises a signal.
EXPORT void divide_up(const int32_t *input, int32_t *sum, int32_t *output) {
  *output = *sum = 100 / *input + *sum;
}

// Adds the first element of a row of any size.
EXPORT void _mlir_ciface_add_row(const r1_t *row, r1_t *sum, r1_t *output) {
  sum->aligned[0] += row->aligned[0];
  output->aligned[0] = sum->aligned[0];
}
