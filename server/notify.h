// SPDX-License-Identifier: Apache-2.0
//
// What the service manager is told (sd_notify(3)): datagrams to the Unix socket
// that NOTIFY_SOCKET names. Without that variable nothing is told. Also its watchdog:
// a loop that hangs no longer says WATCHDOG=1, and the manager ends the program. For
// server.c, drain.c and signals.c; loop thread.
#ifndef FARCALL_SERVER_NOTIFY_H_
#define FARCALL_SERVER_NOTIFY_H_

#include <sys/un.h>
#include <uv.h>

#include "farcall/base.h"

typedef struct fc_notify_t {
  int socket;  // 0: nobody is told
  struct sockaddr_un address;
  socklen_t address_size;
  uint64_t watchdog_ms;  // between two WATCHDOG=1; 0: none is wanted
  uv_timer_t watchdog;
  bool reloading;
  char page[192];  // the address of the page, "" until it is known
} fc_notify_t;

// Reads NOTIFY_SOCKET (a path from '/', or '@' and an abstract name) and, if that can be
// used, WATCHDOG_USEC and WATCHDOG_PID. A value that cannot be used counts as none.
void fc_notify_init(fc_notify_t *notify, uv_loop_t *loop);
// From now on "ready" is told with the address at which clients find the server; of
// several the first counts, and one of TCP before a Unix socket.
void fc_notify_at(fc_notify_t *notify, const char *scheme, const char *host,
                  int port);
// These tell the manager that the server is ready (again), reloads or stops. A datagram
// does not wait: one that the manager has no room for is lost.
void fc_notify_ready(fc_notify_t *notify);
void fc_notify_reloading(fc_notify_t *notify);
void fc_notify_stopping(fc_notify_t *notify);
// Closes the socket; the loop closes the timer. A zeroed fc_notify_t is
// allowed.
void fc_notify_deinit(fc_notify_t *notify);

#endif  // FARCALL_SERVER_NOTIFY_H_
