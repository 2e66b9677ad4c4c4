// SPDX-License-Identifier: Apache-2.0
//
// A tree of files in the place of the system's: of /proc and of mounted control groups.
#ifndef FARCALL_TESTS_HELPERS_TREE_H_
#define FARCALL_TESTS_HELPERS_TREE_H_

#include "helpers/test.h"

// Makes the folder: `tree` ends in six characters that become those of a folder of its own.
void fc_test_tree_make(char *tree);
// Writes a file of the tree, whose path begins with '/', and makes the folders that it is in.
void fc_test_tree_put(const char *tree, const char *path, const char *text);
// Removes all of it.
void fc_test_tree_remove(const char *tree);

#endif  // FARCALL_TESTS_HELPERS_TREE_H_
