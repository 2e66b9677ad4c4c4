// SPDX-License-Identifier: Apache-2.0
//
// Listening sockets that a service manager has passed (sd_listen_fds(3)), as LISTEN_PID,
// LISTEN_FDS and LISTEN_FDNAMES describe them. Loop thread.
#ifndef FARCALL_SERVER_LISTEN_PASSED_H_
#define FARCALL_SERVER_LISTEN_PASSED_H_

#include "config/options.h"

// The descriptor of socket 0; those of the others follow it.
#define FC_PASSED_FIRST 3

// Gives the number of sockets that were passed to this process.
// FC_CODE_MODULE_UNAVAILABLE: there are more than FC_LIMIT_PASSED.
fc_status_t fc_passed_count(uint32_t *out_count, fc_error_t *err) FC_MUST_CHECK;
// Is the descriptor a listening stream socket?
bool fc_passed_listens(int socket);
// Returns the name that the service manager gave socket `index`, counted from 0; "" if
// none.
fc_str_t fc_passed_name(uint32_t index);
// Checks that every listener of the file for passed sockets has such a socket.
fc_status_t fc_passed_check(const fc_server_options_t *options, uint32_t passed,
                            fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_LISTEN_PASSED_H_
