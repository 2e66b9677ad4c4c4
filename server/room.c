// SPDX-License-Identifier: Apache-2.0
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "config/limits.h"

uint64_t fc_room_for_files(uint64_t need) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files)) return 0;
  if (files.rlim_cur < need) {
    files.rlim_cur = files.rlim_max < need ? files.rlim_max : need;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)getrlimit(RLIMIT_NOFILE, &files);
  }
  return files.rlim_cur;
}

// uv_loop_init ends the process if it lacks descriptors for its first pipe, before which
// it opens one other. So two pipes are opened here first and closed: they take more.
static int try_descriptors(void) {
  int pipes[2][2] = {{-1, -1}, {-1, -1}};
  int failed = uv_pipe(pipes[0], 0, 0);
  if (!failed) failed = uv_pipe(pipes[1], 0, 0);
  for (int i = 0; i < 4; i++) {
    if (pipes[i / 2][i % 2] >= 0) close(pipes[i / 2][i % 2]);
  }
  return failed;
}

static void on_room(uv_poll_t *poll, int status, int events) {
  (void)poll;
  (void)status;
  (void)events;
}

// libuv has a table of what it watches, by descriptor, and ends the process if there is
// no memory to enlarge the table. So the table is made large at the start, by watching
// for a moment the highest descriptor that --connections and FC_LIMIT_RESERVED_FILES lead
// to. The files of modules may lead to higher ones.
static int make_room(fc_loop_t *loop) {
  const uint64_t need = loop->options->connections + FC_LIMIT_RESERVED_FILES;
  const uint64_t files = fc_room_for_files(need);
  const uint64_t highest = (files && files < need ? files : need) - 1;
  const int low = eventfd(0, EFD_CLOEXEC);
  if (low < 0) return -errno;
  const int high = fcntl(low, F_DUPFD_CLOEXEC, (int)highest);
  int failed = high < 0 ? -errno : uv_poll_init(&loop->uv, &loop->room, high);
  if (!failed) {
    failed = uv_poll_start(&loop->room, UV_READABLE, on_room);
    uv_close((uv_handle_t *)&loop->room, NULL);
  }
  if (high >= 0) close(high);
  close(low);
  return failed;
}

fc_status_t fc_room_for_loop(fc_loop_t *loop, fc_error_t *err) {
  int failed = try_descriptors();
  if (!failed) failed = uv_loop_init(&loop->uv);
  if (!failed) {
    failed = make_room(loop);
    if (failed) {
      uv_run(&loop->uv, UV_RUN_DEFAULT);
      (void)uv_loop_close(&loop->uv);
    }
  }
  if (!failed) return FC_OK;
  return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot start an event loop: %s",
                 uv_strerror(failed));
}
