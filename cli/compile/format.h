// SPDX-License-Identifier: Apache-2.0
//
// Finds the format of a source file from its bytes, not from its name.
#ifndef FARCALL_CLI_COMPILE_FORMAT_H_
#define FARCALL_CLI_COMPILE_FORMAT_H_

#include "farcall/base.h"
#include "module/kinds.h"

typedef enum fc_format_id_t {
  FC_FORMAT_ONNX,
  FC_FORMAT_JAX_EXPORT,  // what jax.export serializes
  FC_FORMAT_PORTABLE,    // StableHLO as a portable artifact, in MLIR's bytecode
  FC_FORMAT_BYTECODE,    // MLIR's bytecode, of any dialect
  FC_FORMAT_TORCH,       // this and all below: MLIR text, by its dialect
  FC_FORMAT_STABLEHLO,
  FC_FORMAT_TOSA,
  FC_FORMAT_GPU,
  FC_FORMAT_MEMREF,  // a function takes or returns memrefs
  FC_FORMAT_TENSOR,  // linalg, tensor, arith and other text
} fc_format_id_t;

// The script of tools/ that converts a source before the compiler reads it.
typedef enum fc_importer_t {
  FC_IMPORTER_NONE,
  FC_IMPORTER_ONNX,
  FC_IMPORTER_JAX,
} fc_importer_t;

typedef struct fc_format_t {
  fc_format_id_t id;
  const char *name;  // for messages, with "a" or "an"
  fc_importer_t importer;
  const char *input_type;  // --iree-input-type
  bool by_iree;            // the road by IREE accepts it
  bool by_mlir;
} fc_format_t;

static inline bool fc_format_is(const fc_format_t *format, fc_format_id_t id) {
  return format->id == id;
}

// Returns the format of a source; FC_FORMAT_TENSOR for text of no other format. The bytes
// decide; but unknown bytes or text are refused if `path` ends in ".onnx". NULL: no
// compiler accepts the source; `out_reason` then says what it is and, if known, what to do
// instead.
const fc_format_t *fc_format_find(fc_str_t bytes, const char *path,
                                  char out_reason[FC_FILE_TEXT]);

#endif  // FARCALL_CLI_COMPILE_FORMAT_H_
