// SPDX-License-Identifier: Apache-2.0
//
// The filter of --sandbox=basic: a module must not make processes, nor reach others by
// number. Others could also be reached by path, such as /proc/PID/mem: jail.c and
// landlock.c prevent that. The rest of the files and the network are not hidden.
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/filter.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
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
// The first argument must be `self`, or 0, which means the caller.
#define ONLY_OF_ITSELF(name)                        \
  UNLESS_CALL(name, 5), LOAD(args[0]),              \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1), ALLOW, REFUSE(EPERM)

void fc_filter_make_basic(fc_filter_t *out_filter) {
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
    // A module must not set priorities, or move memory of other processes. By the
    // priority of its own process alone it could starve the server.
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
    // ioctl can do the same to files. It can also type into a terminal.
    UNLESS_CALL(ioctl, 9),
    LOAD(args[1]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIONBIO, 6, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIOASYNC, 5, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIOSETOWN, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIOCSPGRP, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 1, 0),
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
  _Static_assert(sizeof program <= sizeof out_filter->code, "it fits");
  memcpy(out_filter->code, program, sizeof program);
  out_filter->size = FC_ARRAY_COUNT(program);
}
