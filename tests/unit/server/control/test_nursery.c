// SPDX-License-Identifier: Apache-2.0
//
// The nursery's orders and replies, and the events it waits for. The test takes the
// place of the loop.
#include "control/nursery.h"

#include <sched.h>
#include <semaphore.h>
#include <unistd.h>

#include "helpers/test.h"

static fc_nursery_t nursery;
static sem_t woken, begun, gate;
static pthread_t loop;
static char trace[64];  // what has happened, a character each

static void note(char what) {
  const size_t size = strlen(trace);
  assert_true(size + 1 < sizeof trace);
  trace[size] = what;
  trace[size + 1] = '\0';
}

static void wake(void *context) {
  (void)context;
  assert_false(pthread_equal(pthread_self(), loop));
  sem_post(&woken);
}

static void enter(void) {
  fc_error_t error;
  loop = pthread_self();
  trace[0] = '\0';
  sem_init(&woken, 0, 0);
  sem_init(&begun, 0, 0);
  sem_init(&gate, 0, 0);
  assert_int_equal(fc_nursery_start(&nursery, wake, NULL, &error), FC_OK);
}

static void reply(fc_order_t *order) {
  assert_false(pthread_equal(pthread_self(), loop));
  fc_nursery_reply(&nursery, order);
}

static void reply_late(fc_order_t *order) {
  sem_post(&begun);
  sem_wait(&gate);
  fc_nursery_reply(&nursery, order);
}

static void hear(fc_order_t *order) {
  assert_true(pthread_equal(pthread_self(), loop));
  note(*(const char *)order->context);
}

static void wait_for(const char *wanted) {
  while (strcmp(trace, wanted)) {
    if (!atomic_load(&nursery.replied)) sem_wait(&woken);
    (void)fc_nursery_collect(&nursery, 1);
  }
}

static fc_order_t make(void (*run)(fc_order_t *order), const char *name) {
  static char names[128];
  names[(unsigned char)*name] = *name;
  return (fc_order_t){run, hear, &names[(unsigned char)*name], NULL};
}

static void orders_are_answered_in_turn(void **state) {
  (void)state;
  enter();
  fc_order_t orders[] = {make(reply, "a"), make(reply, "b"), make(reply, "c")};
  for (size_t i = 0; i < 3; i++) fc_nursery_order(&nursery, &orders[i]);
  wait_for("abc");
  fc_nursery_stop(&nursery);
  fc_nursery_stop(&nursery);
}

static void so_many_replies_are_heard_at_one_go(void **state) {
  (void)state;
  enter();
  fc_order_t orders[] = {make(reply, "a"), make(reply, "b"), make(reply, "c"),
                         make(reply_late, "d")};
  for (size_t i = 0; i < 4; i++) fc_nursery_order(&nursery, &orders[i]);
  sem_wait(&begun);
  assert_true(fc_nursery_collect(&nursery, 2));
  assert_string_equal(trace, "ab");
  assert_false(fc_nursery_collect(&nursery, 2));
  assert_string_equal(trace, "abc");
  sem_post(&gate);
  wait_for("abcd");
  fc_nursery_stop(&nursery);
}

static bool is_stopping(void) {
  pthread_mutex_lock(&nursery.lock);
  const bool stopping = nursery.stopping;
  pthread_mutex_unlock(&nursery.lock);
  return stopping;
}

static void reply_when_stopped(fc_order_t *order) {
  while (!is_stopping()) sched_yield();
  fc_nursery_reply(&nursery, order);
}

// The order in progress is completed. The next one and the replies are dropped.
static void a_stop_drops_what_waits(void **state) {
  (void)state;
  enter();
  fc_order_t first = make(reply_when_stopped, "a"), second = make(reply, "b");
  fc_nursery_order(&nursery, &first);
  fc_nursery_order(&nursery, &second);
  fc_nursery_stop(&nursery);
  assert_string_equal(trace, "");
}

static unsigned times;

static void run_thrice(fc_order_t *order) {
  if (++times < 3) fc_nursery_order(&nursery, order);
  else fc_nursery_reply(&nursery, order);
}

static void an_order_may_go_on_behind_others(void **state) {
  (void)state;
  enter();
  times = 0;
  fc_order_t first = make(reply_late, "a"), many = make(run_thrice, "b"),
             other = make(reply, "c");
  fc_nursery_order(&nursery, &first);
  fc_nursery_order(&nursery, &many);
  fc_nursery_order(&nursery, &other);
  sem_post(&gate);
  wait_for("acb");
  fc_nursery_stop(&nursery);
}

// ---------------------------------------------------------------------------
// Events that it waits for

static int ends[2];
static fc_vigil_t vigil;
static uint64_t due_ns, came_ns;
static fc_order_t tell;

static void on_event(fc_vigil_t *of) {
  assert_ptr_equal(of, &vigil);
  came_ns = fc_clock_ns();
  fc_nursery_reply(&nursery, &tell);
}

static void begin(fc_order_t *order) {
  assert_true(fc_nursery_wait(&nursery, &vigil, due_ns));
  fc_nursery_reply(&nursery, order);
}

static void forget(fc_order_t *order) {
  fc_nursery_forget(&nursery, &vigil);
  fc_nursery_reply(&nursery, order);
}

static void a_file_is_heard_once_each_time(void **state) {
  (void)state;
  char byte = 'x';
  enter();
  assert_int_equal(pipe(ends), 0);
  fc_order_t wait = make(begin, "w"), end = make(forget, "f");
  tell = make(NULL, "e");
  vigil = (fc_vigil_t){.on = on_event, .file = ends[0]};
  due_ns = 0;
  assert_int_equal(write(ends[1], &byte, 1), 1);
  fc_nursery_order(&nursery, &wait);
  wait_for("we");
  // The byte is still unread, so each further wait reports it again. The end is
  // reported, too.
  fc_nursery_order(&nursery, &wait);
  wait_for("wewe");
  close(ends[1]);
  fc_nursery_order(&nursery, &wait);
  wait_for("wewewe");
  fc_nursery_order(&nursery, &end);
  wait_for("wewewef");
  fc_nursery_stop(&nursery);
  close(ends[0]);
}

static void a_time_is_waited_for(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool file;  // which can be read all the time
  } rows[] = {{"a file later", true}, {"no file", false}};
  char byte = 'x';
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    enter();
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], &byte, 1), 1);
    fc_order_t wait = make(begin, "w");
    tell = make(NULL, "e");
    vigil = (fc_vigil_t){.on = on_event, .file = row->file ? ends[0] : -1};
    due_ns = fc_clock_ns() + 20000000u;
    fc_nursery_order(&nursery, &wait);
    wait_for("we");
    assert_true(came_ns >= due_ns);
    fc_nursery_stop(&nursery);
    close(ends[0]);
    close(ends[1]);
  }
}

static void what_is_forgotten_is_not_heard(void **state) {
  (void)state;
  enter();
  fc_order_t wait = make(begin, "w"), end = make(forget, "f"),
             last = make(reply, "l");
  vigil = (fc_vigil_t){.on = on_event, .file = -1};
  due_ns = fc_clock_ns() + 3600u * 1000000000ull;
  fc_nursery_order(&nursery, &wait);
  fc_nursery_order(&nursery, &end);
  fc_nursery_order(&nursery, &last);
  wait_for("wfl");
  assert_null(nursery.later);
  fc_nursery_stop(&nursery);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(orders_are_answered_in_turn),
      FC_TEST(so_many_replies_are_heard_at_one_go),
      FC_TEST(a_stop_drops_what_waits),
      FC_TEST(an_order_may_go_on_behind_others),
      FC_TEST(a_file_is_heard_once_each_time),
      FC_TEST(a_time_is_waited_for),
      FC_TEST(what_is_forgotten_is_not_heard),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
