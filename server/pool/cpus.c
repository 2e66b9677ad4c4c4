// SPDX-License-Identifier: Apache-2.0
//
// A quota of a group holds for the groups below it too, so all groups from that of this
// process up to the mount's top are read.
#include "pool/cpus.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "farcall/base.h"
#include "pool/cgroup.h"

// Processors that the quota of one group pays for, rounded up; 0: it has none.
static uint32_t quota_of(const char *root, const char *folder, bool version2) {
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
  const long long whole = quota / period + (quota % period != 0);
  return whole < UINT32_MAX ? (uint32_t)whole : UINT32_MAX;
}

static uint32_t least_quota(const char *root, bool version2,
                            fc_cgroup_t *take_group, uint32_t most) {
  char *folder = take_group->folder;
  while (folder[0]) {
    const uint32_t quota = quota_of(root, folder, version2);
    if (quota && quota < most) most = quota;
    if (strlen(folder) <= take_group->top) break;
    *strrchr(folder, '/') = '\0';
  }
  return most;
}

uint32_t fc_cpus(const char *root, uint32_t runnable) {
  static const char *const kControllers[] = {NULL, "cpu"};
  fc_cgroup_t groups[FC_ARRAY_COUNT(kControllers)];
  uint32_t count = runnable ? runnable : 1;
  fc_cgroup_find_each(root, kControllers, FC_ARRAY_COUNT(kControllers), groups);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kControllers); i++) {
    count = least_quota(root, !kControllers[i], &groups[i], count);
  }
  return count;
}
