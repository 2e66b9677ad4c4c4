// SPDX-License-Identifier: Apache-2.0
//
// The memory for arguments and results of a function of memrefs: the layout of
// result structures, scalars as they lie in memory, argument descriptors. Memory for one
// call comes from its arena. Used by the native backend; runs no code of the module.
#ifndef FARCALL_MODULE_NATIVE_CELL_H_
#define FARCALL_MODULE_NATIVE_CELL_H_

#include "memref/descriptor.h"

// A C structure that is being laid out: its size and alignment so far. MLIR's result
// structures have the layout of C structures; they contain the descriptors.
typedef struct fc_layout_t {
  uint32_t size;
  uint32_t alignment;
} fc_layout_t;

// Appends a member of `type` (SCALAR, TENSOR or VECTOR) and returns its offset.
uint32_t fc_layout_add(fc_layout_t *layout, const fc_signature_t *signature,
                       const fc_type_t *type);

// Reads a scalar that a module wrote: cuts it to the width of its type, and extends it by
// its sign, or by zeros if the type has no sign. Bits above the
// width are undefined in registers and in memory.
fc_scalar_t fc_scalar_load(fc_dtype_t dtype, const void *bytes);

// Returns a scalar as compiled code expects it in memory: the bits above its width are 0,
// even if it is negative; a boolean is 0 or 1.
fc_scalar_t fc_scalar_cut(fc_dtype_t dtype, const fc_scalar_t *scalar);

// The memory for one memref argument. `data` is the pointer that is passed. It points to
// the descriptor, or to `unranked`, which points to the descriptor.
typedef struct fc_memref_cell_t {
  void *data;  // the ranked or the unranked descriptor
  fc_memref_t *descriptor;
  fc_memref_unranked_t unranked;
  fc_memref_t *kept;  // of an INOUT or OUT argument: a copy of the descriptor
                      // that the function cannot change
  fc_span_t block;    // the memory that the function may use
  uint8_t *rows;      // of a VECTOR: its elements, aligned as a whole
} fc_memref_cell_t;

// Checks that `value` has the type of argument `index` of the signature. For a tensor,
// fills in `cell`, which must be zeroed, with descriptors in `arena`. Bits above the
// width of an element are cleared: in a copy, if any element has such bits. In a guarded
// call the tensor is already a copy, so it is changed in place, unless it is strided.
fc_status_t fc_memref_argument(const fc_signature_t *signature, uint32_t index,
                               const fc_value_t *value, bool guarded,
                               fc_arena_t *arena, fc_memref_cell_t *cell,
                               fc_error_t *err);

// The size in bytes of a VECTOR. It consists of rows of FC_VECTOR_ROW bytes, each in
// one register.
#define FC_VECTOR_ROW 16
size_t fc_vector_size(const fc_signature_t *signature, const fc_type_t *type);

// Returns the tensor that a descriptor of fc_memref_argument describes, to read
// the final contents of an argument.
fc_tensor_t fc_memref_view(const fc_memref_t *descriptor, int32_t rank,
                           fc_dtype_t dtype);

#endif  // FARCALL_MODULE_NATIVE_CELL_H_
