// SPDX-License-Identifier: Apache-2.0
//
// Worker processes: how the loop starts them, ends them and waits for them. The worker
// is this program; it prints what it was given, or ends as its parameters say.
#include "pool/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "helpers/files.h"
#include "helpers/test.h"

// ---------------------------------------------------------------------------
// The worker

static void tell_facts(int argc, char **argv) {
  for (int i = 1; i < argc; i++) printf("argument %d: %s\n", i, argv[i]);
  printf("environment: %d\n", environ[0] != NULL);
  printf("files: %u\n", fc_test_open_files());
  char byte = 0;
  printf("input: %d\n", (int)read(0, &byte, 1));
  for (int fd = FC_PROCESS_RING; fd < FC_PROCESS_FILES; fd++) {
    printf("file %d: %s\n", fd,
           pread(fd, &byte, 1, 0) == 1 ? (char[]){byte, 0} : "-");
  }
  uint64_t one = 1;
  printf("bell: %d\n", (int)write(FC_PROCESS_BELL, &one, sizeof one));
  printf("leads its group: %d\n", getpgrp() == getpid());
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  unsigned count = 0, ignored = 0;
  for (int i = 1; i < NSIG; i++) {
    struct sigaction now;
    count += sigismember(&blocked, i) == 1;
    ignored += sigaction(i, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
  }
  printf("blocked: %u, ignored: %u\n", count, ignored);
  fprintf(stderr, "and on stderr\n");
}

// argv: "farcalld", "--worker", path, parent, parameters
static int be_worker(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char *what = argc > 4 ? argv[4] : "";
  int number = 0;
  if (sscanf(what, "exit %d", &number) == 1) _exit(number);
  if (sscanf(what, "signal %d", &number) == 1) raise(number);
  if (!strcmp(what, "facts")) tell_facts(argc, argv);
  while (!strcmp(what, "wait")) pause();
  return 0;
}

// ---------------------------------------------------------------------------

// A file of one byte that children would inherit. Its number is above those that
// children use.
static int make_file(char byte) {
  const int low = memfd_create("test", 0), fd = fcntl(low, F_DUPFD, 100);
  assert_true(low >= 0 && fd >= 100);
  close(low);
  assert_int_equal(write(fd, &byte, 1), 1);
  return fd;
}

typedef struct house_t {
  fc_process_start_t start;
  fc_process_t process;
} house_t;

static void enter(house_t *house, const char *what) {
  *house = (house_t){.start = {.program = "/proc/self/exe",
                               .path = "/the/path.so",
                               .parameters = what,
                               .network = -1,
                               .group = -1,
                               .ring = make_file('r'),
                               .files = {.module = make_file('m'),
                                         .sidecar = make_file('s')}}};
}

static void leave(house_t *house) {
  close(house->start.ring);
  close(house->start.files.module);
  if (house->start.network >= 0) close(house->start.network);
  if (house->start.group >= 0) close(house->start.group);
  if (house->start.files.sidecar >= 0) close(house->start.files.sidecar);
  fc_process_close(&house->process);
}

static void spawn(house_t *house) {
  fc_error_t error;
  if (fc_process_spawn(&house->start, &house->process, &error) != FC_OK) {
    fail_msg("%s", error.message);
  }
}

// Reads everything that the worker prints until it ends.
static void read_output(const fc_process_t *process, char *text, size_t room) {
  size_t size = 0;
  for (;;) {
    struct pollfd ready = {.fd = process->output, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 60000), 1);
    ssize_t part = read(process->output, text + size, room - 1 - size);
    assert_true(part >= 0);
    if (part == 0) break;
    size += (size_t)part;
  }
  text[size] = '\0';
}

static void a_worker_has_what_it_is_given_and_nothing_else(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool sidecar;
    bool network;
    bool group;
    const char *files;
  } rows[] = {
      {"with a sidecar", true, false, false,
       "files: 8\ninput: 0\nfile 3: r\nfile 4: -\nfile 5: -\nfile 6: m\nfile 7: s\n"
       "file 8: -\nfile 9: -\n"},
      {"without", false, false, false,
       "files: 7\ninput: 0\nfile 3: r\nfile 4: -\nfile 5: -\nfile 6: m\nfile 7: -\n"
       "file 8: -\nfile 9: -\n"},
      {"with a network alone", false, true, false,
       "files: 8\ninput: 0\nfile 3: r\nfile 4: -\nfile 5: -\nfile 6: m\nfile 7: -\n"
       "file 8: n\nfile 9: -\n"},
      {"with a control group alone", false, false, true,
       "files: 8\ninput: 0\nfile 3: r\nfile 4: -\nfile 5: -\nfile 6: m\nfile 7: -\n"
       "file 8: -\nfile 9: g\n"},
  };
  // None of these may reach the worker: a descriptor that children would inherit, a
  // variable, ignored and blocked signals.
  const int other = make_file('o');
  assert_int_equal(setenv("SECRET", "token", 1), 0);
  signal(SIGPIPE, SIG_IGN);
  sigset_t some, before;
  sigemptyset(&some);
  sigaddset(&some, SIGTERM);
  sigprocmask(SIG_BLOCK, &some, &before);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    house_t house;
    enter(&house, "facts");
    if (!row->sidecar) {
      close(house.start.files.sidecar);
      house.start.files.sidecar = -1;
      // Another file is at the sidecar's number.
      assert_int_equal(dup2(other, FC_PROCESS_SIDECAR), FC_PROCESS_SIDECAR);
    }
    if (row->network) house.start.network = make_file('n');
    if (row->group) house.start.group = make_file('g');
    spawn(&house);
    char said[4096], wanted[4096];
    read_output(&house.process, said, sizeof said);
    snprintf(wanted, sizeof wanted,
             "argument 1: --worker\nargument 2: /the/path.so\n"
             "argument 3: %d\nargument 4: facts\nenvironment: 0\n%sbell: 8\n"
             "leads its group: 1\nblocked: 0, ignored: 0\nand on stderr\n",
             getpid(), row->files);
    assert_string_equal(said, wanted);
    uint64_t rung = 0;
    assert_int_equal(read(house.process.bell, &rung, sizeof rung), sizeof rung);
    assert_int_equal(rung, 1);
    fc_process_end_t end;
    assert_true(fc_process_reap(&house.process, true, &end));
    assert_int_equal(end.signal, 0);
    assert_int_equal(end.code, 0);
    leave(&house);
    if (!row->sidecar) close(FC_PROCESS_SIDECAR);
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
  signal(SIGPIPE, SIG_DFL);
  close(other);
}

static void its_end_is_told_as_it_was(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_process_end_t end;
  } rows[] = {
    {"exit 0", {.signal = 0, .code = 0}},
    {"exit 7", {.signal = 0, .code = 7}},
    {"exit 255", {.signal = 0, .code = 255}},
    {"signal 9", {.signal = SIGKILL, .code = 0}},
    {"signal 15", {.signal = SIGTERM, .code = 0}},
#if !FC_SANITIZED  // a sanitizer turns this end into an exit
    {"signal 11", {.signal = SIGSEGV, .code = 0}},
#endif
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    house_t house;
    enter(&house, row->name);
    spawn(&house);
    fc_process_end_t end = {.signal = -1, .code = -1};
    assert_true(fc_process_reap(&house.process, true, &end));
    assert_int_equal(end.signal, row->end.signal);
    assert_int_equal(end.code, row->end.code);
    // The process is gone: it is not a zombie, and no other process has its number.
    assert_int_equal(kill(house.process.pid, 0), -1);
    fc_process_kill(&house.process);
    leave(&house);
  }
}

static void one_that_runs_is_not_waited_for_unless_asked(void **state) {
  (void)state;
  house_t house;
  enter(&house, "wait");
  spawn(&house);
  fc_process_end_t end;
  assert_false(fc_process_reap(&house.process, false, &end));
  assert_int_equal(kill(house.process.pid, 0), 0);
  fc_process_kill(&house.process);
  assert_true(fc_process_reap(&house.process, true, &end));
  assert_int_equal(end.signal, SIGKILL);
  leave(&house);
}

static void what_it_has_is_closed_once(void **state) {
  (void)state;
  const unsigned before = fc_test_open_files();
  house_t house;
  enter(&house, "exit 0");
  spawn(&house);
  // None of these may block the loop, or be inherited by programs that it starts.
  const int files[] = {house.process.bell, house.process.output,
                       house.process.pidfd, house.process.handoff};
  for (size_t i = 0; i < FC_ARRAY_COUNT(files); i++) {
    assert_int_equal(fcntl(files[i], F_GETFD), FD_CLOEXEC);
    if (i < 2) assert_true(fcntl(files[i], F_GETFL) & O_NONBLOCK);
  }
  fc_process_end_t end;
  assert_true(fc_process_reap(&house.process, true, &end));
  fc_process_close(&house.process);
  assert_int_equal(house.process.pidfd, -1);
  assert_int_equal(house.process.bell, -1);
  assert_int_equal(house.process.handoff, -1);
  assert_int_equal(house.process.output, -1);
  leave(&house);  // closes it again
  fc_process_kill(&house.process);
  assert_int_equal(fc_test_open_files(), before);
}

static void what_cannot_be_started_leaves_nothing(void **state) {
  (void)state;
  fc_test_skip_emulated("the emulator makes vfork a fork");
  house_t house;
  enter(&house, "exit 0");
  house.start.program = "/no/such/program";
  const unsigned before = fc_test_open_files();
  fc_error_t error;
  house.process =
      (fc_process_t){.pidfd = -1, .bell = -1, .handoff = -1, .output = -1};
  assert_int_equal(fc_process_spawn(&house.start, &house.process, &error),
                   FC_UNAVAILABLE);
  assert_int_equal(error.code, FC_CODE_MODULE_UNAVAILABLE);
  assert_string_equal(error.message,
                      "cannot start a worker process: /no/such/program: No "
                      "such file or directory");
  assert_int_equal(fc_test_open_files(), before);
  leave(&house);
}

// Starting a process needs several descriptors. The limit makes each of them fail once.
static void without_descriptors_nothing_is_left_either(void **state) {
  (void)state;
  struct rlimit limit, less;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  house_t house;
  enter(&house, "exit 0");
  const unsigned before = fc_test_open_files();
  unsigned failed = 0;
  for (rlim_t most = 3;; most++) {
    fc_error_t error;
    less = (struct rlimit){most, limit.rlim_max};
    house.process =
        (fc_process_t){.pidfd = -1, .bell = -1, .handoff = -1, .output = -1};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
    fc_status_t status = fc_process_spawn(&house.start, &house.process, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (status == FC_OK) break;
    assert_true(error.code == FC_CODE_OUT_OF_MEMORY ||
                error.code == FC_CODE_MODULE_UNAVAILABLE);
    assert_int_equal(fc_test_open_files(), before);
    assert_true(++failed < 100);
  }
  assert_true(failed > 10);
  fc_process_end_t end;
  assert_true(fc_process_reap(&house.process, true, &end));
  leave(&house);
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--worker")) return be_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      FC_TEST(a_worker_has_what_it_is_given_and_nothing_else),
      FC_TEST(its_end_is_told_as_it_was),
      FC_TEST(one_that_runs_is_not_waited_for_unless_asked),
      FC_TEST(what_it_has_is_closed_once),
      FC_TEST(what_cannot_be_started_leaves_nothing),
      FC_TEST(without_descriptors_nothing_is_left_either),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
