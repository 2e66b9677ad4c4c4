// SPDX-License-Identifier: Apache-2.0
//
// What libuv does when the kernel has no room to watch one more descriptor.
#include <errno.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#include "stream/epoll.h"
#include "helpers/test.h"

#define NO_DESCRIPTOR 1000000

static int refusals;  // calls with EPOLL_CTL_ADD that fail
static int refused;
static int error;

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);
// Reads six words also where the caller gave fewer.
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...) {
  long words[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) words[i] = va_arg(list, long);
  va_end(list);
  const bool adds = number == SYS_epoll_ctl && words[1] == EPOLL_CTL_ADD;
  if (!adds || refused == refusals) {
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

typedef struct house_t {
  uv_loop_t loop;
  fc_epoll_t epoll;
  uv_poll_t poll;
  uv_timer_t timer;
  int ends[2];  // of a pipe that is readable
  int lacks;    // times that the loop was told
} house_t;

static void on_timer(uv_timer_t *timer) {
  uv_close((uv_handle_t *)timer, NULL);
}

// In a first turn libuv watches what it needs for itself.
static void enter(house_t *house, int refuse, int because) {
  *house = (house_t){0};
  refusals = refused = 0;
  assert_int_equal(uv_loop_init(&house->loop), 0);
  fc_epoll_begin(&house->epoll, uv_backend_fd(&house->loop));
  uv_timer_init(&house->loop, &house->timer);
  uv_timer_start(&house->timer, on_timer, 0, 0);
  assert_int_equal(uv_run(&house->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(pipe(house->ends), 0);
  assert_int_equal(uv_poll_init(&house->loop, &house->poll, house->ends[0]), 0);
  assert_int_equal(uv_poll_start(&house->poll, UV_READABLE, on_readable), 0);
  assert_int_equal(write(house->ends[1], "x", 1), 1);
  error = because;
  refusals = refuse;
}

static void leave(house_t *house) {
  assert_int_equal(uv_run(&house->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&house->loop), 0);
  fc_epoll_end(&house->epoll);
  close(house->ends[0]);
  close(house->ends[1]);
}

static void a_loop_waits_for_room(int because) {
  house_t house;
  enter(&house, 3, because);
  assert_int_equal(uv_run(&house.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(refused, 3);
  leave(&house);
}

static void no_room_for_a_watch(void **state) {
  (void)state;
  a_loop_waits_for_room(ENOSPC);
}

static void no_memory_for_a_watch(void **state) {
  (void)state;
  a_loop_waits_for_room(ENOMEM);
}

static void on_lack(void *context) { ((house_t *)context)->lacks++; }

static bool is_watched(const house_t *house) {
  return uv_is_closing((const uv_handle_t *)&house->poll);
}

// For ever, as it seems to the loop.
static void a_loop_that_serves_does_not_wait(void **state) {
  (void)state;
  house_t house;
  enter(&house, 1 << 20, ENOSPC);
  fc_epoll_serve(&house.epoll, on_lack, &house);
  for (int i = 0; i < 3; i++) {
    const uint64_t before_ns = uv_hrtime();
    uv_run(&house.loop, UV_RUN_NOWAIT);
    assert_true(uv_hrtime() - before_ns < 1000000000u);
    assert_false(fc_epoll_retry(&house.epoll));
    assert_false(is_watched(&house));
  }
  assert_int_equal(house.lacks, 1);
  refusals = refused;  // there is room
  assert_true(fc_epoll_retry(&house.epoll));
  uv_run(&house.loop, UV_RUN_NOWAIT);
  assert_true(is_watched(&house));
  leave(&house);
}

static void one_that_closes_is_forgotten(void **state) {
  (void)state;
  house_t house;
  enter(&house, 1 << 20, ENOMEM);
  fc_epoll_serve(&house.epoll, on_lack, &house);
  uv_run(&house.loop, UV_RUN_NOWAIT);
  assert_false(fc_epoll_retry(&house.epoll));
  uv_close((uv_handle_t *)&house.poll, NULL);
  assert_true(fc_epoll_retry(&house.epoll));
  leave(&house);
}

// As uv_poll_init does: libuv ends the process if the second call fails.
static void one_put_aside_is_taken_back(void **state) {
  (void)state;
  house_t house;
  enter(&house, 1 << 20, ENOSPC);
  fc_epoll_serve(&house.epoll, on_lack, &house);
  uv_poll_t other;
  assert_int_equal(uv_poll_init(&house.loop, &other, house.ends[1]), 0);
  assert_true(fc_epoll_retry(&house.epoll));
  uv_close((uv_handle_t *)&other, NULL);
  refusals = refused;
  leave(&house);
}

static void a_change_of_one_put_aside_holds(void **state) {
  (void)state;
  house_t house;
  enter(&house, 1 << 20, ENOSPC);
  fc_epoll_serve(&house.epoll, on_lack, &house);
  uv_run(&house.loop, UV_RUN_NOWAIT);
  struct epoll_event event = {.events = EPOLLOUT, .data.fd = house.ends[1]};
  const int poll = uv_backend_fd(&house.loop);
  assert_int_equal(epoll_ctl(poll, EPOLL_CTL_ADD, house.ends[1], &event), 0);
  event.events = EPOLLERR;
  assert_int_equal(epoll_ctl(poll, EPOLL_CTL_MOD, house.ends[1], &event), 0);
  refusals = refused;
  assert_true(fc_epoll_retry(&house.epoll));
  struct epoll_event got[4];
  assert_int_equal(epoll_wait(poll, got, 4, 0), 1);  // the other end alone
  assert_int_equal(got[0].data.fd, house.ends[0]);
  assert_int_equal(epoll_ctl(poll, EPOLL_CTL_DEL, house.ends[1], &event), 0);
  leave(&house);
}

static void a_descriptor_joins_before_it_is_watched(void **state) {
  (void)state;
  house_t house;
  enter(&house, 0, ENOSPC);
  assert_true(fc_epoll_join(&house.epoll, house.ends[0]));
  refusals = 1 << 20;  // libuv needs no more room
  uv_run(&house.loop, UV_RUN_NOWAIT);
  assert_true(is_watched(&house));
  assert_int_equal(refused, 0);
  leave(&house);
}

static void one_without_room_does_not_join(void **state) {
  (void)state;
  house_t house;
  enter(&house, 1, ENOSPC);
  errno = 0;
  assert_false(fc_epoll_join(&house.epoll, house.ends[1]));
  assert_int_equal(errno, ENOSPC);
  leave(&house);
}

// The socket is closed, and its number becomes that of something else.
static void one_that_has_joined_may_go(void **state) {
  (void)state;
  house_t house;
  enter(&house, 0, ENOSPC);
  assert_true(fc_epoll_join(&house.epoll, house.ends[0]));
  const int poll = uv_backend_fd(&house.loop);
  struct epoll_event event = {0};
  assert_int_equal(
      (int)syscall(SYS_epoll_ctl, poll, EPOLL_CTL_DEL, house.ends[0], &event),
      0);
  uv_run(&house.loop, UV_RUN_NOWAIT);
  assert_true(is_watched(&house));
  leave(&house);
}

static void another_poll_is_left_alone(void **state) {
  (void)state;
  house_t house;
  enter(&house, 0, ENOSPC);
  fc_epoll_serve(&house.epoll, on_lack, &house);
  const int poll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  refusals = 1;
  assert_int_equal(epoll_ctl(poll, EPOLL_CTL_ADD, house.ends[0], &event), -1);
  assert_int_equal(errno, ENOSPC);
  assert_int_equal(house.lacks, 0);
  close(poll);
  leave(&house);
}

static void loops_have_what_is_theirs(void **state) {
  (void)state;
  house_t house, other;
  enter(&house, 0, ENOSPC);
  enter(&other, 0, ENOSPC);
  assert_true(fc_epoll_join(&house.epoll, house.ends[0]));
  assert_true(fc_epoll_join(&other.epoll, other.ends[0]));
  leave(&house);
  leave(&other);
}

static void other_errors_are_told_at_once(void **state) {
  (void)state;
  struct epoll_event event = {.events = EPOLLIN};
  refusals = refused = 0;
  fc_epoll_t epoll;
  fc_epoll_begin(&epoll, NO_DESCRIPTOR);
  assert_int_equal(epoll_ctl(NO_DESCRIPTOR, EPOLL_CTL_ADD, 0, &event), -1);
  assert_int_equal(errno, EBADF);
  fc_epoll_end(&epoll);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_room_for_a_watch),
      cmocka_unit_test(no_memory_for_a_watch),
      cmocka_unit_test(a_loop_that_serves_does_not_wait),
      cmocka_unit_test(one_that_closes_is_forgotten),
      cmocka_unit_test(one_put_aside_is_taken_back),
      cmocka_unit_test(a_change_of_one_put_aside_holds),
      cmocka_unit_test(a_descriptor_joins_before_it_is_watched),
      cmocka_unit_test(one_without_room_does_not_join),
      cmocka_unit_test(one_that_has_joined_may_go),
      cmocka_unit_test(another_poll_is_left_alone),
      cmocka_unit_test(loops_have_what_is_theirs),
      cmocka_unit_test(other_errors_are_told_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
