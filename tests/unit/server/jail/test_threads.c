// SPDX-License-Identifier: Apache-2.0
//
// What is tried in a process of its own, of a server whose libraries want to be told.
#include "jail/threads.h"

#include <pthread.h>
#include <stdlib.h>

#include "helpers/test.h"

static void abort_in_the_child(void) { abort(); }

// libuv's handler aborts where the server lacks descriptors; this one always does. A child
// that a signal has ended is no result.
static void no_library_hears_of_it(void **state) {
  (void)state;
  const int user = fc_threads_try_user();
  const int space = fc_threads_try_space(0);
  assert_int_equal(pthread_atfork(NULL, NULL, abort_in_the_child), 0);
  assert_int_equal(fc_threads_try_user(), user);
  assert_int_equal(fc_threads_try_space(0), space);
}

int main(void) {
  const struct CMUnitTest tests[] = {FC_TEST(no_library_hears_of_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
