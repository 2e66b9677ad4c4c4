// SPDX-License-Identifier: Apache-2.0
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "config/limits.h"

#define WATCHES "/proc/sys/fs/epoll/max_user_watches"

uint64_t fc_descriptors_watches(const char *path) {
  unsigned long watches = 0;
  FILE *file = fopen(path, "re");
  if (file && fscanf(file, "%lu", &watches) != 1) watches = 0;
  if (file) fclose(file);
  return watches;
}

uint64_t fc_descriptors_raise(uint64_t need) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files)) return 0;
  if (files.rlim_cur < need) {
    files.rlim_cur = files.rlim_max < need ? files.rlim_max : need;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)getrlimit(RLIMIT_NOFILE, &files);
  }
  return files.rlim_cur;
}

// uv_loop_init ends the process if it has no descriptors for its first pipe, before which
// it opens one other descriptor. So two pipes, which need more, are opened here first and
// closed again.
static int try_descriptors(void) {
  int pipes[2][2] = {{-1, -1}, {-1, -1}};
  int failed = uv_pipe(pipes[0], 0, 0);
  if (!failed) failed = uv_pipe(pipes[1], 0, 0);
  for (int i = 0; i < 4; i++) {
    if (pipes[i / 2][i % 2] >= 0) close(pipes[i / 2][i % 2]);
  }
  return failed;
}

static void on_nothing(uv_poll_t *poll, int status, int events) {
  (void)poll;
  (void)status;
  (void)events;
}

// libuv has a table of the descriptors that it watches. The table never shrinks, and
// libuv ends the process if there is no memory to enlarge it. So the table is enlarged
// here for descriptors up to `highest`. (Files of modules may enlarge it further.)
static int enlarge_table(uv_loop_t *uv, int highest) {
  const fc_allocator_t allocator = fc_allocator_system();
  uv_poll_t poll;
  void *room = fc_alloc(allocator, 2 * sizeof room * ((size_t)highest + 2));
  if (!room) return UV_ENOMEM;
  fc_free(allocator, room);
  const int failed = uv_poll_init(uv, &poll, highest);
  if (failed) return failed;
  uv_poll_start(&poll, UV_READABLE, on_nothing);
  uv_close((uv_handle_t *)&poll, NULL);
  (void)uv_run(uv, UV_RUN_NOWAIT);
  return 0;
}

static int open_loop(uv_loop_t *uv, int highest) {
  int failed = try_descriptors();
  if (!failed) failed = uv_loop_init(uv);
  if (failed) return failed;
  failed = enlarge_table(uv, highest);
  if (failed) uv_loop_close(uv);
  return failed;
}

// The kernel also has a table with an entry for each descriptor. Enlarging it takes
// milliseconds once the process has several threads. So it is enlarged at the start, by
// opening the highest number that may be needed once.
fc_status_t fc_descriptors_open_loop(fc_loop_t *loop, fc_error_t *err) {
  const uint64_t need = loop->options->connections + FC_LIMIT_RESERVED_FILES;
  const uint64_t files = fc_descriptors_raise(need);
  const uint64_t most = files && files < need ? files : need;
  const int low = eventfd(0, EFD_CLOEXEC);
  const int high = low < 0 ? low : fcntl(low, F_DUPFD_CLOEXEC, (int)most - 1);
  const int failed = high < 0 ? -errno : open_loop(&loop->uv, high);
  if (high >= 0) close(high);
  if (low >= 0) close(low);
  loop->watches = fc_descriptors_watches(WATCHES);
  if (!failed) return FC_OK;
  return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot start an event loop: %s",
                 uv_strerror(failed));
}
