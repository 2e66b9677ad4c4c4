// SPDX-License-Identifier: Apache-2.0
//
// Memory that the loop shares with a worker process: an unnamed file (memfd) with a
// sealed size, so that neither side can shorten the file and cause SIGBUS in the other.
// The worker can always write to the file: a seal against writing would also keep the
// loop from giving the memory back in parts. Any thread.
#ifndef FARCALL_SERVER_POOL_SHARED_H_
#define FARCALL_SERVER_POOL_SHARED_H_

#include "farcall/base.h"

// Returns `size`, rounded up to whole pages of this machine: 4 KiB, on AArch64 also 16 or
// 64. The result is at most the last page below 2^64.
uint64_t fc_shared_pages(uint64_t size);
// Makes a file of `size` bytes, rounded up to whole pages. The bytes are zeros, and take
// no memory yet. -1: see errno.
int fc_shared_create(const char *name, uint64_t size);
// Returns the bytes of memory that the file uses, whichever process touched them; 0 if
// the system does not report it.
uint64_t fc_shared_taken(int fd);
// Gives memory of the file back to the system, in pages: begins at the first used page at
// or after `begin` + *at, takes up to `most` bytes, and none after `begin` + `used`.
// `most` and `used` are rounded up to whole pages. Moves *at past the released bytes.
// False: no more is left.
bool fc_shared_scrub(int fd, uint64_t begin, uint64_t used, uint64_t most,
                     uint64_t *at);

#endif  // FARCALL_SERVER_POOL_SHARED_H_
