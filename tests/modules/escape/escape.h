// SPDX-License-Identifier: Apache-2.0
//
// Modules that reach for what is not theirs. A KIND is a function i32 -> i32 that makes
// one attempt, usually at the process `a`. Its result is 0 if the attempt succeeded,
// otherwise the error of the system call that refused, or NOTHING if no call refused
// but nothing was found.
//
// -DEARLY=kind: a constructor makes the attempt, and `early` returns its result.
// -DTHREAD=kind: a thread that a constructor started makes the attempt when `threaded`
// is called.
// -DEARLY_ALL: a constructor makes every attempt of the object at the server, and
// `early_of` returns the result of one, by the hash of its name.
#ifndef FARCALL_TESTS_MODULES_ESCAPE_ESCAPE_H_
#define FARCALL_TESTS_MODULES_ESCAPE_ESCAPE_H_

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOTHING (-1)

// The folder of tests/e2e/escape_stage.py for files that are not the module's.
#define PLACE "/mnt/"
#define MODULES PLACE "modules/"
#define SECRET PLACE "secret"
#define VICTIM PLACE "victim"
#define TEMPORARY PLACE "tmp"  // where everybody may write
#define PORT 7001
#define ADDRESS 0x660000000000  // of the neighbour's secret, in its memory
#define DESCRIPTOR 50           // of the neighbour's secret file
#define IPC_KEY 0x66617263      // of the neighbour's shared memory and queues

#define SYMBOL_(name) _mlir_ciface_##name
#define SYMBOL(name) SYMBOL_(name)
#define FUNCTION(name)                                         \
  __attribute__((visibility("default"))) int32_t SYMBOL(name)( \
      __attribute__((unused)) int32_t a)
typedef struct kind_t {
  const char *name;
  int32_t (*function)(int32_t a);
} kind_t;
#define KIND(name)                                                            \
  FUNCTION(name);                                                             \
  __attribute__((used, section("kinds"))) static const kind_t kind_##name = { \
      #name, SYMBOL(name)};                                                   \
  FUNCTION(name)

FUNCTION(fine) { return a + 1; }

static int32_t error_of(long result) { return result < 0 ? errno : 0; }

static int32_t is_secret(const char *text, ssize_t size) {
  return size < 0                                     ? errno
         : memmem(text, (size_t)size, "secret of", 9) ? 0
                                                      : NOTHING;
}

// Reads a file and closes it. 0: it contains the secret.
static int32_t reads(int fd) {
  char text[4096];
  if (fd < 0) return errno;
  int32_t result = is_secret(text, read(fd, text, sizeof text));
  close(fd);
  return result;
}
static int32_t opens(const char *path) { return reads(open(path, O_RDONLY)); }

// Closes the descriptor, which is not needed further. 0: there was one.
static int32_t gets(int fd) {
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

#ifdef EARLY
FUNCTION(EARLY);
static int32_t early_result = NOTHING;
__attribute__((constructor)) static void begin(void) {
  early_result = SYMBOL(EARLY)(getppid());
}
FUNCTION(early) { return early_result; }
#endif

#ifdef THREAD
FUNCTION(THREAD);
static sem_t asked, told;
static int32_t thread_argument, thread_result = NOTHING;
static void *try_when_asked(void *context) {
  for (;;) {
    sem_wait(&asked);
    thread_result = SYMBOL(THREAD)(thread_argument);
    sem_post(&told);
  }
  return context;
}
__attribute__((constructor)) static void begin(void) {
  static pthread_t thread;
  pthread_create(&thread, NULL, try_when_asked, NULL);
}
FUNCTION(threaded) {
  thread_argument = a;
  sem_post(&asked);
  sem_wait(&told);
  return thread_result;
}
#endif

#ifdef EARLY_ALL
extern const kind_t __start_kinds[], __stop_kinds[];
static int32_t early_results[128];
__attribute__((constructor)) static void begin(void) {
  for (const kind_t *kind = __start_kinds; kind < __stop_kinds; kind++) {
    early_results[kind - __start_kinds] = kind->function(getppid());
  }
}
static uint32_t hash_of(const char *name) {
  uint32_t hash = 5381;
  while (*name) hash = hash * 33 + (uint8_t)*name++;
  return hash & INT32_MAX;
}
FUNCTION(early_of) {
  for (const kind_t *kind = __start_kinds; kind < __stop_kinds; kind++) {
    if (hash_of(kind->name) == (uint32_t)a) {
      return early_results[kind - __start_kinds];
    }
  }
  return -2;
}
#endif

#endif  // FARCALL_TESTS_MODULES_ESCAPE_ESCAPE_H_
