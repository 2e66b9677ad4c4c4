// SPDX-License-Identifier: Apache-2.0
//
// How many threads a worker process may have. The kernel counts them for each user, in
// each user namespace (RLIMIT_NPROC), and does not count root's. So a process gets a
// user, or a namespace, of its own first. Called by a process with one thread.
#ifndef FARCALL_SERVER_JAIL_THREADS_H_
#define FARCALL_SERVER_JAIL_THREADS_H_

#include "farcall/base.h"

// Makes this process that of a user whom no other process has; its capabilities stay. 0,
// or errno.
int fc_threads_own_user(void);
// Moves this process into a user namespace of its own, where nobody has a name; it has all
// capabilities there. 0, or errno.
int fc_threads_own_space(void);
// Now the process may have `most` threads, this one included. 0, or errno.
int fc_threads_bound(uint32_t most);

// Has this process the capabilities to give a worker another user, and to end it then?
// Root of a container may lack them.
bool fc_threads_may_change_user(void);
// Would the bound hold? Tried in a process of its own, by any thread of the server. 0, or
// errno.
int fc_threads_try_user(void);
// `user`: that such a process runs as; 0: as the server.
int fc_threads_try_space(uint32_t user);

#endif  // FARCALL_SERVER_JAIL_THREADS_H_
