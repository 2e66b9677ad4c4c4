// SPDX-License-Identifier: Apache-2.0
//
// The nursery: one thread for what may take long, so that the loop never waits for it:
// making processes, hearing that they have ended and what they print, control groups, the
// weighing and freeing of shared files. Nothing of it is needed for a call that runs. What
// is done is the orders' (pool/process_nursery.c). An order is a struct that belongs to
// one side at a time: the loop gives it, the nursery's thread runs it and replies, and the
// loop hears the reply. Nothing is allocated on the way, and the two queues are locked
// only while an order is put in or taken out.
//
// The thread lives until the server ends: the kernel kills a process when the *thread*
// that has made it ends (PR_SET_PDEATHSIG).
#ifndef FARCALL_SERVER_CONTROL_NURSERY_H_
#define FARCALL_SERVER_CONTROL_NURSERY_H_

#include <pthread.h>
#include <stdatomic.h>

#include "farcall/base.h"

typedef struct fc_nursery_t fc_nursery_t;

// Is in one queue at most. It must live until its reply was heard, or the nursery has
// stopped.
typedef struct fc_order_t {
  void (*run)(struct fc_order_t *order);   // the nursery's thread
  void (*done)(struct fc_order_t *order);  // the loop's
  void *context;
  struct fc_order_t *next;  // private to nursery.c
} fc_order_t;

// What the nursery waits for, once: that a file can be read, or a time.
typedef struct fc_vigil_t {
  void (*on)(struct fc_vigil_t *wait);
  void *context;
  int file;  // -1: only the time
  // Private to nursery.c
  bool known;  // epoll has the file
  bool later;  // in the list of those that begin at `due_ns`
  uint64_t due_ns;
  struct fc_vigil_t *next;
} fc_vigil_t;

typedef struct fc_orders_t {
  fc_order_t *first, *last;
} fc_orders_t;

// A zeroed nursery has not started.
struct fc_nursery_t {
  void (*wake)(void *context);
  void *context;
  pthread_t thread;
  bool started;
  int epoll;
  int bell;  // eventfd: there are orders, or it is to stop
  pthread_mutex_t lock;
  // Under the lock
  fc_orders_t orders;
  fc_orders_t replies;
  bool stopping;
  _Atomic bool replied;  // there are replies; stored under the lock
  // The nursery's thread alone
  fc_vigil_t *later;  // by `due_ns`
};

// ---------------------------------------------------------------------------
// The loop's thread

// Starts the thread. It calls `wake` when replies have come: the loop must call
// fc_nursery_collect. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_nursery_start(fc_nursery_t *nursery, void (*wake)(void *context),
                             void *context, fc_error_t *err) FC_MUST_CHECK;
// Ends the thread once it has run the order that it is at. Orders that were not run and
// replies that were not heard are dropped: what they are of belongs to the caller from now
// on. If the nursery has not started, does nothing.
void fc_nursery_stop(fc_nursery_t *nursery);
// Orders are run one after another, in the order they were given. An order that runs may
// give itself again, to go on after those that wait.
void fc_nursery_order(fc_nursery_t *nursery, fc_order_t *order);
// Hears up to `most` replies, in the order they were given. True: there are more.
bool fc_nursery_collect(fc_nursery_t *nursery, unsigned most);

// ---------------------------------------------------------------------------
// The nursery's thread

// The loop hears the order's `done`. The order need not have been given by the loop.
void fc_nursery_reply(fc_nursery_t *nursery, fc_order_t *order);
// Calls wait->on, once, when the file can be read, but not before `due_ns` (fc_clock_ns;
// 0: now); without a file, when it is `due_ns`. Whoever waits already waits so from now
// on. False: the kernel has no room to watch the file. After a `due_ns` to come, this is
// tried again until there is.
bool fc_nursery_wait(fc_nursery_t *nursery, fc_vigil_t *wait, uint64_t due_ns);
// Before the file is closed: `on` is not called any more.
void fc_nursery_forget(fc_nursery_t *nursery, fc_vigil_t *wait);

#endif  // FARCALL_SERVER_CONTROL_NURSERY_H_
