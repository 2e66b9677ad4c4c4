// SPDX-License-Identifier: Apache-2.0
//
// Checks options whose values are otherwise read only when the server starts or a
// module is loaded.
#ifndef FARCALL_SERVER_CHECK_H_
#define FARCALL_SERVER_CHECK_H_

#include "config/options.h"

// Returns FC_OK if all values are right. If the configuration file gave the wrong value,
// the error says where in the file.
fc_status_t fc_options_check(const fc_server_options_t *options,
                             fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_CHECK_H_
