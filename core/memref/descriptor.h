// SPDX-License-Identifier: Apache-2.0
//
// Memref descriptors as MLIR's LLVM lowering lays them out. Builds the descriptors
// of tensors that are passed to a module. Checks the descriptors that a module
// returns, before the memory that they point to is read. Used by the native backend on
// the worker's thread. Ownership of the memory is handled elsewhere (own.h).
#ifndef FARCALL_MEMREF_DESCRIPTOR_H_
#define FARCALL_MEMREF_DESCRIPTOR_H_

#include "farcall/type.h"
#include "farcall/value.h"

// A memref<…> of rank N: 24 + 16 N bytes. All counts are in elements. The address
// of element (i…) is aligned + size * (offset + sum of i * stride); `allocated`
// is only for free().
typedef struct fc_memref_t {
  void *allocated;
  void *aligned;
  int64_t offset;
  int64_t words[];  // rank sizes, then rank strides
} fc_memref_t;

// A memref<*x…>
typedef struct fc_memref_unranked_t {
  int64_t rank;
  fc_memref_t *descriptor;
} fc_memref_unranked_t;

// Size of a descriptor in bytes. `rank` is in [0, FC_RANK_MAX].
static inline size_t fc_memref_size(int32_t rank) {
  return sizeof(fc_memref_t) + 2 * sizeof(int64_t) * (size_t)rank;
}

// Returns the number of dims that a descriptor of this TENSOR has. If its elements are
// vectors, the dims of the vectors belong to the tensor, but not to the descriptor: there
// a vector is one element.
static inline int32_t fc_memref_rank(const fc_type_t *type) {
  return type->rank == FC_RANK_DYNAMIC ? type->rank : type->rank - type->flavor;
}

// The alignment in bytes of memory to which arguments are copied.
#define FC_MEMREF_ALIGNMENT 64

// Describes `tensor` in `out` (fc_memref_size(rank) bytes), with offset 0. The data
// of a tensor without elements may be NULL; the pointers in the descriptor never are.
void fc_memref_build(const fc_tensor_t *tensor, fc_memref_t *out);

// Describes the dense `tensor` in the layout that `type` demands. If that layout is not
// dense at offset 0, the elements are copied into memory from `arena`. *out_block
// becomes the memory that the descriptor describes. FC_CODE_UNSUPPORTED_TYPE when the
// dims of the layout overlap or interleave, FC_CODE_TENSOR_TOO_LARGE when the layout
// spans too much, or the arena has no room for it. `size` is the size of the elements
// (fc_tensor_check). `argument` is for the message.
fc_status_t fc_memref_build_as(const fc_signature_t *signature,
                               const fc_type_t *type, const fc_tensor_t *tensor,
                               size_t size, uint32_t argument,
                               fc_arena_t *arena, fc_memref_t *out,
                               fc_span_t *out_block, fc_error_t *err);

// Checks a returned descriptor of `rank` dims against its declared type: sizes,
// static dims, static strides and offset, a non-null address unless empty, no
// overflow. Writes the view (shape and strides point into the descriptor) and
// the bytes that it spans; the caller must check that these are readable. No
// memory outside the descriptor is read. For the view of a memref of vectors
// call fc_memref_widen afterwards. FC_CODE_BAD_RESULT; `result` is for the
// message.
fc_status_t fc_memref_read(const fc_memref_t *descriptor, int32_t rank,
                           const fc_signature_t *signature,
                           const fc_type_t *type, uint32_t result,
                           fc_tensor_t *out_tensor, fc_span_t *out_extent,
                           fc_error_t *err);

// Adds the dims of the vectors to the view of a memref of vectors, which
// fc_memref_read made. Its new shape and strides lie in `arena`.
fc_status_t fc_memref_widen(const fc_signature_t *signature,
                            const fc_type_t *type, fc_arena_t *arena,
                            fc_tensor_t *tensor, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_MEMREF_DESCRIPTOR_H_
