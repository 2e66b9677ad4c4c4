// SPDX-License-Identifier: Apache-2.0
//
// Users and groups of the machine, as options name them. Asks the system's databases,
// which may take long: only where options are read, at the start and at SIGHUP.
#ifndef FARCALL_SERVER_CONFIG_ACCOUNT_H_
#define FARCALL_SERVER_CONFIG_ACCOUNT_H_

#include "farcall/base.h"

#define FC_ACCOUNT_NONE UINT32_MAX

// Reads a name or a number; FC_ACCOUNT_NONE if the text is "". FC_CODE_NOT_ACCEPTABLE
// says that `option` names nobody.
fc_status_t fc_account_user(fc_str_t text, const char *option, uint32_t *out_id,
                            fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_account_group(fc_str_t text, const char *option,
                             uint32_t *out_id, fc_error_t *err) FC_MUST_CHECK;
// False if the text is "" or no number of this base below FC_ACCOUNT_NONE.
bool fc_account_number(fc_str_t text, unsigned base, uint32_t *out_number);

#endif  // FARCALL_SERVER_CONFIG_ACCOUNT_H_
