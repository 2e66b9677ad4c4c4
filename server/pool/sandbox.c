// SPDX-License-Identifier: Apache-2.0
//
// Limits that hold for what a module may do, root or not. The filter refuses to
// make processes and to reach others; it does not try to hide files or the
// network, which is the work of the container or unit the server runs in.
#include "pool/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
  // The stack is soft: the loader of another program may want less.
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
    // Its flags lie in memory; glibc goes on with clone.
    UNLESS_CALL(clone3, 1),
    REFUSE(ENOSYS),
    UNLESS_CALL(clone, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
    ALLOW,
    REFUSE(EPERM),
    UNLESS_CALL(kill, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1),
    ALLOW,
    REFUSE(EPERM),
    UNLESS_CALL(tgkill, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1),
    ALLOW,
    REFUSE(EPERM),
    // A limit of another process that has passed is a signal too.
    UNLESS_CALL(prlimit64, 5),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1),
    ALLOW,
    REFUSE(EPERM),
    // The loop has the same bell: it must not block, nor any file signal it.
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
    // It is to end with its parent, whatever a module thinks.
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

fc_status_t fc_sandbox_enter(uint64_t memory, int parent, fc_error_t *err) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return fail("PDEATHSIG", err);
  // It may have gone before it was asked for.
  if (getppid() != parent) _exit(0);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
    return fail("no_new_privs", err);
  }
  volunteer();
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, OPEN_FILES);
  limit(RLIMIT_STACK, STACK_SIZE);
  if (memory) limit(RLIMIT_AS, memory);
  return filter_calls(err);
}
