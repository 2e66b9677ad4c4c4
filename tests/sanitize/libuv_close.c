// SPDX-License-Identifier: Apache-2.0
//
// The thread sanitizer tracks descriptors by the functions that open and close them.
// libuv closes them by a direct system call, which the sanitizer does not see. So the
// next user of the number, on another thread, seems to race with the previous one. Here
// libuv's call is replaced by close(). Part of farcalld only in preset tsan.
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
    // In C a function pointer is not an object pointer, so it is copied as POSIX shows.
    *(void **)&call = dlsym(RTLD_NEXT, "syscall");
    atomic_store(&found, call);
  }
  return call;
}

// Always reads six words, as the C library does, even if the caller gave fewer.
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
