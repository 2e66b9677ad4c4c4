// SPDX-License-Identifier: Apache-2.0
//
// Compares the results of two calls of one function, as answers write
// them, value by value in the types that the signature gives them. So numbers that
// are written in two ways are the same, and how far two differ is said in units in
// the last place of their own type. Any thread.
#ifndef FARCALL_CORE_MODULE_COMPARE_H_
#define FARCALL_CORE_MODULE_COMPARE_H_

#include "farcall/type.h"

// How far a number may be from the one that is expected: one of the three is enough.
// Zeroed: it must be the same.
typedef struct fc_tolerance_t {
  double absolute;
  double relative;   // times the number that is expected
  uint64_t ulp;      // steps between neighbours of its type
  bool nan_differs;  // NaN is not the same as NaN
} fc_tolerance_t;

typedef struct fc_comparison_t {
  uint64_t values;  // that were compared
  // Values beyond the tolerance, and containers that differ in kind or size.
  uint64_t different;
  // The greatest differences between two numbers of data, tolerated or not.
  double max_absolute;
  uint64_t max_ulp;
  // The first that is different: where in the answer (RFC 6901), what was expected there
  // and what there is. Long texts are cut.
  char pointer[256];
  char expected[80];
  char got[80];
} fc_comparison_t;

// `expected` is an array of results, `answer` a document with "results". Objects are
// the same whatever the order of their keys. FC_CODE_JSON_SYNTAX,
// FC_CODE_JSON_TOO_DEEP, FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_compare_results(const fc_signature_t *signature,
                               fc_str_t expected, fc_str_t answer,
                               const fc_tolerance_t *tolerance,
                               fc_allocator_t allocator,
                               fc_comparison_t *out_comparison,
                               fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_COMPARE_H_
