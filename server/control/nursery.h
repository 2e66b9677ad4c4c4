// SPDX-License-Identifier: Apache-2.0
//
// The nursery: one thread for work that may take long, so that the loop never waits for
// it: making processes, noticing their end, reading what they print, control groups,
// measuring and freeing shared files. A running call needs nothing of this. The orders do
// the work (pool/process_nursery.c). An order is a struct that belongs to one side at a
// time: the loop gives the order, the nursery's thread runs it and replies, and the loop
// receives the reply. Nothing is allocated on the way, and the two queues are locked only
// while an order is put in or taken out.
//
// The thread lives until the server ends: the kernel kills a process when the *thread*
// that made it ends (PR_SET_PDEATHSIG).
#ifndef FARCALL_SERVER_CONTROL_NURSERY_H_
#define FARCALL_SERVER_CONTROL_NURSERY_H_

#include <pthread.h>
#include <stdatomic.h>

#include "farcall/base.h"

typedef struct fc_nursery_t fc_nursery_t;

// An order is in at most one queue. It must live until its reply was received, or until
// the nursery has stopped.
typedef struct fc_order_t {
  void (*run)(struct fc_order_t *order);   // the nursery's thread
  void (*done)(struct fc_order_t *order);  // the loop's
  void *context;
  struct fc_order_t *next;  // private to nursery.c
} fc_order_t;

// A single wait of the nursery: for a file to become readable, or for a time.
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

// Starts the thread. The thread calls `wake` when there are replies; the loop must then
// call fc_nursery_collect. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_nursery_start(fc_nursery_t *nursery, void (*wake)(void *context),
                             void *context, fc_error_t *err) FC_MUST_CHECK;
// Ends the thread after the order that it is running. Orders that were not run and
// replies that were not received are dropped; the caller owns their objects from now on.
// Does nothing if the nursery has not started.
void fc_nursery_stop(fc_nursery_t *nursery);
// Orders are run one after another, in the order in which they were given. A running
// order may give itself again, to go on after the orders that wait.
void fc_nursery_order(fc_nursery_t *nursery, fc_order_t *order);
// Receives up to `most` replies, in the order in which they were given. True: there are
// more.
bool fc_nursery_collect(fc_nursery_t *nursery, unsigned most);

// ---------------------------------------------------------------------------
// The nursery's thread

// Makes the loop call order->done. The nursery may also reply with an order that the loop
// has not given, to tell the loop something.
void fc_nursery_reply(fc_nursery_t *nursery, fc_order_t *order);
// Calls wait->on once, when the file can be read, but not before `due_ns` (fc_clock_ns;
// 0: now). Without a file, calls it at `due_ns`. If `wait` waits already, only its time
// is changed. False: the kernel has no room to watch the file. With a `due_ns` the
// result is always true, and the nursery tries again until there is room.
bool fc_nursery_wait(fc_nursery_t *nursery, fc_vigil_t *wait, uint64_t due_ns);
// Call this before the file is closed: `on` is not called any more.
void fc_nursery_forget(fc_nursery_t *nursery, fc_vigil_t *wait);

#endif  // FARCALL_SERVER_CONTROL_NURSERY_H_
