// SPDX-License-Identifier: Apache-2.0
//
// What the policy of a module (config/module.h) means for listing, loading and calling
// it. Any thread. The members of fc_module_policy_t:
//
//   isolation, fresh, sandbox, group_*, tiles, parameters, module_heap, workers
//               how it is opened and hosted, from its next load on (isolation:
//               0 auto, 1 process, 2 thread, as fc_isolation_mode_t). One server may
//               have modules in both kinds of hosts.
//   timeout     the deadline of a call in ms, read when the call is admitted; 0: none
//   versions    which files of NAME/VERSION/model.* are listed (versions.h)
//   aliases     "ALIAS=VERSION,…": fc_module_policy_alias
//   functions   "NAME,…": the functions that exist for clients
//               (fc_module_policy_exposes); "": all
//   pin         true: it is never unloaded to make room, or because it is idle
//   warm_up     how often each test call is made before a new generation serves. If
//               there are no test calls, the example of each function that can be
//               called is used; 0: nothing is called
//   self_test   which test calls it has. "auto": those of the sidecar's member
//               "self_test" or, if that is absent, of the file NAME.tests.jsonl beside
//               the module (model.tests.jsonl for NAME/VERSION/model.*); "off": none;
//               otherwise the path of such a file. A generation that fails a test call
//               does not serve
//   rollback_on_crash   true: if a new generation keeps crashing, the module before it,
//               or a lower version, serves again if it is still there, and the file of
//               the new generation is refused (rollback.h)
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
