// SPDX-License-Identifier: Apache-2.0
#include "helpers/test.h"

#include <stdlib.h>
#include <string.h>

static const char *current_row;

bool fc_test_row(const char *name) {
  current_row = name;
  return name != NULL;
}

int fc_test_report_row(void **state) {
  (void)state;
  if (current_row) print_error("in row '%s'\n", current_row);
  current_row = NULL;
  return 0;
}

static size_t skipped_count;

void fc_test_note_skip(const char *reason) {
  skipped_count++;
  print_message("skipped: %s\n", reason);
}

int fc_test_status(int failed, size_t skipped) {
  if (failed) return 1;
  return skipped ? FC_TEST_SKIPPED : 0;
}

int fc_test_exit(int failed) { return fc_test_status(failed, skipped_count); }

static void *allocate(void *context, size_t size, size_t alignment) {
  fc_test_allocator_t *state = context;
  size_t number = atomic_fetch_add(&state->allocated, 1) + 1;
  if (number == state->fail_at) return NULL;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  void *memory = NULL;
  if (posix_memalign(&memory, alignment, size ? size : 1)) return NULL;
  memset(memory, 0xA5, size);
  atomic_fetch_add(&state->live, 1);
  return memory;
}

static void release(void *context, void *memory) {
  fc_test_allocator_t *state = context;
  if (!memory) return;
  atomic_fetch_sub(&state->live, 1);
  free(memory);
}

fc_allocator_t fc_test_allocator_init(fc_test_allocator_t *state,
                                      size_t fail_at) {
  state->fail_at = fail_at;
  atomic_init(&state->allocated, 0);
  atomic_init(&state->live, 0);
  return (fc_allocator_t){state, allocate, release};
}

size_t fc_test_allocation_sweep(fc_test_attempt_t attempt, void *context) {
  for (size_t number = 1;; number++) {
    fc_test_allocator_t state;
    fc_error_t err = {0};
    fc_allocator_t allocator = fc_test_allocator_init(&state, number);
    fc_status_t status = attempt(allocator, context, &err);
    size_t live = atomic_load(&state.live);
    if (live) fail_msg("%zu blocks left after failure %zu", live, number);
    size_t allocated = atomic_load(&state.allocated);
    if (allocated < number) {  // the attempt never came to the failing
                               // allocation
      if (status) fail_msg("without a failure: %s", err.message);
      return allocated;
    }
    if (status == FC_OK) fail_msg("allocation %zu failed unnoticed", number);
    if (err.code != FC_CODE_OUT_OF_MEMORY) {
      fail_msg("allocation %zu: code %d: %s", number, (int)err.code,
               err.message);
    }
  }
}
