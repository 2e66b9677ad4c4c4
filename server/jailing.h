// SPDX-License-Identifier: Apache-2.0
//
// --sandbox, --worker-user and the limits of control groups in the server: which parts of
// the jail the kernel has, and whether these are enough for what the options ask. For
// server.c, reread.c and main.c; loop thread.
#ifndef FARCALL_SERVER_JAILING_H_
#define FARCALL_SERVER_JAILING_H_

#include "config/module.h"
#include "jail/jail.h"
#include "obs/log.h"
#include "pool/process_host.h"

// Can --sandbox be kept for each module? FC_CODE_MODULE_UNAVAILABLE if not.
fc_status_t fc_jailing_check_policies(const fc_module_policies_t *policies,
                                      const fc_jail_facts_t *facts,
                                      fc_error_t *err) FC_MUST_CHECK;
// For -t: probes the kernel, and checks --sandbox and --worker-user of these options.
// FC_CODE_MODULE_UNAVAILABLE, FC_CODE_NOT_ACCEPTABLE, or an error of
// fc_module_policies_init.
fc_status_t fc_jailing_check(const fc_server_options_t *options,
                             fc_error_t *err) FC_MUST_CHECK;
// The user and the group of --worker-user; user 0: the option is not given.
// FC_CODE_NOT_ACCEPTABLE, also if this process may not change users.
fc_status_t fc_jailing_user(const fc_server_options_t *options,
                            uint32_t *out_user, uint32_t *out_group,
                            fc_error_t *err) FC_MUST_CHECK;
// Ends the probe that was begun in `facts`, before the first process is started: checks
// the policies, gives `processes` the parts that there are, and logs each part that the
// kernel lacks, if any module has --sandbox=auto or strict. That a server which is not
// root may not have the part of the network is not logged. FC_CODE_MODULE_UNAVAILABLE.
fc_status_t fc_jailing_settle(const fc_module_policies_t *policies,
                              fc_log_t *log, fc_jail_facts_t *facts,
                              fc_process_options_t *processes,
                              fc_error_t *err) FC_MUST_CHECK;

// Makes the server's control groups if any module has a limit of --group-memory,
// --group-tasks or --group-cpu, and logs which of these cannot be kept. Called before the
// first worker process is started.
void fc_jailing_open_groups(const fc_module_policies_t *policies, fc_log_t *log,
                            fc_groups_t *out_groups);

#endif  // FARCALL_SERVER_JAILING_H_
