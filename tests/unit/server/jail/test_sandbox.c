// SPDX-License-Identifier: Apache-2.0
//
// What a process may not do with --sandbox=basic, call by call, and what it still may
// (test_jail.c tests --sandbox=strict). Each child of this test tries all rows of a
// table and writes the errors into memory that it shares with the test.
#include "jail/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "helpers/test.h"

// The sanitizers reserve terabytes of addresses, so they run without a limit.
#define MEMORY (FC_SANITIZED ? 0 : 64ull << 30)
#define NOBODY 0x7fffffffl  // no process has this number

// These stand for numbers that are known only when the test runs.
enum { SELF = -1000, PARENT = -1001 };

typedef struct row_t {
  const char *name;
  long number;
  long arguments[6];
  // Tried only in the sandbox: outside, the call would do something, or the machine may
  // refuse it as well.
  bool only_inside;
  int error;  // inside
} row_t;

#define ROW(name, call, once, error, ...) \
  { name, SYS_##call, {__VA_ARGS__}, once, error }
#define REFUSED(call, ...) ROW(#call, call, false, EPERM, __VA_ARGS__)
#define REFUSED_AS(name, call, ...) ROW(name, call, false, EPERM, __VA_ARGS__)
#define REFUSED_INSIDE(call, ...) ROW(#call, call, true, EPERM, __VA_ARGS__)

static const row_t kRefused[] = {
#if defined(__x86_64__)
    REFUSED_INSIDE(fork, 0),
    REFUSED_INSIDE(vfork, 0),
    {"getpid by its x32 number", 0x40000000 + SYS_getpid, {0}, false, EPERM},
#endif
    REFUSED_INSIDE(clone, SIGCHLD),
    ROW("clone3", clone3, false, ENOSYS, 0),
    REFUSED(execve, 0),
    REFUSED(execveat, -1),
    REFUSED(ptrace, PTRACE_PEEKDATA, NOBODY),
    REFUSED(process_vm_readv, NOBODY),
    REFUSED(process_vm_writev, NOBODY),
    REFUSED(process_madvise, -1),
    REFUSED(pidfd_getfd, -1),
    REFUSED(pidfd_send_signal, -1),
    REFUSED(rt_sigqueueinfo, NOBODY),
    REFUSED(rt_tgsigqueueinfo, NOBODY, NOBODY),
    REFUSED(tkill, NOBODY),
    REFUSED_AS("tkill of itself", tkill, SELF),
    REFUSED(setns, -1),
    REFUSED(unshare, 0),
    REFUSED(sched_setscheduler, NOBODY),
    REFUSED_AS("sched_setscheduler of itself", sched_setscheduler, 0),
    REFUSED(sched_setparam, NOBODY),
    REFUSED(sched_setattr, NOBODY),
    REFUSED(setpriority, 99),
    REFUSED(ioprio_set, 99),
    REFUSED(migrate_pages, NOBODY),
    REFUSED(move_pages, NOBODY),
    // The system may forbid these calls anyway.
    REFUSED_INSIDE(io_uring_setup, 0),
    REFUSED_INSIDE(io_uring_enter, -1),
    REFUSED_INSIDE(io_uring_register, -1),
    REFUSED(sched_setaffinity, NOBODY),
    REFUSED_AS("sched_setaffinity of the parent", sched_setaffinity, PARENT),
    REFUSED_AS("kill of the parent", kill, PARENT),
    REFUSED_AS("kill of its group", kill, 0),
    ROW("kill of everybody", kill, true, EPERM, -1),
    REFUSED(tgkill, NOBODY, NOBODY),
    REFUSED_AS("prlimit64 of the parent", prlimit64, PARENT, RLIMIT_CPU),
    REFUSED_AS("fcntl F_SETFL", fcntl, -1, F_SETFL),
    REFUSED_AS("fcntl F_SETOWN", fcntl, -1, F_SETOWN),
    REFUSED_AS("fcntl F_SETOWN_EX", fcntl, -1, F_SETOWN_EX),
    REFUSED_AS("fcntl F_SETSIG", fcntl, -1, F_SETSIG),
    REFUSED_AS("ioctl FIONBIO", ioctl, -1, FIONBIO),
    REFUSED_AS("ioctl FIOASYNC", ioctl, -1, FIOASYNC),
    REFUSED_AS("ioctl FIOSETOWN", ioctl, -1, FIOSETOWN),
    REFUSED_AS("ioctl SIOCSPGRP", ioctl, -1, SIOCSPGRP),
    REFUSED_AS("ioctl TIOCSTI", ioctl, -1, TIOCSTI),
    REFUSED_AS("ioctl TIOCLINUX", ioctl, -1, TIOCLINUX),
    REFUSED_AS("prctl PR_SET_PDEATHSIG", prctl, PR_SET_PDEATHSIG),
};

#define ALLOWED(name, call, ...) ROW(name, call, false, 0, __VA_ARGS__)

static const row_t kAllowed[] = {
    ALLOWED("kill of itself", kill, SELF),
    ALLOWED("tgkill of itself", tgkill, SELF, SELF),
    ALLOWED("prlimit64 of itself", prlimit64, 0, RLIMIT_CPU),
    ALLOWED("prlimit64 by its number", prlimit64, SELF, RLIMIT_CPU),
    // EINVAL means that the kernel has no such CPU. The filter would have returned
    // EPERM.
    ROW("sched_setaffinity", sched_setaffinity, false, EINVAL, 0),
    ROW("sched_setaffinity by number", sched_setaffinity, false, EINVAL, SELF),
    ALLOWED("move_pages of itself", move_pages, 0),
    ALLOWED("fcntl F_GETFL", fcntl, 2, F_GETFL),
    ALLOWED("fcntl F_SETFD", fcntl, 2, F_SETFD, FD_CLOEXEC),
    ALLOWED("ioctl FIOCLEX", ioctl, 2, FIOCLEX),
    ALLOWED("prctl PR_GET_DUMPABLE", prctl, PR_GET_DUMPABLE),
    ALLOWED("getpriority", getpriority, 0),
    ALLOWED("sched_yield", sched_yield, 0),
};

#define ROWS_MAX 64
_Static_assert(FC_ARRAY_COUNT(kRefused) <= ROWS_MAX, "");

static long resolve(long argument) {
  if (argument == SELF) return getpid();
  return argument == PARENT ? getppid() : argument;
}

// Returns the call's error; 0: it succeeded.
static int try_row(const row_t *row) {
  long a[6];
  for (int i = 0; i < 6; i++) a[i] = resolve(row->arguments[i]);
  pid_t self = getpid();
  errno = 0;
  long result = syscall(row->number, a[0], a[1], a[2], a[3], a[4], a[5]);
  int error = result == -1 ? errno : 0;
  if (getpid() != self) _exit(0);  // a child that should not be
  return error;
}

static void enter(void) {
  fc_error_t error;
  const fc_jail_t jail = {
      .sandbox = FC_SANDBOX_BASIC, .memory = MEMORY, .parent = getppid()};
  if (fc_jail_enter(&jail, &error) == FC_OK &&
      fc_jail_lock(&jail, &error) == FC_OK) {
    return;
  }
  fprintf(stderr, "%s\n", error.message);
  _exit(3);
}

// Runs `what` in a child process, which must exit with 0.
static void in_child(void (*what)(int *results), int *results) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    what(results);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static int *share(void) {
  int *results =
      mmap(NULL, 2 * ROWS_MAX * sizeof *results, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(results != MAP_FAILED);
  return results;
}

static void try_refused(int *results) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRefused); i++) {
    if (!kRefused[i].only_inside) results[i] = try_row(&kRefused[i]);
  }
  enter();
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRefused); i++) {
    results[ROWS_MAX + i] = try_row(&kRefused[i]);
  }
}

static void each_refused_call_is_refused(void **state) {
  (void)state;
  int *results = share();
  in_child(try_refused, results);
  FC_TEST_EACH_ROW(const row_t, row, kRefused) {
    const size_t i = (size_t)(row - kRefused);
    // Outside the sandbox the call must be allowed. Otherwise the row would not show
    // that the filter refuses it.
    if (!row->only_inside) assert_int_not_equal(results[i], EPERM);
    assert_int_equal(results[ROWS_MAX + i], row->error);
  }
  munmap(results, 2 * ROWS_MAX * sizeof *results);
}

static void try_allowed(int *results) {
  enter();
  for (size_t i = 0; i < FC_ARRAY_COUNT(kAllowed); i++) {
    results[i] = try_row(&kAllowed[i]);
  }
}

static void what_a_module_needs_is_not(void **state) {
  (void)state;
  int *results = share();
  in_child(try_allowed, results);
  FC_TEST_EACH_ROW(const row_t, row, kAllowed) {
    assert_int_equal(results[row - kAllowed], row->error);
  }
  munmap(results, 2 * ROWS_MAX * sizeof *results);
}

static void *note_thread(void *context) {
  int *results = context;
  results[0] = 1;
  return NULL;
}

static void start_thread(int *results) {
  pthread_t thread;
  enter();
  if (pthread_create(&thread, NULL, note_thread, results)) _exit(1);
  if (pthread_join(thread, NULL)) _exit(2);
}

static void threads_can_be_started(void **state) {
  (void)state;
  int *results = share();
  in_child(start_thread, results);
  assert_int_equal(results[0], 1);
  munmap(results, 2 * ROWS_MAX * sizeof *results);
}

// ---------------------------------------------------------------------------
// Properties of the process, as the kernel reports them

static long read_number(const char *path, const char *after, int base) {
  char line[256];
  long number = -1;
  FILE *file = fopen(path, "r");
  while (file && number < 0 && fgets(line, sizeof line, file)) {
    if (strncmp(line, after, strlen(after)) == 0) {
      number = strtol(line + strlen(after), NULL, base);
    }
  }
  if (file) fclose(file);
  return number;
}

static uint64_t soft(int resource) {
  struct rlimit limit = {0};
  (void)prlimit(0, (__rlimit_resource_t)resource, NULL, &limit);
  return limit.rlim_cur;
}

static uint64_t hard(int resource) {
  struct rlimit limit = {0};
  (void)prlimit(0, (__rlimit_resource_t)resource, NULL, &limit);
  return limit.rlim_max;
}

enum {
  PRIVILEGES,
  FILTERED,
  DUMPABLE,
  DEATH,
  OOM,
  CORE,
  FILES,
  FILES_EVER,
  STACK,
  ADDRESSES,
  CAPABILITIES,
  FACTS
};

static const struct {
  const char *name;
  int wanted;
} kFacts[FACTS] = {
    [PRIVILEGES] = {"no new privileges", 1},
    [FILTERED] = {"calls are filtered", 2},
    [DUMPABLE] = {"others of its user may not look into it", 0},
    [DEATH] = {"it ends with its parent", SIGKILL},
    [OOM] = {"it is ended first when memory runs out", 1000},
    [CORE] = {"no core file", 0},
    [FILES] = {"open files", 64},
    [FILES_EVER] = {"open files, however it asks", 64},
    [STACK] = {"MiB of stack", 16},
    [ADDRESSES] = {"GiB of addresses", 64},
    // SYS_PTRACE, SYS_ADMIN, SYS_NICE, SYS_RESOURCE, KILL
    [CAPABILITIES] = {"capabilities over others", 0},
};

static void note_facts(int *results) {
  enter();
  results[PRIVILEGES] = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  results[FILTERED] = (int)read_number("/proc/self/status", "Seccomp:", 10);
  results[DUMPABLE] = prctl(PR_GET_DUMPABLE);
  (void)prctl(PR_GET_PDEATHSIG, &results[DEATH]);
  results[OOM] = (int)read_number("/proc/self/oom_score_adj", "", 10);
  results[CORE] = (int)hard(RLIMIT_CORE);
  results[FILES] = (int)soft(RLIMIT_NOFILE);
  results[FILES_EVER] = (int)hard(RLIMIT_NOFILE);
  results[STACK] = (int)(soft(RLIMIT_STACK) >> 20);
  results[ADDRESSES] = (int)(hard(RLIMIT_AS) >> 30);
  long held = read_number("/proc/self/status", "CapPrm:", 16);
  results[CAPABILITIES] = (int)(held >> 19 & 1) | (int)(held >> 21 & 1) |
                          (int)(held >> 23 & 1) | (int)(held >> 24 & 1) |
                          (int)(held >> 5 & 1);
}

static void it_is_what_the_page_says(void **state) {
  (void)state;
  int *results = share();
  in_child(note_facts, results);
  for (size_t i = 0; i < FACTS; i++) {
    if (i == ADDRESSES && !MEMORY) continue;
    fc_test_row(kFacts[i].name);
    assert_int_equal(results[i], kFacts[i].wanted);
  }
  fc_test_row(NULL);
  munmap(results, 2 * ROWS_MAX * sizeof *results);
}

static void enter_without_parent(int *results) {
  fc_error_t error;
  const fc_jail_t jail = {.sandbox = FC_SANDBOX_BASIC, .parent = getpid()};
  results[0] = 1 + (int)fc_jail_enter(&jail, &error);
}

static void who_has_lost_its_parent_ends(void **state) {
  (void)state;
  int *results = share();
  in_child(enter_without_parent, results);
  assert_int_equal(results[0], 0);  // it did not come back
  munmap(results, 2 * ROWS_MAX * sizeof *results);
}

// ---------------------------------------------------------------------------
// Paths

#define OWN_FILE 60

typedef enum refusal_t {
  NEVER,
  ALWAYS,
  NOT_ROOT,  // without Landlock root may: the file is root's
  LANDLOCK,  // without Landlock it depends on the machine
} refusal_t;

static const struct path_row_t {
  const char *name;
  const char *path;
  const char *tail;  // after the parent's number, NULL: the path is whole
  int flags;
  refusal_t refusal;
} kPaths[] = {
    {"its memory", "/proc/", "/mem", O_RDWR, ALWAYS},
    {"its memory, to read", "/proc/", "/mem", O_RDONLY, ALWAYS},
    {"its addresses", "/proc/", "/maps", O_RDONLY, ALWAYS},
    {"its environment", "/proc/", "/environ", O_RDONLY, ALWAYS},
    {"a file it has open", "/proc/", "/fd/60", O_RDWR, ALWAYS},
    {"its chance when memory runs out", "/proc/", "/oom_score_adj", O_WRONLY,
     NOT_ROOT},
    {"the same, to read", "/proc/", "/oom_score_adj", O_RDONLY, NEVER},
    // This descriptor stands for the module's file, which the loader opens by such a
    // path.
    {"a file of its own", "/proc/self/fd/60", NULL, O_RDWR, NEVER},
    {"its own addresses", "/proc/self/maps", NULL, O_RDONLY, NEVER},
    {"a device", "/dev/null", NULL, O_RDWR, NEVER},
    // This file stands for a control group's: those belong to the server.
    {"a file of the kernel", "/sys/kernel/rcu_expedited", NULL, O_WRONLY,
     LANDLOCK},
    {"the same, to read", "/sys/kernel/rcu_expedited", NULL, O_RDONLY, NEVER},
    {"a file elsewhere", "/tmp/farcall-sandbox-", "", O_RDWR | O_CREAT, NEVER},
};

typedef struct server_row_t {
  const char *name;
  bool ordinary;  // user
  bool landlock;
} server_row_t;

static void be_ordinary(void) {
  if (geteuid()) return;
  if (setresgid(65534, 65534, 65534)) _exit(4);
  if (setresuid(65534, 65534, 65534)) _exit(5);
}

// Makes Landlock fail as on a kernel without it.
static void forget_landlock(void) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {FC_ARRAY_COUNT(program), program};
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) _exit(6);
}

static void open_paths(int *results) {
  enter();
  for (size_t i = 0; i < FC_ARRAY_COUNT(kPaths); i++) {
    const struct path_row_t *row = &kPaths[i];
    char path[64];
    if (row->tail) {
      snprintf(path, sizeof path, "%s%d%s", row->path, getppid(), row->tail);
    } else {
      snprintf(path, sizeof path, "%s", row->path);
    }
    int fd = open(path, row->flags | O_CLOEXEC, 0600);
    results[i] = fd < 0 ? errno : 0;
    if (fd >= 0) close(fd);
    if (row->flags & O_CREAT) unlink(path);
  }
}

// Starts a server as the main function does, with one worker.
static void serve(const server_row_t *row, int *results) {
  if (row->ordinary) be_ordinary();
  if (!row->landlock) forget_landlock();
  int file = memfd_create("farcall-test", 0);
  if (dup2(file, OWN_FILE) < 0 || prctl(PR_SET_DUMPABLE, 0)) _exit(7);
  pid_t worker = fork();
  if (worker == 0) {
    open_paths(results);
    _exit(0);
  }
  int status;
  _exit(worker < 0 || waitpid(worker, &status, 0) != worker || status);
}

static void try_servers(const server_row_t rows[2]) {
  int *results = share();
  for (int r = 0; r < 2; r++) {
    const server_row_t *row = &rows[r];
    fc_test_row(row->name);
    pid_t server = fork();
    if (server == 0) serve(row, results);
    int status;
    assert_int_equal(waitpid(server, &status, 0), server);
    assert_int_equal(status, 0);
    const bool root = geteuid() == 0 && !row->ordinary;
    for (size_t i = 0; i < FC_ARRAY_COUNT(kPaths); i++) {
      const refusal_t refusal = kPaths[i].refusal;
      if (refusal == LANDLOCK && !row->landlock) continue;
      const bool refused = refusal == ALWAYS || refusal == LANDLOCK ||
                           (refusal == NOT_ROOT && (!root || row->landlock));
      if ((results[i] != 0) == refused) continue;
      fail_msg("%s: %s", kPaths[i].name, strerror(results[i]));
    }
  }
  fc_test_row(NULL);
  munmap(results, 2 * ROWS_MAX * sizeof *results);
}

static void the_server_is_not_reached_by_path(void **state) {
  (void)state;
  static const server_row_t rows[] = {{"as it is", false, true},
                                      {"an ordinary user", true, true}};
  if (syscall(SYS_landlock_create_ruleset, NULL, 0,
              LANDLOCK_CREATE_RULESET_VERSION) < 1) {
    fc_test_skip("this kernel has no Landlock");
  }
  try_servers(rows);
}

static void without_landlock_its_memory_and_files_are_not(void **state) {
  (void)state;
  static const server_row_t rows[] = {{"as it is", false, false},
                                      {"an ordinary user", true, false}};
  try_servers(rows);
}

int main(void) {
  if (getenv("FARCALL_EMULATED")) {
    print_message("skipped: the emulator has no seccomp and no Landlock\n");
    return FC_TEST_SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      FC_TEST(each_refused_call_is_refused),
      FC_TEST(what_a_module_needs_is_not),
      FC_TEST(threads_can_be_started),
      FC_TEST(it_is_what_the_page_says),
      FC_TEST(who_has_lost_its_parent_ends),
      FC_TEST(the_server_is_not_reached_by_path),
      FC_TEST(without_landlock_its_memory_and_files_are_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
