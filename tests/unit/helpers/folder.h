// SPDX-License-Identifier: Apache-2.0
//
// A folder of its own for each test, empty at its begin and removed at its end.
#ifndef FARCALL_TESTS_HELPERS_FOLDER_H_
#define FARCALL_TESTS_HELPERS_FOLDER_H_

#include "helpers/test.h"

// The path of the folder while a test of FC_TEST_IN_FOLDER runs.
const char *fc_test_folder(void);
// The path of a file in the folder. It is valid until the second next call.
const char *fc_test_in_folder(const char *name);
// Writes a file in the folder with mode 0600; replaces an older one.
void fc_test_put(const char *name, const char *text);
// Copies the file at the path `from` into the folder.
void fc_test_copy(const char *from, const char *name);

int fc_test_make_folder(void **state);
int fc_test_remove_folder(void **state);

#define FC_TEST_IN_FOLDER(function) \
  { #function, function, fc_test_make_folder, fc_test_remove_folder, NULL }

#endif  // FARCALL_TESTS_HELPERS_FOLDER_H_
