// SPDX-License-Identifier: Apache-2.0
//
// `farcall test --reference=FILE`.
#ifndef FARCALL_CLI_REFERENCE_H_
#define FARCALL_CLI_REFERENCE_H_

#include "cli.h"

// Compares one call of the FILE's function with the reference. Returns an exit code.
int fc_test_reference(const fc_args_t *args);

#endif  // FARCALL_CLI_REFERENCE_H_
