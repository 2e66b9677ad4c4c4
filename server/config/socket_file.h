// SPDX-License-Identifier: Apache-2.0
//
// Who may connect to a Unix socket: the mode and owner of its file (--socket-mode,
// --socket-owner).
#ifndef FARCALL_SERVER_CONFIG_SOCKET_FILE_H_
#define FARCALL_SERVER_CONFIG_SOCKET_FILE_H_

#include "farcall/base.h"

#define FC_SOCKET_FILE_KEEP UINT32_MAX

typedef struct fc_socket_file_t {
  uint32_t mode;  // permissions; FC_SOCKET_FILE_KEEP: what the umask leaves
  // Who owns the file. FC_SOCKET_FILE_KEEP: the user or group that the system gives it.
  uint32_t user;
  uint32_t group;
} fc_socket_file_t;

// Reads `mode`, octal as in "0660", and `owner`: "USER", "USER:GROUP" or ":GROUP", each a
// name or a number. "" keeps what the system gives. FC_CODE_NOT_ACCEPTABLE: the mode is
// no such number, or the user or group does not exist.
fc_status_t fc_socket_file_parse(fc_str_t mode, fc_str_t owner,
                                 fc_socket_file_t *out_file,
                                 fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_CONFIG_SOCKET_FILE_H_
