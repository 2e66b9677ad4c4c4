// SPDX-License-Identifier: Apache-2.0
//
// Compares sums of the arguments' bytes before and after a call. A sum needs no memory
// and leaves the pages of a request as they are; a copy would need as much memory as the
// arguments. A sum is evidence, not proof: whether a function writes may depend on the
// data, and it may write the same bytes again.
#include "marshal/written.h"

#include <stdio.h>

#include "base/width.h"
#include "marshal/guard.h"

#define ALWAYS UINT32_MAX       // fc_plan_t.compared after a write was found
#define STEP ((size_t)1 << 20)  // bytes between two checks of the clock
#define SHOWN_MAX 8             // more arguments than this are shown as "…"

static inline uint64_t mix(uint64_t sum, uint64_t word) {
  return ((sum << 29 | sum >> 35) ^ word) * UINT64_C(0x9E3779B97F4A7C15);
}

static inline uint64_t load(const uint8_t *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

// Adds bytes to a sum. Each step is a bijection of the sum, so a single word that differs
// changes the sum. Four sums side by side are as fast as the memory.
static uint64_t sum_bytes(uint64_t sum, const uint8_t *at, size_t size) {
  uint64_t a = sum, b = sum + 1, c = sum + 2, d = sum + 3;
  for (; size >= 32; at += 32, size -= 32) {
    a = mix(a, load(at));
    b = mix(b, load(at + 8));
    c = mix(c, load(at + 16));
    d = mix(d, load(at + 24));
  }
  sum = mix(mix(mix(mix(sum, a), b), c), d);
  for (; size; at++, size--) sum = mix(sum, *at);
  return sum;
}

static fc_status_t sum_value(fc_frame_t *frame, fc_value_t *value,
                             fc_error_t *err) {
  size_t count, size;
  const fc_tensor_t *tensor = &value->tensor;
  // Elements of odd widths are passed in another form, packed or zero-extended, so a
  // write does not reach them.
  const fc_dtype_info_t *info = fc_dtype_info(tensor->dtype);
  if (value->kind != FC_VALUE_TENSOR || !fc_tensor_is_dense(tensor) ||
      fc_width_is_odd(info) ||
      !fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size)) {
    return FC_OK;
  }
  for (size_t at = 0; at < size; at += STEP) {
    if (at) FC_TRY(fc_stop_look(&frame->stop, err));
    const size_t rest = size - at;
    frame->sum = sum_bytes(frame->sum, (const uint8_t *)tensor->data + at,
                           rest < STEP ? rest : STEP);
  }
  return FC_OK;
}

static bool same_bytes(const fc_value_t *a, const fc_value_t *b) {
  size_t count, size, other;
  return a->kind == FC_VALUE_TENSOR && b->kind == FC_VALUE_TENSOR &&
         fc_tensor_is_dense(&a->tensor) && fc_tensor_is_dense(&b->tensor) &&
         fc_shape_count(a->tensor.shape, a->tensor.rank, a->tensor.dtype,
                        &count, &size) &&
         fc_shape_count(b->tensor.shape, b->tensor.rank, b->tensor.dtype,
                        &count, &other) &&
         size == other && !memcmp(a->tensor.data, b->tensor.data, size);
}

// True when a result now has the bytes of the argument: then the function made the result
// in the argument's memory, and no data is lost.
static bool is_answered(const fc_frame_t *frame, const fc_value_t *argument) {
  for (size_t i = 0; i < frame->call.result_count; i++) {
    if (same_bytes(argument, &frame->call.results[i])) return true;
  }
  return false;
}

// Lists the arguments before or after an argument as in a sidecar: "{}" for each, or "…".
static void list_others(char *text, size_t size, uint32_t count, bool before) {
  *text = '\0';
  for (uint32_t i = 0; i < count && count <= SHOWN_MAX; i++) {
    strncat(text, before ? "{}," : ",{}", size - strlen(text) - 1);
  }
  if (count > SHOWN_MAX) snprintf(text, size, "%s", before ? "…," : ",…");
}

static fc_status_t fail(fc_frame_t *frame, const fc_plan_param_t *input,
                        fc_error_t *err) {
  const fc_signature_t *signature = frame->plan->signature;
  const uint32_t number = input->number, count = signature->argument_count;
  char before[4 * SHOWN_MAX], after[4 * SHOWN_MAX], name[80];
  list_others(before, sizeof before, number, true);
  list_others(after, sizeof after, number < count ? count - number - 1 : 0,
              false);
  fc_escape(name, sizeof name, 64,
            fc_signature_text(signature, signature->name));
  const fc_status_t status = fc_fail(
      err, FC_CODE_ARGUMENT_WRITTEN,
      "the function wrote into it, and its role is 'in'; in the sidecar, "
      "{\"name\":\"%s\",\"args\":[%s{\"role\":\"inout\"}%s]} answers what it "
      "holds then, \"scratch\" lets it be lost",
      name, before, after);
  if (err) fc_plan_name_argument(input, err);
  return status;
}

// True when this call is to be compared. Calls of a function are counted until enough of
// them were compared. After that, each frame uses random numbers of its own, so that no
// memory is written that other threads read.
static bool is_due(fc_frame_t *frame) {
  const uint32_t compared =
      atomic_load_explicit(&frame->plan->live->compared, memory_order_relaxed);
  if (compared == ALWAYS || compared < FC_WRITTEN_FIRST) return true;
  if (!frame->dice) frame->dice = (uint64_t)(uintptr_t)frame;
  frame->dice = frame->dice * UINT64_C(6364136223846793005) +
                UINT64_C(1442695040888963407);
  return (frame->dice >> 32) % FC_WRITTEN_EVERY == 0;
}

// Counts a call that was compared. A call that ended earlier, or was begun again, does
// not count. If another thread counts at the same time, only one of the two calls counts.
static void count(fc_frame_t *frame) {
  fc_plan_live_t *live = frame->plan->live;
  uint32_t compared =
      atomic_load_explicit(&live->compared, memory_order_relaxed);
  if (compared >= FC_WRITTEN_FIRST) return;
  (void)atomic_compare_exchange_strong(&live->compared, &compared,
                                       compared + 1);
}

// Computes the sum of each value that the function must not write to. With `check`,
// compares it with the sum from before the call.
static fc_status_t visit(fc_frame_t *frame, fc_value_t *arguments, bool check,
                         fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_plan_param_t *input = &plan->inputs[i];
    if (!fc_plan_doubts(plan, input)) continue;
    for (const fc_op_t *op = input->op; op < fc_op_next(input->op); op++) {
      if (!fc_op_is_lent(op)) continue;
      frame->sum = 0;
      FC_TRY(fc_frame_visit(frame, &arguments[op->raw], 1, sum_value, err));
      if (!check) {
        frame->sums[op->raw] = frame->sum;
      } else if (frame->sums[op->raw] != frame->sum &&
                 !is_answered(frame, &arguments[op->raw])) {
        return fail(frame, input, err);
      }
    }
  }
  return FC_OK;
}

fc_status_t fc_written_begin(fc_frame_t *frame, fc_value_t *arguments,
                             fc_error_t *err) {
  frame->sums = NULL;
  if (!frame->plan->lends || !is_due(frame)) return FC_OK;
  frame->sums = fc_arena_alloc_array(&frame->arena,
                                     frame->plan->signature->raw_argument_count,
                                     sizeof *frame->sums);
  if (!frame->sums) return fc_fail_memory(err);
  return visit(frame, arguments, false, err);
}

fc_status_t fc_written_check(fc_frame_t *frame, fc_value_t *arguments,
                             fc_error_t *err) {
  if (!frame->sums) return FC_OK;
  const fc_status_t status = visit(frame, arguments, true, err);
  if (status == FC_OK) count(frame);
  if (status == FC_DATA_LOSS) {
    atomic_store_explicit(&frame->plan->live->compared, ALWAYS,
                          memory_order_relaxed);
  }
  return status;
}
