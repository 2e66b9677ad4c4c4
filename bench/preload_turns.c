// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into farcalld, it measures the turns of the loop. A turn is the wall time of
// the loop's thread from the return of one wait for events to the next wait. Measured is
// also how much of a turn the thread waited on its processor's run queue, and which calls
// of the C library took how much of it. A turn is sampled each millisecond after its
// first: the functions that were found running explain the rest of the time.
//
// Each SIGRTMIN adds a line of JSON to the file TURNS_FILE about the turns since the last
// line: how long the longest turn was, and everything about the turn that was longest
// without the run queue. With TURNS_CPUS=0,1 the loop runs on processor 0, and all other
// threads and processes run on 1. See bench/turns.
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define LOOKS 64   // samples kept of one turn, evenly distributed
#define FRAMES 12  // stack frames of each sample

// The calls that are told apart: result, name, parameters, arguments. The time of other
// calls, for example inside libraries that are not found by name, counts as the loop's
// own code.
#define CALLS(X)                                                               \
  X(ssize_t, read, (int a, void *b, size_t c), (a, b, c))                      \
  X(ssize_t, pread, (int a, void *b, size_t c, off_t d), (a, b, c, d))         \
  X(ssize_t, readv, (int a, const struct iovec *b, int c), (a, b, c))          \
  X(ssize_t, recv, (int a, void *b, size_t c, int d), (a, b, c, d))            \
  X(ssize_t, recvmsg, (int a, struct msghdr *b, int c), (a, b, c))             \
  X(ssize_t, write, (int a, const void *b, size_t c), (a, b, c))               \
  X(ssize_t, writev, (int a, const struct iovec *b, int c), (a, b, c))         \
  X(ssize_t, send, (int a, const void *b, size_t c, int d), (a, b, c, d))      \
  X(ssize_t, sendmsg, (int a, const struct msghdr *b, int c), (a, b, c))       \
  X(ssize_t, sendfile, (int a, int b, off_t *c, size_t d), (a, b, c, d))       \
  X(size_t, fwrite, (const void *a, size_t b, size_t c, FILE *d),              \
    (a, b, c, d))                                                              \
  X(int, close, (int a), (a))                                                  \
  X(int, fsync, (int a), (a))                                                  \
  X(int, rename, (const char *a, const char *b), (a, b))                       \
  X(int, unlink, (const char *a), (a))                                         \
  X(int, mkdir, (const char *a, mode_t b), (a, b))                             \
  X(int, rmdir, (const char *a), (a))                                          \
  X(int, fstat, (int a, struct stat *b), (a, b))                               \
  X(int, stat, (const char *a, struct stat *b), (a, b))                        \
  X(int, lstat, (const char *a, struct stat *b), (a, b))                       \
  X(int, fstatat, (int a, const char *b, struct stat *c, int d), (a, b, c, d)) \
  X(off_t, lseek, (int a, off_t b, int c), (a, b, c))                          \
  X(int, ftruncate, (int a, off_t b), (a, b))                                  \
  X(int, memfd_create, (const char *a, unsigned b), (a, b))                    \
  X(void *, mmap, (void *a, size_t b, int c, int d, int e, off_t f),           \
    (a, b, c, d, e, f))                                                        \
  X(int, munmap, (void *a, size_t b), (a, b))                                  \
  X(int, mprotect, (void *a, size_t b, int c), (a, b, c))                      \
  X(int, madvise, (void *a, size_t b, int c), (a, b, c))                       \
  X(int, poll, (struct pollfd * a, unsigned long b, int c), (a, b, c))         \
  X(int, nanosleep, (const struct timespec *a, struct timespec *b), (a, b))    \
  X(int, kill, (pid_t a, int b), (a, b))                                       \
  X(pid_t, waitpid, (pid_t a, int *b, int c), (a, b, c))                       \
  X(DIR *, opendir, (const char *a), (a))                                      \
  X(DIR *, fdopendir, (int a), (a))                                            \
  X(struct dirent *, readdir, (DIR * a), (a))                                  \
  X(int, closedir, (DIR * a), (a))                                             \
  X(void *, dlopen, (const char *a, int b), (a, b))                            \
  X(int, accept4, (int a, struct sockaddr *b, socklen_t *c, int d),            \
    (a, b, c, d))                                                              \
  X(int, connect, (int a, const struct sockaddr *b, socklen_t c), (a, b, c))   \
  X(int, shutdown, (int a, int b), (a, b))                                     \
  X(int, pthread_mutex_lock, (pthread_mutex_t * a), (a))                       \
  X(int, pthread_cond_signal, (pthread_cond_t * a), (a))                       \
  X(int, pthread_cond_broadcast, (pthread_cond_t * a), (a))                    \
  X(int, pthread_cond_wait, (pthread_cond_t * a, pthread_mutex_t * b), (a, b)) \
  X(int, pthread_join, (pthread_t a, void **b), (a, b))

// The calls for which there is a function below.
#define OTHERS(X)   \
  X(posix_spawn)    \
  X(pthread_create) \
  X(fallocate) X(open) X(openat) X(futex) X(epoll_ctl) X(waitid) X(syscall)

enum kind {
#define X(result, name, ...) KIND_##name,
  CALLS(X)
#undef X
#define X(name) KIND_##name,
      OTHERS(X)
#undef X
          KINDS
};

static const char *const kNames[KINDS] = {
#define X(result, name, ...) #name,
    CALLS(X)
#undef X
#define X(name) #name,
        OTHERS(X)
#undef X
};

typedef struct turn_t {
  uint64_t began_ns, wall_ns, cpu_ns, queue_ns;
  uint64_t ns[KINDS];
  uint32_t count[KINDS];
  uint32_t looks;
  int depth[LOOKS];
  void *frames[LOOKS][FRAMES];
} turn_t;

static __thread bool is_loop;
static turn_t turn, longest;
static volatile sig_atomic_t asked, in_turn;
static uint64_t turns, over_5, most_ns, most_queue_ns, most_late_ns;
static timer_t looker;
static bool looks_on;
static unsigned dice = 1;
static int queue_file = -1;
static cpu_set_t loop_cpu, other_cpus, all_cpus;
static bool pins;

static uint64_t clock_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void) { return clock_of(CLOCK_MONOTONIC); }

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

// Returns how long the loop's thread could have run while another thread ran.
static uint64_t queue_ns(void) {
  char text[128] = "";
  const long size = syscall(SYS_pread64, queue_file, text, sizeof text - 1, 0);
  const char *second = size > 0 ? strchr(text, ' ') : NULL;
  return second ? strtoull(second, NULL, 10) : 0;
}

static bool begins(void) { return is_loop && in_turn; }

static void ends(enum kind kind, uint64_t began_ns) {
  turn.ns[kind] += now_ns() - began_ns;
  turn.count[kind]++;
}

#define X(result, name, parameters, arguments) \
  result name parameters {                     \
    static result(*call) parameters;           \
    if (!call) *(void **)&call = next(#name);  \
    if (!begins()) return call arguments;      \
    const uint64_t began_ns = now_ns();        \
    result got = call arguments;               \
    ends(KIND_##name, began_ns);               \
    return got;                                \
  }
CALLS(X)
#undef X

static int open_at(enum kind kind, int at, const char *path, int flags,
                   mode_t mode) {
  const uint64_t began_ns = now_ns();
  const int got = (int)syscall(SYS_openat, at, path, flags, mode);
  if (begins()) ends(kind, began_ns);
  return got;
}

static mode_t mode_of(int flags, va_list more) {
  return flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_at(KIND_open, AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_at(KIND_openat, at, path, flags, mode);
}

long syscall(long number, ...) {
  static long (*call)(long, ...);
  if (!call) *(void **)&call = next("syscall");
  long a[6];
  va_list more;
  va_start(more, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(more, long);
  va_end(more);
  const bool counts = begins() && number != SYS_openat && number != SYS_pread64;
  const uint64_t began_ns = counts ? now_ns() : 0;
  const long got = call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (counts) {
    ends(number == SYS_futex       ? KIND_futex
         : number == SYS_epoll_ctl ? KIND_epoll_ctl
         : number == SYS_waitid    ? KIND_waitid
                                   : KIND_syscall,
         began_ns);
  }
  return got;
}

// A signal would interrupt fallocate, so the sampling signal is blocked.
int fallocate(int file, int mode, off_t at, off_t size) {
  static int (*call)(int, int, off_t, off_t);
  if (!call) *(void **)&call = next("fallocate");
  if (!begins()) return call(file, mode, at, size);
  sigset_t looks, before;
  sigemptyset(&looks);
  sigaddset(&looks, SIGRTMIN + 1);
  pthread_sigmask(SIG_BLOCK, &looks, &before);
  const uint64_t began_ns = now_ns();
  const int got = call(file, mode, at, size);
  ends(KIND_fallocate, began_ns);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return got;
}

// A process that the loop starts may begin on any processor, as it would without
// TURNS_CPUS, and is put on its own afterwards.
int posix_spawn(pid_t *pid, const char *path,
                const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const *arguments,
                char *const *variables) {
  static int (*call)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                     const posix_spawnattr_t *, char *const *, char *const *);
  if (!call) *(void **)&call = next("posix_spawn");
  const bool moves = pins && is_loop;
  if (moves) sched_setaffinity(0, sizeof all_cpus, &all_cpus);
  const uint64_t began_ns = now_ns();
  const int got = call(pid, path, actions, attributes, arguments, variables);
  if (begins()) ends(KIND_posix_spawn, began_ns);
  if (moves) sched_setaffinity(0, sizeof loop_cpu, &loop_cpu);
  if (moves && !got) sched_setaffinity(*pid, sizeof other_cpus, &other_cpus);
  return got;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*run)(void *), void *context) {
  static int (*call)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                     void *);
  if (!call) *(void **)&call = next("pthread_create");
  const uint64_t began_ns = now_ns();
  const int got = call(thread, attributes, run, context);
  if (begins()) ends(KIND_pthread_create, began_ns);
  if (!got && pins && is_loop)
    pthread_setaffinity_np(*thread, sizeof other_cpus, &other_cpus);
  return got;
}

static void look(int number) {
  (void)number;
  if (!begins()) return;
  const uint32_t seen = turn.looks++;
  const uint32_t place = seen < LOOKS ? seen : (uint32_t)rand_r(&dice) % seen;
  if (place < LOOKS) turn.depth[place] = backtrace(turn.frames[place], FRAMES);
}

static void look_each(uint64_t ns) {
  const struct itimerspec when = {{0, (long)ns}, {0, (long)ns}};
  if (looks_on) timer_settime(looker, 0, &when, NULL);
}

static void tell(void) {
  FILE *file = fopen(getenv("TURNS_FILE"), "ae");
  if (!file) return;
  fprintf(
      file,
      "{\"turns\":%llu,\"over_5\":%llu,\"most_ns\":%llu,\"most_queue_ns\":%llu,"
      "\"late_ns\":%llu,"
      "\"wall_ns\":%llu,\"cpu_ns\":%llu,\"queue_ns\":%llu,\"calls\":{",
      (unsigned long long)turns, (unsigned long long)over_5,
      (unsigned long long)most_ns, (unsigned long long)most_queue_ns,
      (unsigned long long)most_late_ns, (unsigned long long)longest.wall_ns,
      (unsigned long long)longest.cpu_ns, (unsigned long long)longest.queue_ns);
  const char *before = "";
  for (int i = 0; i < KINDS; i++) {
    if (!longest.count[i]) continue;
    fprintf(file, "%s\"%s\":[%llu,%u]", before, kNames[i],
            (unsigned long long)longest.ns[i], longest.count[i]);
    before = ",";
  }
  fprintf(file, "},\"looks\":[");
  for (uint32_t i = 0; i < longest.looks && i < LOOKS; i++) {
    fprintf(file, "%s[", i ? "," : "");
    for (int k = 0; k < longest.depth[i]; k++) {
      Dl_info in = {0};
      void *at = longest.frames[i][k];
      const bool found = dladdr(at, &in) && in.dli_fname;
      fprintf(file, "%s[\"%s\",%llu,\"%s\"]", k ? "," : "",
              found ? in.dli_fname : "?",
              (unsigned long long)((char *)at -
                                   (char *)(found ? in.dli_fbase : NULL)),
              found && in.dli_sname ? in.dli_sname : "");
    }
    fprintf(file, "]");
  }
  fprintf(file, "]}\n");
  fclose(file);
  memset(&longest, 0, sizeof longest);
  turns = over_5 = most_ns = most_queue_ns = most_late_ns = 0;
}

static void on_signal(int number) {
  (void)number;
  asked = 1;
}

__attribute__((constructor)) static void begin(void) {
  void *frames[4];
  (void)backtrace(frames, 4);  // the first call loads a library
  unsetenv("LD_PRELOAD");      // only this process has the loop
  signal(SIGRTMIN, on_signal);
  struct sigaction action = {.sa_handler = look, .sa_flags = SA_RESTART};
  sigaction(SIGRTMIN + 1, &action, NULL);
  int loop = 0, others = 0;
  const char *cpus = getenv("TURNS_CPUS");
  pins = cpus && sscanf(cpus, "%d,%d", &loop, &others) == 2;
  CPU_SET((size_t)loop, &loop_cpu);
  CPU_SET((size_t)others, &other_cpus);
  CPU_OR(&all_cpus, &loop_cpu, &other_cpus);
  if (pins) sched_setaffinity(0, sizeof other_cpus, &other_cpus);
}

static void begin_loop(void) {
  is_loop = true;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", gettid());
  queue_file =
      (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (pins) sched_setaffinity(0, sizeof loop_cpu, &loop_cpu);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                           .sigev_signo = SIGRTMIN + 1};
  event._sigev_un._tid = gettid();
  looks_on = timer_create(CLOCK_MONOTONIC, &event, &looker) == 0;
}

static uint64_t ran_ns(const turn_t *one) {
  return one->wall_ns > one->queue_ns ? one->wall_ns - one->queue_ns : 0;
}

static void end_turn(void) {
  in_turn = 0;
  turn.wall_ns = now_ns() - turn.began_ns;
  look_each(0);
  turns++;
  over_5 += turn.wall_ns > 5 * MS;
  if (turn.wall_ns <= ran_ns(&longest)) return;
  turn.cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - turn.cpu_ns;
  turn.queue_ns = queue_ns() - turn.queue_ns;
  if (turn.wall_ns > most_ns) {
    most_ns = turn.wall_ns;
    most_queue_ns = turn.queue_ns;
  }
  if (ran_ns(&turn) > ran_ns(&longest)) longest = turn;
}

static void begin_turn(void) {
  static uint64_t before_ns;
  memset(turn.ns, 0, sizeof turn.ns);
  memset(turn.count, 0, sizeof turn.count);
  turn.looks = 0;
  const uint64_t queue = queue_ns();
  if (before_ns && queue - before_ns > most_late_ns)
    most_late_ns = queue - before_ns;
  turn.queue_ns = before_ns = queue;
  turn.cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
  look_each(MS);
  turn.began_ns = now_ns();
  in_turn = 1;
}

int epoll_wait(int file, struct epoll_event *events, int count, int timeout) {
  static int (*call)(int, struct epoll_event *, int, int);
  if (!call) *(void **)&call = next("epoll_wait");
  if (!is_loop && gettid() != getpid())
    return call(file, events, count, timeout);
  if (!is_loop) begin_loop();
  else if (in_turn) end_turn();
  if (asked) {
    asked = 0;
    tell();
  }
  const int ready = call(file, events, count, timeout);
  begin_turn();
  return ready;
}
