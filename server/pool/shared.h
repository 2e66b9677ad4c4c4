// SPDX-License-Identifier: Apache-2.0
//
// Memory that the loop shares with a worker process: an unnamed file (memfd) whose
// size is sealed, so that neither side can make the file shorter and have SIGBUS stop
// the other. Nothing prevents the worker from writing to the file: a seal against that
// would also keep the loop from giving the memory back bit by bit. Any thread.
#ifndef FARCALL_SERVER_POOL_SHARED_H_
#define FARCALL_SERVER_POOL_SHARED_H_

#include "farcall/base.h"

// `size`, rounded up to whole pages of this machine: 4 KiB, on AArch64 also 16 or 64.
// The last page below 2^64 bounds the result.
uint64_t fc_shared_pages(uint64_t size);
// Makes a file of `size` bytes, rounded up to whole pages. They are zeros, and take no
// memory yet. -1: see errno.
int fc_shared_create(const char *name, uint64_t size);
// Bytes of memory that the file takes up, in whichever process they were touched; 0 if
// the system does not say.
uint64_t fc_shared_taken(int fd);
// Gives memory of the file back to the system: from the first page that takes any, at
// `begin` + *at or later, up to `most` bytes, but none behind `begin` + `used`. Both
// sizes are rounded up to whole pages. Moves *at behind what was given. False: no more is
// left.
bool fc_shared_scrub(int fd, uint64_t begin, uint64_t used, uint64_t most,
                     uint64_t *at);

#endif  // FARCALL_SERVER_POOL_SHARED_H_
