// SPDX-License-Identifier: Apache-2.0
//
// Functions that harm other modules of a server: test_neighbours.py.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int32_t _mlir_ciface_crashes(int32_t a) {
  (void)a;
  abort();
}

int32_t _mlir_ciface_hangs(int32_t a) {
  (void)a;
  for (;;) pause();
}

int32_t _mlir_ciface_leaks(int32_t mib) {
  char *memory = malloc((size_t)mib << 20);
  if (memory) memset(memory, 1, (size_t)mib << 20);
  return memory != NULL;
}

int32_t _mlir_ciface_prints(int32_t kib) {
  static char text[1 << 10];
  memset(text, '\n', sizeof text);
  for (size_t i = 0; i < sizeof text; i += 8) memcpy(text + i, "printed", 7);
  int32_t written = 0;
  while (written < kib && write(STDOUT_FILENO, text, sizeof text) > 0)
    written++;
  return written;
}

static void *stay(void *null) {
  sleep(1);
  return null;
}

// Returns how many threads could be started. They end after a second.
int32_t _mlir_ciface_threads(int32_t count) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  int32_t begun = 0;
  pthread_t thread;
  while (begun < count && !pthread_create(&thread, &attributes, stay, NULL))
    begun++;
  pthread_attr_destroy(&attributes);
  return begun;
}
