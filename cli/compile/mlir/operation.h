// SPDX-License-Identifier: Apache-2.0
//
// Reads operations of MLIR's generic form, as mlir-opt prints it with
// --mlir-print-local-scope, that is without aliases:
//
//   %0:2 = "name"(operands)[successors] <{properties}> ({regions}) {attributes}
//       : (types) -> (types) loc(…)
//
// Each operation begins on a line of its own, also inside a region. The functions accept
// any text, allocate nothing and do not recurse. Their results are parts of the text; a
// missing part has data NULL.
#ifndef FARCALL_CLI_COMPILE_MLIR_OPERATION_H_
#define FARCALL_CLI_COMPILE_MLIR_OPERATION_H_

#include "compile/mlir/lex.h"
#include "compile/mlir/text.h"

// Lists have no brackets around them, so that fc_lex_element can read them.
typedef struct fc_operation_t {
  size_t begin, end;    // its lines, text[begin, end)
  fc_str_t results;     // "%0:2"
  fc_str_t name;        // "scf.if"
  fc_str_t operands;    // "%arg0, %1#0"
  fc_str_t successors;  // "^bb1, ^bb2"
  fc_str_t properties;
  fc_str_t regions;  // their lines; two regions have a line "}, {" between them
  fc_str_t attributes;
  size_t
      attributes_at;  // text[attributes_at]: where they begin, or " {…}" can be inserted
  fc_str_t operand_types;
  fc_str_t result_types;
  fc_str_t location;  // inside of loc(…)
} fc_operation_t;

// Finds the first operation that begins at or after *at, and moves *at past its first
// line; so the next operation may be in its regions. False: there is none. Sets only
// `begin`, `results` and `name`, because most operations are skipped.
bool fc_operation_next(fc_str_t text, size_t *at, fc_operation_t *out);
// Reads the other parts of an operation that was found in the text.
void fc_operation_complete(fc_str_t text, fc_operation_t *operation);
// Reads the operation at text[at], the beginning of a line. False: the line begins with
// something else.
bool fc_operation_read(fc_str_t text, size_t at, fc_operation_t *out);
bool fc_operation_is(const fc_operation_t *operation, const char *name);

// fc_operation_place returns the first place in the location, "file":line:column; empty:
// there is none. fc_operation_spot returns the spot of that place (fc_mlir_spot), or 0.
fc_str_t fc_operation_place(const fc_operation_t *operation);
size_t fc_operation_spot(const fc_operation_t *operation);

// Returns the value of `key` in a list of attributes. Data is NULL if the key is missing;
// size is 0 for a unit attribute.
fc_str_t fc_attr_find(fc_str_t attrs, fc_str_t key);
// Gives the operands [*out_begin, *out_end) of a segment, from operandSegmentSizes.
// False: there is no such segment.
bool fc_operation_segment(const fc_operation_t *operation, size_t segment,
                          size_t *out_begin, size_t *out_end);

#endif  // FARCALL_CLI_COMPILE_MLIR_OPERATION_H_
