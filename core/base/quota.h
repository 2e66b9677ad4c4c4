// SPDX-License-Identifier: Apache-2.0
//
// What the control groups of this process leave of the machine: the processors that it
// may keep busy, and the memory that it may take. A container is given a quota, not fewer
// processors: more threads than the quota pays for are only stopped in turn. And when
// the group's memory is full, the kernel ends processes of it.
//
// `root` is put before every path that is read: "" but in tests. Any thread; reads a few
// small files. A file that cannot be read sets no quota.
#ifndef FARCALL_CORE_BASE_QUOTA_H_
#define FARCALL_CORE_BASE_QUOTA_H_

#include <stdint.h>

// How many processors this process may keep busy: those it may run on (`runnable`), and
// no more than the quotas of its groups pay for. At least 1; a part of a processor counts
// as one.
uint32_t fc_quota_cpus(const char *root, uint32_t runnable);
// How many bytes of memory its groups may take: `most`, or the least limit of them all.
uint64_t fc_quota_memory(const char *root, uint64_t most);
// How many bytes of memory there are for this process: those of the machine, or that.
uint64_t fc_quota_memory_here(void);

#endif  // FARCALL_CORE_BASE_QUOTA_H_
