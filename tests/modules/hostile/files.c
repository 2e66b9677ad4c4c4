// SPDX-License-Identifier: Apache-2.0
//
// Attacks the files that the server hands to its process: the bodies of calls, and the
// files that answers are written to.
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

// Returns an answer of some megabytes: first, first + 1, …
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

// Fills every socket of the process with bytes, including the one by which the server
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

// Steals a file that was on its way to the worker. -1: there is none.
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

// Does everything to a file that might harm another reader of it.
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
// Calls `act` for each mapped file of an answer.
static void each_answer(void (*act)(uint8_t *begin, size_t size)) {
  char line[256], access[5];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    if (!strstr(line, "farcall-block") ||
        sscanf(line, "%lx-%lx %4s", &begin, &end, access) != 3 ||
        strcmp(access, "rw-s") != 0) {
      continue;
    }
    act((uint8_t *)begin, end - begin);
  }
  if (maps) fclose(maps);
}
static void spoil_answer(uint8_t *begin, size_t size) {
  memset(begin, 'x', 1 << 20);
  madvise(begin, size, MADV_REMOVE);
  memset(begin, 'x', 1 << 20);
}
static void *spoil_for_ever(void *context) {
  int kept[16] = {0};
  for (unsigned i = 0;; usleep(1000)) {
    each_answer(spoil_answer);
    for (int fd = 0; fd < 64; fd++) {
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

// Writes to each page, so that the file uses as much memory as possible.
static void fill_answer(uint8_t *begin, size_t size) {
  for (size_t i = 0; i < size; i += 4096) ((volatile uint8_t *)begin)[i] |= 0;
}
static void fill(void) { each_answer(fill_answer); }
KIND(files_filled) {
  fill();
  return 0;
}
// Also fills the file in which its own answer lies.
__attribute__((visibility("default"))) void _mlir_ciface_large_filled(
    vector_t *out, int32_t first) {
  _mlir_ciface_large(out, first);
  fill();
}
