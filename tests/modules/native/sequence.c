// SPDX-License-Identifier: Apache-2.0
//
// Functions with state, for calls that are a sequence. What the first one answers is what
// examples of another server's clients want of the model simple_sequence.
#include "memref.h"

// The input, and at the first call of a sequence one more.
EXPORT void mark_first(const int32_t *input, int32_t *seen, int32_t *output) {
  *output = (int32_t)((uint32_t)*input + !*seen);
  *seen = 1;
}

// The sum of all inputs so far.
EXPORT void add_up(const int32_t *input, int32_t *sum, int32_t *output) {
  *output = *sum = (int32_t)((uint32_t)*input + (uint32_t)*sum);
}

// Divides before it adds: the processor raises a signal for 0.
EXPORT void divide_up(const int32_t *input, int32_t *sum, int32_t *output) {
  *output = *sum = 100 / *input + *sum;
}

// The first element of a row of any size is added.
EXPORT void _mlir_ciface_add_row(const r1_t *row, r1_t *sum, r1_t *output) {
  sum->aligned[0] += row->aligned[0];
  output->aligned[0] = sum->aligned[0];
}
