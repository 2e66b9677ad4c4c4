// SPDX-License-Identifier: Apache-2.0
//
// Counts the open descriptors of this process: a test must close what it opens.
#ifndef FARCALL_TESTS_HELPERS_FILES_H_
#define FARCALL_TESTS_HELPERS_FILES_H_

// Fails the test if the kernel does not list the descriptors.
unsigned fc_test_open_files(void);

#endif  // FARCALL_TESTS_HELPERS_FILES_H_
