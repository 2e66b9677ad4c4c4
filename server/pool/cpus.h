// SPDX-License-Identifier: Apache-2.0
//
// How many processors this process may keep busy: those it may run on, and no
// more than the quotas of its control groups pay for. A container is given a
// quota, not fewer processors; more threads than the quota pays for are only
// stopped in turn.
#ifndef FARCALL_SERVER_POOL_CPUS_H_
#define FARCALL_SERVER_POOL_CPUS_H_

#include <stdint.h>

// Returns that number, at least 1; a part of a processor counts as one. `runnable` is how
// many processors the process may run on. `root` is put before every path that is read:
// "" but in tests. Any thread; reads a few small files. A file that cannot be read sets
// no quota.
uint32_t fc_cpus(const char *root, uint32_t runnable);

#endif  // FARCALL_SERVER_POOL_CPUS_H_
