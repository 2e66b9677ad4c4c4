// SPDX-License-Identifier: Apache-2.0
//
//   bench_handoff [TRIES]
//
// Finds the size from which on a body or an answer should be passed to a worker process
// as a descriptor, instead of being copied through shared memory. The loop here and a
// child do for each size what loop and worker do for a call:
//
//   body, copied     receive into a block (fresh; or kept, whose pages were touched
//                    before), copy to the area, the child reads it, the area's pages
//                    are given back
//   body, file       receive into a memfd, send it, the child maps and reads it, its
//                    pages are given back
//   answer, copied   the child writes the area, copy to a block, send from there
//   answer, file     the child writes a memfd it was sent before, send from there
//
// Areas of up to 256 KiB keep their pages, as in the ring. Receiving and sending are
// simulated by copies to and from a small buffer. Each row has medians of TRIES: the
// processor time of the loop and of the child, and the elapsed time.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "farcall/base.h"

#define LARGEST (64u << 20)
#define KEPT (256u << 10)
#define PART (32u << 10)

typedef enum way_t {
  BODY_COPIED,
  BODY_KEPT,
  BODY_FILE,
  ANSWER_COPIED,
  ANSWER_KEPT,
  ANSWER_FILE,
  WAYS
} way_t;

static const char *const kNames[WAYS] = {
    "body copied",   "body copied, kept block",   "body file",
    "answer copied", "answer copied, kept block", "answer file"};

typedef struct order_t {
  way_t way;
  size_t size;
} order_t;

typedef struct cost_t {
  double loop_us;
  double child_us;
  double passed_us;
} cost_t;

static uint8_t buffer[PART];
static uint8_t *area;
static int area_file;
static int channel;

static void check(bool fine, const char *what) {
  if (fine) return;
  perror(what);
  exit(1);
}

static double now_us(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static uint8_t *map(int fd, size_t size, int protection, int kind) {
  void *data = mmap(NULL, size, protection, kind, fd, 0);
  check(data != MAP_FAILED, "mmap");
  return data;
}

static int make_file(size_t size) {
  const int fd = memfd_create("handoff", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  check(fd >= 0 && ftruncate(fd, (off_t)size) == 0, "memfd");
  check(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0,
        "seals");
  return fd;
}

static void fill(uint8_t *to, size_t size) {
  for (size_t at = 0; at < size; at += PART) memcpy(to + at, buffer, PART);
}

static void drain(const uint8_t *from, size_t size) {
  for (size_t at = 0; at < size; at += PART) {
    memcpy(buffer, from + at, PART);
    __asm__ volatile("" : : "r"(buffer) : "memory");
  }
}

static void punch(int fd, size_t size) {
  check(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  (off_t)size) == 0,
        "fallocate");
}

// ---------------------------------------------------------------------------
// The channel

static void say(const void *data, size_t size, int fd) {
  struct iovec part = {(void *)(uintptr_t)data, size};
  char room[CMSG_SPACE(sizeof fd)] = {0};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (fd >= 0) {
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
  }
  check(sendmsg(channel, &message, 0) == (ssize_t)size, "sendmsg");
}

// Receives a message of `size` bytes. Returns -1 if none came, for example because the
// other end of the channel is closed. *out_fd is the descriptor that came with the
// message; -1: none.
static ssize_t hear(void *data, size_t size, int *out_fd) {
  struct iovec part = {data, size};
  char room[CMSG_SPACE(sizeof *out_fd)];
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = room,
                           .msg_controllen = sizeof room};
  const ssize_t got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
  const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  *out_fd = -1;
  if (head) memcpy(out_fd, CMSG_DATA(head), sizeof *out_fd);
  return got == (ssize_t)size ? got : -1;
}

// ---------------------------------------------------------------------------
// The child

static void serve(order_t order, int fd) {
  switch (order.way) {
    case BODY_COPIED:
    case BODY_KEPT:
      drain(area, order.size);
      return;
    case BODY_FILE: {
      uint8_t *body = map(fd, order.size, PROT_READ, MAP_SHARED);
      drain(body, order.size);
      munmap(body, order.size);
      close(fd);
      return;
    }
    case ANSWER_COPIED:
    case ANSWER_KEPT:
      fill(area, order.size);
      return;
    default: {
      uint8_t *answer =
          map(fd, LARGEST, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE);
      fill(answer, order.size);
      munmap(answer, LARGEST);
      close(fd);
    }
  }
}

static void be_child(void) {
  order_t order;
  int fd;
  while (hear(&order, sizeof order, &fd) >= 0) {
    const double before_us = now_us(CLOCK_PROCESS_CPUTIME_ID);
    serve(order, fd);
    const double spent_us = now_us(CLOCK_PROCESS_CPUTIME_ID) - before_us;
    say(&spent_us, sizeof spent_us, -1);
  }
  _exit(0);
}

// ---------------------------------------------------------------------------
// The loop

static void run(order_t order, uint8_t *kept, cost_t *out) {
  const bool answers = order.way >= ANSWER_COPIED;
  const bool file = order.way == BODY_FILE || order.way == ANSWER_FILE;
  const bool fresh = order.way == BODY_COPIED || order.way == ANSWER_COPIED;
  const double before_us = now_us(CLOCK_MONOTONIC);
  const double spent_us = now_us(CLOCK_PROCESS_CPUTIME_ID);
  uint8_t *block = kept;
  int fd = -1;
  if (file) fd = make_file(answers ? LARGEST : order.size);
  if (file && !answers) {
    block = map(fd, order.size, PROT_READ | PROT_WRITE, MAP_SHARED);
  } else if (fresh) {
    block = map(-1, order.size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS);
  }
  if (!answers) fill(block, order.size);
  if (!answers && !file) memcpy(area, block, order.size);
  say(&order, sizeof order, fd);
  int none;
  check(hear(&out->child_us, sizeof out->child_us, &none) >= 0, "the child");
  if (answers && file) block = map(fd, order.size, PROT_READ, MAP_SHARED);
  if (answers && !file) memcpy(block, area, order.size);
  if (answers) drain(block, order.size);
  if (file) punch(fd, order.size);
  else if (order.size > KEPT) punch(area_file, order.size);
  if (block != kept) munmap(block, order.size);
  if (file) close(fd);
  out->loop_us = now_us(CLOCK_PROCESS_CPUTIME_ID) - spent_us;
  out->passed_us = now_us(CLOCK_MONOTONIC) - before_us;
}

static int compare(const void *a, const void *b) {
  const double difference = *(const double *)a - *(const double *)b;
  return difference < 0 ? -1 : difference > 0;
}

static double median(cost_t *costs, int count, size_t member) {
  double values[1001];
  for (int i = 0; i < count; i++) {
    memcpy(&values[i], (const uint8_t *)&costs[i] + member, sizeof *values);
  }
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

int main(int argc, char **argv) {
  static cost_t costs[WAYS][1001];
  int tries = argc > 1 ? atoi(argv[1]) : 51, ends[2];
  if (tries < 1 || tries > 1001) return 1;
  check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0,
        "socketpair");
  memset(buffer, 7, sizeof buffer);
  area_file = make_file(LARGEST);
  area = map(area_file, LARGEST, PROT_READ | PROT_WRITE, MAP_SHARED);
  const pid_t child = fork();
  channel = ends[child == 0];
  close(ends[child != 0]);
  if (child == 0) be_child();
  uint8_t *kept = map(-1, LARGEST, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE);
  printf("%9s  %-26s %10s %10s %10s\n", "KiB", "way", "loop us", "child us",
         "passed us");
  for (size_t size = 64 << 10; size <= LARGEST; size *= 2) {
    // The ways take turns, so that other work of the machine affects all of them.
    for (int i = 0; i < tries; i++) {
      for (int way = 0; way < WAYS; way++) {
        run((order_t){(way_t)way, size}, kept, &costs[way][i]);
      }
    }
    for (int way = 0; way < WAYS; way++) {
      printf("%9zu  %-26s %10.0f %10.0f %10.0f\n", size >> 10, kNames[way],
             median(costs[way], tries, offsetof(cost_t, loop_us)),
             median(costs[way], tries, offsetof(cost_t, child_us)),
             median(costs[way], tries, offsetof(cost_t, passed_us)));
    }
  }
  close(channel);
  waitpid(child, NULL, 0);
  return 0;
}
