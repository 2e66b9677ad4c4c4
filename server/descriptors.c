// SPDX-License-Identifier: Apache-2.0
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "config/limits.h"
#include "stream/epoll.h"

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

// libuv has a table of what it watches, by descriptor, and ends the process if there is
// no memory to enlarge the table. So `spare`, which is as large as the table can become by
// --connections and FC_LIMIT_RESERVED_FILES, is kept for that moment. Nobody writes to it
// before, so that it takes addresses but no memory. (The files of modules may make the
// table larger still.) A program with several loops has one spare: the last loop's.
static struct {
  _Atomic(void *) spare;
  atomic_size_t size;
} room;

static void *reallocate(void *old, size_t size) {
  const fc_allocator_t allocator = fc_allocator_system();
  const size_t usable = malloc_usable_size(old);
  if (old && size <= usable) return old;
  void *made = fc_realloc(allocator, old, usable, size);
  if (made || size > room.size) return made;
  made = atomic_exchange(&room.spare, NULL);
  if (!made) return NULL;
  if (usable) memcpy(made, old, usable);
  fc_free(allocator, old);
  return made;
}

// libuv's table has two entries more than it is said to have.
static size_t table_size(uint64_t descriptors) {
  uint64_t entries = 1;
  while (entries < descriptors + 2) entries *= 2;
  return (size_t)entries * sizeof(void *);
}

// The kernel has a table too. To enlarge it takes milliseconds once there are threads, so
// it is enlarged at the start, by the highest descriptor.
static int make_room(const fc_loop_t *loop) {
  const uint64_t need = loop->options->connections + FC_LIMIT_RESERVED_FILES;
  const uint64_t files = fc_descriptors_raise(need);
  const uint64_t most = files && files < need ? files : need;
  const int low = eventfd(0, EFD_CLOEXEC);
  if (low < 0) return -errno;
  const int high = fcntl(low, F_DUPFD_CLOEXEC, (int)most - 1);
  const int failed = high < 0 ? -errno : 0;
  if (high >= 0) close(high);
  close(low);
  if (failed) return failed;
  const size_t size = table_size(most);
  void *spare = fc_alloc_aligned(fc_allocator_system(), size, 16);
  fc_descriptors_end();
  room.size = size;
  room.spare = spare;
  return spare ? 0 : UV_ENOMEM;
}

fc_status_t fc_descriptors_open_loop(fc_loop_t *loop, fc_error_t *err) {
  (void)uv_replace_allocator(malloc, reallocate, calloc, free);
  int failed = try_descriptors();
  if (!failed) failed = make_room(loop);
  if (!failed) failed = uv_loop_init(&loop->uv);
  if (!failed) {
    fc_epoll_begin(&loop->epoll, uv_backend_fd(&loop->uv));
    return FC_OK;
  }
  fc_descriptors_end();
  return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot start an event loop: %s",
                 uv_strerror(failed));
}

void fc_descriptors_end(void) {
  fc_free(fc_allocator_system(), atomic_exchange(&room.spare, NULL));
}
