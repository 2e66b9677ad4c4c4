// SPDX-License-Identifier: Apache-2.0
//
// Replaces the C library's epoll_ctl, also for libuv. Clients are refused before libuv
// sees their sockets (fc_epoll_join). For what the loop itself needs, as the pipe of a
// worker process, libuv is told that the kernel watches it, and the kernel is asked again
// in a later turn: nothing is lost, since the kernel reports what was ready before.
#include "stream/epoll.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 2000000
#define PAUSES_MAX 5000  // 10 s
#define LOOPS_MAX 8

typedef fc_epoll_aside_t aside_t;

// The loops of this program: one in farcalld, several in tests. A loop without a place
// here is not helped.
static struct {
  _Atomic(fc_epoll_t *) loop;
  atomic_int poll;  // one more than the descriptor; 0: none
} places[LOOPS_MAX];

static int control(int poll, int action, int descriptor,
                   struct epoll_event *event) {
  return (int)syscall(SYS_epoll_ctl, poll, action, descriptor, event);
}

static bool is_shortage(int error) {
  return error == ENOMEM || error == ENOSPC;
}

static void tell(int error) {
  fprintf(stderr,
          "farcalld: epoll_ctl: %s, for 10 s: raise fs.epoll.max_user_watches, "
          "or lower --connections\n",
          strerror(error));
}

static int wait_for_room(int poll, int action, int descriptor,
                         struct epoll_event *event) {
  const struct timespec pause = {0, PAUSE_NS};
  int error = 0;
  for (int i = 0; i < PAUSES_MAX; i++) {
    (void)nanosleep(&pause, NULL);
    if (!control(poll, action, descriptor, event)) return 0;
    error = errno;
    if (!is_shortage(error)) return -1;
  }
  tell(error);
  errno = error;
  return -1;
}

// ---------------------------------------------------------------------------
// Put aside

static aside_t *find_aside(fc_epoll_t *self, int descriptor) {
  for (uint32_t i = 0; i < self->aside_count; i++) {
    if (self->aside[i].descriptor == descriptor) return &self->aside[i];
  }
  return NULL;
}

static void drop_aside(fc_epoll_t *self, aside_t *one) {
  if (one) *one = self->aside[--self->aside_count];
}

// False: there is no place.
static bool put_aside(fc_epoll_t *self, int descriptor,
                      const struct epoll_event *event) {
  aside_t *one = find_aside(self, descriptor);
  if (!one && self->aside_count == FC_EPOLL_ASIDE_MAX) return false;
  if (!one) one = &self->aside[self->aside_count++];
  *one = (aside_t){.descriptor = descriptor, .event = *event};
  self->lacks(self->context);
  return true;
}

// What libuv does with a descriptor that was put aside, which the kernel does not know.
// True: the kernel need not be asked.
static bool change_aside(fc_epoll_t *self, int action, int descriptor,
                         const struct epoll_event *event) {
  aside_t *one = self->aside_count ? find_aside(self, descriptor) : NULL;
  if (!one) return false;
  if (action == EPOLL_CTL_MOD) one->event = *event;
  else drop_aside(self, one);
  return action != EPOLL_CTL_ADD;
}

bool fc_epoll_retry(fc_epoll_t *self) {
  for (uint32_t i = self->aside_count; i-- > 0;) {
    aside_t *one = &self->aside[i];
    if (control(self->poll, EPOLL_CTL_ADD, one->descriptor, &one->event) &&
        is_shortage(errno)) {
      return false;
    }
    drop_aside(self, one);
  }
  return true;
}

// ---------------------------------------------------------------------------
// Joined

static uint64_t *joined_word(fc_epoll_t *self, int descriptor) {
  return &self->joined[(unsigned)descriptor % FC_EPOLL_JOINED_BITS / 64];
}

static uint64_t joined_bit(int descriptor) {
  return 1ull << ((unsigned)descriptor % 64);
}

bool fc_epoll_join(fc_epoll_t *self, int descriptor) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
  if (!self->begun) return true;
  if (control(self->poll, EPOLL_CTL_ADD, descriptor, &event)) return false;
  *joined_word(self, descriptor) |= joined_bit(descriptor);
  return true;
}

static bool change_joined(fc_epoll_t *self, int descriptor,
                          struct epoll_event *event) {
  uint64_t *word = joined_word(self, descriptor);
  const uint64_t bit = joined_bit(descriptor);
  if (!(*word & bit)) return false;
  *word &= ~bit;
  return control(self->poll, EPOLL_CTL_MOD, descriptor, event) == 0;
}

// ---------------------------------------------------------------------------

static int control_own(fc_epoll_t *self, int action, int descriptor,
                       struct epoll_event *event) {
  if (action == EPOLL_CTL_ADD && change_joined(self, descriptor, event))
    return 0;
  if (change_aside(self, action, descriptor, event)) return 0;
  if (!control(self->poll, action, descriptor, event)) return 0;
  if (!is_shortage(errno)) return -1;
  if (self->serves && put_aside(self, descriptor, event)) return 0;
  return wait_for_room(self->poll, action, descriptor, event);
}

static fc_epoll_t *find_loop(int poll) {
  for (size_t i = 0; poll >= 0 && i < LOOPS_MAX; i++) {
    if (atomic_load(&places[i].poll) == poll + 1) return places[i].loop;
  }
  return NULL;
}

// A module may call this too, in a thread of its own, with a poll of its own.
__attribute__((visibility("default"))) int epoll_ctl(
    int poll, int action, int descriptor, struct epoll_event *event) {
  fc_epoll_t *self = find_loop(poll);
  return self ? control_own(self, action, descriptor, event)
              : control(poll, action, descriptor, event);
}

void fc_epoll_begin(fc_epoll_t *self, int poll) {
  *self = (fc_epoll_t){.poll = poll};
  for (size_t i = 0; i < LOOPS_MAX && !self->begun; i++) {
    fc_epoll_t *none = NULL;
    self->begun = atomic_compare_exchange_strong(&places[i].loop, &none, self);
    if (self->begun) atomic_store(&places[i].poll, poll + 1);
  }
}

void fc_epoll_serve(fc_epoll_t *self, void (*lacks)(void *context),
                    void *context) {
  self->lacks = lacks;
  self->context = context;
  self->serves = true;
}

void fc_epoll_end(fc_epoll_t *self) {
  for (size_t i = 0; i < LOOPS_MAX && self->begun; i++) {
    if (atomic_load(&places[i].loop) != self) continue;
    atomic_store(&places[i].poll, 0);
    atomic_store(&places[i].loop, NULL);
    self->begun = false;
  }
}
