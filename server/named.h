// SPDX-License-Identifier: Apache-2.0
//
// Reports names in the configuration that do not exist: modules, which may come later,
// and, for -t (which loads nothing), PATHs. Such mistakes show nowhere else.
#ifndef FARCALL_SERVER_NAMED_H_
#define FARCALL_SERVER_NAMED_H_

#include "server.h"

// Warns at the end of the start about each member of "modules" whose module does not
// exist.
void fc_named_tell(fc_loop_t *loop);
// For -t: lists the PATHs. Reports on standard error the same members, and each PATH that
// does not exist. With --strict-load a missing PATH is an error, as at a start.
// FC_CODE_MODULE_PATH, FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_named_check(const fc_server_options_t *options,
                           fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_NAMED_H_
