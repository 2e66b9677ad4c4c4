// SPDX-License-Identifier: Apache-2.0
#include "helpers/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/farcall-test-XXXXXX";

const char *fc_test_folder(void) { return folder; }

const char *fc_test_in_folder(const char *name) {
  static char paths[2][128];
  static unsigned next;
  char *path = paths[next++ % 2];
  assert_in_range(snprintf(path, sizeof *paths, "%s/%s", folder, name), 1,
                  sizeof *paths - 1);
  return path;
}

void fc_test_put(const char *name, const char *text) {
  int fd = open(fc_test_in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
}

void fc_test_copy(const char *from, const char *name) {
  char command[1024];
  snprintf(command, sizeof command, "cp '%s' '%s'", from,
           fc_test_in_folder(name));
  assert_int_equal(system(command), 0);
}

int fc_test_make_folder(void **state) {
  (void)state;
  memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
  return mkdtemp(folder) ? 0 : -1;
}

int fc_test_remove_folder(void **state) {
  char command[64];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command) ? -1 : fc_test_report_row(state);
}
