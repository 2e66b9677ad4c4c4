// SPDX-License-Identifier: Apache-2.0
//
// The descriptors of this process, counted: what a test opens it must close.
#ifndef FARCALL_TESTS_HELPERS_FILES_H_
#define FARCALL_TESTS_HELPERS_FILES_H_

// Fails the test where the kernel does not tell.
unsigned fc_test_open_files(void);

#endif  // FARCALL_TESTS_HELPERS_FILES_H_
