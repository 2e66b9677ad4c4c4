// SPDX-License-Identifier: Apache-2.0
//
// What libuv does when the kernel has no room to watch one more descriptor.
#include <errno.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#include "helpers/test.h"

static int refusals;  // calls that fail
static int refused;
static int error;

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  long words[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) words[i] = va_arg(list, long);
  va_end(list);
  if (number != SYS_epoll_ctl || refused == refusals) {
    return __real_syscall(number, words[0], words[1], words[2], words[3],
                          words[4], words[5]);
  }
  refused++;
  errno = error;
  return -1;
}

static void on_readable(uv_poll_t *poll, int status, int events) {
  assert_int_equal(status, 0);
  assert_int_equal(events, UV_READABLE);
  uv_close((uv_handle_t *)poll, NULL);
}

static void a_loop_waits_for_room(int because) {
  uv_loop_t loop;
  uv_poll_t poll;
  int ends[2];
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(uv_poll_init(&loop, &poll, ends[0]), 0);
  assert_int_equal(uv_poll_start(&poll, UV_READABLE, on_readable), 0);
  assert_int_equal(write(ends[1], "x", 1), 1);
  error = because;
  refused = 0;
  refusals = 3;
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(refused, 3);
  assert_int_equal(uv_loop_close(&loop), 0);
  close(ends[0]);
  close(ends[1]);
}

static void no_room_for_a_watch(void **state) {
  (void)state;
  a_loop_waits_for_room(ENOSPC);
}

static void no_memory_for_a_watch(void **state) {
  (void)state;
  a_loop_waits_for_room(ENOMEM);
}

static void other_errors_are_told_at_once(void **state) {
  (void)state;
  struct epoll_event event = {.events = EPOLLIN};
  refusals = refused = 0;
  assert_int_equal(epoll_ctl(-1, EPOLL_CTL_ADD, 0, &event), -1);
  assert_int_equal(errno, EBADF);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_room_for_a_watch),
      cmocka_unit_test(no_memory_for_a_watch),
      cmocka_unit_test(other_errors_are_told_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
