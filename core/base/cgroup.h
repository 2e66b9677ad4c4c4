// SPDX-License-Identifier: Apache-2.0
//
// Finds the folder of this process's control group, as man 7 cgroups and man 5
// proc_pid_mountinfo describe: /proc/self/cgroup names the group, /proc/self/mountinfo
// says where groups are mounted. `root` is put before every path; it is "" except in
// tests. Any thread.
#ifndef FARCALL_CORE_BASE_CGROUP_H_
#define FARCALL_CORE_BASE_CGROUP_H_

#include <stdbool.h>
#include <stddef.h>

#define FC_CGROUP_PATH 4096

typedef struct fc_cgroup_t {
  char folder[FC_CGROUP_PATH];  // without `root`
  size_t top;                   // length of the mount's folder in `folder`
} fc_cgroup_t;

// Finds the group of version 1 that has `controller`; with NULL, the group of version
// 2. False: there is no such group.
bool fc_cgroup_find(const char *root, const char *controller,
                    fc_cgroup_t *out_group);
// Does the same as fc_cgroup_find for `count` controllers, but reads each file of /proc
// only once. The folder is "" for a controller that has no group.
void fc_cgroup_find_each(const char *root, const char *const *controllers,
                         size_t count, fc_cgroup_t *out_groups);
// Reads the first line of a file of a group, with its newline, and adds a zero. At most
// `size` bytes are written; a longer line is cut. False: the file cannot be read, or is
// empty.
bool fc_cgroup_read(const char *root, const char *folder, const char *name,
                    char *out_text, size_t size);
// True when `word` is in a list such as "a,b,c". Words end at the characters of `ends`,
// which is "," for this list.
bool fc_cgroup_has_word(const char *list, const char *ends, const char *word);

#endif  // FARCALL_CORE_BASE_CGROUP_H_
