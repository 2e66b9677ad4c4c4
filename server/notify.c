// SPDX-License-Identifier: Apache-2.0
#include "notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void tell(const fc_notify_t *notify, const char *state) {
  if (!notify->socket) return;
  (void)sendto(notify->socket, state, strlen(state),
               MSG_DONTWAIT | MSG_NOSIGNAL,
               (const struct sockaddr *)&notify->address, notify->address_size);
}

static void on_watchdog(uv_timer_t *timer) { tell(timer->data, "WATCHDOG=1"); }

static bool read_address(fc_notify_t *notify) {
  const char *name = getenv("NOTIFY_SOCKET");
  const size_t size = name ? strlen(name) : 0;
  struct sockaddr_un *address = &notify->address;
  if (size < 2 || size >= sizeof address->sun_path) return false;
  if (name[0] != '/' && name[0] != '@') return false;
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path, name, size);
  if (name[0] == '@') address->sun_path[0] = '\0';
  notify->address_size =
      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
  return true;
}

// Returns half of the manager's watchdog time, as sd_watchdog_enabled(3) advises; 0: the
// manager wants no watchdog for this process.
static uint64_t watchdog_ms(void) {
  const char *pid = getenv("WATCHDOG_PID");
  const char *us = getenv("WATCHDOG_USEC");
  if (!us || (pid && strtoull(pid, NULL, 10) != (uint64_t)getpid())) return 0;
  return strtoull(us, NULL, 10) / 2000;
}

void fc_notify_init(fc_notify_t *notify, uv_loop_t *loop) {
  uv_timer_init(loop, &notify->watchdog);
  notify->watchdog.data = notify;
  uv_unref((uv_handle_t *)&notify->watchdog);
  if (!read_address(notify)) return;
  const int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) return;
  notify->socket = file;
  const uint64_t every_ms = notify->watchdog_ms = watchdog_ms();
  if (every_ms) {
    uv_timer_start(&notify->watchdog, on_watchdog, every_ms, every_ms);
  }
}

// A client cannot connect to an address that means all addresses of the machine, so the
// loopback address is given instead.
static const char *reachable(const char *host) {
  if (!strcmp(host, "0.0.0.0")) return "127.0.0.1";
  return strcmp(host, "[::]") != 0 ? host : "[::1]";
}

void fc_notify_at(fc_notify_t *notify, const char *scheme, const char *host,
                  int port) {
  const bool known = notify->page[0] && strncmp(notify->page, "unix:", 5) != 0;
  if (known || (!port && notify->page[0])) return;
  if (port) {
    snprintf(notify->page, sizeof notify->page, "%s://%s:%d/", scheme,
             reachable(host), port);
  } else {
    snprintf(notify->page, sizeof notify->page, "unix:%s", host);
  }
}

void fc_notify_ready(fc_notify_t *notify) {
  char state[sizeof notify->page + 64];
  snprintf(state, sizeof state, "READY=1%s%s",
           notify->page[0] ? "\nSTATUS=serving at " : "", notify->page);
  notify->reloading = false;
  tell(notify, state);
}

void fc_notify_reloading(fc_notify_t *notify) {
  struct timespec now;
  char state[80];
  clock_gettime(CLOCK_MONOTONIC, &now);
  snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%llu",
           (unsigned long long)now.tv_sec * 1000000u +
               (unsigned long long)now.tv_nsec / 1000u);
  notify->reloading = true;
  tell(notify, state);
}

void fc_notify_stopping(fc_notify_t *notify) {
  notify->reloading = false;
  tell(notify, "STOPPING=1");
}

void fc_notify_deinit(fc_notify_t *notify) {
  if (notify->socket) close(notify->socket);
  notify->socket = 0;
}
