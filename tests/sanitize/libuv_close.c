// SPDX-License-Identifier: Apache-2.0
//
// The thread sanitizer follows descriptors by the functions that open and close them.
// libuv closes by the system call itself, which the sanitizer does not see: the next owner
// of the number, on another thread, then seems to race with the one before. Here libuv's
// call becomes close(). Part of farcalld in preset tsan alone.
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef long call_t(long number, ...);

static call_t *c_library(void) {
  static call_t *_Atomic found;
  call_t *call = atomic_load(&found);
  if (!call) {
    // A function is no object in C: the pointer is copied as POSIX shows.
    *(void **)&call = dlsym(RTLD_NEXT, "syscall");
    atomic_store(&found, call);
  }
  return call;
}

// Reads six words also where the caller gave fewer, as the C library does.
__attribute__((visibility("default"))) long syscall(long number, ...) {
  long words[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) words[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_close) return close((int)words[0]);
  return c_library()(number, words[0], words[1], words[2], words[3], words[4],
                     words[5]);
}
