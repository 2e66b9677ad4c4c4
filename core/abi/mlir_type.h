// SPDX-License-Identifier: Apache-2.0
//
// MLIR types as text: `memref<?x4xf32, strided<[?, 1], offset: ?>>`, `index`,
// `!hal.fence`. Called at load, any thread. A type farcall cannot pass is not
// an error: it gets a node all the same (OPAQUE where no other kind fits), so that its
// function can still be listed with the reason why it isn't callable.
#ifndef FARCALL_ABI_MLIR_TYPE_H_
#define FARCALL_ABI_MLIR_TYPE_H_

#include "farcall/type.h"

typedef enum fc_mlir_form_t {
  FC_MLIR_SCALAR,  // integer, float, index or complex
  FC_MLIR_MEMREF,
  FC_MLIR_TENSOR,
  FC_MLIR_VECTOR,
  FC_MLIR_TUPLE,
  FC_MLIR_NONE,
  FC_MLIR_DIALECT,  // !dialect.type<…>
} fc_mlir_form_t;

// One type, taken apart. Texts point into the source.
typedef struct fc_mlir_type_t {
  fc_str_t text;  // its own spelling
  fc_mlir_form_t form;
  // Of the scalar or the elements; NONE when farcall has no such type.
  fc_dtype_t dtype;
  uint32_t bits;  // width of an integer (or element), also where dtype is NONE
  bool encoded;   // a TENSOR with an encoding
  bool odd;       // scalable or too many dims: the tree cannot hold it
  bool strided;
  int32_t rank;
  int64_t dims[FC_RANK_MAX];
  int64_t strides[FC_RANK_MAX];
  int64_t offset;
  int32_t
      inner;  // of a MEMREF: how many of its last dims are those of a vector
  // Why no such value crosses the C interface of MLIR; "" if it does.
  char refusal[160];
} fc_mlir_type_t;

// Reads one type. FC_CODE_ABI_METADATA with the byte offset. What is in a TUPLE is not
// read; nor is the type of elements that are no FC_MLIR_SCALAR.
fc_status_t fc_mlir_type_parse(fc_str_t text, fc_mlir_type_t *out_type,
                               fc_error_t *err);

// Adds the node of one type that is no TUPLE, and returns it.
uint32_t fc_mlir_type_node(fc_builder_t *builder, const fc_mlir_type_t *type);

// Adds the tree of one type: memref and tensor become TENSOR (a memref and an
// encoded tensor keep their spelling as text), vector VECTOR, tuple a TUPLE of its
// members, scalars SCALAR, none NULL, everything without a place in the tree OPAQUE.
fc_status_t fc_mlir_type_build(fc_builder_t *builder, fc_str_t text,
                               uint32_t *out_node, fc_error_t *err);

// Moves *at to the first character of `stops` that stands outside brackets and
// strings, or to the end. Returns NULL or, when a bracket or a string is not closed or
// closes nothing, or brackets nest too deep, what is wrong at *at.
const char *fc_mlir_skip(fc_str_t text, size_t *at, const char *stops);

#endif  // FARCALL_ABI_MLIR_TYPE_H_
