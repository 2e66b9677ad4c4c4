// SPDX-License-Identifier: Apache-2.0
//
// Tells the service manager about the server's state (sd_notify(3)), by datagrams to the
// Unix socket that NOTIFY_SOCKET names. Without that variable nothing is sent. It is also
// the manager's watchdog: a loop that hangs stops sending WATCHDOG=1, and the manager
// ends the program. For server.c, drain.c and signals.c; loop thread.
#ifndef FARCALL_SERVER_NOTIFY_H_
#define FARCALL_SERVER_NOTIFY_H_

#include <sys/un.h>
#include <uv.h>

#include "farcall/base.h"

typedef struct fc_notify_t {
  int socket;  // 0: there is no manager to tell
  struct sockaddr_un address;
  socklen_t address_size;
  uint64_t watchdog_ms;  // the time between two WATCHDOG=1; 0: none are sent
  uv_timer_t watchdog;
  bool reloading;
  char page[192];  // the address of the explorer's page; "": not known yet
} fc_notify_t;

// Reads NOTIFY_SOCKET (a path from '/', or '@' and an abstract name) and, if that can be
// used, WATCHDOG_USEC and WATCHDOG_PID. An unusable value is treated as not set.
void fc_notify_init(fc_notify_t *notify, uv_loop_t *loop);
// From now on "ready" is sent with the address at which clients find the server. If this
// is called several times, the first address counts, but a TCP address replaces a Unix
// socket.
void fc_notify_at(fc_notify_t *notify, const char *scheme, const char *host,
                  int port);
// These tell the manager that the server is ready (again), reloads or stops. Sending does
// not wait: if the manager has no room for the datagram, it is lost.
void fc_notify_ready(fc_notify_t *notify);
void fc_notify_reloading(fc_notify_t *notify);
void fc_notify_stopping(fc_notify_t *notify);
// Closes the socket; the loop closes the timer. Accepts a zeroed fc_notify_t.
void fc_notify_deinit(fc_notify_t *notify);

#endif  // FARCALL_SERVER_NOTIFY_H_
