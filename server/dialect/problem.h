// SPDX-License-Identifier: Apache-2.0
//
// Writes the body of an error answer (docs/errors.md) from an fc_error_t.
#ifndef FARCALL_SERVER_DIALECT_PROBLEM_H_
#define FARCALL_SERVER_DIALECT_PROBLEM_H_

#include "dialect/dialect.h"

fc_status_t fc_problem_write(const fc_problem_t *problem, fc_sink_t *sink,
                             fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_PROBLEM_H_
