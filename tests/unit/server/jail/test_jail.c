// SPDX-License-Identifier: Apache-2.0
//
// What a process may do with --sandbox=strict while a module is loaded, and what after
// the jail is locked: every system call of call.def, memory, files, threads. Each child
// of this test enters the jail and writes its findings into memory that it shares with
// the test.
#include "jail/jail.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "config/limits.h"
#include "helpers/test.h"
#include "jail/filter.h"
#include "jail/landlock.h"
#include "jail/readable.h"

#define MODULES FARCALL_BUILD_DIR "/tests/modules/native"
#define RESULTS 512

typedef struct shared_t {
  fc_jail_stops_t stops;
  int results[RESULTS];
} shared_t;

static shared_t *share(void) {
  shared_t *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(shared != MAP_FAILED);
  return shared;
}

static void in_child(void (*what)(shared_t *shared), shared_t *shared) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    what(shared);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void check(fc_status_t status, const fc_error_t *error) {
  if (status == FC_OK) return;
  fprintf(stderr, "%s\n", error->message);
  _exit(3);
}

// A jail with all parts that this kernel supports.
static fc_jail_t make_jail_of(shared_t *shared, uint32_t user) {
  fc_jail_facts_t facts = {.user = user};
  (void)fc_jail_know(&facts);
  return (fc_jail_t){.sandbox = FC_SANDBOX_AUTO,
                     .parts = facts.parts,
                     .parent = getppid(),
                     .file = -1,
                     .parameters = "",
                     .network = facts.network,
                     .user = user,
                     .group = user,
                     .stops = &shared->stops};
}

static fc_jail_t make_jail(shared_t *shared) { return make_jail_of(shared, 0); }

static void enter(const fc_jail_t *jail) {
  fc_error_t error;
  check(fc_jail_enter(jail, &error), &error);
}

static void lock(const fc_jail_t *jail) {
  fc_error_t error;
  check(fc_jail_lock(jail, &error), &error);
}

static bool is_noted(const shared_t *shared, uint32_t number) {
  return atomic_load(&shared->stops.calls[number / 64]) >> (number % 64) & 1;
}

// ---------------------------------------------------------------------------
// System calls

// With a sanitizer, only calls that both phases refuse are refused.
static bool is_refused(const fc_jail_call_t *call, fc_phase_t phase) {
  const fc_phase_t by = FC_SANITIZED ? FC_PHASE_LOADING : phase;
  return call->rules[by] == FC_RULE_NO;
}

static void try_calls(shared_t *shared, fc_phase_t phase) {
  for (size_t i = 0; i < fc_jail_call_count; i++) {
    if (!is_refused(&fc_jail_calls[i], phase)) continue;
    const pid_t self = getpid();
    const long result =
        syscall(fc_jail_calls[i].number, -1L, -1L, -1L, -1L, -1L, -1L);
    const int error = result == -1 ? errno : 0;
    if (getpid() != self) _exit(0);  // a child that should not be
    shared->results[i] = error;
  }
}

static void try_while_loading(shared_t *shared) {
  const fc_jail_t jail = make_jail(shared);
  enter(&jail);
  try_calls(shared, FC_PHASE_LOADING);
}

static void try_when_locked(shared_t *shared) {
  const fc_jail_t jail = make_jail(shared);
  enter(&jail);
  lock(&jail);
  try_calls(shared, FC_PHASE_CALLING);
}

static void check_refused(shared_t *shared, fc_phase_t phase) {
  for (size_t i = 0; i < fc_jail_call_count; i++) {
    const fc_jail_call_t *call = &fc_jail_calls[i];
    const bool refused = is_refused(call, phase);
    fc_test_row(call->name);
    if (refused) assert_int_equal(shared->results[i], EPERM);
    // Between the two phases the worker makes only calls that are allowed, so none is
    // noted.
    assert_int_equal(is_noted(shared, call->number), refused);
  }
  fc_test_row(NULL);
  munmap(shared, sizeof *shared);
}

static void what_both_phases_refuse_is_refused_and_noted(void **state) {
  (void)state;
  shared_t *shared = share();
  in_child(try_while_loading, shared);
  check_refused(shared, FC_PHASE_LOADING);
}

static void what_calls_may_not_do_is_refused_and_noted(void **state) {
  (void)state;
  shared_t *shared = share();
  in_child(try_when_locked, shared);
  check_refused(shared, FC_PHASE_CALLING);
}

static void nothing_is_allowed_that_loading_refuses(void **state) {
  (void)state;
  for (size_t i = 0; i < fc_jail_call_count; i++) {
    const fc_jail_call_t *call = &fc_jail_calls[i];
    fc_test_row(call->name);
    if (call->rules[FC_PHASE_LOADING] == FC_RULE_NO) {
      assert_int_equal(call->rules[FC_PHASE_CALLING], FC_RULE_NO);
    }
    assert_string_equal(fc_jail_call_name(call->number), call->name);
    assert_true(call->number < FC_JAIL_CALL_NUMBERS);
  }
  fc_test_row(NULL);
  assert_null(fc_jail_call_name(FC_JAIL_CALL_NUMBERS - 1));
}

// These stand for process ids, which are not known before the test runs.
enum { SELF = -1000, PARENT = -1001 };

static const struct argument_row_t {
  const char *name;
  long number;
  long arguments[4];
  int error;   // when the jail is locked
  bool loose;  // a sanitized program may do it all the same
} kArguments[] = {
    {"kill of itself", SYS_kill, {SELF, 0}, 0, false},
    {"kill of the parent", SYS_kill, {PARENT, 0}, EPERM, false},
    {"kill of its group", SYS_kill, {0, 0}, EPERM, false},
    {"tgkill of another", SYS_tgkill, {PARENT, PARENT, 0}, EPERM, false},
    {"limits of itself", SYS_prlimit64, {0, RLIMIT_CPU, 0, 0}, 0, false},
    {"limits of the parent",
     SYS_prlimit64,
     {PARENT, RLIMIT_CPU, 0, 0},
     EPERM,
     false},
    {"a process", SYS_clone, {SIGCHLD, 0}, EPERM, false},
    {"clone3", SYS_clone3, {0, 0}, ENOSYS, false},
    {"F_GETFL", SYS_fcntl, {2, F_GETFL}, 0, false},
    {"F_SETFL", SYS_fcntl, {2, F_SETFL, 0}, EPERM, false},
    {"F_SETOWN", SYS_fcntl, {2, F_SETOWN, 0}, EPERM, false},
    {"PR_SET_PDEATHSIG", SYS_prctl, {PR_SET_PDEATHSIG, 0}, EPERM, false},
    {"PR_SET_DUMPABLE", SYS_prctl, {PR_SET_DUMPABLE, 1}, EPERM, true},
    {"PR_GET_DUMPABLE", SYS_prctl, {PR_GET_DUMPABLE}, 0, false},
    {"a call of no kernel", SYS_kill + 5000, {0}, EPERM, true},
};

static long resolve(long argument) {
  if (argument == SELF) return getpid();
  return argument == PARENT ? getppid() : argument;
}

static void try_arguments(shared_t *shared) {
  const fc_jail_t jail = make_jail(shared);
  enter(&jail);
  lock(&jail);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kArguments); i++) {
    const struct argument_row_t *row = &kArguments[i];
    const pid_t self = getpid();
    const long result = syscall(row->number, resolve(row->arguments[0]),
                                resolve(row->arguments[1]), row->arguments[2],
                                row->arguments[3]);
    shared->results[i] = result == -1 ? errno : 0;
    if (getpid() != self) _exit(0);
  }
}

static void arguments_decide_where_they_can_harm(void **state) {
  (void)state;
  shared_t *shared = share();
  in_child(try_arguments, shared);
  FC_TEST_EACH_ROW(const struct argument_row_t, row, kArguments) {
    if (FC_SANITIZED && row->loose) continue;
    assert_int_equal(shared->results[row - kArguments], row->error);
  }
  munmap(shared, sizeof *shared);
}

// ---------------------------------------------------------------------------
// Memory, threads, limits

static int try_to_make_code(void) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return -1;
  return mprotect(page, 4096, PROT_READ | PROT_EXEC) ? errno : 0;
}

static int try_to_map_code(void) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? errno : 0;
}

static void make_code(shared_t *shared) {
  const fc_jail_t jail = make_jail(shared);
  enter(&jail);
  shared->results[0] = try_to_make_code();
  shared->results[1] = try_to_map_code();
  lock(&jail);
  shared->results[2] = try_to_make_code();
  shared->results[3] = try_to_map_code();
}

static void code_is_made_while_loading_and_never_again(void **state) {
  (void)state;
  if (FC_SANITIZED) fc_test_skip("the sanitizers' filter lets code be made");
  shared_t *shared = share();
  in_child(make_code, shared);
  assert_int_equal(shared->results[0], 0);
  assert_int_equal(shared->results[1], 0);
  assert_int_equal(shared->results[2], EPERM);
  assert_int_equal(shared->results[3], EPERM);
  assert_true(is_noted(shared, SYS_mprotect));
  assert_true(is_noted(shared, SYS_mmap));
  munmap(shared, sizeof *shared);
}

typedef struct gate_t {
  shared_t *shared;
  pthread_barrier_t locked;
} gate_t;

static void *try_socket(void *context) {
  gate_t *gate = context;
  pthread_barrier_wait(&gate->locked);
  gate->shared->results[0] = openat(AT_FDCWD, "/", O_RDONLY) < 0 ? errno : 0;
  gate->shared->results[1] = socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
  return NULL;
}

static void *add_one(void *context) {
  ++*(int *)context;
  return NULL;
}

static void start_threads(shared_t *shared) {
  const fc_jail_t jail = make_jail(shared);
  gate_t gate = {.shared = shared};
  pthread_t early, late;
  pthread_barrier_init(&gate.locked, NULL, 2);
  enter(&jail);
  if (pthread_create(&early, NULL, try_socket, &gate)) _exit(4);
  lock(&jail);
  pthread_barrier_wait(&gate.locked);
  if (pthread_join(early, NULL)) _exit(5);
  if (pthread_create(&late, NULL, add_one, &shared->results[2])) _exit(6);
  if (pthread_join(late, NULL)) _exit(7);
}

static void threads_are_started_and_locked_in(void **state) {
  (void)state;
  shared_t *shared = share();
  in_child(start_threads, shared);
  if (!FC_SANITIZED) assert_int_equal(shared->results[0], EPERM);
  assert_int_equal(shared->results[1], EPERM);
  assert_int_equal(shared->results[2], 1);
  munmap(shared, sizeof *shared);
}

#define MANY 200

typedef struct bound_row_t {
  const char *name;
  fc_sandbox_t sandbox;
  int server;           // user of the server; 0: as the test
  uint32_t user;        // --worker-user
  uint32_t without;     // parts that the kernel lacks
  fc_jail_part_t part;  // that must be there; FC_JAIL_PARTS: none
  int threads;          // that are begun, of MANY
  int error;            // of the next one
} bound_row_t;

#define NOBODY 65534
#define USER (1u << FC_JAIL_USER)
#define SPACE (1u << FC_JAIL_SPACE)
#define MOST (FC_LIMIT_WORKER_THREADS - 1)

static const bound_row_t kBounds[] = {
    {"root's", FC_SANDBOX_AUTO, 0, 0, SPACE, FC_JAIL_USER, MOST, EAGAIN},
    {"with --worker-user", FC_SANDBOX_AUTO, 0, NOBODY, 0, FC_JAIL_SPACE, MOST,
     EAGAIN},
    {"somebody's", FC_SANDBOX_STRICT, NOBODY, 0, 0, FC_JAIL_SPACE, MOST,
     EAGAIN},
    {"without a bound", FC_SANDBOX_AUTO, 0, 0, USER | SPACE, FC_JAIL_PARTS,
     MANY, 0},
    {"strict, without a bound", FC_SANDBOX_STRICT, 0, 0, USER | SPACE,
     FC_JAIL_PARTS, 0, EAGAIN},
    {"strict, the bound is for others", FC_SANDBOX_STRICT, 0, NOBODY, SPACE,
     FC_JAIL_PARTS, 0, EAGAIN},
};

static void *wait_for_ever(void *context) {
  for (;;) pause();
  return context;
}

static void begin_many(const bound_row_t *row, shared_t *shared) {
  const int user = row->server;
  pthread_attr_t small;
  pthread_t thread;
  int error = 0;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 1u << 16);
  if (user && syscall(SYS_setresuid, user, user, user)) _exit(8);
  fc_jail_t jail = make_jail_of(shared, row->user);
  shared->results[2] =
      row->part == FC_JAIL_PARTS || (jail.parts >> row->part & 1);
  if (!shared->results[2]) return;
  jail.sandbox = row->sandbox;
  jail.parts &= ~row->without;
  enter(&jail);
  lock(&jail);
  while (shared->results[0] < MANY &&
         !(error = pthread_create(&thread, &small, wait_for_ever, NULL))) {
    shared->results[0]++;
  }
  shared->results[1] = error;
}

static void threads_are_bounded_or_none_begin(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const bound_row_t, row, kBounds) {
    // With a sanitizer, the filter lets threads be created. Only root can change its
    // user.
    if (FC_SANITIZED && !row->threads) continue;
    if (geteuid() && (row->server || row->user)) continue;
    shared_t *shared = share();
    const pid_t child = fork();
    if (child == 0) {
      begin_many(row, shared);
      _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    if (shared->results[2]) {
      assert_int_equal(shared->results[0], row->threads);
      assert_int_equal(shared->results[1], row->error);
      assert_false(is_noted(shared, SYS_clone));
    } else {
      print_message("not here: %s\n", row->name);
    }
    munmap(shared, sizeof *shared);
  }
}

static void note_facts(shared_t *shared) {
  const fc_jail_t jail = make_jail(shared);
  struct rlimit files = {0}, size = {0}, core = {0};
  enter(&jail);
  shared->results[0] = prctl(PR_GET_DUMPABLE);
  lock(&jail);
  (void)prctl(PR_GET_PDEATHSIG, &shared->results[1]);
  (void)getrlimit(RLIMIT_NOFILE, &files);
  (void)getrlimit(RLIMIT_FSIZE, &size);
  (void)getrlimit(RLIMIT_CORE, &core);
  shared->results[2] = (int)files.rlim_max;
  shared->results[3] = (int)size.rlim_max;
  shared->results[4] = (int)core.rlim_max;
}

static void it_is_what_the_page_says(void **state) {
  (void)state;
  static const int kWanted[] = {0, SIGKILL, 64, 0, 0};
  shared_t *shared = share();
  in_child(note_facts, shared);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kWanted); i++) {
    assert_int_equal(shared->results[i], kWanted[i]);
  }
  munmap(shared, sizeof *shared);
}

static void change_user(shared_t *shared) {
  const fc_jail_t jail = make_jail_of(shared, 65534);
  enter(&jail);
  shared->results[0] = (int)getuid();
  shared->results[1] = (int)geteuid();
  shared->results[2] = (int)getgid();
  shared->results[3] = (int)getegid();
  (void)prctl(PR_GET_PDEATHSIG, &shared->results[4]);
  shared->results[5] = prctl(PR_GET_DUMPABLE);
  lock(&jail);
}

static void it_runs_as_another_user(void **state) {
  (void)state;
  if (geteuid()) fc_test_skip("only root can change its user");
  static const int kWanted[] = {65534, 65534, 65534, 65534, SIGKILL, 0};
  shared_t *shared = share();
  in_child(change_user, shared);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kWanted); i++) {
    assert_int_equal(shared->results[i], kWanted[i]);
  }
  munmap(shared, sizeof *shared);
}

// ---------------------------------------------------------------------------
// SIGSYS signals that the filter did not send

static void send_sys(shared_t *shared) {
  const fc_jail_t jail = make_jail(shared);
  (void)signal(SIGSYS, SIG_DFL);  // cmocka has a handler
  enter(&jail);
  lock(&jail);
  raise(SIGSYS);
}

static void a_signal_that_somebody_sent_ends_it(void **state) {
  (void)state;
  shared_t *shared = share();
  const pid_t child = fork();
  if (child == 0) {
    send_sys(shared);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGSYS);
  munmap(shared, sizeof *shared);
}

// ---------------------------------------------------------------------------
// Files

typedef struct paths_t {
  char texts[128][256];
  size_t count;
} paths_t;

static void note_path(void *context, const char *path, int file) {
  paths_t *paths = context;
  (void)file;
  if (paths->count == FC_ARRAY_COUNT(paths->texts)) return;
  snprintf(paths->texts[paths->count++], sizeof *paths->texts, "%s", path);
}

static bool ends_so(const paths_t *paths, const char *end) {
  for (size_t i = 0; i < paths->count; i++) {
    if (fc_str_ends(fc_str(paths->texts[i]), fc_str(end))) return true;
  }
  return false;
}

static void libraries_of(const char *path, paths_t *out_paths) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(file >= 0);
  out_paths->count = 0;
  fc_readable_libraries(file, path, note_path, out_paths);
  close(file);
}

static void a_module_without_libraries_reads_nothing(void **state) {
  (void)state;
  paths_t paths;
  libraries_of(MODULES "/simple.so", &paths);
  assert_int_equal(paths.count, 0);
  libraries_of(FARCALL_SOURCE_DIR "/README.md", &paths);
  assert_int_equal(paths.count, 0);
}

static void a_module_reads_the_libraries_it_names(void **state) {
  (void)state;
  paths_t paths;
  libraries_of(MODULES "/origin.so", &paths);
  assert_true(ends_so(&paths, "/origin.so"));
  assert_true(ends_so(&paths, "/elsewhere/libfarcall-elsewhere.so"));
  assert_true(ends_so(&paths, "/etc/ld.so.cache"));
  assert_false(ends_so(&paths, "/elsewhere"));
}

static void copy_file(const char *from, const char *to) {
  char bytes[1 << 16];
  FILE *in = fopen(from, "re"), *out = fopen(to, "we");
  assert_true(in && out);
  const size_t size = fread(bytes, 1, sizeof bytes, in);
  assert_true(size < sizeof bytes);
  assert_int_equal(fwrite(bytes, 1, size, out), size);
  fclose(in);
  fclose(out);
}

static void what_it_names_must_be_a_library(void **state) {
  (void)state;
  char folder[] = "/tmp/farcall-jail-XXXXXX", path[64], below[64], named[96];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/origin.so", folder);
  snprintf(below, sizeof below, "%s/elsewhere", folder);
  snprintf(named, sizeof named, "%s/libfarcall-elsewhere.so", below);
  copy_file(MODULES "/origin.so", path);
  assert_int_equal(mkdir(below, 0700), 0);
  copy_file(FARCALL_SOURCE_DIR "/LICENSE", named);
  paths_t text, pipe;
  libraries_of(path, &text);
  unlink(named);
  // Opening the pipe for reading would wait here for a writer.
  assert_int_equal(mkfifo(named, 0600), 0);
  libraries_of(path, &pipe);
  unlink(named);
  unlink(path);
  rmdir(below);
  rmdir(folder);
  assert_true(ends_so(&text, "/origin.so"));
  assert_false(ends_so(&text, "/libfarcall-elsewhere.so"));
  assert_true(ends_so(&pipe, "/origin.so"));
  assert_false(ends_so(&pipe, "/libfarcall-elsewhere.so"));
}

static void archives_are_read_by_their_names(void **state) {
  (void)state;
  paths_t paths = {.count = 0};
  fc_readable_archives(FC_STR("model=/a/b.irpa,/c.safetensors,=/d"), note_path,
                       &paths);
  assert_int_equal(paths.count, 3);
  assert_string_equal(paths.texts[0], "/a/b.irpa");
  assert_string_equal(paths.texts[1], "/c.safetensors");
  assert_string_equal(paths.texts[2], "/d");
}

static const char kSecret[] = "/tmp/farcall-jail-secret";
static const char kArchive[] = "/tmp/farcall-jail-archive";

static int try_open(const char *path, int flags) {
  const int fd = open(path, flags | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

static void open_files(shared_t *shared) {
  fc_jail_t jail = make_jail(shared);
  int *results = shared->results;
  jail.module = MODULES "/simple.so";
  jail.file = open(jail.module, O_RDONLY | O_CLOEXEC);
  jail.parameters = kArchive;
  char own[64];
  const int memory = memfd_create("farcall-test", MFD_CLOEXEC);
  snprintf(own, sizeof own, "/proc/self/fd/%d", memory);
  enter(&jail);
  results[0] = try_open(kArchive, O_RDONLY);
  results[1] = try_open(kArchive, O_WRONLY);
  results[2] = try_open(kSecret, O_RDONLY);
  results[3] = try_open("/tmp", O_RDONLY | O_DIRECTORY);
  results[4] = try_open("/proc/1/status", O_RDONLY);
  results[5] = try_open("/tmp/farcall-jail-new", O_RDWR | O_CREAT);
  results[6] = try_open(own, O_RDONLY);
  lock(&jail);
  results[7] = try_open(kArchive, O_RDONLY);
}

static void write_file(const char *path) {
  FILE *file = fopen(path, "we");
  assert_non_null(file);
  fputs("x", file);
  fclose(file);
}

static void only_what_it_needs_is_read(void **state) {
  (void)state;
  if (!fc_landlock_version()) fc_test_skip("this kernel has no Landlock");
  shared_t *shared = share();
  write_file(kSecret);
  write_file(kArchive);
  assert_int_equal(chmod(kArchive, 0600), 0);  // root's worker reads it too
  in_child(open_files, shared);
  unlink(kSecret);
  unlink(kArchive);
  const int *results = shared->results;
  assert_int_equal(results[0], 0);
  for (int i = 1; i < 6; i++) {
    assert_true(results[i] == EACCES || results[i] == EPERM);
  }
  assert_int_equal(results[6], 0);  // the loader opens the module so
  if (!FC_SANITIZED) assert_int_equal(results[7], EPERM);
  munmap(shared, sizeof *shared);
}

// ---------------------------------------------------------------------------
// Kernels without some part

typedef struct lack_row_t {
  const char *name;
  long number;  // of the call that the kernel refuses
  int error;
  fc_jail_part_t part;
  bool needed;
} lack_row_t;

static const lack_row_t kLacks[] = {
    {"no Landlock", SYS_landlock_create_ruleset, ENOSYS, FC_JAIL_LANDLOCK,
     true},
    {"Landlock is forbidden", SYS_landlock_create_ruleset, EPERM,
     FC_JAIL_LANDLOCK, true},
    {"its rulesets are refused", SYS_landlock_restrict_self, EPERM,
     FC_JAIL_LANDLOCK, true},
    {"no filters", SYS_seccomp, EPERM, FC_JAIL_SECCOMP, true},
    {"no namespaces", SYS_unshare, EPERM, FC_JAIL_NETWORK, false},
#if !FC_TSAN  // its threads cannot be bounded anyway
    {"no namespaces of users", SYS_unshare, EPERM, FC_JAIL_SPACE, false},
    {"nobody changes users", SYS_setresuid, EPERM, FC_JAIL_USER, false},
#endif
};

static void refuse(long number, int error) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {FC_ARRAY_COUNT(program), program};
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) _exit(6);
}

static void probe_without(const lack_row_t *row, shared_t *shared) {
  fc_jail_facts_t facts = {.user = row->part == FC_JAIL_SPACE ? NOBODY : 0};
  fc_error_t error;
  refuse(row->number, row->error);
  (void)fc_jail_know(&facts);
  shared->results[0] = facts.errors[row->part];
  shared->results[1] =
      fc_jail_check(FC_SANDBOX_STRICT, &facts, &error) != FC_OK;
  shared->results[2] = fc_jail_check(FC_SANDBOX_AUTO, &facts, &error) == FC_OK;
  // The worker enters the parts that there are.
  const fc_jail_t jail = make_jail(shared);
  enter(&jail);
  lock(&jail);
}

static void what_a_kernel_lacks_is_known(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const lack_row_t, row, kLacks) {
    shared_t *shared = share();
    const pid_t child = fork();
    if (child == 0) {
      probe_without(row, shared);
      _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(shared->results[0], row->error);
    if (row->needed) assert_true(shared->results[1]);
    assert_true(shared->results[2]);
    munmap(shared, sizeof *shared);
  }
}

// The probe got its namespace, but another one could not be made after that.
static void lose_space(shared_t *shared) {
  fc_jail_t jail = make_jail_of(shared, geteuid() ? 0 : NOBODY);
  fc_error_t error;
  jail.parts |= 1u << FC_JAIL_SPACE;
  jail.sandbox = (fc_sandbox_t)shared->results[0];
  refuse(SYS_unshare, ENOSPC);
  shared->results[1] = fc_jail_enter(&jail, &error) == FC_OK;
  if (shared->results[1]) lock(&jail);
}

static void auto_goes_without_what_is_lost(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_sandbox_t sandbox;
    bool enters;
  } rows[] = {{"auto", FC_SANDBOX_AUTO, true},
              {"strict", FC_SANDBOX_STRICT, false}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    shared_t *shared = share();
    shared->results[0] = (int)row->sandbox;
    in_child(lose_space, shared);
    assert_int_equal(shared->results[1], row->enters);
    munmap(shared, sizeof *shared);
  }
}

static void facts_are_found_out_once(void **state) {
  (void)state;
  fc_jail_facts_t facts = {0};
  fc_jail_forget(&facts);  // nothing is known
  assert_ptr_equal(fc_jail_know(&facts), &facts);
  assert_true(facts.known);
  const fc_jail_facts_t before = facts;
  (void)fc_jail_know(&facts);
  assert_memory_equal(&before, &facts, sizeof facts);
  fc_jail_forget(&facts);
  assert_false(facts.known);
  fc_jail_probe_begin(&facts);
  fc_jail_forget(&facts);  // waits for the thread
  assert_false(facts.probing);
}

static void strict_says_what_it_misses(void **state) {
  (void)state;
  fc_error_t error;
  fc_jail_facts_t facts = {.parts = UINT32_MAX};
  assert_int_equal(fc_jail_check(FC_SANDBOX_STRICT, &facts, &error), FC_OK);
  facts.parts &= ~(1u << FC_JAIL_LANDLOCK);
  facts.errors[FC_JAIL_LANDLOCK] = ENOSYS;
  assert_int_not_equal(fc_jail_check(FC_SANDBOX_STRICT, &facts, &error), FC_OK);
  assert_string_equal(
      error.message,
      "--sandbox=strict cannot be kept: the kernel refuses rules for files "
      "(Landlock, Linux 5.13): Function not implemented; --sandbox=auto takes "
      "what there is");
  assert_int_equal(fc_jail_check(FC_SANDBOX_BASIC, &facts, &error), FC_OK);
}

int main(void) {
  if (getenv("FARCALL_EMULATED")) {
    print_message("skipped: the emulator has no seccomp and no Landlock\n");
    return FC_TEST_SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      FC_TEST(what_both_phases_refuse_is_refused_and_noted),
      FC_TEST(what_calls_may_not_do_is_refused_and_noted),
      FC_TEST(nothing_is_allowed_that_loading_refuses),
      FC_TEST(arguments_decide_where_they_can_harm),
      FC_TEST(code_is_made_while_loading_and_never_again),
      FC_TEST(threads_are_started_and_locked_in),
      FC_TEST(threads_are_bounded_or_none_begin),
      FC_TEST(it_is_what_the_page_says),
      FC_TEST(it_runs_as_another_user),
      FC_TEST(a_signal_that_somebody_sent_ends_it),
      FC_TEST(a_module_without_libraries_reads_nothing),
      FC_TEST(a_module_reads_the_libraries_it_names),
      FC_TEST(what_it_names_must_be_a_library),
      FC_TEST(archives_are_read_by_their_names),
      FC_TEST(only_what_it_needs_is_read),
      FC_TEST(what_a_kernel_lacks_is_known),
      FC_TEST(auto_goes_without_what_is_lost),
      FC_TEST(facts_are_found_out_once),
      FC_TEST(strict_says_what_it_misses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
