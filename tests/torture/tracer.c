// SPDX-License-Identifier: Apache-2.0
//
// Runs a program and makes system calls fail in it, and in the processes that it
// starts, as control.h says:
//   torture_tracer CONTROL LOG PRELOAD PROGRAM ARGUMENT...
// A seccomp filter stops only the calls that are listed here, so all others run at full
// speed. LOG gets a line for each process that was ended by a signal, and for each that
// still exists when the program has ended. PRELOAD, unless empty, is loaded into the
// program, and into its workers, which get no environment otherwise.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#define SKIPPED 77
#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---------------------------------------------------------------------------
// The faults

enum { STORED = 1, STREAM = 2, SOCKET = 4, OTHER = 8, EVERY = 16 };
enum { FAIL, RESET, LESS, HEAP, CLOCK };

#define END (-1)
static const int kNone[] = {END};
static const int kOpening[] = {SYS_open,
                               SYS_openat,
                               SYS_openat2,
                               SYS_socket,
                               SYS_socketpair,
                               SYS_accept4,
                               SYS_pipe2,
                               SYS_eventfd2,
                               SYS_epoll_create1,
                               SYS_memfd_create,
                               SYS_pidfd_open,
                               SYS_inotify_init1,
                               SYS_signalfd4,
                               SYS_timerfd_create,
                               SYS_dup,
                               SYS_fcntl,
                               END};
static const int kMapping[] = {SYS_mmap,    SYS_mremap, SYS_mprotect,
                               SYS_madvise, SYS_execve, SYS_fallocate,
                               END};
static const int kStarting[] = {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork,
                                END};
static const int kStoring[] = {
    SYS_write,     SYS_pwrite64, SYS_writev, SYS_ftruncate, SYS_fallocate,
    SYS_mkdir,     SYS_mkdirat,  SYS_rename, SYS_renameat2, SYS_fsync,
    SYS_sendfile,  SYS_renameat, SYS_link,   SYS_symlink,   SYS_copy_file_range,
    SYS_fdatasync, END};
static const int kWatching[] = {SYS_inotify_add_watch, SYS_bind, SYS_listen,
                                END};
static const int kReading[] = {
    SYS_read,     SYS_pread64,         SYS_readv, SYS_newfstatat,
    SYS_fstat,    SYS_getdents64,      SYS_lseek, SYS_statx,
    SYS_sendfile, SYS_copy_file_range, SYS_fsync, END};
static const int kNaming[] = {
    SYS_open,     SYS_openat,  SYS_openat2, SYS_newfstatat,
    SYS_stat,     SYS_access,  SYS_chmod,   SYS_fchmod,
    SYS_chown,    SYS_fchown,  SYS_unlink,  SYS_mkdir,
    SYS_rename,   SYS_bind,    SYS_execve,  SYS_getcwd,
    SYS_readlink, SYS_connect, END};
static const int kWaiting[] = {SYS_read,        SYS_write,
                               SYS_readv,       SYS_writev,
                               SYS_pread64,     SYS_pwrite64,
                               SYS_sendmsg,     SYS_recvmsg,
                               SYS_sendto,      SYS_recvfrom,
                               SYS_accept4,     SYS_epoll_wait,
                               SYS_epoll_pwait, SYS_poll,
                               SYS_ppoll,       SYS_wait4,
                               SYS_waitid,      SYS_openat,
                               SYS_sendfile,    SYS_ftruncate,
                               SYS_fallocate,   SYS_futex,
                               SYS_nanosleep,   SYS_select,
                               SYS_flock,       SYS_clock_nanosleep,
                               SYS_getrandom,   END};
static const int kTransfers[] = {
    SYS_read,     SYS_write,           SYS_readv,    SYS_writev,   SYS_pread64,
    SYS_pwrite64, SYS_sendto,          SYS_recvfrom, SYS_sendfile, SYS_sendmsg,
    SYS_recvmsg,  SYS_copy_file_range, END};
static const int kAccepting[] = {SYS_accept4, END};
// Calls that an old kernel may lack, or that a container's filter may refuse.
static const int kOptional[] = {SYS_memfd_create,
                                SYS_pidfd_open,
                                SYS_pidfd_send_signal,
                                SYS_openat2,
                                SYS_close_range,
                                SYS_statx,
                                SYS_copy_file_range,
                                SYS_getrandom,
                                SYS_clone3,
                                SYS_seccomp,
                                SYS_landlock_create_ruleset,
                                SYS_landlock_add_rule,
                                SYS_landlock_restrict_self,
                                SYS_sched_setaffinity,
                                SYS_inotify_init1,
                                SYS_prlimit64,
                                SYS_madvise,
                                SYS_unshare,
                                SYS_fallocate,
                                SYS_capset,
                                SYS_epoll_pwait,
                                SYS_getcpu,
                                SYS_sched_getaffinity,
                                SYS_memfd_secret,
                                SYS_epoll_pwait2,
                                SYS_faccessat2,
                                END};

// Calls by which a process gives up rights.
static const int kConfining[] = {SYS_prctl,
                                 SYS_seccomp,
                                 SYS_landlock_create_ruleset,
                                 SYS_landlock_add_rule,
                                 SYS_landlock_restrict_self,
                                 SYS_unshare,
                                 SYS_prlimit64,
                                 SYS_setrlimit,
                                 SYS_setresuid,
                                 SYS_setresgid,
                                 SYS_setuid,
                                 SYS_setgid,
                                 SYS_setgroups,
                                 SYS_capset,
                                 SYS_setsid,
                                 SYS_setpriority,
                                 SYS_personality,
                                 SYS_close_range,
                                 END};

typedef struct row_t {
  const char *name;
  uint64_t times;
  int effect;
  int error;
  const int *calls;
  int files;
} row_t;

static const row_t kRows[] = {
    [FAULT_NONE] = {0},
#define FAULT(name, times, effect, error, calls, files) \
  [FAULT_##name] = {#name, times, effect, error, calls, files},
#include "faults.def"
#undef FAULT
};

// These calls are always stopped, to give a worker an environment, and to keep
// processes dumpable.
static const int kAlways[] = {SYS_execve, SYS_prctl, END};

static bool is_among(int call, const int *calls) {
  while (*calls != END && *calls != call) calls++;
  return *calls != END;
}

// ---------------------------------------------------------------------------
// Processes

typedef struct process_t {
  pid_t id;  // 0: free
  bool ours;
  bool begun;                  // see CONTROL_BEGIN
  uintptr_t base, begin, end;  // its program's code
  char stack[600];             // at the signal that may end it
} process_t;

#define PROCESSES_MAX 256
static process_t processes[PROCESSES_MAX];
static control_t *control;
static FILE *report;
static pid_t leader;
static uintptr_t environment;  // of the leader, in its memory
static bool loaded_too;        // there is a PRELOAD
static pid_t returning;        // a thread whose call has another result
static long returned;          // namely this

static void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(report, format, arguments);
  va_end(arguments);
  fflush(report);
}

static process_t *find(pid_t id) {
  for (size_t i = 0; i < PROCESSES_MAX; i++) {
    if (processes[i].id == id) return &processes[i];
  }
  return NULL;
}

static process_t *add(pid_t id, const process_t *parent) {
  process_t *process = find(0);
  if (!process) return NULL;
  *process = parent ? *parent : (process_t){0};
  process->id = id;
  return process;
}

static pid_t group_of(pid_t thread) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
  FILE *file = fopen(path, "re");
  if (!file) return thread;
  int group = thread;
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "Tgid: %d", &group) == 1) break;
  }
  fclose(file);
  return group;
}

// The threads seen so far, so that /proc is read only once for each.
static struct { pid_t thread, group; } groups[1024];

static process_t *process_of(pid_t thread) {
  const size_t at = (size_t)thread % COUNT(groups);
  if (groups[at].thread != thread) {
    groups[at].thread = thread;
    groups[at].group = group_of(thread);
  }
  process_t *process = find(groups[at].group);
  return process ? process : add(groups[at].group, find(leader));
}

static void learn_program(process_t *process) {
  char path[64], name[512], line[1024];
  snprintf(path, sizeof path, "/proc/%d/exe", (int)process->id);
  const ssize_t size = readlink(path, name, sizeof name - 1);
  name[size < 0 ? 0 : size] = 0;
  const char *last = strrchr(name, '/');
  process->ours = last && !strncmp(last + 1, OURS, strlen(OURS));
  process->base = process->begin = process->end = 0;
  snprintf(path, sizeof path, "/proc/%d/maps", (int)process->id);
  FILE *file = fopen(path, "re");
  while (file && fgets(line, sizeof line, file)) {
    unsigned long from, to;
    char rights[8];
    if (!strstr(line, name)) continue;
    if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3) continue;
    if (!process->base) process->base = from;
    if (rights[2] == 'x') process->begin = from, process->end = to;
  }
  if (file) fclose(file);
}

// Finds the addresses on the stack that point into the program; they include those of
// the callers. Returns their number.
static size_t find_callers(const process_t *process, pid_t thread, size_t max,
                           uintptr_t *out) {
  struct user_regs_struct registers;
  uintptr_t words[500] = {0};
  if (ptrace(PTRACE_GETREGS, thread, NULL, &registers)) return 0;
  struct iovec here = {words, sizeof words},
               there = {(void *)(uintptr_t)registers.rsp, sizeof words};
  ssize_t got = process_vm_readv(thread, &here, 1, &there, 1, 0);
  for (size_t i = 0; got < 0 && i < COUNT(words);
       i++) {  // the stack ends sooner
    errno = 0;
    words[i] =
        (uintptr_t)ptrace(PTRACE_PEEKDATA, thread,
                          (void *)((uintptr_t)registers.rsp + 8 * i), NULL);
    if (errno) break;
  }
  size_t count = 0;
  for (size_t i = 0; i <= COUNT(words) && count < max; i++) {
    const uintptr_t word = i ? words[i - 1] : (uintptr_t)registers.rip;
    if (word < process->begin || word >= process->end) continue;
    out[count++] = word - process->base;
  }
  return count;
}

static void note_stack(const process_t *process, pid_t thread, char *out,
                       size_t size) {
  uintptr_t callers[64];
  const size_t count = find_callers(process, thread, COUNT(callers), callers);
  size_t used = 0;
  out[0] = 0;
  for (size_t i = 0; i < count && used + 24 < size; i++) {
    used += (size_t)snprintf(out + used, size - used, "%#zx ", callers[i]);
  }
}

// ---------------------------------------------------------------------------
// One system call

typedef struct call_t {
  process_t *process;
  pid_t thread;
  struct user_regs_struct registers;
} call_t;

static int number_of(const call_t *call) {
  return (int)call->registers.orig_rax;
}

static void put(const call_t *call) {
  ptrace(PTRACE_SETREGS, call->thread, NULL, &call->registers);
}

static void skip(call_t *call, long result) {
  call->registers.orig_rax = (unsigned long long)-1;
  call->registers.rax = (unsigned long long)result;
  put(call);
}

static int kind_of(const call_t *call, int descriptor) {
  char path[64], name[256];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)call->thread, descriptor);
  const ssize_t size = readlink(path, name, sizeof name - 1);
  name[size < 0 ? 0 : size] = 0;
  if (!strncmp(name, "socket:", 7)) return SOCKET | STREAM;
  if (!strncmp(name, "pipe:", 5)) return STREAM;
  if (name[0] != '/' || !strncmp(name, "/dev/", 5)) return OTHER;
  return STORED;  // memory files too, which are files of a tmpfs
}

static bool is_meant(const call_t *call, const row_t *row) {
  const int number = number_of(call);
  if (!is_among(number, row->calls)) return false;
  if (number == SYS_fcntl) {
    const int what = (int)call->registers.rsi;
    return what == F_DUPFD || what == F_DUPFD_CLOEXEC;
  }
  if (number == SYS_futex) {  // waking is never interrupted
    const int what = (int)call->registers.rsi & FUTEX_CMD_MASK;
    return what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET;
  }
  if ((number == SYS_write || number == SYS_writev) &&
      call->registers.rdi == 2) {
    return false;  // where errors are told
  }
  if (row->files == EVERY) return true;
  switch (number) {
    case SYS_mkdir:
    case SYS_mkdirat:
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_link:
    case SYS_symlink:
      return true;
    case SYS_newfstatat:
    case SYS_statx:
      if ((int)call->registers.rdi == AT_FDCWD) return true;
      break;
    case SYS_copy_file_range:  // and sendfile below: of the file that is read
      break;
    case SYS_sendfile:
      if (row->calls != kReading) break;
      return (kind_of(call, (int)call->registers.rsi) & row->files) != 0;
    default:
      break;
  }
  const int kind = kind_of(call, (int)call->registers.rdi);
  // A pipe transfers so few bytes either all at once or not at all.
  if (kind == STREAM && row->effect == LESS &&
      call->registers.rdx <= PIPE_BUF) {
    return false;
  }
  return (kind & row->files) != 0;
}

static unsigned long peek(pid_t thread, unsigned long long address) {
  return (unsigned long)ptrace(PTRACE_PEEKDATA, thread,
                               (void *)(uintptr_t)address, NULL);
}

// Half of the requested bytes, but not many: otherwise a large body would take all day.
static unsigned long long less(unsigned long long size) {
  if (size < 2) return size;
  return size / 2 < 4096 ? size / 2 : 4096;
}

static void shorten(call_t *call) {
  struct user_regs_struct *registers = &call->registers;
  switch (number_of(call)) {
    case SYS_readv:
    case SYS_writev:  // become calls with the first of the vectors alone
      registers->orig_rax = number_of(call) == SYS_readv ? SYS_read : SYS_write;
      registers->rdx = less(peek(call->thread, registers->rsi + 8));
      registers->rsi = peek(call->thread, registers->rsi);
      break;
    case SYS_sendfile:
      registers->r10 = less(registers->r10);
      break;
    case SYS_copy_file_range:
      registers->r8 = less(registers->r8);
      break;
    case SYS_sendmsg:
    case SYS_recvmsg:
      return;
    default:
      registers->rdx = less(registers->rdx);
      break;
  }
  put(call);
}

// Ends the connection: the call becomes shutdown, and its result is changed when it
// returns (on_return).
static void shut(call_t *call, int error) {
  call->registers.orig_rax = SYS_shutdown;
  call->registers.rsi = SHUT_RDWR;
  put(call);
  returning = call->thread;
  returned = -error;
}

static void on_return(pid_t thread) {
  struct user_regs_struct registers;
  returning = 0;
  if (ptrace(PTRACE_GETREGS, thread, NULL, &registers)) return;
  registers.rax = (unsigned long long)returned;
  ptrace(PTRACE_SETREGS, thread, NULL, &registers);
}

static void note_site(const call_t *call, uint64_t number) {
  uintptr_t callers[SITE_DEPTH];
  const size_t count =
      find_callers(call->process, call->thread, SITE_DEPTH, callers);
  uint32_t site = control_site(0, (uint64_t)number_of(call));
  for (size_t i = 0; i < count; i++) site = control_site(site, callers[i]);
  control_note(control, number, site);
}

static void inject(call_t *call) {
  const uint64_t fault = atomic_load(&control->fault);
  if (fault == FAULT_NONE || fault >= FAULT_COUNT) return;
  const row_t *row = &kRows[fault];
  const process_t *process = call->process;
  if (!process->ours || (process->id == leader && !process->begun)) return;
  if (!is_meant(call, row)) return;
  uint64_t number;
  const bool hit = control_hit(control, &number);
  if (number) note_site(call, number);
  if (!hit) return;
  if (atomic_load(&control->injected) == 1) {
    const size_t used = (size_t)snprintf(
        control->where, sizeof control->where,
        "call %d of %s: ", number_of(call),
        call->process->id == leader ? "the program" : "a worker");
    note_stack(call->process, call->thread, control->where + used,
               sizeof control->where - used);
  }
  if (row->effect == LESS) shorten(call);
  else if (row->effect == RESET) shut(call, row->error);
  else skip(call, -row->error);
}

static bool is_of_jail(int option) {
  return option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS ||
         option == PR_CAPBSET_DROP || option == PR_SET_MDWE ||
         option == PR_CAP_AMBIENT || option == PR_SET_PDEATHSIG ||
         option == PR_SET_SECUREBITS;
}

static void on_call(pid_t thread) {
  call_t call = {.process = process_of(thread), .thread = thread};
  if (!call.process) return;
  if (ptrace(PTRACE_GETREGS, thread, NULL, &call.registers)) return;
  if (number_of(&call) == SYS_execve && environment &&
      peek(thread, call.registers.rdx) == 0) {
    // A worker gets the environment from the leader's memory, from which it was
    // started.
    call.registers.rdx = environment;
    put(&call);
  }
  if (number_of(&call) == SYS_prctl) {
    if (call.registers.rdi == CONTROL_BEGIN) call.process->begun = true;
    if (call.registers.rdi == PR_SET_DUMPABLE) skip(&call, 0);
    if (!is_of_jail((int)call.registers.rdi)) return;
  }
  inject(&call);
}

// ---------------------------------------------------------------------------
// What happens to processes

static void on_exec(pid_t id) {
  process_t *process = process_of(id);
  if (!process) return;
  process->begun = !loaded_too;
  learn_program(process);
  if (id != leader || environment) return;
  struct user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, id, NULL, &registers)) return;
  const uintptr_t arguments = (uintptr_t)peek(id, registers.rsp);
  environment = (uintptr_t)registers.rsp + 8 * (arguments + 2);
}

static void on_end(pid_t id, int status) {
  process_t *process = find(id);
  if (!process) return;
  if (WIFSIGNALED(status) && (process->begun || id == leader)) {
    say("ended %s by signal %d: %s\n",
        id == leader ? "program" : (process->ours ? "worker" : "other"),
        WTERMSIG(status), process->stack);
  }
  process->id = 0;
}

static int on_stop(pid_t id, int status) {
  const int signal = WSTOPSIG(status), event = status >> 16;
  if (signal == (SIGTRAP | 0x80)) {
    on_return(id);
    return 0;
  }
  switch (event) {
    case PTRACE_EVENT_SECCOMP:
      on_call(id);
      return 0;
    case PTRACE_EVENT_EXEC:
      on_exec(id);
      return 0;
    case PTRACE_EVENT_STOP:
      return 0;
    case 0:
      break;
    default:
      return 0;
  }
  process_t *process = process_of(id);
  if (process && (signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS ||
                  signal == SIGILL || signal == SIGFPE || signal == SIGSYS)) {
    note_stack(process, id, process->stack, sizeof process->stack);
  }
  return signal;
}

static bool is_stopped_by_job(int status) {
  const int signal = WSTOPSIG(status);
  return status >> 16 == PTRACE_EVENT_STOP &&
         (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN ||
          signal == SIGTTOU);
}

static void resume(pid_t id, bool stays, int signal) {
  ptrace(stays             ? PTRACE_LISTEN
         : id == returning ? PTRACE_SYSCALL
                           : PTRACE_CONT,
         id, NULL, (long)signal);
}

// Traces until the leader ends; returns its status.
static int trace(void) {
  for (;;) {
    int status;
    const pid_t id = waitpid(-1, &status, __WALL);
    if (id < 0 && errno == EINTR) continue;
    if (id < 0) return 1 << 8;
    if (WIFSTOPPED(status)) {
      const bool stays = is_stopped_by_job(status);
      const int signal = on_stop(id, status);
      resume(id, stays, signal);
      continue;
    }
    groups[(size_t)id % COUNT(groups)].thread = 0;
    on_end(id, status);
    if (id == leader) return status;
  }
}

// The processes that are left have two seconds to notice the program's end.
static void end_the_rest(void) {
  for (int turn = 0; turn < 400; turn++) {
    int status;
    const pid_t id = waitpid(-1, &status, __WALL | WNOHANG);
    if (id < 0 && errno == ECHILD) return;
    if (id > 0 && WIFSTOPPED(status)) {
      const bool stays = is_stopped_by_job(status);
      const int signal = on_stop(id, status);
      resume(id, stays, signal);
    } else if (id > 0) {
      on_end(id, status);
    } else {
      nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
  }
  for (size_t i = 0; i < PROCESSES_MAX; i++) {
    if (!processes[i].id) continue;
    say("left %s\n", processes[i].ours ? "worker" : "other");
    kill(processes[i].id, SIGKILL);
  }
}

// ---------------------------------------------------------------------------
// Starting the program

static void filter_calls(void) {
  static int calls[400];
  size_t count = 0;
  const int *lists[FAULT_COUNT + 1];
  for (int i = 1; i < FAULT_COUNT; i++) lists[i] = kRows[i].calls;
  lists[0] = kAlways;
  for (int i = 0; i < FAULT_COUNT; i++) {
    for (const int *at = lists[i]; *at != END; at++) {
      calls[count] = END;
      if (!is_among(*at, calls)) calls[count++] = *at;
    }
  }
  static struct sock_filter program[400];
  size_t size = 0;
  program[size++] = (struct sock_filter)BPF_STMT(
      BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < count; i++) {
    program[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                   (unsigned)calls[i], 0, 1);
    program[size++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
  }
  program[size++] =
      (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog filter = {(unsigned short)size, program};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) return;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) {
    return;
  }
  perror("a seccomp filter");
  _exit(SKIPPED);
}

static void run(int gate, const char *preload, char **words) {
  char byte;
  if (read(gate, &byte, 1) != 1) _exit(SKIPPED);
  close(gate);
  if (*preload) setenv("LD_PRELOAD", preload, 1);
  filter_calls();
  execv(words[0], words);
  perror(words[0]);
  _exit(127);
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "--faults")) {
    for (int i = 1; i < FAULT_COUNT; i++) {
      printf("%s %d %s\n", kRows[i].name,
             kRows[i].times == FOREVER ? -1 : (int)kRows[i].times,
             kRows[i].effect >= HEAP ? "preload" : "call");
    }
    return 0;
  }
  if (argc < 5) return 64;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // and PTRACE_O_EXITKILL ends the others
  const int fd = open(argv[1], O_RDWR | O_CLOEXEC);
  control =
      mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  report = fopen(argv[2], "ae");
  loaded_too = *argv[3] != 0;
  if (fd < 0 || control == MAP_FAILED || !report) return SKIPPED;
  close(fd);
  setenv("TORTURE_CONTROL", argv[1], 1);
  int gate[2];
  if (pipe(gate) < 0) return SKIPPED;
  leader = fork();
  if (leader == 0) {
    close(gate[1]);
    run(gate[0], argv[3], argv + 4);
  }
  close(gate[0]);
  const long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD |
                       PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                       PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
                       PTRACE_O_EXITKILL;
  if (leader < 0 || ptrace(PTRACE_SEIZE, leader, NULL, options)) {
    perror("ptrace");
    return SKIPPED;
  }
  // Only the program is asked to end, not its tracer.
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  add(leader, NULL);
  atomic_store(&control->pid, (uint64_t)leader);
  if (write(gate[1], "x", 1) != 1) return SKIPPED;
  close(gate[1]);
  const int status = trace();
  end_the_rest();
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
