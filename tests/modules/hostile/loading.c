// SPDX-License-Identifier: Apache-2.0
//
// Misbehaves while it is loaded or unloaded. It is compiled once for each kind of
// misbehaviour.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostile.h"

static int *volatile nowhere;
__attribute__((unused)) static void fault(void) { *nowhere = 1; }
__attribute__((unused)) static void hang(void) {
  for (;;) pause();
}
__attribute__((unused)) static void leave(void) { exit(0); }
__attribute__((unused)) static void give_up(void) { abort(); }
__attribute__((unused)) static void stop(void) { raise(SIGSTOP); }
__attribute__((unused)) static void close_all(void) {
  for (int fd = 0; fd < 1024; fd++) close(fd);
}
__attribute__((unused)) static void talk(void) {
  char text[4096];
  memset(text, 'x', sizeof text);
  for (int i = 0; i < 256; i++) {
    if (write(1, text, sizeof text) < 0) break;
  }
}
__attribute__((unused)) static void fork_child(void) {
  if (fork() == 0) hang();
}

#ifdef BEFORE
__attribute__((constructor)) static void before(void) { BEFORE(); }
#endif
#ifdef AFTER
__attribute__((destructor)) static void after(void) { AFTER(); }
#endif
#ifdef AT_EXIT
KIND(register_exit) { return atexit(AT_EXIT); }
#endif
#ifdef RESOLVE
static int32_t one(void) { return 1; }
static int32_t (*resolve(void))(void) {
  RESOLVE();
  return one;
}
__attribute__((visibility("default"), ifunc("resolve"))) int32_t resolved(void);
KIND(call_resolved) { return resolved(); }
#endif
