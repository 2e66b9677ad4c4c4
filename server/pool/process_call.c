// SPDX-License-Identifier: Apache-2.0
//
// Calls on their way to a process and back. The bytes of a body are copied into
// its ring, those of an answer out of it; large ones lie in files (process_files.c).
#include "config/limits.h"
#include "pool/process_host.h"
#include "pool/shared.h"

#define AHEAD_NS (FC_LIMIT_AHEAD_MS * 1000000ull)
#define GRACE_NS (FC_LIMIT_KILL_GRACE_MS * 1000000ull)

// ---------------------------------------------------------------------------
// Giving

// A call that is given to a process waits for the calls before it, even if another
// process is free earlier. So a process gets no more calls once its oldest one was
// given to it more than FC_LIMIT_AHEAD_MS ago.
static bool is_slow(const fc_child_t *child, uint64_t now_ns) {
  return now_ns - child->held[child->first].sent.sent_ns > AHEAD_NS;
}

// While a body is copied to a process, the process gets no other call.
static bool is_free(const fc_child_t *child) {
  return child->serving && !child->ended && child->cause == FC_CAUSE_NONE &&
         !child->giving.active && !child->spent &&
         !(child->host->fresh && child->calls);
}

// Of the free processes that have fewer than `ahead` calls, the one with the fewest. A
// process that has calls is left out while another one starts, or when its oldest call
// is slow. NULL: no process is left.
static fc_child_t *find_room(fc_process_host_t *host, uint32_t ahead,
                             uint64_t now_ns) {
  fc_child_t *best = NULL;
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (!is_free(child)) continue;
    if (child->count && (host->starting || is_slow(child, now_ns))) continue;
    if (child->count + child->left >= FC_RING_SLOTS) continue;
    if (child->count < ahead && (!best || child->count < best->count)) {
      best = child;
    }
  }
  return best;
}

// Is there an idle process that has no room because the nursery still scrubs its slots?
// That takes less time than another process needs to start.
static bool gets_room(const fc_process_host_t *host) {
  for (const fc_child_t *child = host->children; child; child = child->next) {
    if (is_free(child) && !child->count && child->left) return true;
  }
  return false;
}

fc_str_t fc_process_host_body(const fc_process_host_t *host,
                              const fc_job_t *job) {
  fc_blocks_t *blocks = host->base.pool->blocks;
  const char *body = (const char *)fc_block_data(blocks, job->call.body.block) +
                     job->call.body.offset;
  return fc_str_make(body, (size_t)job->call.body.size);
}

// Is this a call that crashed the module lately? Its body is looked up once,
// and again only after another call was blamed.
static bool is_blamed(fc_process_host_t *host, fc_job_t *job, uint64_t now_ns) {
  uint64_t at_ns;
  if (job->looked_up == host->blame.changes) return false;
  job->looked_up = host->blame.changes;
  return fc_blame_find(&host->blame, job->call.function,
                       fc_process_host_body(host, job), now_ns, &at_ns);
}

static fc_offer_t refuse(fc_process_host_t *host, const fc_job_t *job,
                         uint64_t now_ns, fc_error_t *err) {
  uint64_t at_ns = now_ns;
  (void)fc_blame_find(&host->blame, job->call.function,
                      fc_process_host_body(host, job), now_ns, &at_ns);
  const unsigned ago_s = (unsigned)((now_ns - at_ns) / 1000000000u);
  (void)fc_fail(err, FC_CODE_CALL_QUARANTINED,
                "this very call crashed module '%.*s' %u s ago: it is refused "
                "for %u s more",
                FC_STR_ARG(host->name), ago_s,
                FC_LIMIT_HEALTHY_MS / 1000 - ago_s);
  return FC_OFFER_REFUSED;
}

static void list_as_busy(fc_process_host_t *host) {
  fc_process_hosts_t *all = fc_process_hosts_of(host);
  if (host->busy) return;
  host->busy = true;
  host->next_busy = all->busy;
  all->busy = host;
}

// Takes up to `size` bytes off what may still be copied in this turn
// (fc_process_hosts_collect), and returns how many; 0: none.
static uint64_t copy_now(fc_process_hosts_t *all, uint64_t size) {
  if (size > all->copy_left) size = all->copy_left;
  all->copy_left -= size;
  return size;
}

static bool is_small(uint64_t size) { return size <= FC_LIMIT_COPY_SMALL; }

// Copies more of the body. A call that nobody waits for any more, or that was taken back,
// goes without its body and with a deadline that has passed, so the worker does not even
// decode it.
static void give_on(fc_child_t *child) {
  const uint32_t index = (child->first + child->count - 1) % FC_RING_SLOTS;
  fc_held_t *held = &child->held[index];
  if (!held->job) {
    const fc_invocation_t late = {.function = held->function, .deadline_ns = 1};
    fc_ring_publish(&child->ring, index, &late, 0);
  } else {
    const fc_str_t body = fc_process_host_body(child->host, held->job);
    const uint64_t at = child->giving.copied;
    const uint64_t part =
        copy_now(fc_process_hosts_of(child->host), body.size - at);
    fc_ring_write(&child->ring, index, at,
                  fc_str_make(body.data + at, (size_t)part));
    child->giving.copied += part;
    if (child->giving.copied < body.size) return;
    fc_ring_publish(&child->ring, index, &held->job->call, body.size);
  }
  child->giving.active = false;
  child->notified = false;
}

static void give(fc_child_t *child, fc_job_t *job, uint64_t now_ns) {
  fc_process_host_t *host = child->host;
  const uint32_t index = (child->first + child->count) % FC_RING_SLOTS;
  fc_held_t *held = &child->held[index];
  child->ring.tray = fc_child_lend(child);
  *held = (fc_held_t){.job = job,
                      .sent = {.sent_ns = now_ns,
                               .body_size = job->call.body.size,
                               .deadline_ns = job->call.deadline_ns,
                               .steps = job->call.steps,
                               .parts = job->call.parts != 0,
                               .flags = job->call.flags},
                      .function = job->call.function,
                      .limit_ns = job->limit_ns,
                      .tray = child->ring.tray,
                      .body = FC_BLOCK_NONE};
  if (child->count++ && host->most > 1) {
    fc_pool_note_due(host->base.pool, now_ns + AHEAD_NS);
  }
  list_as_busy(host);
  job->child = child;
  // A file is mapped privately: what a turn changed there would be lost.
  if (!(job->call.flags & FC_CALL_LATER) && fc_child_send_body(child, held)) {
    fc_ring_publish_file(&child->ring, index, &job->call, held->sent.shelf);
    child->notified = false;
    return;
  }
  const fc_str_t body = fc_process_host_body(host, job);
  fc_blocks_note_copied(host->base.pool->blocks, body.size);
  if (!is_small(body.size)) {
    child->giving = (fc_giving_t){.active = true};
    give_on(child);
    return;
  }
  fc_ring_put(&child->ring, index, &job->call, body);
  child->notified = false;
}

fc_offer_t fc_process_host_offer(fc_host_t *base, fc_job_t *job, bool quick,
                                 fc_error_t *err) {
  fc_process_host_t *host = (fc_process_host_t *)base;
  const uint32_t ahead = host->fresh ? 1
                         : quick     ? FC_RING_SLOTS
                                     : FC_HOST_SLOW_AHEAD;
  const uint64_t now_ns = fc_clock_ns();
  if (host->blame.until_ns && is_blamed(host, job, now_ns)) {
    return refuse(host, job, now_ns, err);
  }
  if (host->fresh && host->base.running >= host->workers) return FC_OFFER_FULL;
  fc_child_t *child = find_room(host, ahead, now_ns);
  if (child ? child->count : !gets_room(host)) fc_process_host_start(host);
  if (!child) return FC_OFFER_FULL;
  give(child, job, now_ns);
  // The next process is made ready while this one works.
  if (host->fresh) fc_process_host_start(host);
  return FC_OFFER_TAKEN;
}

void fc_process_host_drop(fc_host_t *base, fc_job_t *job) {
  fc_process_host_t *host = (fc_process_host_t *)base;
  fc_child_t *child = job->child;
  uint64_t now_ns = fc_clock_ns();
  for (uint32_t i = 0; i < child->count; i++) {
    uint32_t index = (child->first + i) % FC_RING_SLOTS;
    if (child->held[index].job != job) continue;
    (void)fc_child_forget(&child->held[index], now_ns);
    atomic_store_explicit(&child->ring.head->slots[index].slot.cancel, 1,
                          memory_order_relaxed);
  }
  job->child = NULL;
  if (host->options->kill_dropped) {
    fc_pool_note_due(host->base.pool, now_ns + GRACE_NS);
  }
}

// ---------------------------------------------------------------------------
// Taking

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

// Copies more of what a turn has left. False: the rest is for a later turn of the loop.
static bool carry_on(fc_child_t *child) {
  fc_taking_t *taking = &child->taking;
  const uint64_t left = taking->carry - taking->carried;
  const uint64_t part =
      is_small(left) ? left : copy_now(fc_process_hosts_of(child->host), left);
  memcpy(fc_block_data(child->host->base.pool->blocks, taking->carry_block) +
             taking->carried,
         fc_ring_body(&child->ring, child->first).data + taking->carry_at +
             taking->carried,
         (size_t)part);
  taking->carried += part;
  return taking->carried == taking->carry;
}

// Copies the next `size` bytes of the answer. False: there are no blocks for
// them.
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

// Notes that the answer cannot be taken over.
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

// Kills the process if the file of its answer takes up too much memory: more than
// FC_LIMIT_FILE_SPARE beyond the size of this answer, or beyond what was known of the
// file before if that is more. The excess would be in no budget until the client has read
// the answer. To ask for the file's size takes a microsecond (see note_taken of
// block_file.c).
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

// Did a call find no memory in a process whose module may keep what its calls take? All
// further calls could fail, too. Pure bytecode gives everything back. But clients that ask
// for too much may cost no more than a share of the time in processes that are replaced,
// one after another: until then the process goes on.
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

// The oldest call of a child is DONE: reads its outcome, once.
static void begin_taking(fc_child_t *child) {
  fc_taking_t *taking = &child->taking;
  fc_held_t *held = &child->held[child->first];
  fc_outcome_t *outcome = &taking->outcome;
  taking->active = true;
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
    fc_child_kill(child, FC_CAUSE_LIE);
    outcome->status = outcome->error.status;
    outcome->stage = FC_STAGE_CALL;
  }
  if (taking->in_file) {
    taking->lent = child->trays[held->tray].block;
    FC_ASSERT(taking->lent != FC_BLOCK_NONE);
    child->trays[held->tray].block = FC_BLOCK_NONE;
    atomic_store_explicit(&child->lent[held->tray], 0, memory_order_release);
    // The call is DONE and leaves its tray now, not when it is popped: by then its file
    // can have gone back to the blocks, and can lie in this tray for another call.
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
    const uint64_t part = is_small(left) ? left : copy_now(all, left);
    if (!copy_on(child, part)) fail_answer(child);
    else if (taking->copied < taking->size) return false;
  }
  return !taking->good || !taking->carry || carry_on(child);
}

// Puts the answer into the outcome. If the answer ends in the body, the body's block is
// the answer's from now on.
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

// The slot has no call any more, and gets the next one once its areas are scrubbed.
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
}

static void finish_call(fc_child_t *child) {
  fc_host_t *host = &child->host->base;
  fc_taking_t *taking = &child->taking;
  fc_outcome_t *outcome = &taking->outcome;
  const uint32_t index = child->first;
  fc_child_note_steps(child, index);
  const fc_held_t held = fc_child_pop(child);
  fc_child_leave_shelf(child, &held, outcome->status != FC_OK);
  if (taking->good) close_answer(child, held.job);
  taking->active = taking->good = false;
  if (child->cause == FC_CAUSE_NONE && !held.late) {
    fc_pool_note_outcome(host, outcome, held.left_ns != 0);
  }
  if (outcome->stage >= FC_STAGE_DECODE) fc_child_charge(child, &held, false);
  leave_slot(child, index, fc_child_used_of_body(child, &held));
  child->calls++;
  // A call that only decoded, or failed to, says nothing about the function.
  child->host->calls += outcome->stage >= FC_STAGE_CALL;
  if (child->host->fresh) fc_child_kill(child, FC_CAUSE_USED);
  else if (child->spent && !child->count) fc_child_kill(child, FC_CAUSE_MEMORY);
  if (!held.job) return;
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

static bool has_calls(const fc_process_host_t *host) {
  for (const fc_child_t *child = host->children; child; child = child->next) {
    if (child->count) return true;
  }
  return false;
}

// What the nursery has to tell takes time too: calls answered, lines of the log.
#define REPLIES 16

// Hosts leave the list of busy ones here, or when they are retired: not between
// fc_process_hosts_sleep and _wake, which both walk it.
void fc_process_hosts_collect(fc_hosts_t *hosts, bool awake) {
  fc_process_hosts_t *all = (fc_process_hosts_t *)hosts;
  fc_process_host_t **at = &all->busy;
  (void)awake;
  all->copy_left = FC_LIMIT_COPY;
  (void)fc_nursery_collect(&all->nursery, REPLIES);
  fc_cradles_free_files(all);
  while (*at) {
    fc_process_host_t *host = *at;
    fc_child_t *next;
    for (fc_child_t *child = host->children; child; child = next) {
      next = child->next;  // it leaves the list if it is settled
      if (child->giving.active && !child->ended) give_on(child);
      if (child->ended) fc_child_settle(child);
      else if (child->count) fc_child_collect(child);
    }
    host->busy = has_calls(host);
    if (host->busy) at = &host->next_busy;
    else *at = host->next_busy;
  }
}

// ---------------------------------------------------------------------------
// Waiting

static fc_process_host_t *busy_of(const fc_hosts_t *hosts) {
  return ((const fc_process_hosts_t *)hosts)->busy;
}

void fc_process_hosts_notify(fc_hosts_t *hosts) {
  for (fc_process_host_t *host = busy_of(hosts); host; host = host->next_busy) {
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (child->notified) continue;
      child->notified = true;
      fc_ring_notify(&child->ring);
    }
  }
}

bool fc_process_hosts_sleep(fc_hosts_t *hosts) {
  fc_process_hosts_t *all = (fc_process_hosts_t *)hosts;
  bool quiet = !atomic_load(&all->nursery.replied);
  atomic_store_explicit(&all->calls, hosts->running != 0, memory_order_relaxed);
  for (fc_process_host_t *host = busy_of(hosts); host; host = host->next_busy) {
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (child->ended) quiet = false;
      if (child->count == 0 || child->ended || child->cause == FC_CAUSE_LIE) {
        continue;
      }
      if (child->giving.active || child->taking.active) quiet = false;
      child->asleep = true;
      // The calls of a process are collected in the order they were given, so only the
      // oldest can be collected next.
      if (!fc_ring_sleep(&child->ring, child->first, 1)) quiet = false;
    }
  }
  return quiet;
}

void fc_process_hosts_wake(fc_hosts_t *hosts) {
  for (fc_process_host_t *host = busy_of(hosts); host; host = host->next_busy) {
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (!child->asleep) continue;
      child->asleep = false;
      fc_ring_wake(&child->ring);
    }
  }
}
