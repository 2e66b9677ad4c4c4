// SPDX-License-Identifier: Apache-2.0
//
// The body of an answer that is an error (docs/errors.md), from the one error type.
#ifndef FARCALL_SERVER_DIALECT_PROBLEM_H_
#define FARCALL_SERVER_DIALECT_PROBLEM_H_

#include "dialect/dialect.h"

fc_status_t fc_problem_write(const fc_problem_t *problem, fc_sink_t *sink,
                             fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_PROBLEM_H_
