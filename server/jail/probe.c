// SPDX-License-Identifier: Apache-2.0
//
// Tries each part in a separate thread. Rulesets, filters and namespaces belong to that
// thread: when it has ended, only the descriptor of the network namespace is left.
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/filter.h"
#include "jail/jail.h"
#include "jail/landlock.h"
#include "jail/threads.h"

#ifndef PR_GET_MDWE
#define PR_GET_MDWE 66
#endif

const fc_jail_part_row_t fc_jail_parts[FC_JAIL_PARTS] = {
#define FC_JAIL_PART(name, text, needed, what) {text, needed, what},
#include "jail/part.def"
#undef FC_JAIL_PART
};

// Tries a filter that allows everything.
static bool try_filter(void) {
  struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {1, &all};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static bool try_landlock(void) {
  const int ruleset = fc_landlock_create();
  return ruleset >= 0 && fc_landlock_enter(ruleset, NULL) == FC_OK;
}

// Making a namespace took about 450 us. So one is made here, and all workers enter it.
static bool try_network(fc_jail_facts_t *facts) {
  if (unshare(CLONE_NEWNET)) return false;
  facts->network = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  return facts->network >= 0 && setns(facts->network, CLONE_NEWNET) == 0;
}

static bool succeeds(int error) {
  errno = error;
  return !error;
}

static bool try_part(fc_jail_part_t part, fc_jail_facts_t *facts) {
  switch (part) {
    case FC_JAIL_SECCOMP:
      return try_filter();
    case FC_JAIL_LANDLOCK:
      return try_landlock();
    case FC_JAIL_NETWORK:
      return try_network(facts);
    case FC_JAIL_USER:
      return succeeds(fc_threads_try_user());
    case FC_JAIL_SPACE:
      return succeeds(fc_threads_try_space(facts->user));
    case FC_JAIL_MDWE:
      return prctl(PR_GET_MDWE, 0, 0, 0, 0) >= 0;
    case FC_JAIL_PARTS:
      break;
  }
  return false;
}

// USER and SPACE both limit threads. Only the one that workers will use is tried, because
// each takes a quarter of a millisecond.
static bool is_for(const fc_jail_facts_t *facts, fc_jail_part_t part) {
  if (part == FC_JAIL_USER) return !facts->user;
  return part != FC_JAIL_SPACE || !(facts->parts >> FC_JAIL_USER & 1);
}

static void *try_all(void *context) {
  fc_jail_facts_t *facts = context;
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (unsigned i = 0; i < FC_JAIL_PARTS; i++) {
    if (!is_for(facts, (fc_jail_part_t)i)) continue;
    errno = 0;
    if (try_part((fc_jail_part_t)i, facts)) facts->parts |= 1u << i;
    else facts->errors[i] = errno ? errno : ENOSYS;
  }
  return NULL;
}

void fc_jail_probe_begin(fc_jail_facts_t *facts) {
  *facts = (fc_jail_facts_t){.user = facts->user, .network = -1};
  const int failed = pthread_create(&facts->thread, NULL, try_all, facts);
  facts->probing = !failed;
#ifdef __SANITIZE_THREAD__
  // Waits for the thread here. libuv closes descriptors by a system call that the
  // sanitizer does not see. So if both threads use the same descriptor number, one after
  // the other, that would look like a race.
  (void)fc_jail_know(facts);
#endif
  if (!failed) return;
  for (unsigned i = 0; i < FC_JAIL_PARTS; i++) facts->errors[i] = failed;
}

const fc_jail_facts_t *fc_jail_know(fc_jail_facts_t *facts) {
  if (facts->known) return facts;
  if (!facts->probing) fc_jail_probe_begin(facts);
  if (facts->probing) pthread_join(facts->thread, NULL);
  facts->probing = false;
  facts->known = true;
  return facts;
}

void fc_jail_forget(fc_jail_facts_t *facts) {
  if (facts->probing) (void)fc_jail_know(facts);
  if (facts->network > 0) close(facts->network);
  *facts = (fc_jail_facts_t){0};
}

fc_status_t fc_jail_check(fc_sandbox_t sandbox, const fc_jail_facts_t *facts,
                          fc_error_t *err) {
  for (unsigned i = 0; i < FC_JAIL_PARTS && sandbox == FC_SANDBOX_STRICT; i++) {
    const fc_jail_part_row_t *part = &fc_jail_parts[i];
    if (!part->needed || (facts->parts >> i & 1)) continue;
    return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                   "--sandbox=strict cannot be kept: the kernel refuses %s: "
                   "%s; --sandbox=auto takes what there is",
                   part->what, strerror(facts->errors[i]));
  }
  return FC_OK;
}
