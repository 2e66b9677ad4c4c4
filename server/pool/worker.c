// SPDX-License-Identifier: Apache-2.0
//
// This file knows nothing about sockets, HTTP or time-outs of connections.
#include "pool/worker.h"

#include "base/inflate.h"
#include "config/limits.h"
#include "marshal/attempt.h"
#include "marshal/batch.h"
#include "marshal/profiled.h"
#include "marshal/stack.h"
#include "marshal/stored.h"
#include "module/prove.h"
#include "obs/spans.h"
#include "pool/order.h"
#include "pool/together.h"
#include "pool/turn.h"

static fc_str_t body_of(const fc_slot_t *slot, const fc_region_t *region) {
  const fc_piece_t *body = &slot->call.body;
  return fc_str_make(
      (const char *)fc_block_data(region->blocks, body->block) + body->offset,
      body->size);
}

// For fc_keeper_t. A result that is inside the body may be sent from the body.
static bool keep_in_body(void *context, const fc_sink_t *sink, fc_str_t bytes) {
  fc_worker_t *worker = context;
  const fc_region_t *region = worker->region;
  const fc_piece_t *body = &worker->slot->call.body;
  const uintptr_t begin = (uintptr_t)body_of(worker->slot, region).data;
  const uintptr_t at = (uintptr_t)bytes.data;
  if (sink != &worker->answer.sink || bytes.size < FC_LIMIT_KEPT_RESULT) {
    return false;
  }
  if (at < begin || at - begin > body->size ||
      bytes.size > body->size - (at - begin) ||
      at - begin > UINT32_MAX - body->offset ||
      worker->answer.count == FC_PIECES_MAX) {
    return false;
  }
  if (region->is_body_as_sent &&
      !region->is_body_as_sent(region->body_context)) {
    return false;
  }
  worker->kept = (fc_piece_t){.block = body->block,
                              .offset = body->offset + (uint32_t)(at - begin),
                              .size = bytes.size};
  return true;
}

fc_status_t fc_worker_init(fc_worker_t *worker, fc_region_t *region,
                           uint32_t index, fc_error_t *err) {
  *worker = (fc_worker_t){.region = region,
                          .index = index,
                          .spin = {.ns = region->spin_ns},
                          .proofs_ns = FC_LIMIT_PROVE_MS * 1000000ull,
                          .keeper = {keep_in_body, worker}};
  fc_meter_init(&worker->meter, region->allocator, region->blocks);
  const fc_allocator_t metered = fc_meter_allocator(&worker->meter);
  fc_text_init(&worker->copied, metered, SIZE_MAX);
  return fc_frame_create(metered, &region->limits, &worker->frame, err);
}

void fc_worker_deinit(fc_worker_t *worker) {
  if (!worker->region) return;
  fc_frame_destroy(worker->frame);
  fc_text_deinit(&worker->copied);
  fc_seats_destroy(worker);
  fc_profile_destroy(worker->profile);
  if (worker->store) fc_store_deinit(worker->store);
  fc_free(worker->region->allocator, worker->store);
  *worker = (fc_worker_t){0};
}

fc_status_t fc_worker_instance(fc_worker_t *worker, uint32_t generation,
                               void **out_instance, fc_error_t *err) {
  fc_served_t *served = fc_region_find(worker->region, generation);
  void **instance = &served->instances[worker->index];
  if (!*instance) {
    FC_TRY(fc_module_get_backend(served->module)
               ->instance_create(fc_module_get_handle(served->module),
                                 worker->region->allocator, instance, err));
  }
  *out_instance = *instance;
  return FC_OK;
}

fc_status_t fc_worker_prepare(fc_worker_t *worker, uint32_t generation,
                              fc_error_t *err) {
  const fc_module_t *module = fc_region_module(worker->region, generation);
  bool callable = false;
  for (size_t f = 0; f < fc_module_function_count(module); f++) {
    callable = callable || fc_module_function(module, f)->plan;
  }
  void *instance;
  if (!callable) return FC_OK;
  return fc_worker_instance(worker, generation, &instance, err);
}

// Returns the threads that may share the call; NULL: only the worker's thread runs it.
static const fc_tiles_t *find_tiles(fc_worker_t *worker, uint32_t generation) {
  const uint32_t most = fc_region_find(worker->region, generation)->tiles;
  if (!worker->region->tiles || most == 1 || worker->budget_ns) return NULL;
  worker->tiles = *worker->region->tiles;
  if (most && most < worker->tiles.count) worker->tiles.count = most;
  return &worker->tiles;
}

fc_status_t fc_worker_check_wanted(fc_slot_t *slot, fc_error_t *err) {
  const bool begun = FC_LIKELY(slot->mate == FC_SLOT_NONE)
                         ? fc_slot_begin(&slot->begun, FC_BEGUN_YES)
                         : atomic_load(&slot->begun) == FC_BEGUN_YES;
  if (!begun || atomic_load_explicit(&slot->cancel, memory_order_relaxed)) {
    return fc_fail_as(err, FC_CODE_INTERNAL, FC_CANCELLED, "nobody waits");
  }
  if (slot->call.deadline_ns &&
      slot->outcome.began_ns >= slot->call.deadline_ns) {
    return fc_fail(err, FC_CODE_DEADLINE_EXCEEDED,
                   "the deadline passed in the queue");
  }
  return FC_OK;
}

// Notes the time of a stage: from the last mark until now.
static void mark(fc_slot_t *slot, fc_stage_t stage, uint64_t *last_ns) {
  uint64_t now = fc_clock_ns();
  slot->outcome.spent_ns[stage] = now - *last_ns;
  *last_ns = now;
}

// Sets worker->body, which the decoder reads: the call's body, decompressed if necessary.
// An attempt reads a copy, because the function may write to tensors in place. `sent` is
// the call's body, or a part of it.
static fc_status_t read_body(fc_worker_t *worker, const fc_slot_t *slot,
                             fc_str_t sent, fc_error_t *err) {
  static const char kTail[FC_BLOCK_TAIL];
  fc_text_t *text = &worker->copied;
  worker->body = sent;
  if (!slot->call.body_coding && !worker->budget_ns) return FC_OK;
  worker->body.size = 0;
  if (slot->call.body_coding) {
    const fc_stop_t stop = {&slot->cancel, slot->call.deadline_ns};
    FC_TRY(fc_inflate((fc_coding_t)slot->call.body_coding, sent,
                      slot->call.body_max, text, &stop, err));
  } else {
    FC_TRY(fc_sink_put(&text->sink, sent, err));
  }
  const size_t size = fc_text_str(text).size;
  // The decoder may read this many bytes past the end.
  FC_TRY(fc_sink_put(&text->sink, fc_str_make(kTail, sizeof kTail), err));
  worker->body = fc_str_make(fc_text_str(text).data, size);
  return FC_OK;
}

// Drops the body. The memory of a large copy is not kept for the next call.
static void drop_body(fc_worker_t *worker) {
  fc_text_t *text = &worker->copied;
  worker->body = (fc_str_t){0};
  if (fc_text_str(text).size > FC_LIMIT_READ) fc_text_deinit(text);
  else fc_text_reset(text);
}

// Notes the name of a failed request: the loop writes it into the body of the error.
static void name_failed(const fc_worker_t *worker, fc_slot_t *slot) {
  const fc_dialect_worker_t *dialect =
      worker->region->dialects[slot->call.dialect];
  slot->outcome.name_size = 0;
  if (slot->outcome.status == FC_OK || !dialect->name) return;
  fc_str_t body = worker->body;
  // If its time is over, only a beginning of the body is read for the name.
  const bool late = slot->outcome.status == FC_DEADLINE_EXCEEDED ||
                    slot->outcome.status == FC_CANCELLED;
  if (late && body.size > FC_STOP_STEP) body.size = FC_STOP_STEP;
  slot->outcome.name_size =
      (uint8_t)dialect->name(body, slot->call.parameters, slot->outcome.name);
}

static fc_status_t encode_plain(fc_worker_t *worker,
                                const fc_function_t *function, fc_slot_t *slot,
                                fc_sink_t *sink, fc_error_t *err) {
  return worker->region->dialects[slot->call.dialect]->encode(
      worker->frame, function, slot->call.parameters, sink,
      &slot->outcome.document, err);
}

// Must the answer be compressed? Not one with raw bytes, which hardly get smaller.
static bool is_coded(const fc_worker_t *worker, const fc_slot_t *slot) {
  const fc_dialect_worker_t *dialect =
      worker->region->dialects[slot->call.dialect];
  if (!slot->call.answer_coding) return false;
  return !dialect->is_text ||
         dialect->is_text(worker->frame, slot->call.parameters);
}

static fc_status_t encode_coded(fc_worker_t *worker,
                                const fc_function_t *function, fc_slot_t *slot,
                                fc_sink_t *sink, fc_error_t *err) {
  fc_deflate_t packer;
  bool packed = false;
  const bool stores = slot->call.flags & FC_CALL_SESSION;
  FC_TRY(fc_deflate_init(&packer, (fc_coding_t)slot->call.answer_coding, sink,
                         worker->region->allocator, err));
  if (FC_UNLIKELY(stores)) fc_stored_hold(worker->frame);
  fc_status_t status = encode_plain(worker, function, slot, &packer.sink, err);
  if (status == FC_OK) status = fc_deflate_finish(&packer, &packed, err);
  fc_deflate_deinit(&packer);
  if (FC_UNLIKELY(stores) && status == FC_OK) fc_stored_commit(worker->frame);
  if (packed) slot->outcome.document = FC_OUTCOME_CODED;
  return status;
}

// Opens the desk of a session's call, in worker->store.
static fc_status_t open_desk(fc_worker_t *worker, const fc_slot_t *slot,
                             fc_error_t *err) {
  const fc_region_t *region = worker->region;
  fc_desk_t desk;
  region->find_desk(region->desk_context, slot, &desk);
  if (desk.slab < 0) {
    return fc_fail(
        err, FC_CODE_OUT_OF_MEMORY,
        "the worker cannot have the session's values: its module has "
        "taken the files");
  }
  if (!worker->store) {
    worker->store = fc_alloc(region->allocator, sizeof *worker->store);
    if (!worker->store) return fc_fail_memory(err);
    fc_store_init(worker->store);
    worker->slab = 0;
  }
  // The descriptor of a closed file may now belong to another file.
  if (worker->slab != desk.serial) fc_store_deinit(worker->store);
  worker->slab = desk.serial;
  fc_store_open(worker->store, desk.slab);
  fc_store_begin(worker->store, desk.desk);
  worker->store->references =
      fc_region_references(region, slot->call.generation);
  return FC_OK;
}

void fc_worker_begin_frame(fc_worker_t *worker, const fc_slot_t *slot,
                           const fc_function_t *function) {
  fc_frame_t *frame = worker->frame;
  const fc_plan_t *plan = function->plan;
  // A process has its own copy of the module. In the copy that threads share, batching
  // was switched on before.
  const uint8_t rows = slot->call.rows;
  if (FC_UNLIKELY(rows == FC_ROWS_BATCHED || rows == FC_ROWS_APART) &&
      plan->batch) {
    if (!plan->batch->on) plan->batch->on = true;
    if (rows == FC_ROWS_APART) fc_batch_part(plan->batch);
  }
  fc_frame_begin(frame, function->plan, NULL);
  fc_frame_set_stop(frame, &slot->cancel, slot->call.deadline_ns);
  fc_frame_set_guard(frame, fc_region_wants_guard(worker->region, function));
  fc_frame_set_tiles(frame, find_tiles(worker, slot->call.generation));
  fc_frame_set_budget(frame, worker->budget_ns ? &worker->budget : NULL);
  if (FC_UNLIKELY(slot->call.flags & FC_CALL_SESSION)) {
    fc_frame_set_store(frame, worker->store);
  }
}

fc_status_t fc_worker_begin(fc_worker_t *worker, fc_slot_t *slot,
                            const fc_function_t *function, void **out_instance,
                            fc_error_t *err) {
  fc_worker_begin_frame(worker, slot, function);
  fc_frame_set_keeper(worker->frame, NULL);
  FC_TRY(fc_worker_instance(worker, slot->call.generation, out_instance, err));
  return slot->call.flags & FC_CALL_LATER
             ? FC_OK
             : read_body(worker, slot, body_of(slot, worker->region), err);
}

fc_status_t fc_worker_decode(fc_worker_t *worker, fc_slot_t *slot,
                             const fc_function_t *function, uint64_t *last_ns,
                             fc_error_t *err) {
  const fc_dialect_worker_t *dialect =
      worker->region->dialects[slot->call.dialect];
  fc_frame_t *frame = worker->frame;
  slot->outcome.stage = FC_STAGE_DECODE;
  fc_worker_begin_frame(worker, slot, function);
  fc_status_t status =
      read_body(worker, slot, body_of(slot, worker->region), err);
  if (status == FC_OK) {
    status = dialect->decode(frame, worker->body, slot->call.parameters, err);
  }
  mark(slot, FC_STAGE_DECODE, last_ns);
  return status;
}

static void note_rows(const fc_worker_t *worker, fc_slot_t *slot) {
  uint64_t rows, computed;
  if (!fc_frame_counted_rows(worker->frame, &rows, &computed) ||
      computed > UINT32_MAX) {
    return;
  }
  slot->outcome.batch = (fc_batched_t){
      .calls = 1, .rows = (uint32_t)rows, .computed = (uint32_t)computed};
}

fc_status_t fc_worker_call(fc_worker_t *worker, fc_slot_t *slot,
                           const fc_function_t *function, uint64_t deadline_ns,
                           uint64_t *last_ns, fc_error_t *err) {
  slot->outcome.stage = FC_STAGE_CALL;
  void *instance = NULL;
  FC_TRY(fc_worker_instance(worker, slot->call.generation, &instance, err));
  fc_status_t status = fc_frame_invoke(
      worker->frame, fc_module_get_backend(function->module), instance,
      function->index, &slot->cancel, deadline_ns, err);
  mark(slot, FC_STAGE_CALL, last_ns);
  if (FC_UNLIKELY(function->plan->batch != NULL)) note_rows(worker, slot);
  return status;
}

// Does the same as fc_worker_call, for a profiled call. The worker keeps the profile's
// memory for the next one.
static fc_status_t run_profiled(fc_worker_t *worker, fc_slot_t *slot,
                                const fc_function_t *function,
                                uint64_t *last_ns, fc_error_t *err) {
  slot->outcome.stage = FC_STAGE_CALL;
  void *instance = NULL;
  FC_TRY(fc_worker_instance(worker, slot->call.generation, &instance, err));
  if (!worker->profile) {
    worker->profile = fc_profile_create(worker->region->allocator);
    if (!worker->profile) return fc_fail_memory(err);
  }
  fc_status_t status = fc_frame_invoke_profiled(
      worker->frame, fc_module_get_backend(function->module), instance,
      function->index, function->name, &slot->cancel, slot->call.deadline_ns,
      worker->profile, err);
  mark(slot, FC_STAGE_CALL, last_ns);
  return status;
}

void fc_worker_close_answer(fc_worker_t *worker, fc_slot_t *slot) {
  fc_block_sink_t *out = &worker->answer;
  fc_outcome_t *outcome = &slot->outcome;
  fc_block_sink_finish(out);
  memcpy(outcome->pieces, out->pieces, out->count * sizeof *out->pieces);
  outcome->piece_count = out->count;
  if (!worker->kept.size) return;
  outcome->pieces[outcome->piece_count++] = worker->kept;
  slot->call.body.block = FC_BLOCK_NONE;
}

fc_status_t fc_worker_open_answer(fc_worker_t *worker, const fc_slot_t *slot,
                                  fc_error_t *err) {
  const fc_region_t *region = worker->region;
  uint32_t block = slot->answer_block;
  if (block == FC_BLOCK_NONE) {
    FC_TRY(fc_block_take(region->blocks, FC_LIMIT_HEAD, &block, err));
  }
  fc_block_sink_t *out = &worker->answer;
  fc_block_sink_init(out, region->blocks, block, FC_LIMIT_HEAD,
                     region->limits.result_size);
  if (region->more) fc_block_sink_ask(out, region->more);
  worker->slot = slot;
  worker->kept.size = 0;
  return FC_OK;
}

fc_status_t fc_worker_encode(fc_worker_t *worker, fc_slot_t *slot,
                             const fc_function_t *function, uint64_t *last_ns,
                             fc_error_t *err) {
  fc_block_sink_t *out = &worker->answer;
  slot->outcome.stage = FC_STAGE_ENCODE;
  FC_TRY(fc_worker_open_answer(worker, slot, err));
  // Spans follow the answer in its own blocks.
  const bool traced = slot->call.flags & FC_CALL_TRACED;
  fc_frame_set_keeper(worker->frame, traced ? NULL : &worker->keeper);
  slot->outcome.document = 0;
  fc_status_t status =
      is_coded(worker, slot)
          ? encode_coded(worker, function, slot, &out->sink, err)
          : encode_plain(worker, function, slot, &out->sink, err);
  if (status == FC_OK) fc_worker_close_answer(worker, slot);
  else fc_block_sink_drop(out);
  mark(slot, FC_STAGE_ENCODE, last_ns);
  return status;
}

// Decodes an order with its plan, and encodes the answer.
static fc_status_t run_planned(fc_worker_t *worker, fc_slot_t *slot,
                               const fc_value_order_t *order,
                               const fc_values_t *values, uint64_t *last_ns,
                               fc_error_t *err) {
  fc_frame_t *frame = worker->frame;
  const fc_dialect_worker_t *dialect =
      worker->region->dialects[slot->call.dialect];
  const fc_str_t all = body_of(slot, worker->region);
  fc_frame_begin(frame, values->plan, NULL);
  fc_frame_set_stop(frame, &slot->cancel, slot->call.deadline_ns);
  fc_frame_set_store(frame, worker->store);
  FC_TRY(read_body(
      worker, slot,
      fc_str_make(all.data + sizeof *order, all.size - sizeof *order), err));
  FC_TRY(fc_order_decode(order, values, frame, worker->body,
                         slot->call.parameters, dialect->decode, err));
  mark(slot, FC_STAGE_DECODE, last_ns);
  if (fc_order_answers(order)) {
    return fc_worker_encode(worker, slot, NULL, last_ns, err);
  }
  FC_TRY(fc_worker_open_answer(worker, slot, err));
  fc_worker_close_answer(worker, slot);
  return FC_OK;
}

// A call without a function is no step of its session: all its work counts as DECODE.
static fc_status_t run_order(fc_worker_t *worker, fc_slot_t *slot,
                             fc_error_t *err) {
  uint64_t last_ns = slot->outcome.began_ns;
  fc_value_order_t order;
  fc_values_t values = {0};
  slot->outcome.stage = FC_STAGE_DECODE;
  slot->outcome.document = 0;
  if (!fc_order_read(body_of(slot, worker->region), &order)) {
    return fc_fail(err, FC_CODE_INTERNAL, "an order is malformed");
  }
  fc_status_t status =
      fc_order_plan(&order, worker->store->desk,
                    fc_meter_allocator(&worker->meter), &values, err);
  if (status == FC_OK) {
    status = run_planned(worker, slot, &order, &values, &last_ns, err);
  }
  slot->outcome.stage = FC_STAGE_DECODE;
  fc_frame_end(worker->frame);
  fc_values_deinit(&values);
  return status;
}

// Appends the dispatches of the worker's profile to a complete answer. If there is no
// room for them, the answer stays unchanged.
static void add_spans(fc_worker_t *worker, fc_slot_t *slot) {
  const fc_profile_t *profile = worker->profile;
  fc_block_sink_t *out = &worker->answer;
  fc_dispatch_span_t spans[FC_SPANS_DISPATCHES];
  _Static_assert(FC_PROFILE_SPANS == FC_SPANS_DISPATCHES,
                 "as many as there are");
  _Static_assert(FC_PROFILE_NAME == FC_SPANS_NAME, "a name fits");
  for (uint32_t i = 0; i < profile->span_count; i++) {
    const fc_profile_span_t *span = &profile->spans[i];
    const fc_profile_row_t *row = &profile->rows[span->row];
    spans[i] = (fc_dispatch_span_t){.began_ns = span->began_ns,
                                    .took_ns = span->took_ns,
                                    .name_size = row->name_size};
    memcpy(spans[i].grid, row->grid, sizeof spans[i].grid);
    memcpy(spans[i].name, row->name, row->name_size);
  }
  const size_t size = profile->span_count * sizeof *spans;
  const fc_str_t bytes = fc_str_make((const char *)spans, size);
  const bool fits = size && fc_sink_put(&out->sink, bytes, NULL) == FC_OK;
  slot->outcome.spans_size = fits ? (uint32_t)size : 0;
  fc_worker_close_answer(worker, slot);
}

// Ends an attempt between two stages, if no time is left for it or if its results are too
// large for ENCODE on the loop. `last_ns` is the end of the previous stage.
static fc_status_t look_at_budget(fc_worker_t *worker, const fc_slot_t *slot,
                                  uint64_t last_ns, fc_error_t *err) {
  if (FC_LIKELY(!worker->budget_ns)) return FC_OK;
  fc_budget_t *budget = &worker->budget;
  if (last_ns >= budget->end_ns ||
      (slot->outcome.stage == FC_STAGE_CALL &&
       !fc_frame_results_fit(worker->frame, FC_LIMIT_INLINE_BODY))) {
    budget->over = true;
  }
  if (!budget->over) return FC_OK;
  return fc_fail_as(err, FC_CODE_INTERNAL, FC_ABORTED,
                    "the attempt used up its budget");
}

static fc_status_t run_proof(fc_worker_t *worker, fc_slot_t *slot,
                             const fc_function_t *function, fc_error_t *err) {
  fc_prove_t prove = {.function = function,
                      .frame = worker->frame,
                      .cancel = &slot->cancel,
                      .deadline_ns = slot->call.deadline_ns,
                      .left_ns = &worker->proofs_ns};
  char verdict[FC_VERDICT_SIZE];
  slot->outcome.stage = FC_STAGE_CALL;
  slot->outcome.document = 0;
  FC_TRY(
      fc_worker_instance(worker, slot->call.generation, &prove.instance, err));
  FC_TRY(fc_rows_prove(&prove, verdict, err));
  FC_TRY(fc_worker_open_answer(worker, slot, err));
  FC_TRY(fc_sink_put(&worker->answer.sink, fc_str(verdict), err));
  fc_worker_close_answer(worker, slot);
  return FC_OK;
}

static fc_status_t run_stops(fc_worker_t *worker, fc_slot_t *slot,
                             fc_error_t *err) {
  const uint8_t flags = slot->call.flags;
  uint64_t last_ns = slot->outcome.began_ns;
  FC_TRY(fc_worker_check_wanted(slot, err));
  if (FC_UNLIKELY(flags & FC_CALL_SESSION)) {
    FC_TRY(open_desk(worker, slot, err));
    if (worker->region->dialects[slot->call.dialect]->orders) {
      return run_order(worker, slot, err);
    }
  }
  const fc_module_t *module =
      fc_region_module(worker->region, slot->call.generation);
  const fc_function_t *function =
      fc_module_function(module, slot->call.function);
  if (FC_UNLIKELY(slot->call.parts)) {
    return fc_turn_run(worker, slot, function, err);
  }
  if (FC_UNLIKELY(slot->call.rows == FC_ROWS_PROVE)) {
    return run_proof(worker, slot, function, err);
  }
  FC_TRY(fc_worker_decode(worker, slot, function, &last_ns, err));
  FC_TRY(look_at_budget(worker, slot, last_ns, err));
  if (FC_LIKELY(!(flags & (FC_CALL_VALIDATE | FC_CALL_PROFILE)))) {
    FC_TRY(fc_worker_call(worker, slot, function, slot->call.deadline_ns,
                          &last_ns, err));
  } else {
    if (flags & FC_CALL_VALIDATE) return FC_OK;
    FC_TRY(run_profiled(worker, slot, function, &last_ns, err));
  }
  FC_TRY(look_at_budget(worker, slot, last_ns, err));
  FC_TRY(fc_worker_encode(worker, slot, function, &last_ns, err));
  if (FC_UNLIKELY(flags & FC_CALL_TRACED)) add_spans(worker, slot);
  return FC_OK;
}

static void begin_outcome(fc_outcome_t *outcome) {
  outcome->more = false;
  outcome->batch = (fc_batched_t){0};
  outcome->began_ns = fc_clock_ns();
  outcome->spent_ns[FC_STAGE_DECODE] = outcome->spent_ns[FC_STAGE_CALL] =
      outcome->spent_ns[FC_STAGE_ENCODE] = 0;
}

void fc_worker_refuse(fc_slot_t *slot) {
  begin_outcome(&slot->outcome);
  (void)fc_slot_begin(&slot->begun, FC_BEGUN_YES);
  slot->outcome.stage = FC_STAGE_DECODE;
  slot->outcome.status = slot->outcome.error.status;
  slot->outcome.name_size = 0;
}

void fc_worker_begin_outcome(fc_worker_t *worker, fc_slot_t *slot) {
  begin_outcome(&slot->outcome);
  slot->outcome.stage = FC_STAGE_QUEUE;
  worker->meter.refused = false;
  worker->carry.block = FC_BLOCK_NONE;
}

void fc_worker_end(fc_worker_t *worker, fc_slot_t *slot, fc_status_t status) {
  slot->outcome.status = status;
  if (status != FC_OK && worker->meter.refused) {
    slot->outcome.status = fc_fail(
        &slot->outcome.error,
        slot->outcome.stage == FC_STAGE_DECODE ? FC_CODE_OVERLOADED
                                               : FC_CODE_OUT_OF_MEMORY,
        "the values of the call need more memory than is left of %llu bytes for "
        "calls in flight",
        (unsigned long long)fc_blocks_usage(worker->region->blocks).limit);
  }
  name_failed(worker, slot);
  fc_frame_end(worker->frame);
  drop_body(worker);
}

void fc_worker_run(fc_worker_t *worker, fc_slot_t *slot) {
  fc_worker_begin_outcome(worker, slot);
  worker->budget = (fc_budget_t){
      .end_ns = slot->outcome.began_ns + worker->budget_ns, .over = false};
  if (slot->call.flags & FC_CALL_PREPARE) {
    (void)fc_slot_begin(&slot->begun, FC_BEGUN_YES);
    slot->outcome.status =
        slot->call.flags == FC_CALL_FREE
            ? fc_region_free(worker->region, slot->call.generation)
            : fc_worker_prepare(worker, slot->call.generation,
                                &slot->outcome.error);
    slot->outcome.spent_ns[FC_STAGE_CALL] =
        fc_clock_ns() - slot->outcome.began_ns;
    return;
  }
  fc_worker_end(worker, slot, run_stops(worker, slot, &slot->outcome.error));
  if (FC_UNLIKELY(slot->call.flags & FC_CALL_SESSION) && worker->store) {
    fc_store_end(worker->store);
  }
  if (FC_UNLIKELY(slot->call.parts)) fc_turn_leave(worker, slot);
}

void fc_worker_main(fc_worker_t *worker) {
  fc_region_t *region = worker->region;
  uint32_t slot;
  while ((slot = fc_ready_take(&region->ready, region->slots, &worker->spin)) !=
         FC_SLOT_NONE) {
    if (FC_UNLIKELY(region->slots[slot].mate != FC_SLOT_NONE)) {
      fc_worker_run_batch(worker, slot);
      continue;
    }
    fc_worker_run(worker, &region->slots[slot]);
    fc_region_hand_over(region, &region->slots[slot]);
  }
}
