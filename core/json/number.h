// SPDX-License-Identifier: Apache-2.0
//
// Number text <-> element of a dtype. Reading rounds correctly; printing gives a text
// that reads back to the same element of its type (a NaN to a NaN). Independent of the
// locale, no allocation; the rounding mode must be the default one. Any thread.
#ifndef FARCALL_JSON_NUMBER_H_
#define FARCALL_JSON_NUMBER_H_

#include "farcall/type.h"

// Room for any printed element, complex included, and for what is written behind it.
#define FC_NUMBER_CHARS_MAX 64

// `literal` is a complete JSON number (RFC 8259 grammar; anything else is
// FC_CODE_JSON_SYNTAX). Writes the element's bytes to `out`. dtype is a bool,
// integer, index or float type.
// Integers: any literal whose value is an integer, so 1e3 and 10.0 too; i1
// takes 0 and 1. FC_CODE_OUT_OF_RANGE when it doesn't fit,
// FC_CODE_TYPE_MISMATCH for a fraction. Signless iN, other than i1, takes the signed
// range only.
// Floats: nearest-even in the type itself; a literal that rounds to infinity, or to
// more than the greatest number of a type without infinity, is FC_CODE_OUT_OF_RANGE;
// underflow is not an error. Types without a negative zero read -0 as 0. f8E8M0FNU
// has neither zero nor sign, so 0 and negative numbers are FC_CODE_OUT_OF_RANGE there.
fc_status_t fc_number_parse(fc_str_t literal, fc_dtype_t dtype, void *out,
                            fc_error_t *err);

// Reads "NaN", "Infinity" or "-Infinity" (the content of a JSON string) into a
// float type. FC_CODE_OUT_OF_RANGE when `dtype` has no such value,
// FC_CODE_TYPE_MISMATCH for other text and other types.
fc_status_t fc_number_parse_special(fc_str_t text, fc_dtype_t dtype, void *out,
                                    fc_error_t *err);

// Prints one element at `out` (FC_NUMBER_CHARS_MAX bytes of room, all of which
// may be written) and returns the end; not NUL-terminated. Integers are printed in
// full, i1 as true or false, complex numbers as [re,im]. A float is the shortest
// decimal that reads back to it in its own type (f8E8M0FNU, which is a scale: in
// f32). If that decimal x is 0 or 1e-5 <= |x| < 1e16, it is in fixed notation, whole
// numbers with ".0" ("-0.0" too), otherwise it has an exponent: 1e+20, 1.5e-7. NaN and
// infinities are the strings that fc_number_parse_special reads, in quotes.
char *fc_number_print(fc_dtype_t dtype, const void *element, char *out);

char *fc_number_print_i64(int64_t value, char *out);
char *fc_number_print_u64(uint64_t value, char *out);

// The fast part of reading an array. `*cursor` stands at an element of the text from
// `begin` to `end`, all of which may be read. Reads up to `capacity` numbers (of i1
// also true and false) with commas and white space between, and returns how many. It
// stops before an element with anything unusual (syntax, range, the end of the text,
// another kind of value), which the caller reads. Then *out_at_element tells where
// *cursor stands. True: where the next element begins, or must begin. False: behind the
// last element read, and no comma follows it in the text. No element is read of a type
// narrower than a byte (but i1), of a complex type, or of a float type other than f16,
// bf16, f32 and f64.
size_t fc_number_parse_run(fc_dtype_t dtype, const char *begin,
                           const char **cursor, const char *end, void *out,
                           size_t capacity, bool *out_at_element);

// Prints `count` elements `stride` bytes apart, commas between, at `out`, which
// has room for count * FC_NUMBER_CHARS_MAX. Returns the end.
char *fc_number_print_run(fc_dtype_t dtype, const void *elements,
                          ptrdiff_t stride, size_t count, char *out);

#endif  // FARCALL_JSON_NUMBER_H_
