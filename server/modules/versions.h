// SPDX-License-Identifier: Apache-2.0
//
// Which of the versions that a module has files of are served: --versions. Any
// thread.
#ifndef FARCALL_SERVER_MODULES_VERSIONS_H_
#define FARCALL_SERVER_MODULES_VERSIONS_H_

#include "modules/scan.h"

// Reads "POLICY,NAME=POLICY,...", where POLICY is "all", "latest:N", or versions with
// '+' between. FC_CODE_NOT_ACCEPTABLE.
fc_status_t fc_versions_check(fc_str_t policies, fc_error_t *err) FC_MUST_CHECK;
// Takes files of versions that are not served out of a listing. Others stay.
void fc_versions_filter(fc_str_t policies, fc_listing_t *listing);

#endif  // FARCALL_SERVER_MODULES_VERSIONS_H_
