// SPDX-License-Identifier: Apache-2.0
//
// Starts a server with one descriptor more each time: it says what it lacks, or starts.
#include "server.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/test.h"

#define MOST 64

enum { STARTED = 0, REFUSED = 1, SILENT = 2 };

// Call this in a child process: a limit, once lowered, cannot be raised again.
static int start(unsigned files) {
  static fc_loop_t loop;
  static const fc_backend_t *const kBackends[] = {&fc_backend_vm, NULL};
  const struct rlimit limit = {files, files};
  fc_server_options_t options;
  fc_error_t error;
  fc_error_reset(&error);
  fc_server_options_init(&options);
  options.listen.texts[0] = "127.0.0.1:0";
  options.workers = 1;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0) return SILENT;
  if (fc_loop_init(&loop, fc_allocator_system(), &options, kBackends,
                   &fc_routes, 2, &error) != FC_OK) {
    return error.message[0] ? REFUSED : SILENT;
  }
  fc_loop_deinit(&loop);
  return STARTED;
}

static void every_descriptor_may_be_the_last(void **state) {
  (void)state;
  unsigned files = 3;
  for (; files < MOST; files++) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(start(files));
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
      fail_msg("with %u descriptors: signal %d", files, WTERMSIG(status));
    }
    if (WEXITSTATUS(status) == STARTED) break;
    assert_int_equal(WEXITSTATUS(status), REFUSED);
  }
  assert_true(files > 6 && files < MOST);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_descriptor_may_be_the_last),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
