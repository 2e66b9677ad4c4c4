// SPDX-License-Identifier: Apache-2.0
//
// The threads of the thread host. Their stacks are large enough for compiled code, with a
// guard area of 1 MiB below each stack, so that a large frame cannot skip over it.
#include "pool/threads.h"

#include <pthread.h>

#include "control/signal_mask.h"
#include "pool/worker.h"

#define STACK_SIZE (16u << 20)
#define GUARD_SIZE (1u << 20)

typedef struct fc_thread_t {
  pthread_t id;
  fc_worker_t worker;
} fc_thread_t;

static void *run(void *context) {
  fc_thread_t *thread = context;
  fc_signal_mask_leave_faults(NULL);
  fc_worker_main(&thread->worker);
  return NULL;
}

static fc_status_t start(fc_threads_t *threads, uint32_t index,
                         fc_error_t *err) {
  fc_thread_t *thread = &threads->threads[index];
  FC_TRY(fc_worker_init(&thread->worker, threads->region, index, err));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  pthread_attr_setguardsize(&attributes, GUARD_SIZE);
  int failed = pthread_create(&thread->id, &attributes, run, thread);
  pthread_attr_destroy(&attributes);
  if (!failed) return FC_OK;
  fc_worker_deinit(&thread->worker);
  return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot start a worker thread");
}

fc_status_t fc_threads_start(fc_threads_t *threads, fc_region_t *region,
                             uint32_t count, uint32_t spare, fc_error_t *err) {
  *threads = (fc_threads_t){
      .region = region, .wanted = count, .capacity = count + spare};
  threads->threads = fc_alloc_array(region->allocator, threads->capacity,
                                    sizeof *threads->threads);
  if (!threads->threads) return fc_fail_memory(err);
  while (threads->count < count) {
    fc_status_t status = start(threads, threads->count, err);
    if (status != FC_OK) {
      fc_threads_stop(threads);
      return status;
    }
    threads->count++;
  }
  return FC_OK;
}

void fc_threads_lose(fc_threads_t *threads) {
  threads->lost++;
  if (threads->count - threads->lost >= threads->wanted) return;
  if (threads->count == threads->capacity) return;
  fc_error_t error;
  if (start(threads, threads->count, &error) == FC_OK) threads->count++;
}

void fc_threads_find(fc_threads_t *threads) { threads->lost--; }

void fc_threads_stop(fc_threads_t *threads) {
  if (!threads->threads) return;
  fc_ready_stop(&threads->region->ready);
  for (uint32_t i = 0; i < threads->count; i++) {
    pthread_join(threads->threads[i].id, NULL);
    fc_worker_deinit(&threads->threads[i].worker);
  }
  fc_free(threads->region->allocator, threads->threads);
  *threads = (fc_threads_t){0};
}
