// SPDX-License-Identifier: Apache-2.0
//
// The files of tokens that endpoints have (--token-file): read at the start, checked by
// -t, read again for SIGHUP. Loop thread.
#ifndef FARCALL_SERVER_LISTEN_TOKEN_FILES_H_
#define FARCALL_SERVER_LISTEN_TOKEN_FILES_H_

#include "config/listener.h"
#include "listen/endpoints.h"

// Reads the file of the endpoint, if it is to have one, into its policy.
fc_status_t fc_token_files_open(fc_endpoint_t *endpoint,
                                const fc_listener_policy_t *said,
                                fc_error_t *err) FC_MUST_CHECK;
// Logs how many tokens the endpoint has, and what makes them easy to learn.
void fc_token_files_tell(const fc_endpoint_t *endpoint);
// Checks the files, for -t, which listens nowhere.
fc_status_t fc_token_files_check(const fc_server_options_t *options,
                                 fc_error_t *err) FC_MUST_CHECK;
// Reads the files again. Where one is wrong, which is logged, the tokens read before are
// kept.
void fc_token_files_reload(fc_endpoints_t *all);

#endif  // FARCALL_SERVER_LISTEN_TOKEN_FILES_H_
