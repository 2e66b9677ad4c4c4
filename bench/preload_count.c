// SPDX-License-Identifier: Apache-2.0
//
// Counts heap allocations of the process it is preloaded into, in the file
// named by MALLOC_COUNT (two uint64_t, shared). A call that comes out of a
// compiled module, directly or through the loader's stand-in for malloc, is the
// module's own and counts in the second number, every other in the first.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES 5  // this file, the stand-in and its helper, the module

typedef struct counts_t {
  _Atomic uint64_t server;
  _Atomic uint64_t module;
} counts_t;

static counts_t *counts;
static _Thread_local bool inside;  // backtrace and dladdr may allocate

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

__attribute__((constructor)) static void open_counts(void) {
  const char *path = getenv("MALLOC_COUNT");
  if (!path) return;
  void *warm[FRAMES];
  backtrace(warm, FRAMES);  // loads the unwinder now
  int fd = open(path, O_RDWR);
  if (fd < 0) return;
  void *map =
      mmap(NULL, sizeof(counts_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (map != MAP_FAILED) counts = map;
}

// A module is any shared object loaded from a path with a slash that is not a
// system library.
static bool is_module(const void *address) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname) return false;
  const char *name = info.dli_fname;
  size_t size = strlen(name);
  if (size < 3 || strcmp(name + size - 3, ".so") != 0) return false;
  return strncmp(name, "/lib", 4) && strncmp(name, "/usr/lib", 8) &&
         !strstr(name, "preload_");
}

static void count(void) {
  if (!counts || inside) return;
  inside = true;
  void *frames[FRAMES];
  int size = backtrace(frames, FRAMES);
  bool module = false;
  for (int i = 1; i < size && !module; i++) module = is_module(frames[i]);
  atomic_fetch_add_explicit(module ? &counts->module : &counts->server, 1,
                            memory_order_relaxed);
  inside = false;
}

void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
  count();
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  count();
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : 12;  // ENOMEM
}
