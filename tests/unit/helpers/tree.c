// SPDX-License-Identifier: Apache-2.0
#include "helpers/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void fc_test_tree_make(char *tree) {
  memcpy(tree + strlen(tree) - 6, "XXXXXX", 6);
  assert_non_null(mkdtemp(tree));
}

void fc_test_tree_put(const char *tree, const char *path, const char *text) {
  char name[256];
  snprintf(name, sizeof name, "%s%s", tree, path);
  for (char *at = name + strlen(tree) + 1; *at; at++) {
    if (*at != '/') continue;
    *at = '\0';
    (void)mkdir(name, 0700);
    *at = '/';
  }
  FILE *file = fopen(name, "we");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

void fc_test_tree_remove(const char *tree) {
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", tree);
  assert_int_equal(system(command), 0);
}
