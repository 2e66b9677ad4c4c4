// SPDX-License-Identifier: Apache-2.0

#include "helpers/files.h"

#include <dirent.h>

#include "helpers/test.h"

unsigned fc_test_open_files(void) {
  unsigned count = 0;
  DIR *folder = opendir("/proc/self/fd");
  assert_non_null(folder);
  while (readdir(folder)) count++;
  closedir(folder);
  return count - 3;  // ".", ".." and the folder's own
}
