// SPDX-License-Identifier: Apache-2.0
//
// MLIR types as text: `memref<?x4xf32, strided<[?, 1], offset: ?>>`, `index`,
// `!hal.fence`. Called at load, any thread. A type that farcall cannot pass is not an
// error: it still gets a node (OPAQUE where no other kind fits). So its function can be
// listed with the reason why it is not callable.
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
  fc_str_t text;  // the type as it is spelled in the source
  fc_mlir_form_t form;
  // The type of the scalar or of the elements; NONE when farcall has no such type.
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
  // Why no value of this type can be passed through MLIR's C interface; "" if it can.
  char refusal[160];
} fc_mlir_type_t;

// Reads one type. The error is FC_CODE_ABI_METADATA with the byte offset. The members
// of a TUPLE are not read; nor is the type of elements that are not an FC_MLIR_SCALAR.
fc_status_t fc_mlir_type_parse(fc_str_t text, fc_mlir_type_t *out_type,
                               fc_error_t *err);

// Adds the node of a type that is not a TUPLE, and returns it.
uint32_t fc_mlir_type_node(fc_builder_t *builder, const fc_mlir_type_t *type);

// Adds the tree of one type. A memref or a tensor becomes a TENSOR (a memref and an
// encoded tensor keep their spelling as text), a vector a VECTOR, a tuple a TUPLE of its
// members, a scalar a SCALAR, none a NULL, and every other type an OPAQUE.
fc_status_t fc_mlir_type_build(fc_builder_t *builder, fc_str_t text,
                               uint32_t *out_node, fc_error_t *err);

// Moves *at to the first character of `stops` that stands outside brackets and strings,
// or to the end. Returns NULL on success. Otherwise it says what is wrong at *at: a
// bracket or string that is not closed, a bracket that closes nothing, or brackets that
// nest too deep.
const char *fc_mlir_skip(fc_str_t text, size_t *at, const char *stops);

#endif  // FARCALL_ABI_MLIR_TYPE_H_
