// SPDX-License-Identifier: Apache-2.0
//
// The Unix socket through which programs of the server's own user can change the
// server. It is opened if the options name no other Unix socket, at
// XDG_RUNTIME_DIR/farcall/ADDR:PORT.sock, which is the address of the first TCP
// listener. `farcall` finds the socket by this name, and compares the instance numbers
// that the socket and the TCP listener report (cli/remote.c). Loop thread.
#ifndef FARCALL_SERVER_LISTEN_OWN_SOCKET_H_
#define FARCALL_SERVER_LISTEN_OWN_SOCKET_H_

#include "farcall/base.h"

// The size of "unix:" and the longest path of a Unix socket, with the final NUL.
#define FC_OWN_SOCKET_MAX 128

// Makes the folder if necessary, and writes the socket's address in the form of --listen.
// False: XDG_RUNTIME_DIR is not set, the folder is not private to this user, or the path
// is too long.
bool fc_own_socket(const char *host, int port, char out[FC_OWN_SOCKET_MAX]);

#endif  // FARCALL_SERVER_LISTEN_OWN_SOCKET_H_
