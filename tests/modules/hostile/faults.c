// SPDX-License-Identifier: Apache-2.0
//
// Ends by a signal: faults of the processor, aborts, signals that it sends to itself.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile.h"

KIND(null_read) { return *(volatile int32_t *)(uintptr_t)a; }
KIND(null_write) { return *(volatile int32_t *)(uintptr_t)a = 7; }
KIND(wild_write) { return *(volatile int32_t *)0x4141414141414141 = 7; }
KIND(wild_jump) { return ((int32_t(*)(void))(uintptr_t)0x4000)(); }
KIND(write_code) {
  return *(volatile char *)(uintptr_t)_mlir_ciface_wild_jump = 7;
}
KIND(run_data) {
  static char code[16] = "\xc3";
  ((void (*)(void))(uintptr_t)code)();
  return 1;
}
KIND(divide_by_zero) {
  volatile int32_t one = 1, zero = 0;
  return one / zero;
}
KIND(divide_overflow) {
  volatile int32_t least = INT32_MIN, minus = -1;
  return least / minus;
}
KIND(illegal) {
  __builtin_trap();
  return 1;
}
KIND(breakpoint) {
  raise(SIGTRAP);
  return 1;
}
// Reads a page of a mapping that is longer than its file.
KIND(bus) {
  int file = memfd_create("short", 0);
  if (ftruncate(file, 4096)) return -1;
  char *data = mmap(NULL, 8192, PROT_READ, MAP_SHARED, file, 0);
  return ((volatile char *)data)[4096];
}
KIND(abort) { abort(); }
static int32_t deeper(volatile char *above) {
  volatile char here[4000];
  memset((char *)(uintptr_t)here, 1, sizeof here);
  return above[0] ? deeper(here) + here[7] : 0;
}
KIND(stack_overflow) {
  volatile char here[1] = {1};
  return deeper(here);
}
// Writes 64 TiB below the stack, where neither Linux nor a sanitizer maps memory.
// Mappings lie up to 1 TiB below the stack, so a distance of 1 TiB might hit one.
KIND(stack_at_once) {
  volatile char *here = __builtin_alloca((size_t)1 << 46);
  return here[0] = 1;
}
KIND(heap_corruption) {
  char *volatile blocks[64];
  for (int i = 0; i < 64; i++) blocks[i] = malloc(24);
  for (int i = 0; i < 64; i++) memset(blocks[i] - 16, 0x41, 64);
  for (int i = 0; i < 64; i++) free(blocks[i]);
  return malloc(5000) != NULL;
}
KIND(stack_smash) {
  volatile char here[8];
  volatile size_t size = 4096;
  memset((char *)(uintptr_t)here, 0, size);
  return here[0];
}
KIND(free_wild) {
  free((void *)(uintptr_t)0x1230);
  return 1;
}
KIND(send_kill) { return raise(SIGKILL); }
KIND(send_term) { return raise(SIGTERM); }
KIND(send_sys) { return raise(SIGSYS); }
KIND(send_stop) {
  raise(SIGSTOP);
  return 1;
}
