// SPDX-License-Identifier: Apache-2.0
#include "otlp/lookup.h"

#include <pthread.h>

// A look-up's memory comes from the system's allocator: an abandoned thread may free it
// when the server's allocator no longer exists. While the thread runs, the lock guards
// every member except `collector`, which does not change.
struct fc_lookup_t {
  pthread_mutex_t lock;
  uv_async_t *bell;  // NULL: fc_lookup_leave was called
  bool done;
  int failed;
  struct addrinfo *found;
  fc_collector_t collector;
};

static void free_lookup(fc_lookup_t *lookup) {
  pthread_mutex_destroy(&lookup->lock);
  fc_free(fc_allocator_system(), lookup);
}

static void *look_up(void *context) {
  fc_lookup_t *lookup = context;
  const fc_collector_t *collector = &lookup->collector;
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  const int failed =
      getaddrinfo(collector->host, collector->port, &hints, &found);
  pthread_mutex_lock(&lookup->lock);
  const bool left = !lookup->bell;
  lookup->failed = failed;
  lookup->found = found;
  lookup->done = true;
  // Sent under the lock, because the loop may close the bell once fc_lookup_leave
  // returns.
  if (!left) uv_async_send(lookup->bell);
  pthread_mutex_unlock(&lookup->lock);
  if (!left) return NULL;
  if (found) freeaddrinfo(found);
  free_lookup(lookup);
  return NULL;
}

fc_lookup_t *fc_lookup_begin(const fc_collector_t *collector,
                             uv_async_t *bell) {
  fc_lookup_t *lookup = fc_alloc(fc_allocator_system(), sizeof *lookup);
  pthread_t thread;
  if (!lookup) return NULL;
  lookup->collector = *collector;
  lookup->bell = bell;
  pthread_mutex_init(&lookup->lock, NULL);
  if (pthread_create(&thread, NULL, look_up, lookup)) {
    free_lookup(lookup);
    return NULL;
  }
  pthread_detach(thread);
  return lookup;
}

int fc_lookup_end(fc_lookup_t *lookup, struct addrinfo **out_found) {
  // The other thread rings the bell under the lock: this waits until it has unlocked.
  pthread_mutex_lock(&lookup->lock);
  const int failed = lookup->failed;
  pthread_mutex_unlock(&lookup->lock);
  *out_found = lookup->found;
  free_lookup(lookup);
  return failed;
}

void fc_lookup_leave(fc_lookup_t *lookup) {
  if (!lookup) return;
  pthread_mutex_lock(&lookup->lock);
  const bool done = lookup->done;
  lookup->bell = NULL;
  pthread_mutex_unlock(&lookup->lock);
  if (!done) return;
  if (lookup->found) freeaddrinfo(lookup->found);
  free_lookup(lookup);
}
