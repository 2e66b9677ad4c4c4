// SPDX-License-Identifier: Apache-2.0
//
// The work that depends on time: calls that run past their deadline are ended, calls that
// wait behind a slow one are taken back, and processes are killed that use too much
// shared memory or are no longer needed.
#include "config/limits.h"
#include "pool/process_hosts.h"

#define GRACE_NS (FC_LIMIT_KILL_GRACE_MS * 1000000ull)
#define LOOK_NS (FC_LIMIT_LOOK_MS * 1000000ull)
#define AHEAD_NS (FC_LIMIT_AHEAD_MS * 1000000ull)
#define HOME_HELD_NS (FC_LIMIT_HOME_HELD_MS * 1000000ull)

// Is the call in a batch, and does somebody wait for another call of that batch?
static bool has_mates(const fc_child_t *child, const fc_held_t *held) {
  for (uint32_t i = 0; held->sent.batched && i < child->count; i++) {
    const fc_held_t *mate = &child->held[(child->first + i) % FC_RING_SLOTS];
    if (mate->sent.batched && mate->job) return true;
  }
  return false;
}

void fc_child_note_left(fc_child_t *child, const fc_held_t *held) {
  if (FC_LIKELY(!held->sent.batched) || has_mates(child, held)) return;
  for (uint32_t i = 0; i < child->count; i++) {
    const uint32_t index = (child->first + i) % FC_RING_SLOTS;
    if (!child->held[index].sent.batched) continue;
    atomic_store_explicit(&child->ring.head->slots[index].slot.left, 1,
                          memory_order_relaxed);
  }
}

static void fail_deadline(fc_child_t *child, fc_held_t *held, fc_stage_t stage,
                          uint64_t now_ns) {
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_DEADLINE_EXCEEDED, "the deadline passed %s",
                stage == FC_STAGE_QUEUE ? "in the queue" : "while it ran");
  fc_job_t *job = fc_child_forget(held, now_ns);
  fc_child_note_left(child, held);
  if (!job) return;
  fc_pool_fail(&child->host->base, job, stage, &error);
}

void fc_child_charge(const fc_child_t *child, const fc_held_t *held,
                     bool killed) {
  fc_process_host_t *host = child->host;
  const uint64_t until_ns = fc_clock_ns() + (killed ? host->took_ns : 0);
  if (!held->left_ns) return;
  if (held->sent.parts) {  // nothing of it was paid in advance
    fc_pool_charge_turn(&host->base, &held->caller,
                        until_ns - held->sent.sent_ns);
    return;
  }
  fc_pool_charge(&host->base, &held->caller, until_ns - held->left_ns);
}

// Could another call be given to a process of the host now, or to a new one?
static bool has_room(const fc_process_host_t *host) {
  if (host->fresh) return host->base.running < host->workers;
  if (host->living < host->most) return true;
  for (const fc_child_t *child = host->children; child; child = child->next) {
    if (child->serving && child->cause == FC_CAUSE_NONE && !child->count) {
      return true;
    }
  }
  return false;
}

// May no other process make the call, because this one keeps references of its session?
static bool is_bound(const fc_held_t *held) {
  return held->claim && held->claim->bond.home;
}

// Does anybody wait for this process to be free, whom no other one can serve?
static bool is_waited_for(const fc_child_t *child) {
  const bool others = has_room(child->host);
  if (child->home.waits_first) return true;
  for (uint32_t i = 1; i < child->count; i++) {
    const fc_held_t *held = &child->held[(child->first + i) % FC_RING_SLOTS];
    if (held->job && (!others || is_bound(held))) return true;
  }
  return !others && fc_pool_is_waited_for(&child->host->base);
}

bool fc_process_host_is_replacing(const fc_process_host_t *host) {
  if (host->starting) return true;
  for (const fc_child_t *child = host->children; child; child = child->next) {
    if (child->cause != FC_CAUSE_NONE) return true;
  }
  return false;
}

// May the process be ended now for a call that nobody waits for? If the call's deadline
// has passed, only if others wait. If its client has left, yes: --cancel=kill asks for
// it; but not if others' sessions would be lost for nobody.
static bool may_end(const fc_child_t *child, const fc_held_t *held) {
  if (fc_process_host_is_replacing(child->host)) return false;
  return (!held->late && !child->home.first) || is_waited_for(child);
}

// Returns when a call whose time was over at `end_ns` has had enough patience. A running
// call may end by itself until then; it gets longer where sessions would be lost with the
// process. If the process does not begin its oldest call within FC_LIMIT_LOOK_MS, it
// never will.
static uint64_t patience_ns(const fc_child_t *child, const fc_held_t *held,
                            bool waits, uint64_t end_ns) {
  if (!waits) return end_ns + (child->home.first ? LOOK_NS : GRACE_NS);
  return (end_ns > held->sent.sent_ns ? end_ns : held->sent.sent_ns) + LOOK_NS;
}

static void kill_for(fc_child_t *child, const fc_held_t *held,
                     fc_cause_t cause) {
  const bool dropped = cause == FC_CAUSE_DROPPED;
  if (!held->late) fc_pool_note_stopped(&child->host->base, dropped);
  fc_child_kill(child, cause);
}

// Returns when a process has gone on for long enough with a call that nobody waits for:
// for as long as a new process takes to serve, which is the cost of ending this one. If
// sessions of others would be lost with it, for FC_LIMIT_HOME_HELD_MS; meanwhile the call
// keeps these sessions waiting, too.
static uint64_t left_until_ns(const fc_child_t *child, const fc_held_t *held,
                              bool waits) {
  const uint64_t cost_ns =
      child->home.first ? HOME_HELD_NS : child->host->took_ns;
  const uint64_t end_ns = patience_ns(child, held, waits, held->left_ns);
  const uint64_t paid_ns = held->left_ns + cost_ns;
  return end_ns > paid_ns ? end_ns : paid_ns;
}

// Ends the process because nobody waits for its oldest call. A call of a session may have
// written, so only the operator's deadline ends it. Returns when to check again; 0: not
// before another event.
static uint64_t end_left(fc_child_t *child, const fc_held_t *held, bool waits,
                         uint64_t now_ns) {
  if (!held->left_ns || held->claim || has_mates(child, held)) return 0;
  if (!held->late && !child->host->options->kill_dropped) return 0;
  const uint64_t due_ns = left_until_ns(child, held, waits);
  if (due_ns > now_ns) return due_ns;
  if (!may_end(child, held)) return now_ns + LOOK_NS;
  kill_for(child, held, FC_CAUSE_DROPPED);
  return 0;
}

// Ends the process because of its oldest call: at the operator's deadline, when its batch
// is given up, or if nobody waits for the call. Returns when to check again; 0: not before
// another event.
static uint64_t end_process(fc_child_t *child, const fc_held_t *held,
                            bool waits, uint64_t now_ns) {
  uint64_t limit_ns = held->limit_ns;
  if (limit_ns) limit_ns = patience_ns(child, held, waits, limit_ns);
  if (limit_ns && limit_ns <= now_ns) {
    kill_for(child, held, FC_CAUSE_DEADLINE);
    return 0;
  }
  if (!waits && held->batch_ns && held->batch_ns <= now_ns) {
    fc_child_kill(child, FC_CAUSE_BATCH);
    return 0;
  }
  if (!waits) limit_ns = fc_earlier(limit_ns, held->batch_ns);
  const uint64_t left_ns = end_left(child, held, waits, now_ns);
  return child->cause == FC_CAUSE_NONE ? fc_earlier(limit_ns, left_ns) : 0;
}

// Answers a call whose deadline has passed, and ends its process if necessary. Returns
// when to check again; 0: not before another event.
static uint64_t expire_call(fc_child_t *child, uint32_t position,
                            uint64_t now_ns) {
  const uint32_t index = (child->first + position) % FC_RING_SLOTS;
  fc_held_t *held = &child->held[index];
  const uint32_t state = fc_child_state(child, index);
  const bool waits = state == FC_RING_READY;
  if (state == FC_RING_DONE && child->cause != FC_CAUSE_LIE) return 0;
  uint64_t due_ns = 0;
  if ((position == 0 || !waits) && child->cause == FC_CAUSE_NONE) {
    due_ns = end_process(child, held, waits, now_ns);
  }
  if (held->late || !held->sent.deadline_ns) return due_ns;
  const uint64_t late_ns = held->sent.deadline_ns + (waits ? 0 : GRACE_NS);
  if (late_ns > now_ns) return fc_earlier(due_ns, late_ns);
  if (!fc_child_runs_on(child, held, index)) {
    atomic_store_explicit(&child->ring.head->slots[index].slot.cancel, 1,
                          memory_order_relaxed);
  }
  held->late = true;
  if (!waits && child->cause == FC_CAUSE_NONE) {
    fc_pool_note_stopped(&child->host->base, false);
  }
  fc_child_note_steps(child, index);
  fail_deadline(child, held, waits ? FC_STAGE_QUEUE : FC_STAGE_CALL, now_ns);
  // Nobody waits for the call now, but the process may still begin a call that was
  // waiting there: it is checked again.
  return child->cause == FC_CAUSE_NONE ? now_ns + LOOK_NS : 0;
}

// Takes back the calls from this position on, unless the process has just begun them.
static void take_back(fc_child_t *child, uint32_t position) {
  // The calls go to the head of the queue, so the oldest is put there last.
  for (uint32_t i = child->count; i-- > position;) {
    uint32_t index = (child->first + i) % FC_RING_SLOTS;
    fc_held_t *held = &child->held[index];
    fc_slot_t *slot = &child->ring.head->slots[index].slot;
    if (!held->job || is_bound(held)) continue;
    if (!fc_slot_begin(&slot->begun, FC_BEGUN_NEVER)) continue;
    held->job->child = NULL;
    fc_pool_requeue(&child->host->base, held->job);
    held->job = NULL;
    fc_child_return_claim(held);
  }
}

// May another process of the host get this one's calls?
static bool has_others(const fc_child_t *child) {
  return child->host->most > 1 && !child->host->health.quarantined_ns;
}

// Puts calls that wait behind a slow one back into the queue, for another process.
// Returns when to do that; 0: it was done, or must not be done.
static uint64_t share(fc_child_t *child, uint64_t now_ns) {
  if (child->count < 2 || !has_others(child)) return 0;
  uint64_t due_ns = child->held[child->first].sent.sent_ns + AHEAD_NS;
  if (due_ns >= now_ns) return due_ns + 1;
  take_back(child, 1);
  return 0;
}

// Has the process not begun its oldest call for FC_LIMIT_DEAF_MS, because something has
// stopped it, and may the host have another process for its calls? The time is long,
// because on a busy machine a process that only waits for a processor looks the same.
static bool is_deaf(const fc_child_t *child, uint64_t now_ns) {
  const uint64_t patience_ns = FC_LIMIT_DEAF_MS * 1000000ull;
  if (child->count == 0 || !has_others(child)) return false;
  return now_ns > child->held[child->first].sent.sent_ns + patience_ns &&
         fc_ring_state(&child->ring, child->first) == FC_RING_READY;
}

static uint64_t expire_host(fc_process_host_t *host, uint64_t now_ns) {
  uint64_t earliest_ns = 0;
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (child->ended) continue;
    if (child->cause == FC_CAUSE_NONE) {
      earliest_ns = fc_earlier(earliest_ns, share(child, now_ns));
    }
    for (uint32_t i = 0; i < child->count; i++) {
      earliest_ns = fc_earlier(earliest_ns, expire_call(child, i, now_ns));
    }
  }
  return earliest_ns;
}

// Does the process use more shared memory than its calls may? The memory in use is read
// first: a call that begins in between can only raise the limit, so an honest process is
// never killed.
static bool is_greedy(const fc_child_t *child) {
  const uint64_t taken = fc_child_taken(child);
  uint64_t most = FC_RING_SPARE;
  for (uint32_t i = 0; i < child->count; i++) {
    uint32_t index = (child->first + i) % FC_RING_SLOTS;
    if (child->held[index].sent.parts) most += child->ring.setup.body_size;
    else if (!child->held[index].sent.in_file)
      most += child->held[index].sent.body_size;
    if (fc_child_state(child, index) != FC_RING_READY) {
      most += child->ring.setup.result_size;
    }
  }
  for (uint32_t i = 0; i < FC_RING_SLOTS; i++) {
    most += child->filled[i].body + child->filled[i].answer;
  }
  return taken > most;
}

void fc_child_weigh(fc_child_t *child) {
  if (child->ended || child->cause != FC_CAUSE_NONE) return;
  if (is_greedy(child)) fc_child_kill(child, FC_CAUSE_GREED);
}

// Has the process had no calls for FC_LIMIT_SPARE_MS? Then the other processes are
// enough.
static bool is_spare(fc_child_t *child, uint64_t now_ns) {
  if (!child->serving || child->host->fresh) return false;
  if (child->home.first || child->count || child->calls != child->quiet_calls) {
    child->quiet_calls = child->calls;
    child->quiet_ns = now_ns;
  }
  return now_ns > child->quiet_ns + FC_LIMIT_SPARE_MS * 1000000ull;
}

// Waits for the second check, so that a process that was already killed can end before
// it.
static bool is_shut(fc_child_t *child) {
  return child->shut && !child->count && child->shut++ > 1;
}

static void look_at_host(fc_process_host_t *host, uint64_t now_ns) {
  fc_health_look(&host->health, host->calls, now_ns);
  // The oldest serving process stays even if it is spare, so that the next call need not
  // wait until a process has loaded the module.
  bool is_first = true;
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (child->ended || child->cause != FC_CAUSE_NONE) continue;
    const bool spare = is_spare(child, now_ns);
    fc_child_read_stops(child);
    if (is_deaf(child, now_ns)) take_back(child, 0);
    else if (is_shut(child)) fc_child_kill(child, FC_CAUSE_SHUT);
    else if (spare && !is_first) fc_child_kill(child, FC_CAUSE_SPARE);
    else if (spare) fc_child_reclaim(child);
    if (child->serving && child->cause == FC_CAUSE_NONE) is_first = false;
  }
}

void fc_process_hosts_expire(fc_hosts_t *hosts, uint64_t now_ns) {
  for (fc_host_t *host = hosts->first; host; host = host->next) {
    fc_pool_note_due(hosts->pool,
                     expire_host((fc_process_host_t *)host, now_ns));
  }
}

void fc_process_hosts_look(fc_hosts_t *hosts, uint64_t now_ns) {
  for (fc_host_t *host = hosts->first; host; host = host->next) {
    look_at_host((fc_process_host_t *)host, now_ns);
  }
}
