// SPDX-License-Identifier: Apache-2.0
//
// What the policy of a module (config/module.h) means for listing, loading and calling
// it. Any thread. The members of fc_module_policy_t:
//
//   isolation, fresh, sandbox, group_*, tiles, parameters, module_heap, workers
//               how it is opened and hosted, from its next load on (isolation:
//               0 auto, 1 process, 2 thread, as fc_isolation_mode_t). One server has
//               modules of both hosts.
//   timeout     ms, 0: none. Of a call, read when the call is admitted
//   versions    which files of NAME/VERSION/model.* are listed (versions.h)
//   aliases     "ALIAS=VERSION,…": fc_module_policy_alias
//   functions   "NAME,…": fc_module_policy_exposes. For clients, other functions do
//               not exist; "": all do
//   pin         it is never unloaded to make room, nor for being idle
//   warm_up     before a new generation serves, each test call is made so often, or
//               where there are none the example of each function that can be
//               called; 0: nothing is called
//   self_test   "auto": the calls of the sidecar's member "self_test", else of
//               NAME.tests.jsonl beside the file (model.tests.jsonl for
//               NAME/VERSION/model.*), if there are any; "off": none; else the path
//               of such a file. A generation that fails one does not serve
//   rollback_on_crash   true: when a new generation keeps crashing and the module
//               before it, or a lower version, is still there, that one serves again,
//               and the file is refused (rollback.h)
//
// If the configuration does not set warm_up or rollback_on_crash, the members "warm_up"
// and "rollback" of the sidecar apply.
#ifndef FARCALL_SERVER_MODULES_POLICY_H_
#define FARCALL_SERVER_MODULES_POLICY_H_

#include "config/module.h"

// Checks values before they are used, which may be much later. After a failure *out_key
// is the wrong key. FC_CODE_NOT_ACCEPTABLE, FC_CODE_OUT_OF_RANGE.
fc_status_t fc_module_policy_check(const fc_module_policy_t *policy,
                                   unsigned *out_key,
                                   fc_error_t *err) FC_MUST_CHECK;
// May clients see and call this function?
bool fc_module_policy_exposes(const fc_module_policy_t *policy,
                              fc_str_t function);
// Finds the version that an alias leads to. False: the policy has no such alias.
bool fc_module_policy_alias(const fc_module_policy_t *policy, fc_str_t alias,
                            fc_str_t *out_version);

#endif  // FARCALL_SERVER_MODULES_POLICY_H_
