// SPDX-License-Identifier: Apache-2.0
//
// The folder of this process's control group, found as man 7 cgroups and man 5
// proc_pid_mountinfo say: /proc/self/cgroup names the group, /proc/self/mountinfo says
// where groups are mounted. `root` is put before every path: "" but in tests. Any thread.
#ifndef FARCALL_CORE_BASE_CGROUP_H_
#define FARCALL_CORE_BASE_CGROUP_H_

#include <stdbool.h>
#include <stddef.h>

#define FC_CGROUP_PATH 4096

typedef struct fc_cgroup_t {
  char folder[FC_CGROUP_PATH];  // without `root`
  size_t top;                   // bytes of `folder` that are the mount's
} fc_cgroup_t;

// The group of version 1 that has `controller`; NULL: that of version 2. False: there is
// none.
bool fc_cgroup_find(const char *root, const char *controller,
                    fc_cgroup_t *out_group);
// The same of `count` controllers: each file of /proc is read once. The folder is "" where
// there is no group.
void fc_cgroup_find_each(const char *root, const char *const *controllers,
                         size_t count, fc_cgroup_t *out_groups);
// Reads the first line of a file of a group, with its newline, as far as `size` bytes
// hold it and a zero. False: the file cannot be read, or is empty.
bool fc_cgroup_read(const char *root, const char *folder, const char *name,
                    char *out_text, size_t size);
// Is `word` in a list such as "a,b,c"? `ends` are the characters that words end at: ","
// in that one.
bool fc_cgroup_has_word(const char *list, const char *ends, const char *word);

#endif  // FARCALL_CORE_BASE_CGROUP_H_
