// SPDX-License-Identifier: Apache-2.0
//
// The state of a program that embeds farcall. It is like a session of the server, with
// one desk and one thread. A call that fails leaves values that it did not write
// unchanged.
#include "module/state.h"

#include <unistd.h>

#define SIZE_DEFAULT ((uint64_t)1 << 30)

struct fc_state_t {
  fc_allocator_t allocator;
  int file;
  uint64_t size_max;
  uint64_t next;  // the first page of the slab that was never used
  fc_store_t store;
  fc_store_desk_t desk;
  fc_store_desk_t before;  // the desk when the call began
};

fc_status_t fc_state_create(const fc_state_options_t *options,
                            fc_state_t **out_state, fc_error_t *err) {
  const fc_allocator_t allocator = options && options->allocator.allocate
                                       ? options->allocator
                                       : fc_allocator_system();
  fc_state_t *state = fc_alloc(allocator, sizeof *state);
  if (!state) return fc_fail_memory(err);
  state->allocator = allocator;
  state->size_max =
      options && options->size_max ? options->size_max : SIZE_DEFAULT;
  const fc_status_t status = fc_store_make_slab(&state->file, err);
  if (status != FC_OK) {
    fc_free(allocator, state);
    return status;
  }
  fc_store_init(&state->store);
  fc_store_open(&state->store, state->file);
  *out_state = state;
  return FC_OK;
}

void fc_state_destroy(fc_state_t *state) {
  if (!state) return;
  fc_store_deinit(&state->store);
  close(state->file);
  fc_free(state->allocator, state);
}

static void punch(const fc_state_t *state, const fc_store_row_t *row) {
  fc_store_punch(state->file, fc_store_page_of(row->offset),
                 fc_store_pages(row->size));
}

void fc_state_reset(fc_state_t *state) {
  for (uint32_t i = 0; i < state->desk.count; i++) {
    punch(state, &state->desk.rows[i]);
  }
  state->desk.count = 0;
}

uint64_t fc_state_size(const fc_state_t *state) {
  uint64_t size = 0;
  for (uint32_t i = 0; i < state->desk.count; i++) {
    size += fc_store_pages(state->desk.rows[i].size);
  }
  return size;
}

fc_store_t *fc_state_begin(fc_state_t *state) {
  fc_store_desk_t *desk = &state->desk;
  const uint64_t used = fc_state_size(state);
  desk->code = FC_CODE_OUT_OF_MEMORY;
  desk->next = state->next;
  desk->end = FC_STORE_SIZE_MAX;
  desk->budget = used < state->size_max ? state->size_max - used : 0;
  for (uint32_t i = 0; i < desk->count; i++) desk->rows[i].change = 0;
  state->before.count = desk->count;
  memcpy(state->before.rows, desk->rows, desk->count * sizeof *desk->rows);
  fc_store_begin(&state->store, desk);
  return &state->store;
}

// Frees the place that a value had before the call, if the call gave it another place.
static void free_before(const fc_state_t *state, const fc_store_row_t *row) {
  const fc_store_row_t *had =
      row->change & FC_STORE_NEW
          ? fc_store_find((fc_store_desk_t *)(uintptr_t)&state->before,
                          fc_store_name(row))
          : NULL;
  if (had) punch(state, had);
}

void fc_state_end(fc_state_t *state, bool succeeded) {
  fc_store_desk_t *desk = &state->desk;
  fc_store_end(&state->store);
  if (succeeded) {
    for (uint32_t i = 0; i < desk->count; i++) {
      free_before(state, &desk->rows[i]);
    }
    state->next = desk->next;
    return;
  }
  desk->count = state->before.count;
  memcpy(desk->rows, state->before.rows, desk->count * sizeof *desk->rows);
  // The places that the call used are not used again, because a view may still show them.
  fc_store_punch(state->file, state->next, desk->next - state->next);
  state->next = desk->next;
}

fc_status_t fc_state_get(fc_state_t *state, const char *name,
                         fc_tensor_t *out_tensor, fc_error_t *err) {
  fc_store_row_t *row = fc_store_find(&state->desk, fc_str(name));
  void *data;
  if (!row) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, fc_str(name));
    return fc_fail(err, FC_CODE_REFERENCE_UNKNOWN, "there is no value '%s'",
                   shown);
  }
  if (row->kind != FC_VALUE_TENSOR && row->kind != FC_VALUE_SCALAR) {
    return fc_fail(err, FC_CODE_TYPE_MISMATCH, "value '%s' is %s", row->name,
                   row->kind == FC_VALUE_LIST ? "a list" : "bytes");
  }
  fc_store_begin(&state->store, NULL);
  FC_TRY(fc_store_map(&state->store, row, &data, err));
  *out_tensor = (fc_tensor_t){
      .dtype = row->dtype, .rank = row->rank, .shape = row->dims, .data = data};
  return FC_OK;
}

uint64_t fc_state_copied(const fc_state_t *state) {
  return state->store.copied;
}
