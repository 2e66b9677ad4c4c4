// SPDX-License-Identifier: Apache-2.0
//
// Reads MLIR text: the functions of a module in the generic form that mlir-opt
// prints. It lexes strings and brackets and is no MLIR parser: mlir-opt has accepted
// the text before. Does not recurse.
#ifndef FARCALL_CLI_COMPILE_MLIR_MODULE_H_
#define FARCALL_CLI_COMPILE_MLIR_MODULE_H_

#include "farcall/base.h"

// One argument or result. Empty texts: not given.
typedef struct fc_mlir_value_t {
  fc_str_t type;   // aliases expanded
  fc_str_t attrs;  // inside of its attribute dictionary
  fc_str_t name;   // attribute farcall.name
  fc_str_t role;   // attribute farcall.role
  fc_str_t *dims;  // attribute farcall.dims
  size_t dim_count;
  bool result_buffer;  // attribute bufferize.result
  bool writable;       // attribute bufferization.writable = true
  bool stored;   // of an argument: fc_mlir_find_stores saw it written into
  bool noticed;  // only `stored` gave it its role
} fc_mlir_value_t;

// Ends the symbol of a function that rename.c has renamed.
#define FC_MLIR_OWN ".farcall"

typedef struct fc_mlir_function_t {
  fc_str_t name;    // unescaped
  fc_str_t symbol;  // likewise; the name, maybe with FC_MLIR_OWN behind it
  bool is_public;
  bool has_body;
  bool is_provided;  // has no body, and farcall itself has the function
  fc_mlir_value_t *arguments;
  size_t argument_count;
  fc_mlir_value_t *results;
  size_t result_count;
  size_t properties_at;  // behind their "<{"
  // Where its discardable attributes begin, or would: behind the '{', or behind
  // the region when it has none.
  size_t attrs_at;
  bool has_attrs;
  fc_str_t attrs;  // inside of the dictionary
  fc_str_t body;   // inside of its region
} fc_mlir_function_t;

typedef struct fc_mlir_module_t {
  fc_str_t text;
  fc_mlir_function_t *functions;  // those of the top level, in order
  size_t function_count;
  bool has_tensors;  // an operation or a function's type has a tensor
  bool has_state;    // a memref.global that is not constant
} fc_mlir_module_t;

// `text` is the output of mlir-opt --mlir-print-op-generic and must stay.
fc_status_t fc_mlir_read(fc_arena_t *arena, fc_str_t text,
                         fc_mlir_module_t *out_module, fc_error_t *err);

// Cuts the first attribute off the inside of an attribute dictionary; the value of
// a unit attribute is empty. False at the end.
bool fc_mlir_next_attr(fc_str_t *attrs, fc_str_t *out_key, fc_str_t *out_value);
// The value of `key` in the inside of an attribute dictionary; data is NULL
// when there is none, size is 0 for a unit attribute.
fc_str_t fc_mlir_attr(fc_str_t attrs, fc_str_t key);
// The operands [*out_begin, *out_end) of a segment, by operandSegmentSizes in the
// inside of an operation's properties. False when there is no such segment.
bool fc_mlir_segment(fc_str_t properties, size_t segment, size_t *out_begin,
                     size_t *out_end);
// The content of a quoted MLIR string, escapes decoded; data is NULL when `text` is
// no string, or when out of memory.
fc_str_t fc_mlir_unquote(fc_arena_t *arena, fc_str_t text);

#endif  // FARCALL_CLI_COMPILE_MLIR_MODULE_H_
