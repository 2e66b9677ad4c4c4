// SPDX-License-Identifier: Apache-2.0
//
// --versions: selects which versions of a module are served. Any thread.
#ifndef FARCALL_SERVER_MODULES_VERSIONS_H_
#define FARCALL_SERVER_MODULES_VERSIONS_H_

#include "config/module.h"
#include "modules/scan.h"

// Checks a policy: "all", "latest:N", or versions with '+' between them.
// FC_CODE_NOT_ACCEPTABLE: the text has another form.
fc_status_t fc_versions_check(fc_str_t policy, fc_error_t *err) FC_MUST_CHECK;
// Removes the files of versions that are not served from a listing. Files without a
// version stay. A served version that cannot be read (fc_unread_t.served) stays, so it
// counts among the latest.
void fc_versions_filter(const fc_module_policies_t *policies,
                        fc_listing_t *listing);

#endif  // FARCALL_SERVER_MODULES_VERSIONS_H_
