// SPDX-License-Identifier: Apache-2.0
//
// What the configuration names and nobody has: modules, which may come later, and, for
// -t, which loads nothing, PATHs. Mistakes in them show nowhere else.
#ifndef FARCALL_SERVER_NAMED_H_
#define FARCALL_SERVER_NAMED_H_

#include "server.h"

// Warns, when the start is over, of each member of "modules" whose module is not there.
void fc_named_tell(fc_loop_t *loop);
// For -t: lists the PATHs. Complains on standard error of the same members, and of each
// PATH that is not there. With --strict-load such a PATH is an error, as it is at a start.
// FC_CODE_MODULE_PATH, FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_named_check(const fc_server_options_t *options,
                           fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_NAMED_H_
