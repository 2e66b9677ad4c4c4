// SPDX-License-Identifier: Apache-2.0
#include "helpers/shortage.h"

#include <errno.h>
#include <unistd.h>

#include "helpers/test.h"

void fc_test_shortage_begin(fc_test_shortage_t *shortage, rlim_t limit) {
  shortage->count = 0;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &shortage->before), 0);
  struct rlimit now = {limit, shortage->before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
  int fd;
  while ((fd = dup(STDOUT_FILENO)) >= 0) {
    assert_true(shortage->count < FC_ARRAY_COUNT(shortage->taken));
    shortage->taken[shortage->count++] = fd;
  }
  assert_int_equal(errno, EMFILE);
}

void fc_test_shortage_ease(fc_test_shortage_t *shortage) {
  assert_true(shortage->count > 0);
  close(shortage->taken[--shortage->count]);
}

void fc_test_shortage_end(fc_test_shortage_t *shortage) {
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &shortage->before), 0);
  while (shortage->count) fc_test_shortage_ease(shortage);
}
