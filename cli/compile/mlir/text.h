// SPDX-License-Identifier: Apache-2.0
//
// The interface of this folder. No other code of farcall reads or writes MLIR text. MLIR
// itself does the parsing: the functions read its generic form, whose grammar is small
// (operation.h), as mlir-opt prints it with
//
//   --mlir-print-op-generic --mlir-print-local-scope --mlir-print-debuginfo
//
// No function recurses. `text` has this form unless a function says otherwise. Results
// are parts of the text, so it must stay. FC_CODE_ABI_METADATA: mlir-opt has printed a
// form not known here.
#ifndef FARCALL_CLI_COMPILE_MLIR_TEXT_H_
#define FARCALL_CLI_COMPILE_MLIR_TEXT_H_

#include "farcall/base.h"

// ---------------------------------------------------------------------------
// Modules

// One argument or result. Empty texts: not given.
typedef struct fc_mlir_value_t {
  fc_str_t type;
  fc_str_t attrs;  // the inside of its attribute dictionary
  fc_str_t name;   // attribute farcall.name
  fc_str_t role;   // attribute farcall.role
  fc_str_t *dims;  // attribute farcall.dims
  size_t dim_count;
  bool result_buffer;  // attribute bufferize.result
  bool writable;       // attribute bufferization.writable = true
  bool stored;         // of an argument: fc_mlir_find_stores saw a write
  bool noticed;        // its role follows only from `stored`
} fc_mlir_value_t;

// The end of the symbol of a function that fc_mlir_rename_own has renamed.
#define FC_MLIR_OWN ".farcall"

typedef struct fc_mlir_function_t {
  fc_str_t name;      // unescaped
  fc_str_t symbol;    // unescaped: the name, maybe followed by FC_MLIR_OWN
  size_t begin, end;  // its lines, text[begin, end)
  size_t line;        // of the source; 0: the module does not say
  bool is_public;
  bool has_body;
  bool is_provided;  // has no body, and farcall itself has the function
  fc_mlir_value_t *arguments;
  size_t argument_count;
  fc_mlir_value_t *results;
  size_t result_count;
  fc_str_t properties;
  fc_str_t attrs;  // its discardable attributes; data is NULL if there are none
  size_t
      attrs_at;  // text[attrs_at]: where they begin, or " {…}" can be inserted
  fc_str_t body;  // the lines of its region
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

// Removes the first attribute from a list of attributes. The value of a unit attribute is
// empty. False: the list is empty.
bool fc_mlir_next_attr(fc_str_t *attrs, fc_str_t *out_key, fc_str_t *out_value);

// ---------------------------------------------------------------------------
// Questions about text

// Find the first operation of a kind: its name, and its place as "file":line:column or
// empty. False: there is none.
//   leftover    in a lowered module: not of the dialects llvm and builtin, so no pass has
//               lowered it
//   unverified  in a bufferized module: may access memory outside of a memref although
//               run-time checks are on
bool fc_mlir_leftover(fc_str_t text, fc_str_t *out_operation,
                      fc_str_t *out_place);
bool fc_mlir_unverified(fc_str_t text, fc_str_t *out_operation,
                        fc_str_t *out_place);

// May MLIR's polynomials replace the functions of f32 in this module? They are exact to 5
// units in the last place on normal numbers, except for some functions. False: the module
// has such a function.
bool fc_mlir_approximates_well(fc_str_t text);

// True if each affine map in any text uses each of its loops once, in any order: no
// operand is broadcast.
bool fc_mlir_permutes(fc_str_t text);

// Sets `stored` of each argument that its function, or a function called by it, writes:
// directly, through a view, or through a value that may be the argument (scf.if, a
// block's argument). The module is bufferized. A function without a body counts as
// writing all its arguments. A store through an address made of integers is not seen. The
// arguments from the 64th on are not told apart: if one of them is written, all are.
fc_status_t fc_mlir_find_stores(fc_arena_t *arena, fc_mlir_module_t *module,
                                fc_error_t *err);

// A spot of the source as one number; a later spot has a larger one.
#define FC_MLIR_LINE_END 0xFFFFFFFu
#define FC_MLIR_SPOT(line, column) ((size_t)(line) << 28 | (column))
// Returns the spot of "line:column", or of "line", which means the end of the line; 0:
// there is no line.
size_t fc_mlir_spot(fc_str_t text);

// Returns the function at a spot of the source: the last operation at the module's top
// level that does not begin after the spot. NULL: that operation is not a function.
const fc_mlir_function_t *fc_mlir_function_at(const fc_mlir_module_t *module,
                                              size_t spot);
// Does `body` contain the name of the function?
bool fc_mlir_names(fc_str_t body, fc_str_t symbol);

// ---------------------------------------------------------------------------
// Writing text. Each function appends to `out`.

// Writes the module with new names for its functions that have the name of a C library
// function: FC_MLIR_OWN follows the name. `out` stays empty if there is no such function.
fc_status_t fc_mlir_rename_own(const fc_mlir_module_t *module, fc_text_t *out,
                               fc_error_t *err);

// Writes the module so that bufferization does not write tensor arguments of public
// functions: they are values, whose memory is the caller's. An argument that the function
// would write is then copied. An argument whose role or attributes make it a result stays
// as it is. So do private functions, whose callers are in the module.
fc_status_t fc_mlir_keep_arguments(const fc_mlir_module_t *module,
                                   fc_text_t *out, fc_error_t *err);

// Writes the module with the attributes that make functions callable: the C interface for
// each public function, stack probes for all, internal linkage for each private function,
// unless the source asks for its C interface or gives a linkage. Functions without a body
// stay as they are.
fc_status_t fc_mlir_annotate(const fc_mlir_module_t *module, fc_text_t *out,
                             fc_error_t *err);

// Writes the text with index.ceildivs, index.ceildivu and index.floordivs replaced by
// arith operations of the same meaning. MLIR's own lowering of these three makes
// divisions that the source does not have. They can overflow although the quotient fits
// (the greatest index divided by -1).
fc_status_t fc_mlir_rename_divisions(fc_str_t text, fc_text_t *out,
                                     fc_error_t *err);

// Run-time checks that MLIR's own verification lacks. A check that fails prints its
// reason in the form of MLIR's checks and calls abort. If the call can be left at that
// point (fc_hook_t), it fails with call_failed; otherwise the process ends.
//
// Writes a bufferized module with a check before every memref.alloc and memref.alloca: no
// size may be negative. A negative size would pass every later check.
fc_status_t fc_mlir_guard_sizes(fc_str_t text, fc_text_t *out, fc_error_t *err);
// Writes a module in the llvm dialect with a check before every integer division and
// remainder: the divisor is not 0, and the quotient fits. All divisions are checked,
// because all have been lowered to these operations: divisions of the source and of
// passes, on tensors, vectors and index. `out` stays empty if there is no division.
fc_status_t fc_mlir_guard_divisions(fc_arena_t *arena, fc_str_t text,
                                    fc_text_t *out, fc_error_t *err);

// Writes a bufferized module with contractions replaced by calls of kernels. A
// contraction is a linalg.generic that multiplies and adds: a matrix product of any kind,
// or a convolution, which is several matrix products one after another. Operations of
// other forms stay. The module has no named operations of linalg, and its run-time checks
// are already in it. *out_count is the number of calls. `vector_size` is the size of the
// vector registers in bytes: 16, 32 or 64.
fc_status_t fc_mlir_contract(fc_arena_t *arena, fc_str_t text,
                             size_t vector_size, fc_text_t *out,
                             size_t *out_count, fc_error_t *err);

// ---------------------------------------------------------------------------
// Source text, before mlir-opt has parsed it. It need not be valid.

// What the source says about an argument; the generic form drops it. Both members are
// empty if the source says nothing about the argument, or does not have the function.
typedef struct fc_mlir_argument_t {
  fc_str_t name;  // not a number
  const char
      *role;  // "in": a value, which nobody can write; "inout": a mutable
              // tensor of torch, which is overwritten
} fc_mlir_argument_t;

// Reads the `count` arguments of a function.
fc_status_t fc_mlir_arguments(fc_arena_t *arena, fc_str_t source,
                              fc_str_t function, size_t count,
                              fc_mlir_argument_t *out_arguments,
                              fc_error_t *err);

// Writes the source with functions NAME_bs{N}, for each N of `sizes` ("1,4,8"). They
// replace each public function NAME whose arguments and results include tensors with `?`
// as the first dim. NAME becomes private, and the new functions call it. An inliner, and
// passes that fold tensor.cast, then find the sizes inside. Lines stay where they are.
// *out_count is the number of functions NAME.
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

// Returns the foreign dialect that the source uses outside of comments. If there are
// several, it is the first of onnx, torch, stablehlo (with chlo and vhlo), tosa and gpu.
fc_foreign_t fc_mlir_foreign(fc_str_t source);

#endif  // FARCALL_CLI_COMPILE_MLIR_TEXT_H_
