// SPDX-License-Identifier: Apache-2.0
//
// The part of the machine that the control groups of this process allow: the processors
// that it may keep busy, and the memory that it may use. In a container a process sees
// all processors, but has a quota of their time: if more threads run than the quota
// allows, the kernel only stops them in turn. When the group's memory is full, the kernel
// ends processes of the group.
//
// `root` is put before every path that is read; it is "" except in tests. Any thread;
// reads a few small files. A file that cannot be read sets no quota.
#ifndef FARCALL_CORE_BASE_QUOTA_H_
#define FARCALL_CORE_BASE_QUOTA_H_

#include <stdint.h>

// Returns the number of processors that this process may keep busy: those that it may run
// on (`runnable`), but no more than the quotas of its groups allow. At least 1; a part
// of a processor counts as one.
uint32_t fc_quota_cpus(const char *root, uint32_t runnable);
// Returns the bytes of memory that the process may use: the least limit of its groups, at
// most `most`.
uint64_t fc_quota_memory(const char *root, uint64_t most);
// Does the same as fc_quota_memory, with the machine's memory as `most`.
uint64_t fc_quota_memory_here(void);

#endif  // FARCALL_CORE_BASE_QUOTA_H_
