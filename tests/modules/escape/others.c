// SPDX-License-Identifier: Apache-2.0
//
// Attempts at another process `a`: a neighbour, the server, or a worker of another
// module.
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "escape.h"

static int open_of(int pid, const char *name, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  // O_NONBLOCK: otherwise a pipe would wait for a writer.
  return open(path, flags | O_NONBLOCK);
}

KIND(trace) {
  if (ptrace(PTRACE_SEIZE, a, 0, 0)) return errno;
  ptrace(PTRACE_INTERRUPT, a, 0, 0);
  waitpid(a, NULL, __WALL);
  return error_of(ptrace(PTRACE_DETACH, a, 0, 0));
}
KIND(read_memory) {
  char text[64];
  struct iovec to = {text, sizeof text}, from = {(void *)ADDRESS, sizeof text};
  return is_secret(text, process_vm_readv(a, &to, 1, &from, 1, 0));
}
KIND(write_memory) {
  char text[] = "written";
  struct iovec from = {text, sizeof text};
  struct iovec to = {(void *)(ADDRESS + 4096), sizeof text};
  return error_of(process_vm_writev(a, &from, 1, &to, 1, 0));
}
KIND(memory_file) {
  char text[64];
  int fd = open_of(a, "mem", O_RDONLY);
  if (fd < 0) return errno;
  ssize_t size = pread(fd, text, sizeof text, ADDRESS);
  int32_t result = is_secret(text, size);
  close(fd);
  return result;
}
KIND(open_memory) { return gets(open_of(a, "mem", O_RDWR)); }
KIND(addresses) { return gets(open_of(a, "maps", O_RDONLY)); }
KIND(environment_of) { return reads(open_of(a, "environ", O_RDONLY)); }
KIND(file_of) { return reads(open_of(a, "fd/50", O_RDONLY)); }
// The result does not say how many files of the process could be opened: one is too
// many.
KIND(any_file_of) {
  int32_t error = NOTHING;
  for (int i = 0; i < 256; i++) {
    char name[16];
    snprintf(name, sizeof name, "fd/%d", i);
    int fd = open_of(a, name, O_RDWR);
    if (fd >= 0) return gets(fd);
    if (errno != ENOENT) error = errno;
  }
  return error;
}
KIND(take_descriptor) {
  int process = (int)syscall(SYS_pidfd_open, a, 0);
  if (process < 0) return errno;
  int fd = (int)syscall(SYS_pidfd_getfd, process, DESCRIPTOR, 0);
  int32_t error = errno;
  char text[64];
  close(process);
  if (fd < 0) return error;
  int32_t result = is_secret(text, pread(fd, text, sizeof text, 0));
  close(fd);
  return result;
}
KIND(compare) {
  return error_of(syscall(SYS_kcmp, getpid(), a, KCMP_VM, 0, 0));
}
KIND(advise_memory) {
  struct iovec part = {(void *)ADDRESS, 4096};
  int process = (int)syscall(SYS_pidfd_open, a, 0);
  if (process < 0) return errno;
  long result = syscall(SYS_process_madvise, process, &part, 1, MADV_COLD, 0);
  int32_t error = error_of(result);
  close(process);
  return error;
}
KIND(move_memory) {
  return error_of(syscall(SYS_move_pages, a, 0, NULL, NULL, NULL, 0));
}

// SIGURG has no effect on a process that does not wait for it.
KIND(signal_one) { return error_of(kill(a, SIGURG)); }
KIND(signal_all) { return error_of(kill(-1, SIGURG)); }
KIND(signal_group) { return error_of(kill(-getpgid(a), SIGURG)); }
KIND(signal_thread) { return error_of(syscall(SYS_tgkill, a, a, SIGURG)); }
KIND(signal_old_way) { return error_of(syscall(SYS_tkill, a, SIGURG)); }
KIND(signal_queued) { return error_of(sigqueue(a, SIGURG, (union sigval){0})); }
KIND(signal_by_descriptor) {
  int process = (int)syscall(SYS_pidfd_open, a, 0);
  if (process < 0) return errno;
  int32_t result =
      error_of(syscall(SYS_pidfd_send_signal, process, SIGURG, NULL, 0));
  close(process);
  return result;
}
KIND(signal_by_file) {  // a pipe that is readable sends it
  int ends[2];
  if (pipe(ends)) return errno;
  int32_t result = error_of(fcntl(ends[0], F_SETOWN, a));
  if (!result) result = error_of(fcntl(ends[0], F_SETSIG, SIGURG));
  if (!result) result = error_of(fcntl(ends[0], F_SETFL, O_ASYNC));
  (void)!write(ends[1], "x", 1);
  close(ends[0]);
  close(ends[1]);
  return result;
}

KIND(limit) {
  struct rlimit now;
  if (prlimit(a, RLIMIT_NOFILE, NULL, &now)) return errno;
  return error_of(prlimit(a, RLIMIT_NOFILE, &now, NULL));
}
KIND(bind_to_cpu) {
  cpu_set_t set;
  if (sched_getaffinity(a, sizeof set, &set)) return errno;
  return error_of(sched_setaffinity(a, sizeof set, &set));
}
KIND(schedule) {
  struct sched_param none = {0};
  return error_of(sched_setscheduler(a, SCHED_OTHER, &none));
}
KIND(priority) { return error_of(setpriority(PRIO_PROCESS, a, 10)); }
KIND(disk_priority) {
  return error_of(syscall(SYS_ioprio_set, 1, a, 2 << 13 | 4));
}
KIND(choose_for_death) {
  int fd = open_of(a, "oom_score_adj", O_WRONLY);
  if (fd < 0) return errno;
  int32_t result = error_of(write(fd, "500", 3));
  close(fd);
  return result;
}
KIND(enter_namespace) {
  int fd = open_of(a, "ns/net", O_RDONLY);
  if (fd < 0) return errno;
  int32_t result = error_of(setns(fd, 0));
  close(fd);
  return result;
}
