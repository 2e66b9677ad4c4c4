// SPDX-License-Identifier: Apache-2.0
//
// Control groups (version 2) for the processes of single modules, where the server's own
// group was delegated to it: --group-memory, --group-tasks, --group-cpu.
//
//   GROUP/server           the server, which leaves GROUP: a group that gives controllers
//                          to others may have no processes
//   GROUP/module-NAME.N    the processes of generation N of module NAME
//
// The loop's thread.
#ifndef FARCALL_SERVER_POOL_GROUPS_H_
#define FARCALL_SERVER_POOL_GROUPS_H_

#include "farcall/base.h"
#include "pool/cgroup.h"

typedef enum fc_group_limit_t {
  FC_GROUP_MEMORY,  // bytes
  FC_GROUP_TASKS,   // processes and threads
  FC_GROUP_CPU,     // percent of one processor
  FC_GROUP_LIMITS
} fc_group_limit_t;

// What the processes of one module may take together; 0: not limited.
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

// "memory", "pids", "cpu": the controller of a limit.
const char *fc_group_limit_name(fc_group_limit_t limit);
bool fc_group_limits_any(const fc_group_limits_t *limits);

// Moves this process and gives its group's controllers to the groups below. What cannot
// be had is in `reasons`. `root` is put before every path: "" but in tests.
void fc_groups_open(fc_groups_t *groups, const char *root);
// Makes a group with these limits, at least one of which is not 0. *out_procs: the file
// that a process writes "0" to so as to enter it. FC_CODE_MODULE_UNAVAILABLE if one of
// the limits cannot be set; then there is no group.
fc_status_t fc_groups_add(const fc_groups_t *groups, fc_str_t module,
                          uint32_t generation, const fc_group_limits_t *limits,
                          int *out_procs, fc_error_t *err) FC_MUST_CHECK;
// Removes it, once its processes have ended and were waited for.
void fc_groups_remove(const fc_groups_t *groups, fc_str_t module,
                      uint32_t generation);

#endif  // FARCALL_SERVER_POOL_GROUPS_H_
