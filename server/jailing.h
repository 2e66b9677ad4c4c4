// SPDX-License-Identifier: Apache-2.0
//
// --sandbox, --worker-user and the limits of control groups in the server: finds out
// which parts of the jail the kernel has, and whether they suffice for the options. For
// server.c, reread.c and main.c; loop thread.
#ifndef FARCALL_SERVER_JAILING_H_
#define FARCALL_SERVER_JAILING_H_

#include "config/module.h"
#include "jail/jail.h"
#include "obs/log.h"
#include "pool/process_host.h"

// The parts of the jail, and what is needed to log the missing ones. Zeroed: not probed.
typedef struct fc_jailing_t {
  fc_jail_facts_t facts;
  const fc_module_policies_t *policies;  // in force
  fc_log_t *log;
  bool told;
} fc_jailing_t;

// Begins to probe the kernel in parallel with the start, if any module may have
// processes. A server that never starts a process does not pay for the probe. `user` is
// that of --worker-user.
void fc_jailing_begin(fc_jailing_t *jailing,
                      const fc_module_policies_t *policies, uint32_t user,
                      fc_log_t *log);
// Waits for the end of the probe, if one was begun, and logs what is missing.
void fc_jailing_settle(fc_jailing_t *jailing);
// Returns the parts; probes now if they are not known. The first call logs each part that
// the kernel lacks, if any module has --sandbox=auto or strict. Parts that only root may
// use are not logged if the server is not root. `jailing` is an fc_jailing_t: this
// function is for fc_process_options_t.jail.
const fc_jail_facts_t *fc_jailing_know(void *jailing);
// Can the server keep --sandbox for each module? FC_CODE_MODULE_UNAVAILABLE: it cannot.
// Probes only if a module has --sandbox=strict.
fc_status_t fc_jailing_check_policies(const fc_module_policies_t *policies,
                                      fc_jail_facts_t *facts,
                                      fc_error_t *err) FC_MUST_CHECK;
// For -t: probes the kernel, and checks --sandbox and --worker-user of these options.
// FC_CODE_MODULE_UNAVAILABLE, FC_CODE_NOT_ACCEPTABLE, or an error of
// fc_module_policies_init.
fc_status_t fc_jailing_check(const fc_server_options_t *options,
                             fc_error_t *err) FC_MUST_CHECK;
// Gives the user and the group of --worker-user; user 0: the option is not given.
// FC_CODE_NOT_ACCEPTABLE: the value is wrong, or this process may not change users.
fc_status_t fc_jailing_user(const fc_server_options_t *options,
                            uint32_t *out_user, uint32_t *out_group,
                            fc_error_t *err) FC_MUST_CHECK;

// Makes the server's control groups if any module has a limit of --group-memory,
// --group-tasks or --group-cpu, and logs which of these limits cannot be kept. Call it
// before the first worker process is started.
void fc_jailing_open_groups(const fc_module_policies_t *policies, fc_log_t *log,
                            fc_groups_t *out_groups);

#endif  // FARCALL_SERVER_JAILING_H_
