// SPDX-License-Identifier: Apache-2.0
//
// Counts an exchange: its answer by status and, for a call that not only validates, the
// counts and series of its function (modules/counts.h).
#include "exchange/exchange.h"

static inline fc_function_counts_t *counts_of(fc_exchange_t *x) {
  fc_generation_t *generation = x->generation;
  if (!generation || !generation->module) return NULL;
  if (x->place.function == FC_ROUTE_NO_INDEX) return NULL;
  return fc_generations_count(&x->server->modules->generations, generation,
                              x->place.function);
}

static bool only_validates(const fc_exchange_t *x) {
  return x->asked.is_call && x->job.call.flags & FC_CALL_VALIDATE;
}

static void count_parts(fc_series_t *series, const fc_exchange_t *x,
                        uint64_t spent_ns) {
  for (int i = 0; i < FC_STAGE_COUNT; i++) {
    series->parts_ns[i] += x->times.spent_ns[i];
  }
  series->parts_ns[FC_STAGE_COUNT] += spent_ns;
}

static void count_batch(fc_function_counts_t *counts, const fc_exchange_t *x) {
  const fc_batched_t *batch = &x->times.batch;
  fc_series_t *series = counts->series;
  const uint32_t calls = batch->calls ? batch->calls : 1;
  const uint64_t shares = FC_BATCH_SHARES / calls;
  const uint64_t rows = shares * (batch->rows ? batch->rows : 1);
  size_t size = 0;
  while (size < FC_BATCH_SIZES - 1 && calls > 1u << size) size++;
  counts->executions += shares;
  counts->rows += rows;
  series->rows += rows;
  series->joined += calls > 1;
  series->executions[size] += shares;
  series->executed += shares;
  series->padding += shares * (batch->computed - batch->rows);
  if (FC_UNLIKELY(batch->calls)) {
    fc_counts_note_size(counts, x->server->modules->generations.allocator,
                        batch, x->times.spent_ns);
  }
}

static void count_times(fc_function_counts_t *counts, const fc_exchange_t *x) {
  const uint64_t spent_ns = x->times.marked_ns - x->times.began_ns;
  fc_series_t *series = counts->series;
  counts->last_ns = x->times.marked_ns;
  counts->succeeded++;
  count_batch(counts, x);
  counts->success_ns += spent_ns;
  counts->queue_ns += x->times.spent_ns[FC_STAGE_QUEUE];
  counts->decode_ns += x->times.spent_ns[FC_STAGE_DECODE];
  counts->call_ns += x->times.spent_ns[FC_STAGE_CALL];
  counts->encode_ns += x->times.spent_ns[FC_STAGE_ENCODE];
  // The time of an iteration depends on what the client asked for, so it is no measure of
  // a call.
  if (x->job.call.parts) {
    count_parts(series, x, spent_ns);
    return;
  }
  fc_histogram_note(&series->duration, spent_ns);
  for (int i = 0; i < FC_STAGE_COUNT; i++) {
    fc_histogram_note(&series->stages[i], x->times.spent_ns[i]);
  }
  if (x->traced.trace.sampled) {
    fc_series_note_trace(series, x->server->modules->generations.allocator,
                         &x->traced.trace, spent_ns);
  }
}

// Notes facts from which conditions are computed (dialect/condition.c).
static void note(const fc_exchange_t *x, int status, int code) {
  if (x->parted.failed) status = x->parted.failed;
  if (code == FC_CODE_OVERLOADED)
    x->generation->overloaded_ns = x->times.marked_ns;
  // A failed call has status 503 if it lacked memory.
  if (code == FC_CODE_WORKER_OUT_OF_MEMORY || code == FC_CODE_OUT_OF_MEMORY ||
      (code == FC_CODE_CALL_FAILED && status == 503)) {
    x->generation->memory_ns = x->times.marked_ns;
  }
}

void fc_exchange_count(fc_exchange_t *x, int status, int code,
                       uint64_t bytes_out, bool has_results) {
  fc_metrics_answer(&x->server->metrics, status);
  if (x->asked.method != FC_METHOD_POST || x->act || only_validates(x)) return;
  fc_function_counts_t *counts = counts_of(x);
  if (!counts) return;
  counts->series->answers[code]++;
  if (code != FC_CODE_NONE) note(x, status, code);
  counts->series->received += x->body_seen;
  counts->series->sent += bytes_out;
  if (has_results) count_times(counts, x);
}

void fc_exchange_count_failed(fc_exchange_t *x) {
  if (only_validates(x)) return;
  fc_function_counts_t *counts = counts_of(x);
  if (!counts) return;
  counts->last_ns = x->times.marked_ns;
  counts->failed++;
  counts->fail_ns += x->times.marked_ns - x->times.began_ns;
}
