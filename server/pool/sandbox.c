// SPDX-License-Identifier: Apache-2.0
//
// Limits on what a module may do, for root or any other user. A seccomp filter
// refuses to make processes and to reach other processes by number. They can be
// reached by path as well, /proc/PID/mem for one. Three things prevent that (no
// capabilities, no dumping, Landlock), because none of them is there on every
// machine or works for every user. Neither the rest of the files nor the
// network are hidden, which is the work of the container or unit the server
// runs in.
#include "pool/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN_FILES 64
#define STACK_SIZE (16u << 20)

static fc_status_t fail(const char *what, fc_error_t *err) {
  return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE, "a worker cannot set %s: %s",
                 what, strerror(errno));
}

static void limit(__rlimit_resource_t resource, uint64_t value) {
  struct rlimit now;
  if (getrlimit(resource, &now)) return;
  if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max) {
    value = now.rlim_max;
  }
  now.rlim_cur = value;
  // Only the soft limit of the stack is set; the hard one stays.
  if (resource != RLIMIT_STACK) now.rlim_max = value;
  (void)setrlimit(resource, &now);
}

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the seccomp filter does not know this architecture"
#endif

#define LOAD(member) \
  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
// The next `skip` instructions are for this call only.
#define UNLESS_CALL(name, skip) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, skip)
#define REFUSE_CALL(name) UNLESS_CALL(name, 1), REFUSE(EPERM)
// The first argument must be `self`, the number of this process.
#define ONLY_TO_ITSELF(name)           \
  UNLESS_CALL(name, 4), LOAD(args[0]), \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1), ALLOW, REFUSE(EPERM)
// The same, or 0, which is this thread.
#define ONLY_OF_ITSELF(name)                        \
  UNLESS_CALL(name, 5), LOAD(args[0]),              \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1), ALLOW, REFUSE(EPERM)

static fc_status_t filter_calls(fc_error_t *err) {
  const uint32_t self = (uint32_t)getpid();
  // clang-format off
  struct sock_filter program[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    REFUSE(EPERM),
    LOAD(nr),
#if defined(__x86_64__)
    // The x32 numbers are the same calls again.
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1),
    REFUSE(EPERM),
    REFUSE_CALL(fork),
    REFUSE_CALL(vfork),
#endif
    REFUSE_CALL(execve),
    REFUSE_CALL(execveat),
    REFUSE_CALL(ptrace),
    REFUSE_CALL(process_vm_readv),
    REFUSE_CALL(process_vm_writev),
    REFUSE_CALL(process_madvise),
    REFUSE_CALL(pidfd_getfd),
    REFUSE_CALL(pidfd_send_signal),
    REFUSE_CALL(rt_sigqueueinfo),
    REFUSE_CALL(rt_tgsigqueueinfo),
    REFUSE_CALL(tkill),
    REFUSE_CALL(setns),
    REFUSE_CALL(unshare),
    // A module must not decide which processes run before the server, or where
    // their memory is. It could starve the server even if it might decide this
    // for itself only.
    REFUSE_CALL(sched_setscheduler),
    REFUSE_CALL(sched_setparam),
    REFUSE_CALL(sched_setattr),
    REFUSE_CALL(setpriority),
    REFUSE_CALL(ioprio_set),
    REFUSE_CALL(migrate_pages),
    // The filter does not see the requests that are put into an io_uring.
    REFUSE_CALL(io_uring_setup),
    REFUSE_CALL(io_uring_enter),
    REFUSE_CALL(io_uring_register),
    // A process may bind its own threads to CPUs.
    ONLY_OF_ITSELF(sched_setaffinity),
    ONLY_OF_ITSELF(move_pages),
    // Setting a limit that another process has exceeded would send that process
    // a signal.
    ONLY_OF_ITSELF(prlimit64),
    ONLY_TO_ITSELF(kill),
    ONLY_TO_ITSELF(tgkill),
    // The filter cannot read the flags of clone3, which lie in memory. ENOSYS makes
    // glibc use clone.
    UNLESS_CALL(clone3, 1),
    REFUSE(ENOSYS),
    UNLESS_CALL(clone, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
    ALLOW,
    REFUSE(EPERM),
    // The loop has the same eventfd: a module must not make it block, nor have
    // any file send signals.
    UNLESS_CALL(fcntl, 7),
    LOAD(args[1]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETFL, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETOWN, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETOWN_EX, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETSIG, 1, 0),
    ALLOW,
    REFUSE(EPERM),
    UNLESS_CALL(ioctl, 7),
    LOAD(args[1]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIONBIO, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIOASYNC, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIOSETOWN, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIOCSPGRP, 1, 0),
    ALLOW,
    REFUSE(EPERM),
    // The process must end with its parent, whatever a module wants.
    UNLESS_CALL(prctl, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 1, 0),
    ALLOW,
    REFUSE(EPERM),
    ALLOW,
  };
  // clang-format on
  const struct sock_fprog filter = {FC_ARRAY_COUNT(program), program};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) return FC_OK;
  return fail("a seccomp filter", err);
}

// Where memory runs out, the kernel is to choose a worker, not the server.
static void volunteer(void) {
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t written = write(file, "1000", 4);
  (void)written;
  close(file);
}

// ---------------------------------------------------------------------------
// Other processes by path

// Drops what root may do to processes and to the machine. What root may do to
// files and in the network stays, as the server has it. A process that lacks a
// capability of the server may not look into the server
// (cap_ptrace_access_check).
static fc_status_t drop_capabilities(fc_error_t *err) {
  static const uint64_t kKept =
      1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE |
      1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_FOWNER | 1ull << CAP_FSETID |
      1ull << CAP_IPC_LOCK | 1ull << CAP_NET_BIND_SERVICE | 1ull << CAP_NET_RAW;
  struct __user_cap_header_struct head = {.version =
                                              _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &head, data) < 0) return fail("capabilities", err);
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
    const uint32_t kept = (uint32_t)(kKept >> (32 * i));
    data[i].permitted &= kept;
    data[i].effective &= kept;
    data[i].inheritable = 0;
  }
  if (syscall(SYS_capset, &head, data) == 0) return FC_OK;
  return fail("capabilities", err);
}

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ull << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ull << 14)
#endif

// The kinds of access that a ruleset of this kernel can refuse; 0: the kernel
// has no rulesets.
static uint64_t landlock_access(void) {
  static const uint64_t kSince[] = {0, LANDLOCK_ACCESS_FS_WRITE_FILE,
                                    LANDLOCK_ACCESS_FS_REFER,
                                    LANDLOCK_ACCESS_FS_TRUNCATE};
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
                         LANDLOCK_CREATE_RULESET_VERSION);
  uint64_t access = 0;
  for (long i = 1; i <= version && i < (long)FC_ARRAY_COUNT(kSince); i++) {
    access |= kSince[i];
  }
  return access;
}

// Allows to write below an entry of the root folder as before.
static void allow_entry(int ruleset, int root, const char *name,
                        uint64_t access) {
  struct stat info;
  int fd = openat(root, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  if (fstat(fd, &info) == 0 && !S_ISLNK(info.st_mode)) {
    if (!S_ISDIR(info.st_mode)) access &= ~LANDLOCK_ACCESS_FS_REFER;
    const struct landlock_path_beneath_attr rule = {.allowed_access = access,
                                                    .parent_fd = fd};
    (void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
                  &rule, 0);
  }
  close(fd);
}

// Nothing in /proc may be written: it has files by which the server would be
// the first that is ended when memory runs out. Rules can only allow, so each
// entry of the root folder but /proc is allowed. Also, a process that has a
// ruleset may not look into processes that do not have it.
static fc_status_t enter_landlock(fc_error_t *err) {
  const struct landlock_ruleset_attr attributes = {.handled_access_fs =
                                                       landlock_access()};
  if (!attributes.handled_access_fs) return FC_OK;
  DIR *root = opendir("/");
  if (!root) return FC_OK;
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes,
                             sizeof attributes, 0);
  for (const struct dirent *entry; (entry = readdir(root));) {
    static const char *const kLeftOut[] = {".", "..", "proc"};
    bool left_out = false;
    for (size_t i = 0; i < FC_ARRAY_COUNT(kLeftOut); i++) {
      left_out = left_out || !strcmp(entry->d_name, kLeftOut[i]);
    }
    if (left_out) continue;
    allow_entry(ruleset, dirfd(root), entry->d_name,
                attributes.handled_access_fs);
  }
  closedir(root);
  long failed = syscall(SYS_landlock_restrict_self, ruleset, 0);
  int error = errno;
  if (ruleset >= 0) close(ruleset);
  errno = error;
  return failed ? fail("a Landlock ruleset", err) : FC_OK;
}

fc_status_t fc_sandbox_enter(uint64_t memory, int parent, fc_error_t *err) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return fail("PDEATHSIG", err);
  // The parent may have gone before this process asked to end with it.
  if (getppid() != parent) _exit(0);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
    return fail("no_new_privs", err);
  }
  volunteer();
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, OPEN_FILES);
  limit(RLIMIT_STACK, STACK_SIZE);
  if (memory) limit(RLIMIT_AS, memory);
  FC_TRY(drop_capabilities(err));
  // Workers of other modules are of the same user, and could look into this
  // process otherwise.
  if (prctl(PR_SET_DUMPABLE, 0) < 0) return fail("DUMPABLE", err);
  FC_TRY(enter_landlock(err));
  return filter_calls(err);
}
