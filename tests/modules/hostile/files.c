// SPDX-License-Identifier: Apache-2.0
//
// Reaches for the files that the server hands to its process: bodies of calls, and
// those that answers are written to.
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hostile.h"

#define COUNT 1000000

typedef struct vector_t {
  int32_t *allocated, *aligned;
  int64_t offset, size, stride;
} vector_t;

// An answer of some megabytes: first, first + 1, …
__attribute__((visibility("default"))) void _mlir_ciface_large(vector_t *out,
                                                               int32_t first) {
  static int32_t numbers[COUNT];
  for (int32_t i = 0; i < COUNT; i++) numbers[i] = first + i;
  *out = (vector_t){numbers, numbers, 0, COUNT, 1};
}

static bool is_socket(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

// Fills every socket of the process with bytes, also the one through which the server
// hands it files.
KIND(inbox_flooded) {
  static char text[4096];
  for (int fd = 0; fd < 64; fd++) {
    for (int i = 0; is_socket(fd) && i < 10000; i++) {
      if (send(fd, text, sizeof text, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
    }
  }
  return 1;
}
KIND(inbox_shut) {
  for (int fd = 0; fd < 64; fd++) {
    if (is_socket(fd)) shutdown(fd, SHUT_RDWR);
  }
  return 1;
}
KIND(inbox_closed) {
  for (int fd = 0; fd < 64; fd++) {
    if (is_socket(fd)) close(fd);
  }
  return 1;
}

// Takes a file that was on its way to somebody else; -1: there is none.
static int steal(int fd) {
  char text[64], control[64];
  struct iovec part = {text, sizeof text};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof control};
  int file = -1;
  if (recvmsg(fd, &message, MSG_DONTWAIT) <= 0) return -1;
  if (CMSG_FIRSTHDR(&message)) {
    memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
  }
  return file;
}

// Does all to a file that could make somebody else who reads it suffer.
static void spoil(int file) {
  static char text[65536];
  memset(text, 'x', sizeof text);
  (void)!ftruncate(file, 0);
  (void)!ftruncate(file, (off_t)1 << 40);
  fcntl(file, F_ADD_SEALS, F_SEAL_WRITE);
  fcntl(file, F_SETFL, O_NONBLOCK);
  (void)!fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                   1 << 30);
  for (int i = 0; i < 16; i++)
    (void)!pwrite(file, text, sizeof text, i * 65536);
}
// True for the file of the next answer, which the process has already.
static bool is_answer(int fd) {
  char path[64], name[64] = "";
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return readlink(path, name, sizeof name - 1) > 0 &&
         strstr(name, "farcall-block");
}
static void *spoil_for_ever(void *context) {
  int kept[16] = {0};
  for (unsigned i = 0;; usleep(1000)) {
    for (int fd = 0; fd < 64; fd++) {
      if (is_answer(fd)) spoil(fd);
      const int file = is_socket(fd) ? steal(fd) : -1;
      if (file < 0) continue;
      spoil(file);
      if (kept[i % 16]) close(kept[i % 16]);
      kept[i++ % 16] = file;
    }
  }
  return context;
}
KIND(files_spoiled) {
  pthread_t thread;
  return pthread_create(&thread, NULL, spoil_for_ever, NULL);
}

// Takes all the memory that the file may have.
static void fill(void) {
  for (int fd = 0; fd < 64; fd++) {
    if (is_answer(fd)) (void)!fallocate(fd, 0, 0, 64 << 20);
  }
}
KIND(files_filled) {
  fill();
  return 0;
}
// Fills the file that its answer lies in, too.
__attribute__((visibility("default"))) void _mlir_ciface_large_filled(
    vector_t *out, int32_t first) {
  _mlir_ciface_large(out, first);
  fill();
}
