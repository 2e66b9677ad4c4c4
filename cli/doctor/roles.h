// SPDX-License-Identifier: Apache-2.0
//
// Finds arguments that a module's functions write to although their role does not say so.
// Each function is called once with its example, in a separate process. One thread.
#ifndef FARCALL_CLI_DOCTOR_ROLES_H_
#define FARCALL_CLI_DOCTOR_ROLES_H_

#include "doctor/checkup.h"
#include "farcall/farcall.h"

// Adds a finding for each argument with the role `in` that a function writes to. With
// `write`, writes or changes the sidecar beside the checkup's file: these arguments get
// the role `inout`. `module` must only have been described.
void fc_doctor_roles(fc_checkup_t *checkup, const fc_module_t *module,
                     bool write);

#endif  // FARCALL_CLI_DOCTOR_ROLES_H_
