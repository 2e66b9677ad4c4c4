// SPDX-License-Identifier: Apache-2.0
//
// A tree of files that stands for the system's: for /proc and mounted control groups.
#ifndef FARCALL_TESTS_HELPERS_TREE_H_
#define FARCALL_TESTS_HELPERS_TREE_H_

#include "helpers/test.h"

// Makes the root folder. `tree` ends in six characters, which are replaced (as by
// mkdtemp) so that the folder's name is unique.
void fc_test_tree_make(char *tree);
// Writes a file and makes the folders above it. `path` begins with '/' and is relative
// to the tree.
void fc_test_tree_put(const char *tree, const char *path, const char *text);
// Removes the tree.
void fc_test_tree_remove(const char *tree);

#endif  // FARCALL_TESTS_HELPERS_TREE_H_
