// SPDX-License-Identifier: Apache-2.0
//
// Control groups (version 2) for the processes of single modules, if the server's own
// group was delegated to it: --group-memory, --group-tasks, --group-cpu.
//
//   GROUP/server           the server, which leaves GROUP: a group with controllers for
//                          groups below it may have no processes itself
//   GROUP/module-NAME.N    the processes of generation N of module NAME
//
// fc_groups_open is for the start; the other functions are for the nursery's thread
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

// The limits of all processes of one generation together; 0: no limit.
typedef struct fc_group_limits_t {
  uint64_t values[FC_GROUP_LIMITS];
} fc_group_limits_t;

// Zeroed: no option asks for groups.
typedef struct fc_groups_t {
  char folder[FC_CGROUP_PATH];  // GROUP; "": there are none
  // Why a limit cannot be set; "": it can.
  char reasons[FC_GROUP_LIMITS][160];
  bool asked;
} fc_groups_t;

// Why a group lacks a limit that was asked for; "": it has the limit, or none was asked
// for.
typedef struct fc_group_lacks_t {
  char reasons[FC_GROUP_LIMITS][160];
} fc_group_lacks_t;

// Returns the controller of a limit: "memory", "pids" or "cpu".
const char *fc_group_limit_name(fc_group_limit_t limit);
bool fc_group_limits_any(const fc_group_limits_t *limits);

// Moves this process to GROUP/server, and enables GROUP's controllers for the groups
// below. `reasons` says which limits cannot be set; if none can, this process stays in
// GROUP. `root` is put before every path; only tests pass anything except "".
void fc_groups_open(fc_groups_t *groups, const char *root);
// Makes a group with these limits, at least one of which is not 0. A process enters the
// group by writing "0" to the file *out_procs, which the caller closes. Limits that
// cannot be set are noted in `lacks` (zeroed), and the group has the others; `lacks`
// NULL: all must be set. FC_CODE_MODULE_UNAVAILABLE, and there is no group: it cannot be
// made, no limit can be set, or `lacks` is NULL and some limit cannot be set.
fc_status_t fc_groups_add(const fc_groups_t *groups, fc_str_t module,
                          uint32_t generation, const fc_group_limits_t *limits,
                          fc_group_lacks_t *lacks, int *out_procs,
                          fc_error_t *err) FC_MUST_CHECK;
// Removes the group. Its processes must have ended and been reaped.
void fc_groups_remove(const fc_groups_t *groups, fc_str_t module,
                      uint32_t generation);

#endif  // FARCALL_SERVER_POOL_GROUPS_H_
