// SPDX-License-Identifier: Apache-2.0
//
// Control groups (version 2) for the processes of single modules, where the server's own
// group was delegated to it: --group-memory, --group-tasks, --group-cpu.
//
//   GROUP/server           the server, which leaves GROUP: a group that gives controllers
//                          to those below it may have no processes of its own
//   GROUP/module-NAME.N    the processes of generation N of module NAME
//
// fc_groups_open is for the start; the others are for the nursery's thread
// (control/nursery.h).
#ifndef FARCALL_SERVER_POOL_GROUPS_H_
#define FARCALL_SERVER_POOL_GROUPS_H_

#include "farcall/base.h"
#include "base/cgroup.h"

typedef enum fc_group_limit_t {
  FC_GROUP_MEMORY,  // bytes
  FC_GROUP_TASKS,   // processes and threads
  FC_GROUP_CPU,     // percent of one processor
  FC_GROUP_LIMITS
} fc_group_limit_t;

// What the processes of one generation may take together; 0: not limited.
typedef struct fc_group_limits_t {
  uint64_t values[FC_GROUP_LIMITS];
} fc_group_limits_t;

// Zeroed: nobody has asked for groups.
typedef struct fc_groups_t {
  char folder[FC_CGROUP_PATH];  // GROUP; "": there are none
  // Why a limit cannot be set; "": it can.
  char reasons[FC_GROUP_LIMITS][160];
  bool asked;
} fc_groups_t;

// Why a group does not have a limit that was asked for; "": it has, or none was.
typedef struct fc_group_lacks_t {
  char reasons[FC_GROUP_LIMITS][160];
} fc_group_lacks_t;

// "memory", "pids", "cpu": the controller of a limit.
const char *fc_group_limit_name(fc_group_limit_t limit);
bool fc_group_limits_any(const fc_group_limits_t *limits);

// Moves this process to GROUP/server, and gives GROUP's controllers to the groups below.
// `reasons` says which limits cannot be set; if none can, this process stays in GROUP.
// `root` is put before every path: "" but in tests.
void fc_groups_open(fc_groups_t *groups, const char *root);
// Makes a group with these limits, at least one of which is not 0. *out_procs, which the
// caller closes, is the file that a process writes "0" to so as to enter the group.
// `lacks` (zeroed) is told of the limits that cannot be set, and the group has the others;
// NULL: all must be set. FC_CODE_MODULE_UNAVAILABLE if the group cannot be made, or not
// with those limits, or with none; then there is no group.
fc_status_t fc_groups_add(const fc_groups_t *groups, fc_str_t module,
                          uint32_t generation, const fc_group_limits_t *limits,
                          fc_group_lacks_t *lacks, int *out_procs,
                          fc_error_t *err) FC_MUST_CHECK;
// Removes the group. Its processes must have ended and been waited for.
void fc_groups_remove(const fc_groups_t *groups, fc_str_t module,
                      uint32_t generation);

#endif  // FARCALL_SERVER_POOL_GROUPS_H_
