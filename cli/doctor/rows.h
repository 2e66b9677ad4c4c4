// SPDX-License-Identifier: Apache-2.0
//
// Reports whether rows of a module's functions may be batched (module/prove.h). A server
// finds out the same before it serves them.
#ifndef FARCALL_CLI_DOCTOR_ROWS_H_
#define FARCALL_CLI_DOCTOR_ROWS_H_

#include "doctor/checkup.h"
#include "farcall/module.h"

// Makes a child try the functions of `module`, which was loaded from checkup->path, and
// adds the findings.
void fc_doctor_rows(fc_checkup_t *checkup, const fc_module_t *module);

#endif  // FARCALL_CLI_DOCTOR_ROWS_H_
