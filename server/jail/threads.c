// SPDX-License-Identifier: Apache-2.0
//
// The system calls change the user of the calling thread only; the process has no other
// thread.
#include "jail/threads.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitize.h"

// Users from this number on have no account. Below are the users that systemd gives to
// containers; users from 0x80000000 on would be negative numbers. A process number has
// 22 bits.
#define FIRST_USER 0x70000000u

// Makes the permitted capabilities effective, or gives all up. A change of user leaves
// capabilities permitted.
static int set_capabilities(bool all) {
  struct __user_cap_header_struct head = {.version =
                                              _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &head, data)) return errno;
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
    if (!all) data[i].permitted = 0;
    data[i].effective = data[i].permitted;
  }
  return syscall(SYS_capset, &head, data) ? errno : 0;
}

int fc_threads_own_user(void) {
  const uint32_t user = FIRST_USER + (uint32_t)getpid();
  if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || syscall(SYS_setgroups, 0, NULL) ||
      syscall(SYS_setresgid, user, user, user) ||
      syscall(SYS_setresuid, user, user, user) ||
      prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0)) {
    return errno;
  }
  return set_capabilities(true);
}

int fc_threads_own_space(void) { return unshare(CLONE_NEWUSER) ? errno : 0; }

int fc_threads_bound(uint32_t most) {
  const struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
  return setrlimit(RLIMIT_NPROC, &limit) ? errno : 0;
}

// ---------------------------------------------------------------------------
// Trying whether a limit holds

// Forks without the handlers of fork: in a forked child libuv's handler opens a pipe, and
// calls abort() if it has no descriptors. The child has one thread, and must not
// allocate.
static pid_t fork_alone(void) {
  return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

// Makes a process that ends at once. The kernel counts it until it is reaped.
static int make_one(void) {
  const pid_t made = fork_alone();
  if (made == 0) _exit(0);
  return made < 0 ? errno : 0;
}

// With a limit of two, this process may have one process beside it, whatever others have,
// but not a second one. Kernels before 5.14 count a user's processes in all namespaces.
// The limit does not hold for processes with CAP_SYS_ADMIN or CAP_SYS_RESOURCE.
static int try_bound(void) {
  int error = set_capabilities(false);
  if (!error) error = fc_threads_bound(2);
  if (!error) error = make_one();
  if (!error) error = make_one() == EAGAIN ? 0 : ENOSYS;
  while (wait(NULL) > 0) continue;
  return error;
}

static int begin_space(uint32_t user) {
  if (user && syscall(SYS_setresuid, user, user, user)) return errno;
  return fc_threads_own_space();
}

static int try_in_child(bool space, uint32_t user) {
  // The sanitizer's runtime has its own thread.
  if (FC_TSAN) return ENOSYS;
  const pid_t child = fork_alone();
  if (child < 0) return errno;
  if (child == 0) {
    const int error = space ? begin_space(user) : fc_threads_own_user();
    _exit(error ? error : try_bound());
  }
  int status;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EAGAIN;
}

static bool has_capabilities(uint32_t needed) {
  struct __user_cap_header_struct head = {.version =
                                              _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  return syscall(SYS_capget, &head, data) == 0 &&
         (data[0].effective & needed) == needed;
}

// Without CAP_KILL the server could not end a worker of another user.
bool fc_threads_may_change_user(void) {
  return has_capabilities(1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_KILL);
}

int fc_threads_try_user(void) {
  // Another user can read the server's own files only with this capability.
  return fc_threads_may_change_user() &&
                 has_capabilities(1u << CAP_DAC_READ_SEARCH)
             ? try_in_child(false, 0)
             : EPERM;
}

int fc_threads_try_space(uint32_t user) { return try_in_child(true, user); }
