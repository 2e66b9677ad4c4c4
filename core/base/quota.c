// SPDX-License-Identifier: Apache-2.0
//
// A quota of a group also holds for the groups below it. So all groups are read, from
// the group of this process up to the top of the mount.
#include "base/quota.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "farcall/base.h"
#include "base/cgroup.h"

// Reads the quota of one group; 0: the group has none.
typedef uint64_t (*quota_fn_t)(const char *root, const char *folder,
                               bool version2);

// Returns the number of processors that the quota of one group allows, rounded up.
static uint64_t cpus_of(const char *root, const char *folder, bool version2) {
  char text[64];
  long long quota = 0, period = 0;
  if (version2) {
    if (!fc_cgroup_read(root, folder, "cpu.max", text, sizeof text)) return 0;
    if (sscanf(text, "%lld %lld", &quota, &period) != 2) return 0;  // "max …"
  } else {
    if (!fc_cgroup_read(root, folder, "cpu.cfs_quota_us", text, sizeof text))
      return 0;
    quota = strtoll(text, NULL, 10);
    if (!fc_cgroup_read(root, folder, "cpu.cfs_period_us", text, sizeof text))
      return 0;
    period = strtoll(text, NULL, 10);
  }
  if (quota <= 0 || period <= 0) return 0;
  return (uint64_t)(quota / period + (quota % period != 0));
}

// Returns the memory limit of one group. Where there is no limit, version 2 has "max" and
// version 1 a number near 2^63.
static uint64_t memory_of(const char *root, const char *folder, bool version2) {
  char text[64];
  const char *name = version2 ? "memory.max" : "memory.limit_in_bytes";
  if (!fc_cgroup_read(root, folder, name, text, sizeof text)) return 0;
  const long long limit = strtoll(text, NULL, 10);
  return limit > 0 ? (uint64_t)limit : 0;
}

static uint64_t least_of(const char *root, bool version2,
                         fc_cgroup_t *take_group, quota_fn_t quota_of,
                         uint64_t most) {
  char *folder = take_group->folder;
  while (folder[0]) {
    const uint64_t quota = quota_of(root, folder, version2);
    if (quota && quota < most) most = quota;
    if (strlen(folder) <= take_group->top) break;
    *strrchr(folder, '/') = '\0';
  }
  return most;
}

// Returns the least quota of the groups of both versions, at most `most`. `controller` is
// the name of the controller in version 1.
static uint64_t least(const char *root, const char *controller,
                      quota_fn_t quota_of, uint64_t most) {
  const char *const controllers[] = {NULL, controller};
  fc_cgroup_t groups[FC_ARRAY_COUNT(controllers)];
  fc_cgroup_find_each(root, controllers, FC_ARRAY_COUNT(controllers), groups);
  for (size_t i = 0; i < FC_ARRAY_COUNT(controllers); i++) {
    most = least_of(root, !controllers[i], &groups[i], quota_of, most);
  }
  return most;
}

uint32_t fc_quota_cpus(const char *root, uint32_t runnable) {
  return (uint32_t)least(root, "cpu", cpus_of, runnable ? runnable : 1);
}

uint64_t fc_quota_memory(const char *root, uint64_t most) {
  return least(root, "memory", memory_of, most);
}

// sysinfo is used because sysconf takes longer: it reads /proc/meminfo, for which the
// kernel counts all of its memory.
uint64_t fc_quota_memory_here(void) {
  struct sysinfo info;
  return fc_quota_memory("", sysinfo(&info)
                                 ? UINT64_MAX
                                 : (uint64_t)info.totalram * info.mem_unit);
}
