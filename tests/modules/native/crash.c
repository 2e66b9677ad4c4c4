// SPDX-License-Identifier: Apache-2.0
//
// Functions that end their process, each in another way, and some that return where
// they run. For the process host only.
#include "memref.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CI(ret, name) EXPORT ret _mlir_ciface_##name

CI(int64_t, pid)(void) { return getpid(); }

CI(int64_t, add)(int64_t a, int64_t b) { return a + b; }

CI(int32_t, divide)(int32_t a, int32_t b) {
  volatile int32_t by = b;
  return a / by;
}

CI(int64_t, stop)(int32_t number) { return raise(number); }

CI(int64_t, leave)(int32_t code) { exit(code); }

CI(int64_t, leave_at_once)(int32_t code) { _exit(code); }

CI(int64_t, peek)(int64_t address) {
  return *(volatile int64_t *)(uintptr_t)address;
}

CI(int64_t, recurse)(int64_t depth) {
  volatile char room[4096];
  room[0] = (char)depth;
  return depth ? _mlir_ciface_recurse(depth - 1) + room[0] : room[0];
}

// Runs for `ms` milliseconds. 0: for ever.
CI(int64_t, spin)(int64_t ms) {
  struct timespec now, begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (;;) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t gone = (now.tv_sec - begin.tv_sec) * 1000 +
                   (now.tv_nsec - begin.tv_nsec) / 1000000;
    if (ms && gone >= ms) return gone;
  }
}

// Writes a byte to `begun`, and ends when it can read one from `end`. Only for threads,
// which share the caller's descriptors.
CI(int64_t, hold)(int32_t begun, int32_t end) {
  char byte = 1;
  if (write(begun, &byte, 1) != 1) return -1;
  return read(end, &byte, 1);
}

CI(int64_t, say)(int64_t lines) {
  for (int64_t i = 0; i < lines; i++) printf("line %d of the module\n", (int)i);
  return lines;
}

CI(int64_t, last_words)(int32_t number) {
  puts("these are my last words");
  return raise(number);
}

// Fills the memory that it shares with the server with one byte value.
CI(int64_t, scribble)(int32_t byte) {
  struct stat info;
  if (fstat(3, &info)) return -1;
  size_t size = info.st_size < 65536 ? (size_t)info.st_size : 65536;
  void *region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
  if (region == MAP_FAILED) return -1;
  memset(region, byte, size);
  munmap(region, size);
  return (int64_t)size;
}

CI(int64_t, fork_one)(void) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  return child;
}
