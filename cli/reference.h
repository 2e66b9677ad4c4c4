// SPDX-License-Identifier: Apache-2.0
//
// `farcall test --reference=REFERENCE FILE`.
#ifndef FARCALL_CLI_REFERENCE_H_
#define FARCALL_CLI_REFERENCE_H_

#include "cli.h"

// Makes one call of a function of FILE, a module, and compares the results with those of
// REFERENCE, another file. Returns an exit code.
int fc_test_reference(const fc_args_t *args);

#endif  // FARCALL_CLI_REFERENCE_H_
