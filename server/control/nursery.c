// SPDX-License-Identifier: Apache-2.0
//
// One epoll instance watches all files. Each file is watched for one event at a time
// (EPOLLONESHOT). So a file that has hung up causes no further events until somebody
// waits for it again.
#include "control/nursery.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "control/signal_mask.h"

#define EVENTS 16
// How long until the kernel is asked again for room.
#define RETRY_NS 1000000000u

// ---------------------------------------------------------------------------
// The queues

static void put(fc_orders_t *orders, fc_order_t *order) {
  order->next = NULL;
  if (orders->last) orders->last->next = order;
  else orders->first = order;
  orders->last = order;
}

static fc_order_t *take(fc_orders_t *orders) {
  fc_order_t *order = orders->first;
  if (!order) return NULL;
  orders->first = order->next;
  if (!orders->first) orders->last = NULL;
  return order;
}

static void ring(const fc_nursery_t *nursery) {
  const uint64_t one = 1;
  ssize_t size;
  do size = write(nursery->bell, &one, sizeof one);
  while (size < 0 && errno == EINTR);
}

void fc_nursery_order(fc_nursery_t *nursery, fc_order_t *order) {
  pthread_mutex_lock(&nursery->lock);
  const bool first = !nursery->orders.first;
  put(&nursery->orders, order);
  pthread_mutex_unlock(&nursery->lock);
  if (first) ring(nursery);
}

void fc_nursery_reply(fc_nursery_t *nursery, fc_order_t *order) {
  pthread_mutex_lock(&nursery->lock);
  const bool first = !nursery->replies.first;
  put(&nursery->replies, order);
  atomic_store_explicit(&nursery->replied, true, memory_order_release);
  pthread_mutex_unlock(&nursery->lock);
  if (first) nursery->wake(nursery->context);
}

static fc_order_t *take_reply(fc_nursery_t *nursery) {
  pthread_mutex_lock(&nursery->lock);
  fc_order_t *order = take(&nursery->replies);
  atomic_store_explicit(&nursery->replied, nursery->replies.first != NULL,
                        memory_order_release);
  pthread_mutex_unlock(&nursery->lock);
  return order;
}

bool fc_nursery_collect(fc_nursery_t *nursery, unsigned most) {
  while (atomic_load_explicit(&nursery->replied, memory_order_acquire)) {
    if (!most--) return true;
    fc_order_t *order = take_reply(nursery);
    order->done(order);
  }
  return false;
}

// ---------------------------------------------------------------------------
// Waiting

static void list_later(fc_nursery_t *nursery, fc_vigil_t *wait,
                       uint64_t due_ns) {
  fc_vigil_t **at = &nursery->later;
  while (*at && (*at)->due_ns <= due_ns) at = &(*at)->next;
  wait->due_ns = due_ns;
  wait->later = true;
  wait->next = *at;
  *at = wait;
}

static void unlist_later(fc_nursery_t *nursery, fc_vigil_t *wait) {
  fc_vigil_t **at = &nursery->later;
  if (!wait->later) return;
  while (*at != wait) at = &(*at)->next;
  *at = wait->next;
  wait->later = false;
}

static bool watch(fc_nursery_t *nursery, fc_vigil_t *wait) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT,
                              .data.ptr = wait};
  const int what = wait->known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (epoll_ctl(nursery->epoll, what, wait->file, &event)) return false;
  wait->known = true;
  return true;
}

bool fc_nursery_wait(fc_nursery_t *nursery, fc_vigil_t *wait, uint64_t due_ns) {
  unlist_later(nursery, wait);
  if (wait->file >= 0 && !due_ns) return watch(nursery, wait);
  list_later(nursery, wait, due_ns);
  return true;
}

void fc_nursery_forget(fc_nursery_t *nursery, fc_vigil_t *wait) {
  unlist_later(nursery, wait);
  if (!wait->known) return;
  (void)epoll_ctl(nursery->epoll, EPOLL_CTL_DEL, wait->file, NULL);
  wait->known = false;
}

// Calls the waits whose time has come.
static void begin_due(fc_nursery_t *nursery) {
  const uint64_t now_ns = nursery->later ? fc_clock_ns() : 0;
  while (nursery->later && nursery->later->due_ns <= now_ns) {
    fc_vigil_t *wait = nursery->later;
    unlist_later(nursery, wait);
    if (wait->file < 0) wait->on(wait);
    else if (!watch(nursery, wait))
      list_later(nursery, wait, now_ns + RETRY_NS);
  }
}

static int timeout_ms(const fc_nursery_t *nursery) {
  if (!nursery->later) return -1;
  const uint64_t now_ns = fc_clock_ns(), due_ns = nursery->later->due_ns;
  if (due_ns <= now_ns) return 0;
  const uint64_t left_ms = (due_ns - now_ns) / 1000000u + 1;
  return left_ms < 60000 ? (int)left_ms : 60000;
}

// ---------------------------------------------------------------------------
// The nursery's thread

// Takes the next order; NULL: there is none, or the thread must stop (*out_stop).
static fc_order_t *take_order(fc_nursery_t *nursery, bool *out_stop) {
  pthread_mutex_lock(&nursery->lock);
  *out_stop = nursery->stopping;
  fc_order_t *order = *out_stop ? NULL : take(&nursery->orders);
  pthread_mutex_unlock(&nursery->lock);
  return order;
}

// Runs one order, so that events are handled between orders. False: the thread must stop.
static bool run_one(fc_nursery_t *nursery, bool *out_more) {
  bool stop;
  fc_order_t *order = take_order(nursery, &stop);
  *out_more = order != NULL;
  if (order) order->run(order);
  return !stop;
}

static void hear(fc_nursery_t *nursery, const struct epoll_event *event) {
  fc_vigil_t *wait = event->data.ptr;
  uint64_t count;
  if (wait) {
    // An earlier event may have forgotten this wait or put it off; then `on` is not
    // called.
    if (wait->known && !wait->later) wait->on(wait);
    return;
  }
  const ssize_t size = read(nursery->bell, &count, sizeof count);
  (void)size;
}

static void *live(void *context) {
  fc_nursery_t *nursery = context;
  struct epoll_event events[EVENTS];
  bool more = false;
  fc_signal_mask_leave_faults(NULL);
  while (run_one(nursery, &more)) {
    const int count = epoll_wait(nursery->epoll, events, EVENTS,
                                 more ? 0 : timeout_ms(nursery));
    for (int i = 0; i < count; i++) hear(nursery, &events[i]);
    begin_due(nursery);
  }
  return NULL;
}

static void close_files(fc_nursery_t *nursery) {
  if (nursery->epoll >= 0) close(nursery->epoll);
  if (nursery->bell >= 0) close(nursery->bell);
}

fc_status_t fc_nursery_start(fc_nursery_t *nursery, void (*wake)(void *context),
                             void *context, fc_error_t *err) {
  struct epoll_event event = {.events = EPOLLIN};
  *nursery = (fc_nursery_t){.wake = wake,
                            .context = context,
                            .epoll = epoll_create1(EPOLL_CLOEXEC),
                            .bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  int error = 0;
  if (nursery->epoll < 0 || nursery->bell < 0 ||
      epoll_ctl(nursery->epoll, EPOLL_CTL_ADD, nursery->bell, &event)) {
    error = errno;
  }
  if (!error) {
    pthread_mutex_init(&nursery->lock, NULL);
    error = pthread_create(&nursery->thread, NULL, live, nursery);
  }
  nursery->started = !error;
  if (!error) return FC_OK;
  close_files(nursery);
  return fc_fail(err, FC_CODE_OUT_OF_MEMORY,
                 "cannot start the thread that starts worker processes: %s",
                 strerror(error));
}

void fc_nursery_stop(fc_nursery_t *nursery) {
  if (!nursery->started) return;
  pthread_mutex_lock(&nursery->lock);
  nursery->stopping = true;
  pthread_mutex_unlock(&nursery->lock);
  ring(nursery);
  pthread_join(nursery->thread, NULL);
  close_files(nursery);
  pthread_mutex_destroy(&nursery->lock);
  *nursery = (fc_nursery_t){0};
}
