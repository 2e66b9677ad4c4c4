// SPDX-License-Identifier: Apache-2.0
//
// The token files of endpoints (--token-file). They are read at the start, checked by -t,
// and read again at SIGHUP. Loop thread.
#ifndef FARCALL_SERVER_LISTEN_TOKEN_FILES_H_
#define FARCALL_SERVER_LISTEN_TOKEN_FILES_H_

#include "config/listener.h"
#include "listen/endpoints.h"

// Reads the endpoint's token file, if it has one, into its policy.
fc_status_t fc_token_files_open(fc_endpoint_t *endpoint,
                                const fc_listener_policy_t *said,
                                fc_error_t *err) FC_MUST_CHECK;
// Logs the number of tokens of the endpoint, and warns if others can learn them easily.
void fc_token_files_tell(const fc_endpoint_t *endpoint);
// Checks the files for -t, which does not listen.
fc_status_t fc_token_files_check(const fc_server_options_t *options,
                                 fc_error_t *err) FC_MUST_CHECK;
// Reads the files again. If a file is wrong, that is logged and its old tokens are kept.
void fc_token_files_reload(fc_endpoints_t *all);

#endif  // FARCALL_SERVER_LISTEN_TOKEN_FILES_H_
