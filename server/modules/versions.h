// SPDX-License-Identifier: Apache-2.0
//
// --versions: of the versions that a module has files of, which are served. Any
// thread.
#ifndef FARCALL_SERVER_MODULES_VERSIONS_H_
#define FARCALL_SERVER_MODULES_VERSIONS_H_

#include "config/module.h"
#include "modules/scan.h"

// Checks a policy: "all", "latest:N", or versions with '+' between.
// FC_CODE_NOT_ACCEPTABLE if it is none.
fc_status_t fc_versions_check(fc_str_t policy, fc_error_t *err) FC_MUST_CHECK;
// Takes the files of versions that are not served out of a listing. Files that
// are no version of a module stay. A version that cannot be read counts among the latest
// if it is served (fc_unread_t.served), since it stays.
void fc_versions_filter(const fc_module_policies_t *policies,
                        fc_listing_t *listing);

#endif  // FARCALL_SERVER_MODULES_VERSIONS_H_
