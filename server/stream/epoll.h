// SPDX-License-Identifier: Apache-2.0
//
// What the loop does when the kernel has no room to watch one more descriptor
// (fs.epoll.max_user_watches, which all processes of a user share, or memory): libuv
// would end the process. Loop thread.
#ifndef FARCALL_SERVER_STREAM_EPOLL_H_
#define FARCALL_SERVER_STREAM_EPOLL_H_

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define FC_EPOLL_ASIDE_MAX \
  1024  // descriptors; for more, the loop waits after all
#define FC_EPOLL_JOINED_BITS 4096u

typedef struct fc_epoll_aside_t {
  int descriptor;
  struct epoll_event event;
} fc_epoll_aside_t;

// Of one loop.
typedef struct fc_epoll_t {
  bool begun;
  bool serves;
  int poll;
  void (*lacks)(void *context);
  void *context;
  uint32_t aside_count;
  fc_epoll_aside_t aside[FC_EPOLL_ASIDE_MAX];
  // Of descriptors that have joined, by number modulo FC_EPOLL_JOINED_BITS. A bit can
  // also stand for another number, or be left of a descriptor that is closed: that costs
  // a system call.
  uint64_t joined[FC_EPOLL_JOINED_BITS / 64];
} fc_epoll_t;

// The loop of the epoll descriptor `poll` begins. Until fc_epoll_serve it waits for room,
// 10 s at most. `self` stays where it is until fc_epoll_end.
void fc_epoll_begin(fc_epoll_t *self, int poll);
// From now on a descriptor for which there is no room is put aside, and the loop waits
// only if FC_EPOLL_ASIDE_MAX are put aside already. `lacks` is called for each, while
// libuv asks for events: fc_epoll_retry is to be called later, until it returns true.
void fc_epoll_serve(fc_epoll_t *self, void (*lacks)(void *context),
                    void *context);
// Watches for the descriptors that were put aside. False: some still have no room.
bool fc_epoll_retry(fc_epoll_t *self);
// Makes room for a descriptor that libuv is told to watch later. False with errno: there
// is none, and libuv must not watch the descriptor.
bool fc_epoll_join(fc_epoll_t *self, int descriptor);
// Of a loop that has not begun: does nothing.
void fc_epoll_end(fc_epoll_t *self);

#endif  // FARCALL_SERVER_STREAM_EPOLL_H_
