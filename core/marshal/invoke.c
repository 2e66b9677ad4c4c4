// SPDX-License-Identifier: Apache-2.0
//
// Makes one call of a function of the module, with values that were checked. As the frame
// says, the call is guarded, compared and timed. A call of many rows makes several
// such calls (rows.c).
#include "marshal/frame.h"
#include "marshal/guard.h"
#include "marshal/profiled.h"
#include "marshal/written.h"

void fc_frame_end_call(fc_frame_t *frame) {
  if (!frame->backend) return;
  frame->backend->call_end(frame->instance, frame->index, &frame->call);
  frame->backend = NULL;
}

// Checks that plan, instance and index belong together, since the caller chose them
// separately. If the plan has entries, *index becomes the function for the sizes of the
// call.
static fc_status_t find_function(const fc_frame_t *frame,
                                 const fc_invoke_t *invoke, size_t *index,
                                 fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  const fc_module_info_t *info = invoke->backend->inspect(invoke->instance);
  const fc_signature_t *signature = plan->signature;
  *index = invoke->index;
  if (plan->entries) {
    *index = plan->entries[frame->row].index;
    signature = plan->entries[frame->row].signature;
  }
  if (*index >= info->count) {
    return fc_fail(err, FC_CODE_INTERNAL, "function %zu of a module of %zu",
                   *index, info->count);
  }
  if (info->signatures[*index] == signature) return FC_OK;
  return fc_fail(err, FC_CODE_INTERNAL,
                 "the frame was begun for another function");
}

static fc_status_t call_backend(fc_frame_t *frame, fc_error_t *err) {
  const fc_backend_t *backend = frame->backend;
  if (FC_UNLIKELY(frame->profiles) && backend->call_profiled) {
    return backend->call_profiled(frame->instance, frame->index, &frame->call,
                                  frame->profile, err);
  }
  return backend->call(frame->instance, frame->index, &frame->call, err);
}

// Makes the call of a bucket, and notes how long it took.
static fc_status_t call_bucket(fc_frame_t *frame, fc_error_t *err) {
  fc_batch_t *batch = frame->plan->batch;
  const uint64_t began_ns = fc_clock_ns();
  FC_TRY(call_backend(frame, err));
  const uint64_t ns = fc_clock_ns() - began_ns;
  for (uint32_t i = 0; i < batch->count; i++) {
    if (batch->buckets[i].row == frame->row) fc_batch_learn(batch, i, ns);
  }
  return FC_OK;
}

fc_status_t fc_frame_call(fc_frame_t *frame, const fc_invoke_t *invoke,
                          fc_value_t *arguments, fc_value_t *results,
                          fc_arena_t *arena, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  const size_t count = plan->signature->raw_argument_count;
  size_t index;
  FC_TRY(find_function(frame, invoke, &index, err));
  if (frame->guard) FC_TRY(fc_guarded_copy(frame, arguments, count, err));
  frame->call = (fc_backend_call_t){
      .arguments = arguments,
      .argument_count = count,
      .results = results,
      .result_count = frame->result_room,
      .arena = arena,
      .cancel = invoke->cancel,
      .deadline_ns = invoke->deadline_ns,
      .guard = frame->guard,
      .tiles = frame->tiles,
      .budget = frame->budget,
  };
  frame->backend = invoke->backend;
  frame->instance = invoke->instance;
  frame->index = index;
  FC_TRY(fc_written_begin(frame, arguments, err));
  FC_TRY(FC_UNLIKELY(plan->batch != NULL) ? call_bucket(frame, err)
                                          : call_backend(frame, err));
  FC_TRY(fc_written_check(frame, arguments, err));
  // With alignment 1 a tensor ends at the page: there is no fill between them to be read.
  if (frame->guard && plan->signature->alignment > 1) {
    FC_TRY(fc_guarded_check(frame, results, frame->result_room, err));
  }
  return FC_OK;
}
