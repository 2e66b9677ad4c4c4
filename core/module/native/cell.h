// SPDX-License-Identifier: Apache-2.0
//
// The memory of arguments and results of a memref-shaped function: the layout of
// result structures, scalars in their cells, argument descriptors. Memory for one
// call comes from its arena. Used by the native backend; runs no code of the module.
#ifndef FARCALL_MODULE_NATIVE_CELL_H_
#define FARCALL_MODULE_NATIVE_CELL_H_

#include "memref/descriptor.h"

// A structure that is being laid out with the padding of C: MLIR's result
// structures are literal LLVM structs that contain the descriptors.
typedef struct fc_layout_t {
  uint32_t size;
  uint32_t alignment;
} fc_layout_t;

// Appends a member of `type` (SCALAR, TENSOR or VECTOR) and returns its offset.
uint32_t fc_layout_add(fc_layout_t *layout, const fc_signature_t *signature,
                       const fc_type_t *type);

// The bytes of one scalar that a module wrote, cut to the width of its type and
// extended by its sign, or by zeros if the type has no sign. Bits above the
// width are undefined in registers and in memory.
fc_scalar_t fc_scalar_load(fc_dtype_t dtype, const void *bytes);

// A scalar as compiled code expects it in memory: zeros above its width, even if it is
// negative; a boolean is 0 or 1.
fc_scalar_t fc_scalar_cut(fc_dtype_t dtype, const fc_scalar_t *scalar);

// The argument memory of one memref: cell -> [unranked ->] descriptor. `data`
// is the pointer that is passed.
typedef struct fc_memref_cell_t {
  void *data;  // the ranked or the unranked descriptor
  fc_memref_t *descriptor;
  fc_memref_unranked_t unranked;
  fc_memref_t *kept;  // of an INOUT or OUT argument: a copy of the descriptor
                      // that the function cannot change
  fc_span_t block;    // what the descriptor may reach
  uint8_t *rows;      // of a VECTOR: its elements, aligned as a whole
} fc_memref_cell_t;

// Checks that `value` has the type of argument `index` of the signature. For a tensor,
// fills in `cell`, which was zeroed, with descriptors in `arena`. Elements narrower
// than a byte are cut to their width. In a guarded call the tensor is already a copy
// and is changed in place, unless it is strided; otherwise a copy is made when an
// element has bits above its width.
fc_status_t fc_memref_argument(const fc_signature_t *signature, uint32_t index,
                               const fc_value_t *value, bool guarded,
                               fc_arena_t *arena, fc_memref_cell_t *cell,
                               fc_error_t *err);

// The bytes of a VECTOR. It consists of rows of FC_VECTOR_ROW bytes, each in
// one register.
#define FC_VECTOR_ROW 16
size_t fc_vector_size(const fc_signature_t *signature, const fc_type_t *type);

// The tensor that a descriptor of fc_memref_argument describes. Used to read
// the final contents of an argument.
fc_tensor_t fc_memref_view(const fc_memref_t *descriptor, int32_t rank,
                           fc_dtype_t dtype);

#endif  // FARCALL_MODULE_NATIVE_CELL_H_
