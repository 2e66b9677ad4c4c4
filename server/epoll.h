// SPDX-License-Identifier: Apache-2.0
//
// What the loop does when the kernel has no room to watch one more descriptor
// (fs.epoll.max_user_watches, which all processes of a user share, or memory): libuv
// would end the process. For server.c and listen.c; one loop at a time, loop thread.
#ifndef FARCALL_SERVER_EPOLL_H_
#define FARCALL_SERVER_EPOLL_H_

#include <stdbool.h>

// The loop of the epoll descriptor `poll` begins. Until fc_epoll_serve it waits for room,
// 10 s at most.
void fc_epoll_begin(int poll);
// From now on the loop does not wait. A descriptor for which there is no room is put
// aside, and fc_epoll_retry is to be called: `lacks` says so, from within the loop's
// look for events.
void fc_epoll_serve(void (*lacks)(void *context), void *context);
// Watches for the descriptors that were put aside. False: some still have no room.
bool fc_epoll_retry(void);
// Makes room for a descriptor that libuv is told to watch later. False with errno: there
// is none, and libuv must not watch the descriptor.
bool fc_epoll_join(int descriptor);
void fc_epoll_end(void);

#endif  // FARCALL_SERVER_EPOLL_H_
