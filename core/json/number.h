// SPDX-License-Identifier: Apache-2.0
//
// Number text <-> element of a dtype, exact in both directions: correctly
// rounded in, shortest that reads back in the type's own width out. Locale
// independent, no allocation. Used by the reader, the encoder and the command
// line. Any thread.
#ifndef FARCALL_JSON_NUMBER_H_
#define FARCALL_JSON_NUMBER_H_

#include "farcall/type.h"

// Room the longest printed element takes, complex included.
#define FC_NUMBER_CHARS_MAX 64

// `literal` is a complete JSON number (RFC 8259 grammar, already checked by the
// reader). Writes fc_dtype_size(dtype) bytes to `out`. dtype is a bool,
// integer, index or float type.
// Integers: an integer literal of any length, or one with a zero fraction or an
// exponent whose value is integral and at most 2^53 in magnitude; i1 takes 0
// and 1. FC_CODE_OUT_OF_RANGE when it doesn't fit, FC_CODE_TYPE_MISMATCH for a
// fraction. Signless iN accepts the signed range only.
// Floats: nearest-even in the type itself; a finite literal that would become
// infinite is FC_CODE_OUT_OF_RANGE; underflow is not an error.
fc_status_t fc_number_parse(fc_str_t literal, fc_dtype_t dtype, void *out,
                            fc_error_t *err);

// "NaN", "Infinity", "-Infinity" (the content of a JSON string) for float
// types. FC_CODE_TYPE_MISMATCH otherwise.
fc_status_t fc_number_parse_special(fc_str_t text, fc_dtype_t dtype, void *out,
                                    fc_error_t *err);

// Prints one element at `out` (FC_NUMBER_CHARS_MAX bytes of room) and returns
// the end; not NUL-terminated. Integers in full, i1 as true/false; floats
// shortest for their own width (f16, bf16, f8: the shortest decimal that rounds
// back in that type), whole numbers with ".0", "-0.0" kept, exponents as 1e+20;
// non-finite as the quoted strings above; complex as [re,im].
char *fc_number_print(fc_dtype_t dtype, const void *element, char *out);

char *fc_number_print_i64(int64_t value, char *out);
char *fc_number_print_u64(uint64_t value, char *out);

#endif  // FARCALL_JSON_NUMBER_H_
