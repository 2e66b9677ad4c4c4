// SPDX-License-Identifier: Apache-2.0
//
// Checks tensors that callers made, and copies tensors for calls that may be ended
// meanwhile: from time to time a copy checks whether its call must end (fc_stop_look).
// Any thread.
#ifndef FARCALL_VALUE_GATHER_H_
#define FARCALL_VALUE_GATHER_H_

#include "base/stop.h"
#include "farcall/value.h"

fc_status_t fc_copy(void *dest, const void *source, size_t size,
                    const fc_stop_t *stop, fc_error_t *err);
// Does the same as fc_tensor_gather, but stops when the call must end.
fc_status_t fc_gather(const fc_tensor_t *tensor, void *dest,
                      const fc_stop_t *stop, fc_error_t *err);

// Moves to the next element of a view in row-major order: counts `index` up, and moves
// *at, the offset of the element, by the strides. Returns the dim whose index was
// increased (the indices after it became 0); -1 at the end.
static inline int32_t fc_view_step(int32_t rank, const int64_t *shape,
                                   const int64_t *strides, int64_t *index,
                                   int64_t *at) {
  int32_t i = rank;
  while (i-- > 0) {
    if (++index[i] < shape[i]) {
      *at += strides[i];
      break;
    }
    *at -= strides[i] * (shape[i] - 1);
    index[i] = 0;
  }
  return i;
}
// Computes how far a view of `rank` dims reaches from its first element, in elements:
// *out_low <= 0, *out_high >= 0. Both are 0 if the view has no elements. False on
// overflow.
bool fc_shape_reach(const int64_t *shape, const int64_t *strides, int32_t rank,
                    int64_t *out_low, int64_t *out_high);
// Checks a tensor against its type, and computes the size of its elements in bytes.
// FC_DTYPE_NONE as `dtype` allows any type; `rank` and `dims` below 0 allow any rank
// and size. The elements must lie where programs have memory. FC_CODE_DTYPE_MISMATCH,
// FC_CODE_SHAPE_MISMATCH, FC_CODE_DATA_LENGTH; the messages do not name the argument.
fc_status_t fc_tensor_check(const fc_tensor_t *tensor, fc_dtype_t dtype,
                            int32_t rank, const int64_t *dims, size_t *out_size,
                            fc_error_t *err);
// True when compiled code can use the elements where they lie: they are dense, and
// aligned as the code expects.
bool fc_tensor_is_usable(const fc_tensor_t *tensor, size_t alignment);

#endif  // FARCALL_VALUE_GATHER_H_
