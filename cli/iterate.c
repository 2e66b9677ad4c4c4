// SPDX-License-Identifier: Apache-2.0
//
// Makes the steps like a server's worker (marshal/iteration.h), but in this process.
// Lines are collected, and shown once SHOW_NS has passed or SHOW_SIZE is reached.
#include "iterate.h"

#include <string.h>

#include "marshal/iteration.h"

#define SHOW_NS UINT64_C(50000000)
#define SHOW_SIZE ((size_t)64 << 10)

typedef struct loop_t {
  fc_text_t text;
  uint64_t show_ns;  // when lines are to be shown
  fc_carry_t carry;
} loop_t;

static fc_status_t grow(fc_carry_t *carry, size_t capacity, fc_error_t *err) {
  const fc_allocator_t allocator = fc_allocator_system();
  uint8_t *data = fc_alloc_aligned(allocator, capacity, FC_TENSOR_ALIGNMENT);
  if (!data) return fc_fail_memory(err);
  if (carry->size) memcpy(data, carry->data, carry->size);
  fc_free(allocator, carry->data);
  carry->data = data;
  carry->capacity = capacity;
  return FC_OK;
}

static bool is_time_to_show(void *context, uint64_t steps) {
  const loop_t *loop = context;
  (void)steps;
  return fc_text_str(&loop->text).size >= SHOW_SIZE ||
         fc_clock_ns() >= loop->show_ns;
}

static fc_status_t make_steps(const fc_local_bound_t *bound, loop_t *loop,
                              fc_error_t *err) {
  const fc_iteration_t iteration = {
      .plan = bound->function->plan,
      .backend = fc_module_get_backend(bound->function->module),
      .instance = bound->instance,
      .index = bound->function->index,
      .pause = is_time_to_show,
      .context = loop,
      .after = FC_STR("\n")};
  fc_iterated_t out;
  fc_status_t status;
  do {
    fc_text_reset(&loop->text);
    loop->show_ns = fc_clock_ns() + SHOW_NS;
    status = fc_iteration_run(&iteration, bound->frame, &loop->carry,
                              &loop->text.sink, &out, err);
    fc_show(stdout, fc_str_make(fc_text_str(&loop->text).data, out.written));
    fflush(stdout);
  } while (status == FC_OK && out.end == FC_ITERATION_MORE);
  return status;
}

int fc_iterate(const fc_args_t *args, const fc_function_t *function,
               fc_str_t document) {
  fc_error_t err;
  fc_local_bound_t bound = {.function = NULL};
  loop_t loop = {.carry = {.grow = grow}};
  fc_error_reset(&err);
  fc_text_init(&loop.text, fc_allocator_system(), SIZE_MAX);
  fc_status_t status = fc_local_bind(function, &bound, &err);
  if (status == FC_OK) {
    fc_frame_begin(bound.frame, function->plan, NULL);
    status = fc_iteration_begin(bound.frame, document, FC_ITERATION_TIMES_MAX,
                                &loop.carry, &err);
    fc_frame_end(bound.frame);
  }
  if (status == FC_OK) status = make_steps(&bound, &loop, &err);
  fc_local_unbind(&bound);
  fc_free(fc_allocator_system(), loop.carry.data);
  fc_text_deinit(&loop.text);
  return status == FC_OK ? FC_EXIT_OK : fc_local_complain(args, &err);
}
