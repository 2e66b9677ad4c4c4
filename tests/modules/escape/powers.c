// SPDX-License-Identifier: Apache-2.0
//
// Attempts at other programs, processes and privileges.
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#include "escape.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

static char *const kShell[] = {"sh", "-c", "exit 42", NULL};
static char *const kNoVariables[] = {NULL};

// A program replaces the worker: the call ends with its exit status.
KIND(run_program) { return error_of(execve("/bin/sh", kShell, kNoVariables)); }
KIND(run_program_at) {
  return error_of(
      syscall(SYS_execveat, AT_FDCWD, "/bin/sh", kShell, kNoVariables, 0));
}
KIND(run_from_memory) {
  static const char kScript[] = "#!/bin/sh\nexit 42\n";
  int fd = (int)syscall(SYS_memfd_create, "program", 0);
  if (fd < 0) return errno;
  if (write(fd, kScript, sizeof kScript - 1) < 0) return errno;
  return error_of(
      syscall(SYS_execveat, fd, "", kShell, kNoVariables, AT_EMPTY_PATH));
}

static int32_t ended(long pid) {
  if (pid == 0) _exit(0);
  if (pid < 0) return errno;
  waitpid((int)pid, NULL, __WALL);
  return 0;
}
KIND(fork_process) { return ended(fork()); }
KIND(vfork_process) {
  int pid = vfork();
  if (pid == 0) _exit(0);
  return ended(pid);
}
KIND(clone_process) { return ended(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }
KIND(clone3_process) {
  struct {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, rest[6];
  } how = {.exit_signal = SIGCHLD};
  return ended(syscall(SYS_clone3, &how, 64));
}
KIND(clone_in_namespace) {
  return ended(syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER, 0, 0, 0, 0));
}

KIND(become_other_user) { return error_of(setresuid(1, 1, 1)); }
KIND(become_root) { return error_of(setresuid(0, 0, 0)); }
static int32_t wants(int capability) {
  struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &head, data)) return errno;
  data[capability / 32].permitted |= 1u << capability % 32;
  data[capability / 32].effective |= 1u << capability % 32;
  return error_of(syscall(SYS_capset, &head, data));
}
KIND(administer) { return wants(CAP_SYS_ADMIN); }
KIND(read_any_file) { return wants(CAP_DAC_READ_SEARCH); }
KIND(may_gain_privileges) {  // a program with the set-user-ID bit would work
  int held = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  return held < 0 ? errno : held ? EPERM : 0;
}
KIND(be_dumpable) { return error_of(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }
KIND(outlive_server) { return error_of(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)); }
KIND(filter_calls) {
  struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  struct sock_fprog program = {1, &allow};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return error_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}
KIND(many_files) {
  int count = 0;
  struct rlimit most;
  if (getrlimit(RLIMIT_NOFILE, &most)) return errno;
  most.rlim_cur = most.rlim_max;
  setrlimit(RLIMIT_NOFILE, &most);
  int fds[200];
  int32_t error = 0;
  while (count < 200 && (fds[count] = dup(1)) >= 0) count++;
  if (count < 200) error = errno;
  while (count > 0) close(fds[--count]);
  return error;
}
KIND(be_first) { return error_of(setpriority(PRIO_PROCESS, 0, 10)); }
KIND(be_real_time) {
  struct sched_param most = {1};
  return error_of(sched_setscheduler(0, SCHED_RR, &most));
}
KIND(survive_memory_shortage) {
  int fd = open("/proc/self/oom_score_adj", O_WRONLY);
  if (fd < 0) return errno;
  int32_t result = error_of(write(fd, "999", 3));
  close(fd);
  return result;
}

KIND(mount_folder) {
  return error_of(mount("none", TEMPORARY, "tmpfs", 0, ""));
}
KIND(unmount_folder) {  // EINVAL: it may, but the folder is no mount
  int32_t error = error_of(umount2(MODULES, MNT_DETACH));
  return error == EINVAL ? 0 : error;
}
KIND(mount_new_way) { return gets((int)syscall(SYS_fsopen, "tmpfs", 0)); }
KIND(copy_mounts) { return gets((int)syscall(SYS_open_tree, -1, "/mnt", 1)); }
KIND(own_user_namespace) { return error_of(unshare(CLONE_NEWUSER)); }
KIND(own_network_namespace) { return error_of(unshare(CLONE_NEWNET)); }
KIND(change_root) { return error_of(chroot(TEMPORARY)); }
KIND(swap_root) {  // EINVAL: it may, but the folder is no mount
  int32_t error = error_of(syscall(SYS_pivot_root, MODULES, MODULES));
  return error == EINVAL ? 0 : error;
}
KIND(rename_machine) { return error_of(sethostname("escaped", 7)); }
KIND(set_clock) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return error_of(clock_settime(CLOCK_REALTIME, &now));
}
KIND(read_kernel_messages) { return error_of(klogctl(10, NULL, 0)); }

KIND(add_key) {
  return error_of(syscall(SYS_add_key, "user", "escaped", "x", 1,
                          KEY_SPEC_PROCESS_KEYRING));
}
KIND(find_key) {
  long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user",
                     "farcall-neighbour", 0);
  char text[64];
  if (key < 0) return errno;
  return is_secret(text, syscall(SYS_keyctl, KEYCTL_READ, key, text, 64));
}
KIND(request_key) {
  // ENOKEY means that the key was searched for.
  int32_t error =
      error_of(syscall(SYS_request_key, "user", "escaped", NULL, 0));
  return error == ENOKEY ? 0 : error;
}
KIND(join_keyring) {
  return error_of(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL));
}

KIND(change_personality) { return error_of(personality(ADDR_NO_RANDOMIZE)); }
KIND(handle_faults) {
  return gets((int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
}
KIND(load_bpf) {
  union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY,
                        .key_size = 4,
                        .value_size = 4,
                        .max_entries = 1};
  return gets((int)syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map));
}
KIND(watch_performance) {
  struct perf_event_attr what = {.type = PERF_TYPE_SOFTWARE,
                                 .size = sizeof what,
                                 .config = PERF_COUNT_SW_TASK_CLOCK,
                                 .exclude_kernel = 1,
                                 .exclude_hv = 1};
  return gets((int)syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
}
KIND(type_into_terminal) {
  int head = open("/dev/ptmx", O_RDWR | O_NOCTTY), zero = 0, number;
  if (head < 0) return errno;
  char path[64];
  ioctl(head, TIOCSPTLCK, &zero);
  ioctl(head, TIOCGPTN, &number);
  snprintf(path, sizeof path, "/dev/pts/%d", number);
  setsid();
  int tail = open(path, O_RDWR);
  int32_t result = tail < 0 ? errno : error_of(ioctl(tail, TIOCSTI, "x"));
  close(tail);
  close(head);
  return result;
}
KIND(ioctl_terminal) {  // ENOTTY: the call was made
  int32_t error = error_of(ioctl(1, TIOCSTI, "x"));
  return error == ENOTTY ? 0 : error;
}

#ifdef __x86_64__
// The calls of 32-bit programs have other numbers: there 2 is fork.
KIND(call_as_32_bit) {
  int result;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(20)
                   : "memory", "r8", "r9", "r10", "r11");
  return result == getpid() ? 0 : -result;
}
KIND(call_as_x32) {
  return gets((int)syscall(0x40000000 | SYS_open, SECRET, O_RDONLY));
}
#endif
