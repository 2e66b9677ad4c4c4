// SPDX-License-Identifier: Apache-2.0
//
// A worker process gives up its rights in this order. First come the rules that hold with
// every --sandbox: for example, the worker ends with the server, and when memory runs out
// the kernel kills the worker and not the server. Then, unless --sandbox=off, come the
// rules that keep the worker from other processes: by number (the filter) and by path.
// Three things protect paths (no capabilities, no dumping, Landlock), because none of
// them exists on every machine or works for every user.
#include "jail/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "config/limits.h"
#include "jail/filter.h"
#include "jail/landlock.h"
#include "jail/readable.h"
#include "jail/stop.h"
#include "jail/threads.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#define MDWE_REFUSE_EXEC_GAIN 1ul

#define OPEN_FILES 64
#define STACK_SIZE (16u << 20)

static fc_status_t fail(const char *what, fc_error_t *err) {
  return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE, "a worker cannot set %s: %s",
                 what, strerror(errno));
}

static bool is_strict(const fc_jail_t *jail) {
  return jail->sandbox == FC_SANDBOX_AUTO || jail->sandbox == FC_SANDBOX_STRICT;
}

static bool has(const fc_jail_t *jail, fc_jail_part_t part) {
  return is_strict(jail) && (jail->parts >> part & 1);
}

static void limit(__rlimit_resource_t resource, uint64_t value) {
  struct rlimit now;
  if (getrlimit(resource, &now)) return;
  if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max) {
    value = now.rlim_max;
  }
  now.rlim_cur = value;
  // Only the soft limit of the stack is set; its hard limit stays.
  if (resource != RLIMIT_STACK) now.rlim_max = value;
  (void)setrlimit(resource, &now);
}

// Makes the kernel kill a worker and not the server when memory runs out.
static void volunteer(void) {
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t written = write(file, "1000", 4);
  (void)written;
  close(file);
}

// Drops all capabilities except `kept`. A process that lacks a capability of the server
// may not read the server's memory (cap_ptrace_access_check).
static fc_status_t keep_capabilities(uint64_t kept, fc_error_t *err) {
  struct __user_cap_header_struct head = {.version =
                                              _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &head, data) < 0) return fail("capabilities", err);
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
    data[i].permitted &= (uint32_t)(kept >> (32 * i));
    data[i].effective &= (uint32_t)(kept >> (32 * i));
    data[i].inheritable = 0;
  }
  if (syscall(SYS_capset, &head, data) == 0) return FC_OK;
  return fail("capabilities", err);
}

// ---------------------------------------------------------------------------
// Basic and strict

static fc_status_t enter_basic(fc_error_t *err) {
  // Drops what root may do to processes and to the machine. What root may do to files and
  // in the network stays, as the server has it.
  static const uint64_t kKept =
      1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE |
      1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_FOWNER | 1ull << CAP_FSETID |
      1ull << CAP_IPC_LOCK | 1ull << CAP_NET_BIND_SERVICE | 1ull << CAP_NET_RAW;
  fc_filter_t filter;
  FC_TRY(keep_capabilities(kKept, err));
  FC_TRY(fc_landlock_enter_basic(err));
  fc_filter_make_basic(&filter);
  return fc_filter_install(&filter, err);
}

static void allow(void *context, const char *path, int file) {
  (void)path;
  fc_landlock_allow(*(const int *)context, file);
}

// The sanitizers read files of their own process when they report.
static void allow_itself(int ruleset) {
  const int folder = open("/proc/self", O_PATH | O_CLOEXEC);
  fc_landlock_allow(ruleset, folder);
  if (folder >= 0) close(folder);
}

static fc_status_t enter_landlock(const fc_jail_t *jail, fc_error_t *err) {
  int ruleset = fc_landlock_create();
  if (jail->module) {
    fc_readable_libraries(jail->file, jail->module, allow, &ruleset);
    fc_readable_archives(fc_str(jail->parameters), allow, &ruleset);
  }
  if (FC_SANITIZED) allow_itself(ruleset);
  return fc_landlock_enter(ruleset, err);
}

static fc_status_t enter_filter(fc_error_t *err) {
  fc_filter_t filter;
  if (FC_SANITIZED) {
    fc_filter_make_basic(&filter);
    FC_TRY(fc_filter_install(&filter, err));
    fc_filter_make_loose(&filter);
  } else {
    fc_filter_make(FC_PHASE_LOADING, &filter);
  }
  return fc_filter_install(&filter, err);
}

// Called before the change of user: only root may enter a namespace.
static fc_status_t enter_network(const fc_jail_t *jail, fc_error_t *err) {
  if (!has(jail, FC_JAIL_NETWORK)) return FC_OK;
  if (setns(jail->network, CLONE_NEWNET)) {
    return fail("a network namespace", err);
  }
  close(jail->network);
  return FC_OK;
}

// Called before any part of the module is in memory, so that the group counts all of it.
static fc_status_t enter_group(const fc_jail_t *jail, fc_error_t *err) {
  if (!jail->procs) return FC_OK;
  if (write(jail->procs, "0", 1) != 1) return fail("its control group", err);
  close(jail->procs);
  return FC_OK;
}

// After this time the kernel sends SIGXCPU. A process that ignores it gets SIGKILL a
// second later.
static void limit_time(uint64_t seconds) {
  const struct rlimit most = {.rlim_cur = seconds, .rlim_max = seconds + 1};
  if (seconds) (void)setrlimit(RLIMIT_CPU, &most);
}

// The system calls change only the calling thread; the process has no other thread.
static fc_status_t change_user(const fc_jail_t *jail, fc_error_t *err) {
  if (!jail->user) return FC_OK;
  if (syscall(SYS_setgroups, 0, NULL) ||
      syscall(SYS_setresgid, jail->group, jail->group, jail->group) ||
      syscall(SYS_setresuid, jail->user, jail->user, jail->user)) {
    return fail("its user (--worker-user)", err);
  }
  // If the server was started with no-setuid-fixup, capabilities remain after the change
  // of user.
  return keep_capabilities(0, err);
}

bool fc_jail_bounds_threads(uint32_t parts, uint32_t user) {
  return (!user && (parts >> FC_JAIL_USER & 1)) || (parts >> FC_JAIL_SPACE & 1);
}

// If the server is root, each worker gets its own user. Otherwise, and with
// --worker-user, it gets its own namespace, and drops the capabilities that it has there.
// The kernel may refuse a further namespace although the probe got one. With
// --sandbox=auto the worker then has no limit of threads.
static fc_status_t bound_threads(const fc_jail_t *jail, fc_error_t *err) {
  if (!is_strict(jail) || !fc_jail_bounds_threads(jail->parts, jail->user)) {
    return FC_OK;
  }
  const bool space = jail->user || !has(jail, FC_JAIL_USER);
  errno = space ? fc_threads_own_space() : fc_threads_own_user();
  if (errno && space && jail->sandbox == FC_SANDBOX_AUTO) {
    dprintf(STDERR_FILENO, "its threads have no bound: %s\n", strerror(errno));
    return FC_OK;
  }
  if (!errno) errno = fc_threads_bound(FC_LIMIT_WORKER_THREADS);
  if (errno) return fail("a bound for its threads", err);
  return space ? keep_capabilities(0, err) : FC_OK;
}

static fc_status_t enter_strict(const fc_jail_t *jail, fc_error_t *err) {
  if (has(jail, FC_JAIL_LANDLOCK)) FC_TRY(enter_landlock(jail, err));
  // CAP_DAC_READ_SEARCH lets the worker read archives of other users. fc_jail_lock drops
  // it too.
  FC_TRY(keep_capabilities(1ull << CAP_DAC_READ_SEARCH, err));
  fc_stop_watch(jail->stops);
  return has(jail, FC_JAIL_SECCOMP) ? enter_filter(err) : FC_OK;
}

fc_status_t fc_jail_enter(const fc_jail_t *jail, fc_error_t *err) {
  volunteer();
  FC_TRY(enter_group(jail, err));
  FC_TRY(enter_network(jail, err));
  // A change of user resets capabilities, PDEATHSIG and DUMPABLE, so it comes first.
  FC_TRY(change_user(jail, err));
  FC_TRY(bound_threads(jail, err));
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return fail("PDEATHSIG", err);
  // The parent may have ended before this process asked to end with it.
  if (getppid() != jail->parent) _exit(0);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_STACK, STACK_SIZE);
  if (jail->memory) limit(RLIMIT_AS, jail->memory);
  limit_time(jail->cpu_s);
  if (jail->sandbox == FC_SANDBOX_OFF) return FC_OK;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
    return fail("no_new_privs", err);
  }
  limit(RLIMIT_NOFILE, OPEN_FILES);
  // Workers of other modules run as the same user, and could otherwise read this
  // process's memory.
  if (prctl(PR_SET_DUMPABLE, 0) < 0) return fail("DUMPABLE", err);
  return is_strict(jail) ? enter_strict(jail, err) : enter_basic(err);
}

fc_status_t fc_jail_lock(const fc_jail_t *jail, fc_error_t *err) {
  if (!is_strict(jail)) return FC_OK;
  limit(RLIMIT_FSIZE, 0);
  FC_TRY(keep_capabilities(0, err));
  if (has(jail, FC_JAIL_MDWE) && !FC_SANITIZED &&
      prctl(PR_SET_MDWE, MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) < 0) {
    return fail("MDWE", err);
  }
  if (!has(jail, FC_JAIL_SECCOMP) || FC_SANITIZED) return FC_OK;
  fc_filter_t filter;
  const bool threads = jail->sandbox != FC_SANDBOX_STRICT ||
                       fc_jail_bounds_threads(jail->parts, jail->user);
  fc_filter_make(threads ? FC_PHASE_CALLING : FC_PHASE_ALONE, &filter);
  return fc_filter_install(&filter, err);
}
