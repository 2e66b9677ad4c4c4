// SPDX-License-Identifier: Apache-2.0
//
// Limits the threads of a worker process. The kernel counts threads for each user in each
// user namespace (RLIMIT_NPROC), and does not count those of root. So the process first
// gets its own user or its own namespace. Called by a process with one thread.
#ifndef FARCALL_SERVER_JAIL_THREADS_H_
#define FARCALL_SERVER_JAIL_THREADS_H_

#include "farcall/base.h"

// Makes this process run as a user that no other process has; its capabilities stay.
// Returns 0 or errno.
int fc_threads_own_user(void);
// Moves this process into a new user namespace. No user or group ID is mapped there, and
// the process has all capabilities there. Returns 0 or errno.
int fc_threads_own_space(void);
// Limits the process to `most` threads, this one included. Returns 0 or errno.
int fc_threads_bound(uint32_t most);

// Has this process the capabilities to give a worker another user, and to kill that
// worker later? Root in a container may lack them.
bool fc_threads_may_change_user(void);
// Both try in a separate process whether the limit would hold. Any thread of the server.
// Return 0 or errno.
int fc_threads_try_user(void);
// `user` is the user of that process; 0: the server's.
int fc_threads_try_space(uint32_t user);

#endif  // FARCALL_SERVER_JAIL_THREADS_H_
