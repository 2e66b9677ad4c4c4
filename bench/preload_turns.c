// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into farcalld, it measures the turns of the loop: the processor
// time of its thread from one wait for events to the next. A line on stderr at
// the end says how many there were, how many took over 1 and over 2 ms, and the
// longest. The line is also written at each SIGRTMIN, and the counts begin
// anew.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

typedef int (*wait_t)(int, struct epoll_event *, int, int);

static wait_t next_wait;
static uint64_t began_ns, turns, over_1, over_2, most_ns;
static volatile sig_atomic_t asked;

static void tell(void) {
  fprintf(stderr, "TURNS %llu over 1 ms %llu over 2 ms %llu most %.2f ms\n",
          (unsigned long long)turns, (unsigned long long)over_1,
          (unsigned long long)over_2, (double)most_ns / 1e6);
  turns = over_1 = over_2 = most_ns = 0;
}

static void on_signal(int number) {
  (void)number;
  asked = 1;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  *(void **)&next_wait = dlsym(RTLD_NEXT, "epoll_wait");
  signal(SIGRTMIN, on_signal);
}

__attribute__((destructor)) static void end(void) { tell(); }

int epoll_wait(int fd, struct epoll_event *events, int count, int timeout) {
  if (gettid() != getpid()) return next_wait(fd, events, count, timeout);
  if (began_ns) {
    const uint64_t spent_ns = now_ns() - began_ns;
    turns++;
    over_1 += spent_ns > 1000000u;
    over_2 += spent_ns > 2000000u;
    if (spent_ns > most_ns) most_ns = spent_ns;
  }
  if (asked) {
    asked = 0;
    tell();
  }
  const int ready = next_wait(fd, events, count, timeout);
  began_ns = now_ns();
  return ready;
}
