// SPDX-License-Identifier: Apache-2.0
//
// Calls on their way to a process and back. The bytes of a body are copied into
// its ring, those of an answer out of it.
#include "config/limits.h"
#include "pool/process_host.h"

#define AHEAD_NS (FC_LIMIT_AHEAD_MS * 1000000ull)
#define GRACE_NS (FC_LIMIT_KILL_GRACE_MS * 1000000ull)

// ---------------------------------------------------------------------------
// Giving

// What is given to a process waits for the call it runs, though another may be
// free first: only one whose calls take no time has more than one.
static bool is_slow(const fc_child_t *child, uint64_t now_ns) {
  return now_ns - child->held[child->first].sent.sent_ns > AHEAD_NS;
}

// The process with the fewest calls; NULL when each has `ahead`.
static fc_child_t *find_room(fc_process_host_t *host, uint32_t ahead,
                             uint64_t now_ns) {
  fc_child_t *best = NULL;
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (!child->serving || child->ended || child->cause != FC_CAUSE_NONE) {
      continue;
    }
    if (child->count && (host->starting || is_slow(child, now_ns))) continue;
    if (child->count < ahead && (!best || child->count < best->count)) {
      best = child;
    }
  }
  return best;
}

fc_str_t fc_process_host_body(const fc_process_host_t *host,
                              const fc_job_t *job) {
  fc_blocks_t *blocks = host->base.pool->blocks;
  const char *body = (const char *)fc_block_data(blocks, job->call.body.block) +
                     job->call.body.offset;
  return fc_str_make(body, (size_t)job->call.body.size);
}

// A body is looked up once, and again only after another call was blamed.
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

static void give(fc_child_t *child, fc_job_t *job, uint64_t now_ns) {
  fc_process_host_t *host = child->host;
  const uint32_t index = (child->first + child->count) % FC_RING_SLOTS;
  child->held[index] =
      (fc_held_t){.job = job,
                  .sent = {.sent_ns = now_ns,
                           .body_size = job->call.body.size,
                           .deadline_ns = job->call.deadline_ns,
                           .flags = job->call.flags},
                  .function = job->call.function};
  if (child->count++ && host->most > 1) {
    fc_pool_note_due(host->base.pool, now_ns + AHEAD_NS);
  }
  list_as_busy(host);
  child->notified = false;
  job->child = child;
  fc_ring_put(&child->ring, index, &job->call, fc_process_host_body(host, job));
}

fc_offer_t fc_process_host_offer(fc_host_t *base, fc_job_t *job, bool quick,
                                 fc_error_t *err) {
  fc_process_host_t *host = (fc_process_host_t *)base;
  const uint32_t ahead = quick ? FC_RING_SLOTS : FC_HOST_SLOW_AHEAD;
  const uint64_t now_ns = fc_clock_ns();
  if (host->blame.until_ns && is_blamed(host, job, now_ns)) {
    return refuse(host, job, now_ns, err);
  }
  fc_child_t *child = find_room(host, ahead, now_ns);
  if (!child || child->count) fc_process_host_start(host);
  if (!child) return FC_OFFER_FULL;
  give(child, job, now_ns);
  return FC_OFFER_TAKEN;
}

void fc_process_host_drop(fc_host_t *base, fc_job_t *job) {
  fc_process_host_t *host = (fc_process_host_t *)base;
  fc_child_t *child = job->child;
  uint64_t now_ns = fc_clock_ns();
  for (uint32_t i = 0; i < child->count; i++) {
    uint32_t index = (child->first + i) % FC_RING_SLOTS;
    if (child->held[index].job != job) continue;
    child->held[index].job = NULL;
    child->held[index].dropped_ns = now_ns;
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

static bool copy_answer(fc_child_t *child, uint32_t index, uint64_t size,
                        fc_outcome_t *outcome, fc_error_t *err) {
  fc_blocks_t *blocks = child->host->base.pool->blocks;
  const char *from =
      (const char *)fc_ring_answer(&child->ring, index).data + FC_LIMIT_HEAD;
  uint32_t block;
  uint64_t first = size < (64u << 10) ? size : 64u << 10;
  if (fc_block_take(blocks, FC_LIMIT_HEAD + first, &block, err) != FC_OK) {
    return false;
  }
  fc_block_sink_t out;
  fc_block_sink_init(&out, blocks, block, FC_LIMIT_HEAD, size);
  while (size) {
    uint64_t room = (uint64_t)(out.sink.end - out.sink.cursor);
    uint64_t part = size < room ? size : room;
    memcpy(out.sink.cursor, from, (size_t)part);
    out.sink.cursor += part;
    from += part;
    size -= part;
    if (size && out.sink.grow(&out.sink, 1, err) != FC_OK) {
      fc_block_sink_drop(&out);
      return false;
    }
  }
  fc_block_sink_finish(&out);
  memcpy(outcome->pieces, out.pieces, out.count * sizeof *out.pieces);
  outcome->piece_count = out.count;
  return true;
}

fc_held_t fc_child_pop(fc_child_t *child) {
  fc_held_t held = child->held[child->first];
  child->first = (child->first + 1) % FC_RING_SLOTS;
  child->count--;
  fc_pool_note_end(&child->host->base);
  return held;
}

static void fill_outcome(fc_child_t *child, uint32_t index,
                         const fc_held_t *held, fc_outcome_t *outcome,
                         uint64_t *out_size) {
  fc_error_t *error = &outcome->error;
  if (!fc_ring_read(&child->ring, index, &held->sent, outcome, out_size,
                    error)) {
    fc_child_kill(child, FC_CAUSE_LIE);
    outcome->status = error->status;
    outcome->stage = FC_STAGE_CALL;
    *out_size = 0;
    return;
  }
  bool has_answer =
      outcome->status == FC_OK && !(held->sent.flags & FC_CALL_VALIDATE);
  if (has_answer && held->job &&
      !copy_answer(child, index, *out_size, outcome, error)) {
    outcome->status = error->status;
    outcome->stage = FC_STAGE_ENCODE;
  }
}

// The oldest call of a child is DONE.
static void finish_call(fc_child_t *child) {
  fc_host_t *host = &child->host->base;
  fc_outcome_t *outcome = &fc_process_hosts_of(child->host)->outcome;
  uint32_t index = child->first;
  fc_held_t held = fc_child_pop(child);
  held.sent.awaited = held.job != NULL;
  uint64_t size = 0;
  outcome->status = FC_OK;
  outcome->piece_count = 0;
  fill_outcome(child, index, &held, outcome, &size);
  if (child->cause == FC_CAUSE_NONE) {
    fc_pool_note_outcome(host, outcome, held.dropped_ns != 0);
  }
  bool failed_to_encode =
      outcome->status != FC_OK && outcome->stage == FC_STAGE_ENCODE;
  if (child->cause != FC_CAUSE_LIE) {
    // A refused answer may have been written nevertheless.
    if (failed_to_encode) size = child->ring.setup.result_size;
    fc_ring_free(&child->ring, index, held.sent.body_size, size);
  }
  child->calls++;
  // A call that only decoded, or failed to, says nothing about the function.
  child->host->calls += outcome->stage >= FC_STAGE_CALL;
  if (!held.job) return;
  held.job->child = NULL;
  fc_pool_deliver(host, held.job, outcome);
}

void fc_child_collect(fc_child_t *child) {
  while (child->count && child->cause != FC_CAUSE_LIE) {
    uint32_t state = fc_ring_state(&child->ring, child->first);
    if (state == FC_RING_READY || state == FC_RING_BUSY) return;
    if (state != FC_RING_DONE) {
      fc_child_kill(child, FC_CAUSE_LIE);
      return;
    }
    finish_call(child);
  }
}

static bool has_calls(const fc_process_host_t *host) {
  for (const fc_child_t *child = host->children; child; child = child->next) {
    if (child->count) return true;
  }
  return false;
}

// Hosts leave the list here alone, while nobody sleeps.
void fc_process_hosts_collect(fc_hosts_t *hosts, bool awake) {
  fc_process_host_t **at = &((fc_process_hosts_t *)hosts)->busy;
  (void)awake;
  while (*at) {
    fc_process_host_t *host = *at;
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (child->count) fc_child_collect(child);
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
  bool quiet = true;
  for (fc_process_host_t *host = busy_of(hosts); host; host = host->next_busy) {
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (child->count == 0 || child->ended || child->cause == FC_CAUSE_LIE) {
        continue;
      }
      child->asleep = true;
      // Calls are collected in order, so one that finishes out of order must
      // wait.
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
