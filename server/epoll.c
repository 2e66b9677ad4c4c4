// SPDX-License-Identifier: Apache-2.0
//
// Replaces the C library's epoll_ctl, also for libuv: libuv ends the process when the
// kernel has no room to watch one more descriptor, be it for a moment
// (fs.epoll.max_user_watches, which all processes of the user share, or memory). This
// one waits for room, 10 s at most. The loop does nothing else meanwhile, but nothing is
// lost either.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 2000000
#define PAUSES_MAX 5000  // 10 s

static void tell(int error) {
  fprintf(stderr,
          "farcalld: epoll_ctl: %s, for 10 s: raise fs.epoll.max_user_watches, "
          "or lower --connections\n",
          strerror(error));
}

__attribute__((visibility("default"))) int epoll_ctl(
    int poll, int action, int descriptor, struct epoll_event *event) {
  const struct timespec pause = {0, PAUSE_NS};
  for (int i = 0;; i++) {
    if (!syscall(SYS_epoll_ctl, poll, action, descriptor, event)) return 0;
    const int error = errno;
    if (error != ENOMEM && error != ENOSPC) return -1;
    if (i == PAUSES_MAX) {
      tell(error);
      errno = error;
      return -1;
    }
    (void)nanosleep(&pause, NULL);
  }
}
