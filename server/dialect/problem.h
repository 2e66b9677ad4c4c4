// SPDX-License-Identifier: Apache-2.0
//
// The body of every error answer (docs/errors.md), from the one error type.
#ifndef FARCALL_SERVER_DIALECT_PROBLEM_H_
#define FARCALL_SERVER_DIALECT_PROBLEM_H_

#include "farcall/base.h"

// What is added to an error for its body. Empty strings are left out.
typedef struct fc_problem_t {
  const fc_error_t *error;
  fc_str_t module;
  fc_str_t function;
  const char *stage;  // NULL: left out
  fc_str_t request_id;
} fc_problem_t;

fc_status_t fc_problem_write(const fc_problem_t *problem, fc_sink_t *sink,
                             fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_PROBLEM_H_
