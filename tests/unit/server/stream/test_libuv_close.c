// SPDX-License-Identifier: Apache-2.0
//
// When the loop has closed a descriptor, another thread may get its number at once. The
// thread sanitizer reported this as a race: tests/sanitize/libuv_close.c.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include <uv.h>

#include "helpers/test.h"

static atomic_int freed;  // the number that the loop has closed, 0: not yet

// The load is relaxed: it must not tell the sanitizer that one event follows the other.
static void *take_and_close(void *null) {
  int number = 0;
  while (!(number = atomic_load_explicit(&freed, memory_order_relaxed)))
    continue;
  const int taken = fcntl(*(int *)null, F_DUPFD_CLOEXEC, number);
  const bool same = taken == number;
  close(taken);
  return same ? &freed : NULL;
}

static void a_number_that_the_loop_has_closed_is_anybodys(void **state) {
  (void)state;
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, take_and_close, &null), 0);

  uv_loop_t loop;
  uv_pipe_t pipe;
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(uv_pipe_init(&loop, &pipe, 0), 0);
  assert_int_equal(uv_pipe_open(&pipe, ends[0]), 0);
  uv_close((uv_handle_t *)&pipe, NULL);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  atomic_store_explicit(&freed, ends[0], memory_order_relaxed);

  void *same = NULL;
  assert_int_equal(pthread_join(thread, &same), 0);
  assert_ptr_equal(same, &freed);
  assert_int_equal(uv_loop_close(&loop), 0);
  close(ends[1]);
  close(null);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_number_that_the_loop_has_closed_is_anybodys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
