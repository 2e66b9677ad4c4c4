// SPDX-License-Identifier: Apache-2.0
//
// Gives calls to a process. The bytes of a body are copied into its ring; large bodies
// are in files (process_files.c).
#include "marshal/batch.h"
#include "config/limits.h"
#include "pool/process_hosts.h"

#define AHEAD_NS (FC_LIMIT_AHEAD_MS * 1000000ull)
#define GRACE_NS (FC_LIMIT_KILL_GRACE_MS * 1000000ull)

// A call that is given to a process waits for earlier calls there, even if another
// process is free sooner. So a process gets no more calls if its oldest one was given to
// it more than FC_LIMIT_AHEAD_MS ago.
static bool is_slow(const fc_child_t *child, uint64_t now_ns) {
  return now_ns - child->held[child->first].sent.sent_ns > AHEAD_NS;
}

// While a body is copied to a process, the process gets no other call.
static bool is_free(const fc_child_t *child) {
  return child->serving && !child->ended && child->cause == FC_CAUSE_NONE &&
         !child->giving.active && !child->open && !child->spent &&
         !child->shut && !(child->host->fresh && child->calls);
}

// Returns, of the free processes with fewer than `ahead` calls that may get one of this
// claim, the one with the fewest calls. A process with calls is skipped while another
// process starts, or if its oldest call is slow. NULL: there is none.
static fc_child_t *find_room(fc_process_host_t *host, const fc_claim_t *claim,
                             uint32_t ahead, uint64_t now_ns) {
  fc_child_t *best = NULL;
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (!is_free(child) || fc_child_is_shut(child, claim)) continue;
    if (child->count && (host->starting || is_slow(child, now_ns))) continue;
    if (child->count + child->left >= FC_RING_SLOTS) continue;
    if (child->count < ahead && (!best || child->count < best->count)) {
      best = child;
    }
  }
  return best;
}

// The process that keeps the session's references, even if others have fewer calls. NULL:
// it can take no call now.
static fc_child_t *find_home(const fc_claim_t *claim) {
  fc_child_t *child = fc_child_of_home(claim);
  if (child->count + child->left >= FC_RING_SLOTS || !is_free(child) ||
      fc_child_is_shut(child, claim)) {
    return NULL;
  }
  return child;
}

// A bound call steps aside for others only if these can be made meanwhile. Otherwise it
// keeps its place: while others are given what its home becomes free for, one by one, it
// would come too late each time.
static fc_offer_t wait_for_home(fc_process_host_t *host, uint32_t ahead,
                                uint64_t now_ns) {
  const bool aside =
      host->living < host->most || find_room(host, NULL, ahead, now_ns) != NULL;
  return aside ? FC_OFFER_WAITS : FC_OFFER_FULL;
}

void fc_child_pass_waiting(fc_child_t *child) {
  fc_claim_t *claim;
  uint32_t used = child->count + child->left;
  if (FC_LIKELY(!child->home.waits_first) || !is_free(child)) return;
  while (used++ < FC_RING_SLOTS && (claim = fc_home_pop(&child->home))) {
    fc_pool_pass_claim(child->host->base.pool, claim);
  }
}

// Is there an idle process without room, only because the nursery still empties its
// slots? That takes less time than starting another process.
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

// Did a call with the same function and body crash the module recently? The body is
// looked up once, and again only after another call was blamed.
static bool is_blamed(fc_process_host_t *host, fc_job_t *job, uint64_t now_ns) {
  uint64_t at_ns;
  if (job->looked_up == host->blame.changes) return false;
  job->looked_up = host->blame.changes;
  return fc_blame_find(&host->blame,
                       fc_claim_blamed(job->claim, job->call.function),
                       fc_process_host_body(host, job), now_ns, &at_ns);
}

static fc_offer_t refuse(fc_process_host_t *host, const fc_job_t *job,
                         uint64_t now_ns, fc_error_t *err) {
  uint64_t at_ns = now_ns;
  (void)fc_blame_find(&host->blame,
                      fc_claim_blamed(job->claim, job->call.function),
                      fc_process_host_body(host, job), now_ns, &at_ns);
  const unsigned ago_s = (unsigned)((now_ns - at_ns) / 1000000000u);
  (void)fc_fail(err, FC_CODE_CALL_QUARANTINED,
                "this very call crashed module '%.*s' %u s ago: it is refused "
                "for %u s more",
                FC_STR_ARG(host->name), ago_s,
                FC_LIMIT_HEALTHY_MS / 1000 - ago_s);
  return FC_OFFER_REFUSED;
}

void fc_process_host_list(fc_process_host_t *host) {
  fc_process_hosts_t *all = fc_process_hosts_of(host);
  if (host->busy) return;
  host->busy = true;
  host->next_busy = all->busy;
  all->busy = host;
}

// Returns the invocation that the process gets.
static const fc_invocation_t *call_of(const fc_child_t *child,
                                      const fc_job_t *job) {
  return FC_UNLIKELY(job->claim) ? &child->claimed : &job->call;
}

// A call that nobody waits for any more, or that was taken back, is sent without its body
// and with a past deadline, so the worker does not even decode it.
void fc_child_give_on(fc_child_t *child) {
  const uint32_t index = (child->first + child->count - 1) % FC_RING_SLOTS;
  fc_held_t *held = &child->held[index];
  if (!held->job) {
    const fc_invocation_t late = {.function = held->function, .deadline_ns = 1};
    fc_ring_publish(&child->ring, index, &late, 0);
  } else {
    const fc_str_t body = fc_process_host_body(child->host, held->job);
    const uint64_t at = child->giving.copied;
    const uint64_t part =
        fc_process_hosts_copy(fc_process_hosts_of(child->host), body.size - at);
    fc_ring_write(&child->ring, index, at,
                  fc_str_make(body.data + at, (size_t)part));
    child->giving.copied += part;
    if (child->giving.copied < body.size) return;
    fc_ring_publish(&child->ring, index, call_of(child, held->job), body.size);
  }
  child->giving.active = false;
  child->notified = false;
}

// A process has its own copy of the module, which does not know the proved rows.
static void tell_of_rows(const fc_process_host_t *host, fc_invocation_t *call) {
  if (call->function >= fc_module_function_count(host->module)) return;
  const fc_plan_t *plan =
      fc_module_function(host->module, call->function)->plan;
  if (!plan || !plan->batch || !plan->batch->on) return;
  call->rows = fc_batch_is_apart(plan->batch) ? FC_ROWS_APART : FC_ROWS_BATCHED;
}

void fc_child_close_batch(fc_child_t *child) {
  if (!child->open) return;
  const uint32_t first = child->first + child->count - child->open;
  fc_ring_release(&child->ring, first % FC_RING_SLOTS, child->open);
  child->open = 0;
}

void fc_child_make_alone(fc_child_t *child, fc_job_t *job) {
  fc_process_host_t *host = child->host;
  child->batch_failed = true;
  host->alone_ns = fc_clock_ns() + FC_LIMIT_ALONE_MS * 1000000ull;
  job->alone = true;
  job->child = NULL;
  fc_pool_requeue(&host->base, job);
}

static void give(fc_child_t *child, fc_job_t *job, uint64_t now_ns) {
  fc_process_host_t *host = child->host;
  tell_of_rows(host, &job->call);
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
  fc_process_host_list(host);
  job->child = child;
  if (FC_UNLIKELY(job->claim)) fc_child_lay(child, held, index);
  // A file is mapped privately: changes of a turn there would be lost.
  if (!(job->call.flags & FC_CALL_LATER) && fc_child_send_body(child, held)) {
    fc_ring_publish_file(&child->ring, index, call_of(child, job),
                         held->sent.shelf);
    child->notified = false;
    return;
  }
  const fc_str_t body = fc_process_host_body(host, job);
  fc_blocks_note_copied(host->base.pool->blocks, body.size);
  if (!child->open && !fc_process_is_small(body.size)) {
    child->giving = (fc_giving_t){.active = true};
    fc_child_give_on(child);
    return;
  }
  fc_ring_put(&child->ring, index, call_of(child, job), body);
  child->notified = false;
}

// Gives the process a call that is published only by fc_child_close_batch. Its body is
// copied into the ring at once, whatever its size.
static void give_open(fc_child_t *child, fc_job_t *job, uint64_t now_ns) {
  child->ring.holds = true;
  child->open++;
  give(child, job, now_ns);
  child->notified = false;
}

// Batches have only calls whose bodies can be copied at once.
bool fc_process_host_may_join(const fc_host_t *base, const fc_job_t *job) {
  const fc_process_host_t *host = (const fc_process_host_t *)base;
  return !host->fresh && job->call.body.size <= FC_LIMIT_BATCH_BODY &&
         (!host->alone_ns || host->alone_ns <= fc_clock_ns());
}

_Static_assert(FC_LIMIT_BATCH_BODY <= FC_LIMIT_SHARED, "no body is in a file");
_Static_assert(FC_LIMIT_BATCH_BODY < FC_RING_KEPT + 1, "no area is emptied");

// May so many bytes be copied at once in this turn? Counts them.
static bool copies_at_once(const fc_process_host_t *host, uint64_t size) {
  fc_process_hosts_t *all = fc_process_hosts_of(host);
  if (fc_process_is_small(size)) return true;
  if (size > FC_LIMIT_BATCH_BODY || size > all->batch_left) return false;
  all->batch_left -= size;
  return true;
}

bool fc_process_host_join(fc_host_t *base, const fc_job_t *first,
                          fc_job_t *job) {
  fc_process_host_t *host = (fc_process_host_t *)base;
  fc_child_t *child = first->child;
  const uint64_t now_ns = fc_clock_ns();
  if (!child->open || child->count + child->left >= FC_RING_SLOTS ||
      !fc_process_host_may_join(base, job) ||
      (host->blame.until_ns && is_blamed(host, job, now_ns)) ||
      !copies_at_once(host, job->call.body.size)) {
    return false;
  }
  give_open(child, job, now_ns);
  child->batch_ns = job->call.batch_ns + GRACE_NS;
  const uint64_t end_ns = now_ns + child->batch_ns;
  for (uint32_t i = 0; i < child->open; i++) {
    const uint32_t index = child->first + child->count - 1 - i;
    fc_held_t *held = &child->held[index % FC_RING_SLOTS];
    held->sent.batched = true;
    held->batch_ns = end_ns;
  }
  fc_pool_note_due(host->base.pool, end_ns);
  return true;
}

_Static_assert(FC_BATCH_CALLS == FC_RING_SLOTS, "a ring holds a batch");

// The most calls of a process, by fc_ahead_t.
static const uint32_t kAhead[] = {[FC_AHEAD_FEW] = FC_HOST_SLOW_AHEAD,
                                  [FC_AHEAD_MANY] = FC_RING_SLOTS,
                                  [FC_AHEAD_NONE] = 1};

static bool is_bound(const fc_claim_t *claim) {
  return FC_UNLIKELY(claim) && claim->bond.home;
}

// Returns the process for a call; NULL: none can take it now. A call of a session that has
// references goes to their home alone; for others the next process is started while the
// last free one gets the call.
static fc_child_t *find_child(fc_process_host_t *host, const fc_claim_t *claim,
                              uint32_t ahead, uint64_t now_ns) {
  if (is_bound(claim)) return find_home(claim);
  fc_child_t *child = find_room(host, claim, ahead, now_ns);
  if (child ? child->count : !gets_room(host)) fc_process_host_start(host);
  return child;
}

// Chooses the process for the call, which has the slab of the call's session then. FULL:
// no process has room, or the one with most room cannot be handed the slab now.
static fc_offer_t choose(fc_process_host_t *host, const fc_claim_t *claim,
                         uint32_t ahead, uint64_t now_ns,
                         fc_child_t **out_child, fc_error_t *err) {
  fc_offer_t offer = FC_OFFER_TAKEN;
  fc_child_t *child;
  do {
    child = *out_child = find_child(host, claim, ahead, now_ns);
    if (!child) return FC_OFFER_FULL;
    if (FC_UNLIKELY(claim)) offer = fc_child_send_slab(child, claim, err);
  } while (offer == FC_OFFER_FULL && child->unreachable);
  return offer;
}

static void begin(fc_child_t *child, fc_job_t *job, fc_ahead_t ahead,
                  uint64_t now_ns) {
  const bool opens = FC_UNLIKELY(ahead == FC_AHEAD_NONE) &&
                     copies_at_once(child->host, job->call.body.size);
  if (opens) give_open(child, job, now_ns);
  else give(child, job, now_ns);
}

fc_offer_t fc_process_host_offer(fc_host_t *base, fc_job_t *job,
                                 fc_ahead_t ahead, fc_error_t *err) {
  fc_process_host_t *host = (fc_process_host_t *)base;
  const uint32_t most = host->fresh ? 1 : kAhead[ahead];
  const uint64_t now_ns = fc_clock_ns();
  fc_child_t *child;
  if (host->blame.until_ns && (!job->claim || job->claim->salt) &&
      is_blamed(host, job, now_ns)) {
    return refuse(host, job, now_ns, err);
  }
  if (host->fresh && host->base.running >= host->workers) return FC_OFFER_FULL;
  const fc_offer_t offer = choose(host, job->claim, most, now_ns, &child, err);
  if (FC_UNLIKELY(offer == FC_OFFER_FULL) && is_bound(job->claim)) {
    return wait_for_home(host, most, now_ns);
  }
  if (offer != FC_OFFER_TAKEN) return offer;
  begin(child, job, ahead, now_ns);
  // The next process is started while this one works.
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
    fc_child_note_left(child, &child->held[index]);
    if (fc_child_runs_on(child, &child->held[index], index)) continue;
    atomic_store_explicit(&child->ring.head->slots[index].slot.cancel, 1,
                          memory_order_relaxed);
  }
  job->child = NULL;
  if (host->options->kill_dropped) {
    fc_pool_note_due(host->base.pool, now_ns + GRACE_NS);
  }
}
