// SPDX-License-Identifier: Apache-2.0
//
// A function that callers see may stand for several functions of the module, one for each
// row of its sizes. This file chooses the row for a call, unless rows of tensors are
// batched (rows.c). All sizes are known by then, since each dim that has sizes occurs in
// an argument that every call has. There are few rows, so all are searched.
#include <stdio.h>

#include "abi/print.h"
#include "marshal/frame.h"

// Returns the size that a named dim has in this call.
static int64_t size_of(const fc_frame_t *frame, uint32_t name) {
  return frame->named_dims[name].size;
}

static bool fits(const fc_frame_t *frame, const int64_t *row, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (row[i] >= 0 && row[i] != size_of(frame, i)) return false;
  }
  return true;
}

// Returns the only name that has sizes; UINT32_MAX if there is none or more than one.
static uint32_t find_only(const fc_signature_t *signature) {
  uint32_t only = UINT32_MAX, count = 0;
  for (uint32_t i = 0; i < signature->dim_name_count; i++) {
    if (!fc_dim_is_sized(signature, -2 - (int64_t)i)) continue;
    only = i;
    count++;
  }
  return count == 1 ? only : UINT32_MAX;
}

// The `grow` of a sink that does not grow, so that an error message is cut where its
// fixed memory ends.
static fc_status_t stop(fc_sink_t *sink, size_t need, fc_error_t *err) {
  (void)sink;
  (void)need;
  (void)err;
  return FC_RESOURCE_EXHAUSTED;
}

typedef struct line_t {
  fc_sink_t sink;
  char text[120];
} line_t;

static void line_init(line_t *line) {
  line->sink = (fc_sink_t){.cursor = line->text,
                           .end = line->text + sizeof line->text,
                           .grow = stop};
}

static fc_str_t line_str(const line_t *line) {
  return fc_str_make(line->text, (size_t)(line->sink.cursor - line->text));
}

static fc_status_t fail(const fc_frame_t *frame, fc_error_t *err) {
  const fc_signature_t *signature = frame->plan->signature;
  const uint32_t only = find_only(signature);
  int64_t have[FC_DIM_NAMES_MAX];
  line_t names, given, rows;
  char place[160] = "";
  line_init(&names);
  line_init(&given);
  line_init(&rows);
  for (uint32_t i = 0; i < signature->dim_name_count; i++) {
    have[i] = size_of(frame, i);
  }
  if (only != UINT32_MAX) {
    const fc_named_dim_t *dim = &frame->named_dims[only];
    char owner[120];
    fc_plan_print_owner(frame->plan, dim->op, owner, sizeof owner);
    snprintf(place, sizeof place, "%s, dim %d: ", owner, (int)dim->dim);
  }
  (void)fc_signature_print_sizes(signature, NULL, &names.sink, NULL);
  (void)fc_signature_print_sizes(signature, have, &given.sink, NULL);
  const bool all =
      (frame->batched
           ? fc_sink_put(&rows.sink, FC_STR("1 or more"), NULL)
           : fc_signature_print_rows(signature, &rows.sink, NULL)) == FC_OK;
  const fc_str_t may_be = line_str(&rows);
  const char *more = all ? "" : "…";
  const fc_str_t off = fc_signature_attr(signature, FC_STR(FC_BATCH_ATTR));
  const bool told = fc_str_starts(off, FC_STR(FC_BATCH_OFF));
  const fc_status_t status = fc_fail(
      err, FC_CODE_SHAPE_MISMATCH, "%s%.*s is %.*s, it may be %.*s%s%s%.*s",
      place, FC_STR_ARG(line_str(&names)), FC_STR_ARG(line_str(&given)),
      FC_STR_ARG(may_be), more, told ? "; batching is " : "",
      told ? (int)off.size : 0, off.data);
  fc_error_expected(err, "%.*s%s", FC_STR_ARG(may_be), more);
  fc_error_got(err, line_str(&given));
  return status;
}

fc_status_t fc_frame_choose_row(fc_frame_t *frame, fc_error_t *err) {
  const fc_signature_t *signature = frame->plan->signature;
  const uint32_t width = signature->dim_name_count;
  frame->row = 0;
  if (!signature->size_count) return FC_OK;
  if (frame->batched) {
    return fc_frame_rows(frame) > 0 ? FC_OK : fail(frame, err);
  }
  for (; frame->row < signature->size_count; frame->row++) {
    const int64_t *row = signature->sizes + frame->row * (size_t)width;
    if (fits(frame, row, width)) return FC_OK;
  }
  return fail(frame, err);
}
