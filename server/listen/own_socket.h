// SPDX-License-Identifier: Apache-2.0
//
// The Unix socket by which the programs of the server's own user change it, where nobody
// asked for another: XDG_RUNTIME_DIR/farcall/ADDR:PORT.sock, by the address of the first
// TCP listener. `farcall` finds it there, by the instance that both say (cli/remote.c).
// Loop thread.
#ifndef FARCALL_SERVER_LISTEN_OWN_SOCKET_H_
#define FARCALL_SERVER_LISTEN_OWN_SOCKET_H_

#include "farcall/base.h"

// Bytes of "unix:" and the longest path of a Unix socket, with its end.
#define FC_OWN_SOCKET_MAX 128

// Makes the folder if need be, and writes the socket's address as --listen takes it. False:
// there is no place, since XDG_RUNTIME_DIR is not set, or the folder is not this user's
// alone, or the path is too long.
bool fc_own_socket(const char *host, int port, char out[FC_OWN_SOCKET_MAX]);

#endif  // FARCALL_SERVER_LISTEN_OWN_SOCKET_H_
