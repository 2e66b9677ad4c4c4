// SPDX-License-Identifier: Apache-2.0
//
// Tools and signals: which processes a signal ends. Signals are handled for the whole
// process, and an interrupted process starts no more tools, so each row runs in a
// process of its own.
#include "tool.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/test.h"

// Runs a shell command as a tool. Returns its wait status. -1: it could not be run.
static int run(const char *command) {
  const char *const argv[] = {"/bin/sh", "-c", command, NULL};
  int ended = -1;
  fc_status_t status = fc_tool_run(argv, "/", "/dev/null", &ended, NULL);
  // After an interruption fc_tool_run must fail, however the tool ended.
  return (status == FC_OK) == !fc_tool_interrupted() ? ended : -1;
}

static bool ends_with_its_status(void) {
  const int ended = run("exit 7");
  return WIFEXITED(ended) && WEXITSTATUS(ended) == 7 && !fc_tool_interrupted();
}

// The tool itself sends the signal, so the test need not wait until the tool is
// running.
static bool is_ended_when_we_are_interrupted(void) {
  const int ended = run("kill -TERM $PPID; exec sleep 60");
  return WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL &&
         fc_tool_interrupted() == SIGTERM;
}

static bool may_be_interrupted_itself(void) {
  const int ended = run("kill -TERM $$; exit 7");
  return WIFSIGNALED(ended) && WTERMSIG(ended) == SIGTERM;
}

// Signals that our parent process has blocked stay blocked in the tool.
static bool has_the_signals_held_back_that_we_have(void) {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGUSR1);
  sigprocmask(SIG_BLOCK, &held, NULL);
  const int ended = run("kill -USR1 $$; exit 7");
  return WIFEXITED(ended) && WEXITSTATUS(ended) == 7;
}

// When a script is ended, the compiler that it has started ends, too. The pipe reports
// its end once no process has it open.
static bool takes_along_what_it_started(void) {
  int ends[2];
  char byte;
  if (pipe(ends)) return false;
  const int ended = run("sleep 60 & kill -TERM $PPID; wait");
  close(ends[1]);
  return WIFSIGNALED(ended) && read(ends[0], &byte, 1) == 0;
}

// The tool does not get the token of farcall's user, which is meant for servers.
static bool does_not_get_the_token(void) {
  setenv("FARCALL_TOKEN", "secret", 1);
  setenv("FARCALL_SERVER", "here", 1);
  const int ended =
      run("test -z ${FARCALL_TOKEN+x} && test $FARCALL_SERVER = here "
          "&& test $TMPDIR = / && exit 7");
  return WIFEXITED(ended) && WEXITSTATUS(ended) == 7;
}

static void a_tool_and_its_signals(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool (*is_so)(void);
  } rows[] = {
      {"its status", ends_with_its_status},
      {"interrupted", is_ended_when_we_are_interrupted},
      {"interrupted itself", may_be_interrupted_itself},
      {"held back", has_the_signals_held_back_that_we_have},
      {"what it started", takes_along_what_it_started},
      {"the token", does_not_get_the_token},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      fc_tool_catch_signals();
      _exit(row->is_so() ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_tool_and_its_signals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
