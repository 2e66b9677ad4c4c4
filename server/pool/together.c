// SPDX-License-Identifier: Apache-2.0
//
// See together.h. The worker's functions work on worker->frame, copied and body. So for
// each call these members are exchanged with those of the call's seat: each call of a
// batch has a seat with its own frame.
#include "pool/together.h"

#include "marshal/batch.h"
#include "marshal/stack.h"
#include "module/prove.h"

_Static_assert(FC_STACK_MAX == FC_BATCH_CALLS, "a batch may be one stack");

typedef enum seat_state_t {
  SEAT_WAITS,
  SEAT_DECODED,
  SEAT_LATER,  // after the others: beside them it lacks memory or time
  SEAT_DONE,   // the slot has its outcome, and may be the loop's
} seat_state_t;

typedef struct seat_t {
  fc_frame_t *frame;
  fc_text_t copied;
  fc_str_t body;
  uint64_t last_ns;  // when its last stage ended
  seat_state_t state;
} seat_t;

// What a worker keeps for its batches.
typedef struct fc_seats_t {
  fc_frame_t *whole;  // of the calls that are computed together
  seat_t seats[FC_BATCH_CALLS];
  uint32_t batches;
  bool differs;  // in the last group, a call had another result alone
} seats_t;

typedef struct run_t {
  fc_worker_t *worker;
  const fc_mates_t *mates;
  const fc_function_t *function;
  seats_t *all;
  uint32_t next;  // in order: the slots before are the loop's
  bool gathers;   // the loop is told of several slots at once
} run_t;

// ---------------------------------------------------------------------------
// Seats

// Frees the memory of all frames. All calls except those of SEAT_LATER are answered.
static void empty_seats(seats_t *all) {
  fc_frame_destroy(all->whole);
  all->whole = NULL;
  for (uint32_t i = 0; i < FC_BATCH_CALLS; i++) {
    fc_frame_destroy(all->seats[i].frame);
    fc_text_deinit(&all->seats[i].copied);
    all->seats[i].frame = NULL;
  }
}

void fc_seats_destroy(fc_worker_t *worker) {
  seats_t *all = worker->seats;
  if (!all) return;
  empty_seats(all);
  fc_free(worker->region->allocator, all);
  worker->seats = NULL;
}

static bool make_frame(fc_worker_t *worker, fc_frame_t **frame) {
  return *frame ||
         fc_frame_create(fc_meter_allocator(&worker->meter),
                         &worker->region->limits, frame, NULL) == FC_OK;
}

// Makes the first `count` seats, unless they exist. False: there is no memory.
static bool make_seats(fc_worker_t *worker, uint32_t count) {
  if (!worker->seats) {
    worker->seats = fc_alloc(worker->region->allocator, sizeof *worker->seats);
  }
  seats_t *all = worker->seats;
  if (!all || !make_frame(worker, &all->whole)) return false;
  for (uint32_t i = 0; i < count; i++) {
    seat_t *seat = &all->seats[i];
    if (seat->frame) continue;
    fc_text_init(&seat->copied, fc_meter_allocator(&worker->meter), SIZE_MAX);
    if (!make_frame(worker, &seat->frame)) return false;
  }
  return true;
}

// Exchanges the members of the worker and the seat: before and after work on the seat.
static void swap(fc_worker_t *worker, seat_t *seat) {
  fc_frame_t *frame = worker->frame;
  const fc_text_t copied = worker->copied;
  const fc_str_t body = worker->body;
  worker->frame = seat->frame;
  worker->copied = seat->copied;
  worker->body = seat->body;
  seat->frame = frame;
  seat->copied = copied;
  seat->body = body;
}

// ---------------------------------------------------------------------------
// One call

// Hands over a slot that has its outcome. Slots of a ring are handed over in their order.
static void hand_over(run_t *run, uint32_t at) {
  const fc_mates_t *mates = run->mates;
  run->all->seats[at].state = SEAT_DONE;
  if (!mates->in_order) mates->done(mates->context, mates->slots[at]);
  while (mates->in_order && run->next < mates->count &&
         run->all->seats[run->next].state == SEAT_DONE) {
    mates->done(mates->context, mates->slots[run->next++]);
  }
  if (!run->gathers) mates->tell(mates->context);
}

// Did the call fail for want of memory? Other calls of the batch may have that memory.
static bool lacks_memory(const fc_worker_t *worker, fc_status_t status) {
  return status == FC_RESOURCE_EXHAUSTED ||
         (status != FC_OK && worker->meter.refused);
}

// Is the call's body as it was sent? Machine code may write to tensors where they lie.
static bool is_intact(const run_t *run, bool computed) {
  return computed || !fc_module_get_info(run->function->module)->runs_native;
}

static void decode(run_t *run, uint32_t at) {
  fc_worker_t *worker = run->worker;
  fc_slot_t *slot = run->mates->slots[at];
  seat_t *seat = &run->all->seats[at];
  fc_error_t *err = &slot->outcome.error;
  fc_worker_begin_outcome(worker, slot);
  seat->last_ns = slot->outcome.began_ns;
  swap(worker, seat);
  fc_status_t status = fc_worker_check_wanted(slot, err);
  if (status == FC_OK) {
    status = fc_worker_decode(worker, slot, run->function, &seat->last_ns, err);
  }
  const bool later = lacks_memory(worker, status);
  seat->state = status == FC_OK ? SEAT_DECODED : SEAT_LATER;
  if (status != FC_OK) fc_worker_end(worker, slot, status);
  swap(worker, seat);
  if (status != FC_OK && !later) hand_over(run, at);
}

// Begins to count the call's time again. While it waited for its mates, it was in QUEUE.
static void resume(fc_slot_t *slot, seat_t *seat) {
  seat->last_ns = fc_clock_ns();
  slot->outcome.began_ns = seat->last_ns -
                           slot->outcome.spent_ns[FC_STAGE_DECODE] -
                           slot->outcome.spent_ns[FC_STAGE_CALL];
}

// Returns until when a call, or a group, may be computed while others wait. 0: for ever.
static uint64_t limit_of(const fc_slot_t *slot) {
  const uint64_t most_ns = slot->call.batch_ns;
  return most_ns ? fc_clock_ns() + most_ns : 0;
}

// Computes one call alone. False: it took longer than a call may while others wait, and
// was stopped. It is made again after the others.
static bool call_alone(const run_t *run, fc_slot_t *slot, seat_t *seat,
                       fc_status_t *out_status) {
  const uint64_t own_ns = slot->call.deadline_ns;
  const uint64_t limit_ns = limit_of(slot);
  const bool limited = limit_ns && (!own_ns || limit_ns < own_ns);
  *out_status = fc_worker_call(run->worker, slot, run->function,
                               limited ? limit_ns : own_ns, &seat->last_ns,
                               &slot->outcome.error);
  return !limited || *out_status != FC_DEADLINE_EXCEEDED ||
         seat->last_ns < limit_ns || !is_intact(run, false);
}

// Answers a decoded call. Computes it first, unless it was `computed` with its group.
static void answer(run_t *run, uint32_t at, bool computed) {
  fc_worker_t *worker = run->worker;
  const fc_mates_t *mates = run->mates;
  fc_slot_t *slot = mates->slots[at];
  seat_t *seat = &run->all->seats[at];
  fc_error_t *err = &slot->outcome.error;
  fc_status_t status = FC_OK;
  worker->meter.refused = false;
  swap(worker, seat);
  resume(slot, seat);
  if (mates->open) mates->open(mates->context, mates->slots[at]);
  bool now = computed || call_alone(run, slot, seat, &status);
  if (status == FC_OK) {
    status = fc_worker_encode(worker, slot, run->function, &seat->last_ns, err);
  }
  if (is_intact(run, computed)) now = now && !lacks_memory(worker, status);
  fc_worker_end(worker, slot, status);
  slot->outcome.batch.differs = run->all->differs;
  if (mates->close) mates->close(mates->context, mates->slots[at]);
  seat->state = SEAT_LATER;
  swap(worker, seat);
  if (now) hand_over(run, at);
}

static void run_alone(fc_worker_t *worker, const fc_mates_t *mates,
                      uint32_t at) {
  if (mates->open) mates->open(mates->context, mates->slots[at]);
  fc_worker_run(worker, mates->slots[at]);
  if (mates->close) mates->close(mates->context, mates->slots[at]);
}

// ---------------------------------------------------------------------------
// Groups of calls that are computed as one

typedef struct group_t {
  uint32_t count;
  uint32_t at[FC_BATCH_CALLS];
  fc_frame_t *frames[FC_BATCH_CALLS];
} group_t;

// Gives the call of slot `at`, and later calls that stack with it, up to as many rows as
// the largest function has: more would gain nothing, and would wait for each other.
static void find_group(const run_t *run, uint32_t at, group_t *out_group) {
  const seat_t *seats = run->all->seats;
  uint64_t rows = 0;
  out_group->count = 0;
  for (uint32_t i = at; i < run->mates->count; i++) {
    uint64_t most;
    if (seats[i].state != SEAT_DECODED) continue;
    const uint64_t more = fc_frame_sent_rows(seats[i].frame, &most);
    if (i > at && (!fc_frame_stacks(seats[at].frame, seats[i].frame) ||
                   rows >= most || more > most - rows)) {
      continue;
    }
    rows += more;
    out_group->at[out_group->count] = i;
    out_group->frames[out_group->count++] = seats[i].frame;
  }
}

// Returns when the group is given up: at the last deadline of its calls or at limit_of,
// whichever is earlier. 0: never.
static uint64_t end_of(const run_t *run, const group_t *group) {
  const uint64_t limit_ns = limit_of(run->mates->slots[group->at[0]]);
  uint64_t last_ns = 0;
  for (uint32_t i = 0; i < group->count; i++) {
    const uint64_t ns = run->mates->slots[group->at[i]]->call.deadline_ns;
    if (!ns) return limit_ns;
    if (ns > last_ns) last_ns = ns;
  }
  return limit_ns && limit_ns < last_ns ? limit_ns : last_ns;
}

static void begin_whole(const run_t *run, const group_t *group,
                        uint64_t end_ns) {
  fc_worker_t *worker = run->worker;
  fc_slot_t *first = run->mates->slots[group->at[0]];
  seat_t whole = {.frame = run->all->whole};
  swap(worker, &whole);
  fc_worker_begin_frame(worker, first, run->function);
  fc_frame_set_stop(worker->frame, &first->left, end_ns);
  swap(worker, &whole);
}

// Computes call `i` of the group alone, so that its results can be compared with those of
// the group. Uses only the function for the fewest rows. fc_frame_invoke_stack copies the
// arguments: the function may write to them, and the group still needs them. *out_alone
// becomes the results.
static fc_status_t compute_alone(const run_t *run, const group_t *group,
                                 uint32_t i, const fc_stack_call_t *call,
                                 const fc_value_t **out_alone,
                                 fc_error_t *err) {
  fc_frame_t *frame = group->frames[i];
  fc_stack_call_t alone = *call;
  size_t count;
  alone.least = true;
  FC_TRY(fc_frame_invoke_stack(run->all->whole, &frame, 1, &alone, err));
  FC_TRY(fc_frame_keep_results(frame, err));
  *out_alone = fc_frame_results(frame, &count);
  fc_frame_end(run->all->whole);
  begin_whole(run, group, call->deadline_ns);
  return FC_OK;
}

// Each of them is told how it was computed, and what CALL took: without the call that was
// made to compare, which says nothing about what batches gain.
static void note_call(const run_t *run, const group_t *group,
                      uint64_t began_ns) {
  const uint64_t took_ns = fc_clock_ns() - began_ns;
  uint64_t rows = 0, computed = 0;
  (void)fc_frame_counted_rows(run->all->whole, &rows, &computed);
  for (uint32_t i = 0; i < group->count; i++) {
    fc_outcome_t *outcome = &run->mates->slots[group->at[i]]->outcome;
    outcome->spent_ns[FC_STAGE_CALL] = took_ns;
    outcome->batch = (fc_batched_t){.calls = group->count,
                                    .rows = (uint32_t)rows,
                                    .computed = (uint32_t)computed};
  }
}

static fc_status_t compute(const run_t *run, const group_t *group,
                           uint64_t end_ns, fc_error_t *err) {
  fc_worker_t *worker = run->worker;
  fc_slot_t *first = run->mates->slots[group->at[0]];
  void *instance;
  FC_TRY(fc_worker_instance(worker, first->call.generation, &instance, err));
  const fc_stack_call_t call = {
      .backend = fc_module_get_backend(run->function->module),
      .instance = instance,
      .index = run->function->index,
      .cancel = &first->left,
      .deadline_ns = end_ns};
  const uint32_t number = run->all->batches++;
  const bool early = number < FC_TOGETHER_FIRST;
  const bool checked = early || number % FC_TOGETHER_CHECKED == 0;
  const uint32_t one =
      (early ? number : number / FC_TOGETHER_CHECKED) % group->count;
  const fc_value_t *alone = NULL;
  if (FC_UNLIKELY(checked)) {
    FC_TRY(compute_alone(run, group, one, &call, &alone, err));
  }
  const uint64_t began_ns = fc_clock_ns();
  FC_TRY(fc_frame_invoke_stack(run->all->whole, group->frames, group->count,
                               &call, err));
  if (FC_UNLIKELY(checked) &&
      !fc_rows_agree(run->function, group->frames[one], alone)) {
    run->all->differs = true;
    fc_batch_part(run->function->plan->batch);
    return fc_fail(err, FC_CODE_INTERNAL, "it differs");
  }
  note_call(run, group, began_ns);
  return FC_OK;
}

static void answer_all(run_t *run, const group_t *group, bool computed) {
  uint64_t told_ns = fc_clock_ns();
  run->gathers = computed;
  for (uint32_t i = 0; i < group->count; i++) {
    const seat_t *seat = &run->all->seats[group->at[i]];
    answer(run, group->at[i], computed);
    if (computed && seat->last_ns - told_ns >= FC_TOGETHER_TELL_NS) {
      run->mates->tell(run->mates->context);
      told_ns = seat->last_ns;
    }
  }
  run->gathers = false;
  run->mates->tell(run->mates->context);
}

// Computes the calls of a group as one, or, if that fails, one by one.
static void run_group(run_t *run, const group_t *group) {
  fc_error_t error;
  const fc_batch_t *batch = run->function->plan->batch;
  bool computed = group->count > 1 && !fc_batch_is_apart(batch);
  run->all->differs = false;
  if (computed) {
    for (uint32_t i = 0; i < group->count; i++) {
      run->mates->slots[group->at[i]]->outcome.stage = FC_STAGE_CALL;
    }
    const uint64_t end_ns = end_of(run, group);
    begin_whole(run, group, end_ns);
    computed = compute(run, group, end_ns, &error) == FC_OK;
  }
  // An instance makes one call at a time.
  if (!computed) fc_frame_end(run->all->whole);
  answer_all(run, group, computed);
  fc_frame_end(run->all->whole);
}

void fc_worker_run_mates(fc_worker_t *worker, const fc_mates_t *mates) {
  const fc_invocation_t *call = &mates->slots[0]->call;
  const fc_module_t *module =
      fc_region_module(worker->region, call->generation);
  run_t run = {.worker = worker,
               .mates = mates,
               .function = fc_module_function(module, call->function)};
  const bool seated = make_seats(worker, mates->count);
  run.all = worker->seats;
  for (uint32_t at = 0; at < mates->count; at++) {
    (void)fc_slot_begin(&mates->slots[at]->begun, FC_BEGUN_YES);
    if (seated) run.all->seats[at].state = SEAT_WAITS;
  }
  for (uint32_t at = 0; at < mates->count; at++) {
    if (seated) {
      decode(&run, at);
    } else {
      run_alone(worker, mates, at);
      mates->done(mates->context, mates->slots[at]);
      mates->tell(mates->context);
    }
  }
  for (uint32_t at = 0; seated && at < mates->count; at++) {
    group_t group;
    if (run.all->seats[at].state != SEAT_DECODED) continue;
    find_group(&run, at, &group);
    run_group(&run, &group);
  }
  for (uint32_t at = 0; seated && at < mates->count; at++) {
    if (run.all->seats[at].state != SEAT_LATER) continue;
    empty_seats(run.all);
    run_alone(worker, mates, at);
    hand_over(&run, at);
  }
}

typedef struct back_t {
  fc_region_t *region;
  bool wakes;  // the loop is to be woken
} back_t;

static void hand_back(void *context, const fc_slot_t *slot) {
  back_t *back = context;
  back->wakes |= fc_region_push_done(back->region, slot);
}

static void tell(void *context) {
  back_t *back = context;
  if (back->wakes) back->region->wake(back->region->wake_context);
  back->wakes = false;
}

void fc_worker_run_batch(fc_worker_t *worker, uint32_t first) {
  fc_slot_t *slots = worker->region->slots;
  back_t back = {.region = worker->region};
  fc_mates_t mates = {.done = hand_back, .tell = tell, .context = &back};
  uint32_t slot = FC_SLOT_NONE;
  for (uint32_t next = first; slot != next; next = slots[slot].mate) {
    slot = next;
    mates.slots[mates.count++] = &slots[slot];
  }
  fc_worker_run_mates(worker, &mates);
}
