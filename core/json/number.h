// SPDX-License-Identifier: Apache-2.0
//
// Converts the text of a number to an element of a dtype and back. Reading rounds
// correctly. Printing gives a text that is read back as the same element of its type (a
// NaN as a NaN). Independent of the locale, no allocation; the rounding mode must be
// the default one. Any thread.
#ifndef FARCALL_JSON_NUMBER_H_
#define FARCALL_JSON_NUMBER_H_

#include "farcall/type.h"

// Room for any printed element, complex numbers included, and for the bytes that are
// written after it.
#define FC_NUMBER_CHARS_MAX 64

// Converts `literal`, a complete JSON number (RFC 8259 grammar; anything else is
// FC_CODE_JSON_SYNTAX), and writes the element's bytes to `out`. dtype is a bool,
// integer, index or float type.
//
// Integers: any literal whose value is an integer, including 1e3 and 10.0; i1 accepts 0
// and 1. FC_CODE_OUT_OF_RANGE when the value does not fit, FC_CODE_TYPE_MISMATCH for a
// fraction. Signless iN, other than i1, accepts only the signed range.
//
// Floats: nearest-even in the type itself. A literal that rounds to infinity, or to
// more than the greatest number of a type without infinity, is FC_CODE_OUT_OF_RANGE;
// underflow is not an error. A type without a negative zero reads -0 as 0. f8E8M0FNU
// has neither zero nor sign, so 0 and negative numbers are FC_CODE_OUT_OF_RANGE for it.
fc_status_t fc_number_parse(fc_str_t literal, fc_dtype_t dtype, void *out,
                            fc_error_t *err);

// Reads "NaN", "Infinity" or "-Infinity" (the content of a JSON string) into a
// float type. FC_CODE_OUT_OF_RANGE when `dtype` has no such value,
// FC_CODE_TYPE_MISMATCH for other text and other types.
fc_status_t fc_number_parse_special(fc_str_t text, fc_dtype_t dtype, void *out,
                                    fc_error_t *err);

// Prints one element at `out` (FC_NUMBER_CHARS_MAX bytes of room, all of which may be
// written) and returns the end; not NUL-terminated. Integers are printed in full, i1 as
// true or false, complex numbers as [re,im]. A float is printed as the shortest decimal
// that is read back to it in its own type; f8E8M0FNU, which is a scale, is printed as
// an f32. If that decimal x is 0 or 1e-5 <= |x| < 1e16, it is in fixed notation, whole
// numbers with ".0" (also "-0.0"). Otherwise it has an exponent: 1e+20, 1.5e-7. NaN and
// infinities are the strings that fc_number_parse_special reads, in quotes.
char *fc_number_print(fc_dtype_t dtype, const void *element, char *out);

char *fc_number_print_i64(int64_t value, char *out);
char *fc_number_print_u64(uint64_t value, char *out);

// The fast part of reading an array. `*cursor` stands at an element of the text from
// `begin` to `end`, all of which may be read. Reads up to `capacity` numbers (for i1
// also true and false) with commas and white space between them, and returns how many.
// It stops before an unusual element (syntax, range, the end of the text, another kind
// of value), which the caller reads. Then *out_at_element tells where *cursor stands.
// True: where the next element begins, or must begin. False: after the last element
// read, with no comma following. Nothing is read for types narrower than a byte (except
// i1), complex types, and float types other than f16, bf16, f32 and f64.
size_t fc_number_parse_run(fc_dtype_t dtype, const char *begin,
                           const char **cursor, const char *end, void *out,
                           size_t capacity, bool *out_at_element);

// Prints `count` elements that are `stride` bytes apart, with commas between them,
// at `out`, which has room for count * FC_NUMBER_CHARS_MAX. Returns the end.
char *fc_number_print_run(fc_dtype_t dtype, const void *elements,
                          ptrdiff_t stride, size_t count, char *out);

#endif  // FARCALL_JSON_NUMBER_H_
