// SPDX-License-Identifier: Apache-2.0
//
// Tensors that callers made, and copies for calls that may be ended meanwhile: they look
// every so often (fc_stop_look). Any thread.
#ifndef FARCALL_VALUE_GATHER_H_
#define FARCALL_VALUE_GATHER_H_

#include "base/stop.h"
#include "farcall/value.h"

fc_status_t fc_copy(void *dest, const void *source, size_t size,
                    const fc_stop_t *stop, fc_error_t *err);
// Does what fc_tensor_gather does.
fc_status_t fc_gather(const fc_tensor_t *tensor, void *dest,
                      const fc_stop_t *stop, fc_error_t *err);

// Walks over a view in row-major order, like an odometer: counts `index` up and moves *at,
// the place of its element, by the strides. Returns the dim that went on (those behind it
// have begun anew); -1 at the end.
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
// How far a view of `rank` dims reaches from its first element, in elements: *out_low <= 0,
// *out_high >= 0; both are 0 if it has none. False when that overflows.
bool fc_shape_reach(const int64_t *shape, const int64_t *strides, int32_t rank,
                    int64_t *out_low, int64_t *out_high);
// Checks a tensor against its type, and tells the size of its elements in bytes. `dtype`
// FC_DTYPE_NONE, `rank` and `dims` below 0: any. Its elements must lie where programs have
// memory. FC_CODE_DTYPE_MISMATCH, FC_CODE_SHAPE_MISMATCH, FC_CODE_DATA_LENGTH; messages do
// not name the argument.
fc_status_t fc_tensor_check(const fc_tensor_t *tensor, fc_dtype_t dtype,
                            int32_t rank, const int64_t *dims, size_t *out_size,
                            fc_error_t *err);
// Can compiled code use the elements where they lie? It relies on dense elements that are
// aligned as it expects.
bool fc_tensor_is_usable(const fc_tensor_t *tensor, size_t alignment);

#endif  // FARCALL_VALUE_GATHER_H_
