// SPDX-License-Identifier: Apache-2.0
//
// Trials in a child process of a server whose libraries have handlers for fork.
#include "jail/threads.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/test.h"

static void abort_in_the_child(void) { abort(); }

// libuv's fork handler aborts if the server has no free descriptor; this one always
// aborts. A child that was ended by a signal gives no result.
static void no_library_hears_of_it(void **state) {
  (void)state;
  const int user = fc_threads_try_user();
  const int space = fc_threads_try_space(0);
  assert_int_equal(pthread_atfork(NULL, NULL, abort_in_the_child), 0);
  assert_int_equal(fc_threads_try_user(), user);
  assert_int_equal(fc_threads_try_space(0), space);
}

static void drop(unsigned capability) {
  struct __user_cap_header_struct head = {.version =
                                              _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &head, data)) _exit(1);
  data[0].effective &= ~(1u << capability);
  data[0].permitted = data[0].effective;
  if (syscall(SYS_capset, &head, data)) _exit(1);
}

// With a user of its own for the worker, the server must still be able to end it, and
// the worker to read the server's files.
static void a_user_of_its_own_needs_capabilities(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned lost;
    bool may_change;  // its user, as with --worker-user
  } rows[] = {
      {"CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH, true},
      {"CAP_KILL", CAP_KILL, false},
      {"CAP_SETUID", CAP_SETUID, false},
      {"CAP_SETGID", CAP_SETGID, false},
  };
  if (fc_threads_try_user()) fc_test_skip("no worker gets a user of its own");
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      drop(row->lost);
      _exit(fc_threads_try_user() != EPERM ||
            fc_threads_may_change_user() != row->may_change);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_user_of_its_own_needs_capabilities),
      FC_TEST(no_library_hears_of_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
