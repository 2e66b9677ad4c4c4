// SPDX-License-Identifier: Apache-2.0
//
// Finds the users and groups of the machine that options name. This asks the system's
// databases, which may take long, so it is done only when options are read: at the start
// and at SIGHUP.
#ifndef FARCALL_SERVER_CONFIG_ACCOUNT_H_
#define FARCALL_SERVER_CONFIG_ACCOUNT_H_

#include "farcall/base.h"

#define FC_ACCOUNT_NONE UINT32_MAX

// Reads a name or a number; gives FC_ACCOUNT_NONE if the text is "".
// FC_CODE_NOT_ACCEPTABLE: no such user or group exists; the error names `option`.
fc_status_t fc_account_user(fc_str_t text, const char *option, uint32_t *out_id,
                            fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_account_group(fc_str_t text, const char *option,
                             uint32_t *out_id, fc_error_t *err) FC_MUST_CHECK;
// Reads a number below FC_ACCOUNT_NONE. False: the text is "" or no such number.
bool fc_account_number(fc_str_t text, unsigned base, uint32_t *out_number);

#endif  // FARCALL_SERVER_CONFIG_ACCOUNT_H_
