// SPDX-License-Identifier: Apache-2.0
//
// Takes calls back from a process. The bytes of an answer are copied out of its ring, as
// many as a turn of the loop allows; large answers are in files (process_files.c).
#include "config/limits.h"
#include "pool/process_hosts.h"
#include "pool/shared.h"

static bool open_answer(fc_child_t *child, fc_error_t *err) {
  fc_taking_t *taking = &child->taking;
  fc_blocks_t *blocks = child->host->base.pool->blocks;
  const uint64_t size = taking->size;
  uint32_t block;
  uint64_t first = size < (64u << 10) ? size : 64u << 10;
  if (taking->in_file &&
      fc_block_adopt(blocks, taking->lent, taking->in_file, err) != FC_OK) {
    return false;
  }
  if (fc_block_take(blocks, FC_LIMIT_HEAD + first, &block, err) != FC_OK) {
    return false;
  }
  fc_block_sink_init(&taking->sink, blocks, block, FC_LIMIT_HEAD, size);
  taking->good = true;
  return true;
}

// Copies more of the state that a turn has left. False: the rest is for a later turn of
// the loop.
static bool carry_on(fc_child_t *child) {
  fc_taking_t *taking = &child->taking;
  const uint64_t left = taking->carry - taking->carried;
  const uint64_t part =
      fc_process_is_small(left)
          ? left
          : fc_process_hosts_copy(fc_process_hosts_of(child->host), left);
  memcpy(fc_block_data(child->host->base.pool->blocks, taking->carry_block) +
             taking->carried,
         fc_ring_body(&child->ring, child->first).data + taking->carry_at +
             taking->carried,
         (size_t)part);
  taking->carried += part;
  return taking->carried == taking->carry;
}

// Copies the next `size` bytes of the answer. False: there are no blocks for them.
static bool copy_on(fc_child_t *child, uint64_t size) {
  fc_taking_t *taking = &child->taking;
  fc_sink_t *out = &taking->sink.sink;
  const char *from =
      (const char *)fc_ring_answer(&child->ring, child->first).data +
      FC_LIMIT_HEAD + taking->copied;
  while (size) {
    uint64_t room = (uint64_t)(out->end - out->cursor);
    uint64_t part = size < room ? size : room;
    memcpy(out->cursor, from, (size_t)part);
    out->cursor += part;
    from += part;
    size -= part;
    taking->copied += part;
    if (taking->copied < taking->size && out->cursor == out->end &&
        out->grow(out, 1, &taking->outcome.error) != FC_OK) {
      return false;
    }
  }
  return true;
}

static void drop_answer(fc_child_t *child) {
  fc_taking_t *taking = &child->taking;
  if (taking->good) fc_block_sink_drop(&taking->sink);
  fc_block_give(child->host->base.pool->blocks, taking->lent);
  if (taking->is_new) {
    fc_block_give(child->host->base.pool->blocks, taking->carry_block);
  }
  taking->good = taking->is_new = false;
  taking->lent = FC_BLOCK_NONE;
}

// Notes that the answer cannot be taken.
static void fail_answer(fc_child_t *child) {
  fc_outcome_t *outcome = &child->taking.outcome;
  drop_answer(child);
  outcome->status = outcome->error.status;
  outcome->stage = FC_STAGE_ENCODE;
  outcome->more = false;
  child->taking.copied = child->taking.size;
}

void fc_child_drop_copies(fc_child_t *child) {
  drop_answer(child);
  child->taking.active = child->giving.active = false;
  fc_child_drop_files(child);
}

uint32_t fc_child_state(const fc_child_t *child, uint32_t index) {
  const uint32_t last = (child->first + child->count - 1) % FC_RING_SLOTS;
  if (child->giving.active && index == last) return FC_RING_READY;
  if ((last - index) % FC_RING_SLOTS < child->open) return FC_RING_READY;
  return fc_ring_state(&child->ring, index);
}

fc_held_t fc_child_pop(fc_child_t *child) {
  fc_held_t held = child->held[child->first];
  if (held.body != FC_BLOCK_NONE) {
    fc_block_give(child->host->base.pool->blocks, held.body);
  }
  fc_child_leave_tray(child, held.tray);
  child->first = (child->first + 1) % FC_RING_SLOTS;
  child->count--;
  fc_pool_uncount(&child->host->base, &held.count);
  fc_pool_note_end(&child->host->base);
  return held;
}

// Kills the process if the file of its answer uses too much memory: more than
// FC_LIMIT_FILE_SPARE beyond the size of this answer, or beyond the known size of the
// file if that is larger. Until the client has read the answer, the excess would be
// counted nowhere. The query takes a microsecond (see note_taken of block_file.c).
static void check_file(fc_child_t *child) {
  fc_taking_t *taking = &child->taking;
  fc_outcome_t *outcome = &taking->outcome;
  const fc_blocks_t *blocks = child->host->base.pool->blocks;
  uint64_t known = fc_block_filled(blocks, taking->lent);
  if (known < taking->in_file) known = taking->in_file;
  const uint64_t taken = fc_shared_taken(fc_block_file(blocks, taking->lent));
  if (taken <= known + FC_LIMIT_FILE_SPARE) return;
  fc_child_kill(child, FC_CAUSE_GREED);
  outcome->status =
      fc_fail(&outcome->error, FC_CODE_WORKER_CRASHED,
              "the worker took more memory for its answer than that has");
  outcome->stage = FC_STAGE_CALL;
  outcome->more = false;
  taking->size = taking->in_file = taking->in_body = taking->carry = 0;
  drop_answer(child);
}

// Did a call find no memory in a process whose module may keep memory of its calls? Then
// all further calls could fail too, so the process is replaced. (Pure bytecode frees
// everything.) But calls that need too much memory must not have processes replaced all
// the time: a process goes on if the last such replacement was not long ago.
static bool is_spent(fc_process_host_t *host, const fc_outcome_t *outcome) {
  const fc_module_info_t *info = fc_module_get_info(host->module);
  if (outcome->status == FC_OK ||
      outcome->error.code != FC_CODE_OUT_OF_MEMORY ||
      (!info->runs_native && !info->serial && !info->private_state)) {
    return false;
  }
  const uint64_t now_ns = fc_clock_ns();
  const uint64_t pause_ns = FC_LIMIT_SPENT_SHARE * host->took_ns;
  if (fc_process_host_is_replacing(host) ||
      (host->spent_ns && now_ns < host->spent_ns + pause_ns)) {
    return false;
  }
  host->spent_ns = now_ns;
  return true;
}

// Handles an outcome that no honest worker writes.
static void note_lie(fc_child_t *child) {
  fc_taking_t *taking = &child->taking;
  taking->size = taking->in_file = taking->in_body = taking->carry = 0;
  taking->honest = false;
  fc_child_kill(child, FC_CAUSE_LIE);
  taking->outcome.status = taking->outcome.error.status;
  taking->outcome.stage = FC_STAGE_CALL;
}

// The oldest call of a child is DONE: reads its outcome, once.
static void begin_taking(fc_child_t *child) {
  fc_taking_t *taking = &child->taking;
  fc_held_t *held = &child->held[child->first];
  fc_outcome_t *outcome = &taking->outcome;
  taking->active = taking->honest = true;
  taking->good = taking->is_new = false;
  taking->size = taking->copied = taking->in_file = taking->in_body = 0;
  taking->carry = 0;
  outcome->status = FC_OK;
  outcome->piece_count = 0;
  held->sent.awaited = held->job != NULL;
  held->sent.lent = held->tray < FC_RING_TRAYS;
  held->sent.tray = held->tray;
  fc_ring_sizes_t sizes;
  if (fc_ring_read(&child->ring, child->first, &held->sent, outcome, &sizes,
                   &outcome->error)) {
    taking->size = sizes.in_area;
    taking->in_file = sizes.in_file;
    taking->in_body = sizes.in_body;
    taking->body_at = sizes.body_at;
    taking->carry = sizes.carry;
    taking->carry_at = sizes.carry_at;
    if (!child->spent) child->spent = is_spent(child->host, outcome);
  } else {
    note_lie(child);
  }
  if (taking->in_file) {
    taking->lent = child->trays[held->tray].block;
    FC_ASSERT(taking->lent != FC_BLOCK_NONE);
    child->trays[held->tray].block = FC_BLOCK_NONE;
    atomic_store_explicit(&child->lent[held->tray], 0, memory_order_release);
    // The call is DONE and leaves its tray now, not when it is popped. By then its file
    // may have returned to the blocks, and may be in this tray for another call.
    fc_child_leave_tray(child, held->tray);
    held->tray = FC_RING_TRAYS;
    check_file(child);
  }
  const bool has_answer =
      outcome->status == FC_OK && !(held->sent.flags & FC_CALL_VALIDATE);
  taking->answer_used = FC_LIMIT_HEAD + taking->size;
  if (has_answer && held->job &&
      (!open_answer(child, &outcome->error) ||
       (taking->carry &&
        !fc_child_open_carry(child, held->job, &outcome->error)))) {
    taking->is_new = false;
    fail_answer(child);
  }
  // ENCODE may have written an answer before it failed.
  if (outcome->status != FC_OK &&
      (outcome->stage == FC_STAGE_ENCODE || held->sent.parts)) {
    taking->answer_used = FC_LIMIT_HEAD + child->ring.setup.result_size;
  }
}

// Copies the answer. False: the rest is for a later turn.
static bool take_on(fc_child_t *child) {
  fc_taking_t *taking = &child->taking;
  fc_process_hosts_t *all = fc_process_hosts_of(child->host);
  // Nobody waits for the answer any more.
  if (!child->held[child->first].job) drop_answer(child);
  if (taking->good && taking->copied < taking->size) {
    const uint64_t left = taking->size - taking->copied;
    const uint64_t part =
        fc_process_is_small(left) ? left : fc_process_hosts_copy(all, left);
    if (!copy_on(child, part)) fail_answer(child);
    else if (taking->copied < taking->size) return false;
  }
  return !taking->good || !taking->carry || carry_on(child);
}

// Puts the answer into the outcome. If the answer ends in the body, the answer owns the
// body's block from now on.
static void close_answer(fc_child_t *child, fc_job_t *job) {
  fc_taking_t *taking = &child->taking;
  fc_outcome_t *outcome = &taking->outcome;
  fc_blocks_note_copied(child->host->base.pool->blocks, taking->copied);
  fc_block_sink_finish(&taking->sink);
  outcome->piece_count = taking->sink.count;
  memcpy(outcome->pieces, taking->sink.pieces,
         taking->sink.count * sizeof *outcome->pieces);
  if (taking->in_file) {
    outcome->pieces[outcome->piece_count++] =
        (fc_piece_t){taking->lent, 0, taking->in_file};
    taking->lent = FC_BLOCK_NONE;
  }
  if (taking->carry) {
    if (taking->is_new) {
      fc_block_give(child->host->base.pool->blocks, job->call.body.block);
    }
    taking->is_new = false;
    job->call.body = (fc_piece_t){taking->carry_block, 0, taking->carry};
  }
  if (taking->in_body) {
    outcome->pieces[outcome->piece_count++] =
        (fc_piece_t){job->call.body.block, taking->body_at, taking->in_body};
    job->call.body.block = FC_BLOCK_NONE;
  }
}

// The slot has no call any more, and gets the next one after its areas were emptied.
static void leave_slot(fc_child_t *child, uint32_t index, uint64_t body_size) {
  child->filled[index] =
      (fc_filled_t){.body = body_size, .answer = child->taking.answer_used};
  child->left++;
  fc_child_free_slots(child);
}

void fc_child_free_slots(fc_child_t *child) {
  while (child->left && !child->cradle.scrubbing && !child->ended) {
    const uint32_t index =
        (child->first + FC_RING_SLOTS - child->left) % FC_RING_SLOTS;
    const fc_filled_t *filled = &child->filled[index];
    if (filled->body > FC_RING_KEPT || filled->answer > FC_RING_KEPT) {
      fc_cradle_scrub(child, index);
      return;
    }
    child->filled[index] = (fc_filled_t){0};
    fc_ring_free(&child->ring, index);
    child->left--;
  }
  fc_child_pass_waiting(child);
}

// Takes the values that the call left for its session, after its whole answer was taken:
// a call whose answer cannot be delivered must not change values.
static void take_desk(fc_child_t *child) {
  fc_taking_t *taking = &child->taking;
  fc_held_t *held = &child->held[child->first];
  const bool failed = taking->outcome.status != FC_OK;
  if (!held->claim || !taking->honest) return;
  const bool honest = fc_child_take_desk(child, held, &taking->outcome);
  if (honest && (failed || taking->outcome.status == FC_OK)) return;
  drop_answer(child);
  if (!honest) note_lie(child);
}

// A call of a batch has come back: the others get the same time again.
static void note_progress(fc_child_t *child) {
  const uint64_t end_ns = fc_clock_ns() + child->batch_ns;
  for (uint32_t i = 0; i < child->count; i++) {
    fc_held_t *mate = &child->held[(child->first + i) % FC_RING_SLOTS];
    if (mate->batch_ns) mate->batch_ns = end_ns;
  }
}

static void finish_call(fc_child_t *child) {
  fc_host_t *host = &child->host->base;
  fc_taking_t *taking = &child->taking;
  fc_outcome_t *outcome = &taking->outcome;
  const uint32_t index = child->first;
  fc_child_note_steps(child, index);
  take_desk(child);
  const fc_held_t held = fc_child_pop(child);
  if (FC_UNLIKELY(held.batch_ns)) note_progress(child);
  fc_child_leave_shelf(child, &held, outcome->status != FC_OK);
  if (taking->good) close_answer(child, held.job);
  taking->active = taking->good = false;
  if (child->cause == FC_CAUSE_NONE && !held.late) {
    fc_pool_note_outcome(host, outcome, held.left_ns != 0);
  }
  if (outcome->stage >= FC_STAGE_DECODE) fc_child_charge(child, &held, false);
  leave_slot(child, index, fc_child_used_of_body(child, &held));
  if (FC_UNLIKELY(held.claim)) {
    if (fc_claim_stays(held.job, outcome)) held.job->keeps_claim = true;
    else fc_child_leave_claim(child, &held, outcome->stage >= FC_STAGE_DECODE);
  }
  child->calls++;
  // A call that only decoded, or failed to, says nothing about the function.
  child->host->calls += outcome->stage >= FC_STAGE_CALL;
  if (child->host->fresh) fc_child_kill(child, FC_CAUSE_USED);
  else if (child->spent && !child->count) fc_child_kill(child, FC_CAUSE_MEMORY);
  if (!held.job) return;
  // Another call of its batch may be the cause.
  if (held.sent.batched && outcome->status != FC_OK &&
      outcome->error.code == FC_CODE_WORKER_CRASHED) {
    fc_child_make_alone(child, held.job);
    return;
  }
  held.job->child = NULL;
  fc_pool_deliver(host, held.job, outcome);
}

void fc_child_collect(fc_child_t *child) {
  while (child->count && child->cause != FC_CAUSE_LIE) {
    if (!child->taking.active) {
      uint32_t state = fc_child_state(child, child->first);
      if (state == FC_RING_READY || state == FC_RING_BUSY) return;
      if (state != FC_RING_DONE) {
        fc_child_kill(child, FC_CAUSE_LIE);
        return;
      }
      begin_taking(child);
    }
    if (!take_on(child)) return;
    finish_call(child);
  }
}
