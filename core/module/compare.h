// SPDX-License-Identifier: Apache-2.0
//
// Compares the results of two calls of one function, as they are written in answers,
// value by value and by the types of the signature. So two spellings of one
// number are equal, and the difference of two numbers is given in units in the
// last place of their own type. Any thread.
#ifndef FARCALL_CORE_MODULE_COMPARE_H_
#define FARCALL_CORE_MODULE_COMPARE_H_

#include "farcall/type.h"

// How far a number may be from the expected one. It is enough to be within one of the
// three limits. Zeroed: the numbers must be equal.
typedef struct fc_tolerance_t {
  double absolute;
  double relative;   // times the number that is expected
  uint64_t ulp;      // steps between neighbouring numbers of its type
  bool nan_differs;  // NaN is not the same as NaN
} fc_tolerance_t;

typedef struct fc_comparison_t {
  uint64_t values;  // how many were compared
  // The number of values beyond the tolerance, and of containers that differ in
  // kind or size.
  uint64_t different;
  // The greatest differences between two numbers, whether within the tolerance or not.
  // Shapes do not count.
  double max_absolute;
  uint64_t max_ulp;
  // The first difference: its place in the answer (RFC 6901), the expected value and
  // the value found. Long texts are cut.
  char pointer[256];
  char expected[80];
  char got[80];
} fc_comparison_t;

// Compares results: `expected` is an array of results, `answer` a document with
// "results". Objects are equal whatever the order of their keys. FC_CODE_JSON_SYNTAX,
// FC_CODE_JSON_TOO_DEEP, FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_compare_results(const fc_signature_t *signature,
                               fc_str_t expected, fc_str_t answer,
                               const fc_tolerance_t *tolerance,
                               fc_allocator_t allocator,
                               fc_comparison_t *out_comparison,
                               fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_COMPARE_H_
