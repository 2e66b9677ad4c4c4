// SPDX-License-Identifier: Apache-2.0
//
// Reads operations of MLIR's generic form, as mlir-opt prints it with
// --mlir-print-local-scope, where nothing is an alias:
//
//   %0:2 = "name"(operands)[successors] <{properties}> ({regions}) {attributes}
//       : (types) -> (types) loc(…)
//
// An operation begins a line; those of its regions have lines of their own. The functions
// take any text, allocate nothing and do not recurse; what they give are parts of the
// text. A part that is not there has no data.
#ifndef FARCALL_CLI_COMPILE_MLIR_OPERATION_H_
#define FARCALL_CLI_COMPILE_MLIR_OPERATION_H_

#include "compile/mlir/lex.h"
#include "compile/mlir/text.h"

// Lists are without their brackets, for fc_lex_element.
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
      attributes_at;  // text[attributes_at]: where they begin, or a " {…}" would
  fc_str_t operand_types;
  fc_str_t result_types;
  fc_str_t location;  // inside of loc(…)
} fc_operation_t;

// Finds the first operation that begins at or behind *at, and *at moves behind its first
// line: the next one may be in its regions. False at the end of the text. Only `begin`,
// `results` and `name` are set: most operations are passed over.
bool fc_operation_next(fc_str_t text, size_t *at, fc_operation_t *out);
// Reads the other parts of an operation that was found in the text.
void fc_operation_complete(fc_str_t text, fc_operation_t *operation);
// Reads the operation at text[at], the beginning of a line. False when the line begins
// with anything else.
bool fc_operation_read(fc_str_t text, size_t at, fc_operation_t *out);
bool fc_operation_is(const fc_operation_t *operation, const char *name);

// The first place that the location has, "file":line:column, or empty; and its spot, or 0.
fc_str_t fc_operation_place(const fc_operation_t *operation);
size_t fc_operation_spot(const fc_operation_t *operation);

// The value of `key` in a list of attributes; data is NULL when there is none, size is 0
// for a unit attribute.
fc_str_t fc_attr_find(fc_str_t attrs, fc_str_t key);
// The operands [*out_begin, *out_end) of a segment, by operandSegmentSizes. False when
// there is no such segment.
bool fc_operation_segment(const fc_operation_t *operation, size_t segment,
                          size_t *out_begin, size_t *out_end);

#endif  // FARCALL_CLI_COMPILE_MLIR_OPERATION_H_
