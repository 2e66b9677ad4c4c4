// SPDX-License-Identifier: Apache-2.0
//
// The part of the harness that is inside a process: allocations fail, clocks jump.
// Modules are loaded with RTLD_DEEPBIND, so their own allocations are not affected.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "control.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static control_t *control;
static bool first;                  // this process is the traced program
static uintptr_t base, begin, end;  // the program's code

static int find_code(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  (void)context;
  base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
    begin = base + segment->p_vaddr;
    end = begin + segment->p_memsz;
  }
  return 1;  // the program itself comes first
}

__attribute__((constructor)) static void open_control(void) {
  const char *path = getenv("TORTURE_CONTROL");
  if (!path || strncmp(program_invocation_short_name, OURS, strlen(OURS))) {
    return;
  }
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  control_t *map =
      mmap(NULL, sizeof *map, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (map == MAP_FAILED) return;
  dl_iterate_phdr(find_code, NULL);
  first = atomic_load(&map->pid) == (uint64_t)getpid();
  control = map;
  (void)prctl(CONTROL_BEGIN, 0, 0, 0, 0);
}

// Finds the addresses on the stack that point into the program: those of its callers.
__attribute__((no_sanitize_address)) static void note_where(void) {
  const uintptr_t *at = __builtin_frame_address(0);
  size_t used = 0;
  for (int i = 0; i < 300 && used < sizeof control->where - 32; i++) {
    if (at[i] < begin || at[i] >= end) continue;
    used += (size_t)snprintf(control->where + used, 32, "%#zx ",
                             (size_t)(at[i] - base));
  }
}

__attribute__((no_sanitize_address)) static void note_site(uint64_t number) {
  const uintptr_t *at = __builtin_frame_address(0);
  uint32_t site = 0;
  for (int i = 0, depth = 0; i < 300 && depth < SITE_DEPTH; i++) {
    if (at[i] < begin || at[i] >= end) continue;
    site = control_site(site, at[i] - base);
    depth++;
  }
  control_note(control, number, site);
}

static bool is_refused(void) {
  uint64_t number;
  if (!control) return false;
  const uint64_t fault = atomic_load(&control->fault);
  if (fault != FAULT_heap && fault != FAULT_heap_on) return false;
  const bool hit = control_hit(control, &number);
  if (number) note_site(number);
  if (!hit) return false;
  if (atomic_load(&control->injected) == 1) note_where();
  errno = ENOMEM;
  return true;
}

static void *count(void *memory) {
  if (memory && first) atomic_fetch_add(&control->blocks, 1);
  return memory;
}

void *malloc(size_t size) {
  return is_refused() ? NULL : count(__libc_malloc(size));
}

void *calloc(size_t number, size_t size) {
  return is_refused() ? NULL : count(__libc_calloc(number, size));
}

void *realloc(void *memory, size_t size) {
  if (is_refused()) return NULL;
  void *moved = __libc_realloc(memory, size);
  return memory ? moved : count(moved);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return is_refused() ? NULL : count(__libc_memalign(alignment, size));
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  if (is_refused()) return ENOMEM;
  *out = count(__libc_memalign(alignment, size));
  return *out ? 0 : ENOMEM;
}

void free(void *memory) {
  if (memory && first) atomic_fetch_sub(&control->blocks, 1);
  __libc_free(memory);
}

// ---------------------------------------------------------------------------
// Clocks

#define HOUR_NS 3600000000000ll

static void jump(void) {
  uint64_t number;
  const uint64_t fault = atomic_load(&control->fault);
  if (fault != FAULT_clock_back && fault != FAULT_clock_on) return;
  const bool hit = control_hit(control, &number);
  if (number) note_site(number);
  if (!hit) return;
  if (fault == FAULT_clock_back) {
    atomic_fetch_sub(&control->calendar_ns, HOUR_NS);
  } else {
    atomic_fetch_add(&control->calendar_ns, HOUR_NS);
    atomic_fetch_add(&control->monotonic_ns, HOUR_NS);
  }
}

static void move(struct timespec *time, int64_t by_ns) {
  const int64_t ns = time->tv_nsec + by_ns % 1000000000;
  time->tv_sec += by_ns / 1000000000 + (ns >= 1000000000) - (ns < 0);
  time->tv_nsec = (ns + 1000000000) % 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  const long failed = syscall(SYS_clock_gettime, clock, out);
  if (failed || !control) return (int)failed;
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
      jump();
      move(out, atomic_load(&control->calendar_ns));
      break;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
      jump();
      move(out, atomic_load(&control->monotonic_ns));
      break;
    default:
      break;
  }
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  (void)zone;
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}
