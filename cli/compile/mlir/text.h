// SPDX-License-Identifier: Apache-2.0
//
// All that farcall reads out of MLIR text and writes into it. This folder has one
// interface, and nothing else of farcall takes such text apart. MLIR parses: what is read
// is the generic form, whose grammar is small (operation.h), as mlir-opt prints it with
//
//   --mlir-print-op-generic --mlir-print-local-scope --mlir-print-debuginfo
//
// Nothing here recurses. `text` is such text unless a function says something else;
// what is given are parts of it, so it must stay. FC_CODE_ABI_METADATA: mlir-opt has
// printed a form not known here.
#ifndef FARCALL_CLI_COMPILE_MLIR_TEXT_H_
#define FARCALL_CLI_COMPILE_MLIR_TEXT_H_

#include "farcall/base.h"

// ---------------------------------------------------------------------------
// Modules

// One argument or result. Empty texts: not given.
typedef struct fc_mlir_value_t {
  fc_str_t type;
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

// Ends the symbol of a function that fc_mlir_rename_own has renamed.
#define FC_MLIR_OWN ".farcall"

typedef struct fc_mlir_function_t {
  fc_str_t name;      // unescaped
  fc_str_t symbol;    // likewise; the name, maybe with FC_MLIR_OWN behind it
  size_t begin, end;  // its lines, text[begin, end)
  size_t line;        // of the source; 0 when the module does not say
  bool is_public;
  bool has_body;
  bool is_provided;  // has no body, and farcall itself has the function
  fc_mlir_value_t *arguments;
  size_t argument_count;
  fc_mlir_value_t *results;
  size_t result_count;
  fc_str_t properties;
  fc_str_t attrs;   // its discardable attributes; no data when there are none
  size_t attrs_at;  // text[attrs_at]: where these begin, or a " {…}" would
  fc_str_t body;    // the lines of its region
} fc_mlir_function_t;

typedef struct fc_mlir_module_t {
  fc_str_t text;
  fc_mlir_function_t *functions;  // those of the top level, in order
  size_t function_count;
  bool has_tensors;  // an operation or a function's type has a tensor
  bool has_state;    // a memref.global that is not constant
} fc_mlir_module_t;

fc_status_t fc_mlir_read(fc_arena_t *arena, fc_str_t text,
                         fc_mlir_module_t *out_module, fc_error_t *err);

// Cuts the first attribute off a list of attributes; the value of a unit attribute is
// empty. False at the end.
bool fc_mlir_next_attr(fc_str_t *attrs, fc_str_t *out_key, fc_str_t *out_value);

// ---------------------------------------------------------------------------
// Questions

// The first operation of a kind: its name, and its place as "file":line:column or empty.
// False when there is none.
//   leftover    `text` is a lowered module; neither of the llvm dialect nor of builtin, so
//               no pass lowered it
//   unverified  `text` is a bufferized module; may reach memory outside of a memref though
//               run-time verification is on
bool fc_mlir_leftover(fc_str_t text, fc_str_t *out_operation,
                      fc_str_t *out_place);
bool fc_mlir_unverified(fc_str_t text, fc_str_t *out_operation,
                        fc_str_t *out_place);

// Whether the polynomials that MLIR has for functions of f32 are exact to 5 units in the
// last place on normal numbers, for all functions of the module: there are some that they
// would make worse.
bool fc_mlir_approximates_well(fc_str_t text);

// Whether each affine map of any text takes each of its loops once, in any order: no
// operand is broadcast.
bool fc_mlir_permutes(fc_str_t text);

// Sets `stored` of each argument that is written to by its function or by one
// that it calls: directly, through a view, or through a value that may be the
// argument (scf.if, a block's argument). The module is bufferized. A function without a
// body counts as writing to all its arguments. A store through an address made of integers
// is not seen. A write to one of the arguments from the 64th on counts as one to all of
// these.
fc_status_t fc_mlir_find_stores(fc_arena_t *arena, fc_mlir_module_t *module,
                                fc_error_t *err);

// A spot of the source as one number; a later spot has a larger one.
#define FC_MLIR_LINE_END 0xFFFFFFFu
#define FC_MLIR_SPOT(line, column) ((size_t)(line) << 28 | (column))
// The spot "line:column", or "line", which is its end; 0: there is no line.
size_t fc_mlir_spot(fc_str_t text);

// The function of the module whose operation is the last of the top level that does not
// begin behind a spot of the source. NULL when that is no function.
const fc_mlir_function_t *fc_mlir_function_at(const fc_mlir_module_t *module,
                                              size_t spot);
// Whether `body` names the function.
bool fc_mlir_names(fc_str_t body, fc_str_t symbol);

// ---------------------------------------------------------------------------
// Texts that are written. Each is appended to `out`.

// The module with names for its own functions that cannot be taken for those of the C
// library: a function with the name of one gets FC_MLIR_OWN behind it. `out` stays empty
// when there is none.
fc_status_t fc_mlir_rename_own(const fc_mlir_module_t *module, fc_text_t *out,
                               fc_error_t *err);

// The module so that bufferization does not write into tensor arguments of public
// functions: they are values, whose memory is the caller's. It makes a copy where
// a function would. An argument whose role or attributes say that it is a result is
// left as it is, and so are private functions, whose callers are in the module.
fc_status_t fc_mlir_keep_arguments(const fc_mlir_module_t *module,
                                   fc_text_t *out, fc_error_t *err);

// The module with the attributes that make its functions callable: the C interface for
// each public one, stack probes for all, internal linkage for each that is not public,
// unless the source asks for its C interface or names a linkage. Functions without a body
// stay as they are.
fc_status_t fc_mlir_annotate(const fc_mlir_module_t *module, fc_text_t *out,
                             fc_error_t *err);

// The text with index.ceildivs, index.ceildivu and index.floordivs replaced by the
// operations of arith that mean the same. MLIR's own lowering of these three divides
// numbers that the source does not divide, and that can overflow where the quotient fits
// (the greatest index by -1).
fc_status_t fc_mlir_rename_divisions(fc_str_t text, fc_text_t *out,
                                     fc_error_t *err);

// Run-time checks that MLIR's own verification lacks. A check that fails prints its reason
// in the form of MLIR's own checks and calls abort. Where a call of the module can be left
// half-way (fc_hook_t), the call then fails with call_failed; elsewhere the process ends.
//
// A bufferized module with a check before every memref.alloc and memref.alloca that none
// of its sizes is negative. A negative size would pass every later check.
fc_status_t fc_mlir_guard_sizes(fc_str_t text, fc_text_t *out, fc_error_t *err);
// A module whose operations are all of the llvm dialect, with a check before every integer
// division and remainder: the divisor is not 0 and the quotient fits. Nothing else divides
// at this point: the divisions of the source and those that passes made, on tensors,
// vectors and index too, have all been lowered to these. `out` stays empty when there is
// no division.
fc_status_t fc_mlir_guard_divisions(fc_arena_t *arena, fc_str_t text,
                                    fc_text_t *out, fc_error_t *err);

// A bufferized module without named operations of linalg, whose run-time checks are in it:
// linalg.generic that multiplies and adds (matrix products of every kind, and
// convolutions, which are some of them one after another) becomes a call of code in tiles.
// Operations of other forms stay. *out_count is the number of calls. `vector_size`: bytes
// of the vector registers, 16, 32 or 64.
fc_status_t fc_mlir_contract(fc_arena_t *arena, fc_str_t text,
                             size_t vector_size, fc_text_t *out,
                             size_t *out_count, fc_error_t *err);

// ---------------------------------------------------------------------------
// Sources, as people and frameworks write them: they need not be valid

// What a source says of an argument. The generic form drops it. Both members are empty if
// the source says nothing of the argument, or does not have the function.
typedef struct fc_mlir_argument_t {
  fc_str_t name;  // no number
  const char
      *role;  // "in": a value, which nobody can write into; "inout": a mutable
              // tensor of torch, which is overwritten
} fc_mlir_argument_t;

// Reads the `count` arguments of a function.
fc_status_t fc_mlir_arguments(fc_arena_t *arena, fc_str_t source,
                              fc_str_t function, size_t count,
                              fc_mlir_argument_t *out_arguments,
                              fc_error_t *err);

// The source with functions NAME_bs{N}, for each of `sizes`, "1,4,8", in the place of each
// public NAME that takes and gives tensors whose first dim is `?`. They call it, and it is
// private: an inliner and what folds tensor.cast then find the sizes inside, as far as
// they follow. Lines stay where they are. *out_count is the number of such NAMEs.
fc_status_t fc_mlir_batch(fc_arena_t *arena, fc_str_t source, fc_str_t sizes,
                          fc_text_t *out, size_t *out_count, fc_error_t *err);

typedef enum fc_foreign_t {
  FC_FOREIGN_ONNX,
  FC_FOREIGN_TORCH,
  FC_FOREIGN_STABLEHLO,
  FC_FOREIGN_TOSA,
  FC_FOREIGN_GPU,
  FC_FOREIGN_NONE,
} fc_foreign_t;

// The dialect, of those that compilers import, that the source names outside of comments.
// Of several, onnx comes first, then torch, stablehlo (with chlo and vhlo), tosa and gpu,
// wherever they stand.
fc_foreign_t fc_mlir_foreign(fc_str_t source);

#endif  // FARCALL_CLI_COMPILE_MLIR_TEXT_H_
