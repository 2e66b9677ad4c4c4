// SPDX-License-Identifier: Apache-2.0
//
// Which arguments a module's functions write into without saying so: each function is
// called once with its example, in a process of its own. One thread.
#ifndef FARCALL_CLI_DOCTOR_ROLES_H_
#define FARCALL_CLI_DOCTOR_ROLES_H_

#include "doctor/checkup.h"
#include "farcall/farcall.h"

// Adds a finding for each argument that is written into and whose role is `in`. With
// `write`, the sidecar beside the checkup's file is written, or changed: these arguments
// are `inout` there. `module` has only been described.
void fc_doctor_roles(fc_checkup_t *checkup, const fc_module_t *module,
                     bool write);

#endif  // FARCALL_CLI_DOCTOR_ROLES_H_
