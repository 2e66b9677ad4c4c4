// SPDX-License-Identifier: Apache-2.0
//
// Supervision. Whatever a process does is noticed in one of three ways: its
// eventfd (it says something), its pidfd (it has ended), the host's timer (it
// says nothing). A process that has ended is taken down once, in on_exit; its
// region is never used again.
#include "pool/host.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/limits.h"
#include "pool/blame.h"
#include "pool/health.h"
#include "pool/output.h"
#include "pool/process.h"

#define GRACE_NS (FC_LIMIT_KILL_GRACE_MS * 1000000ull)
#define LOOK_NS (FC_LIMIT_LOOK_MS * 1000000ull)
#define AHEAD_NS (FC_LIMIT_AHEAD_MS * 1000000ull)

// Why the host killed a process.
typedef enum fc_cause_t {
  FC_CAUSE_NONE,
  FC_CAUSE_DEADLINE,
  FC_CAUSE_DROPPED,  // nobody waits for its call
  FC_CAUSE_LIE,      // it wrote over what it shares
  FC_CAUSE_GREED,    // it takes more of it than its calls can
  FC_CAUSE_NOISE,    // it rings though no call has ended
  FC_CAUSE_LOAD,     // it did not begin to serve
  FC_CAUSE_RETIRED,  // its module is quarantined, it had nothing to do
  FC_CAUSE_COUNT
} fc_cause_t;

typedef struct fc_cause_row_t {
  bool crash;            // it is the module's fault
  fc_log_level_t level;  // of what is logged
  const char *text;
  const char *how;  // it ended, NULL: as the kernel says
} fc_cause_row_t;

static const fc_cause_row_t kCauses[FC_CAUSE_COUNT] = {
    [FC_CAUSE_NONE] = {true, FC_LOG_ERROR, "worker crashed", NULL},
    [FC_CAUSE_DEADLINE] = {false, FC_LOG_WARN,
                           "worker killed: its call's deadline passed", NULL},
    [FC_CAUSE_DROPPED] = {false, FC_LOG_INFO,
                          "worker killed: nobody waits for its call", NULL},
    [FC_CAUSE_LIE] = {true, FC_LOG_ERROR, "worker crashed",
                      "wrote over the memory it shares with the server"},
    [FC_CAUSE_GREED] = {true, FC_LOG_ERROR, "worker crashed",
                        "took more of the memory it shares with the server "
                        "than its calls need"},
    [FC_CAUSE_NOISE] = {true, FC_LOG_ERROR, "worker crashed",
                        "woke the server for nothing, again and again"},
    [FC_CAUSE_LOAD] = {true, FC_LOG_ERROR, "worker crashed", NULL},
    [FC_CAUSE_RETIRED] = {false, FC_LOG_INFO, "worker retired", NULL},
};

// A call that a slot of the ring holds.
typedef struct fc_held_t {
  fc_job_t *job;  // NULL: nobody waits any more
  fc_ring_call_t sent;
  uint32_t function;
  uint64_t dropped_ns;  // when its client had gone, 0: it has not
} fc_held_t;

typedef struct fc_child_t {
  fc_host_t *host;
  struct fc_child_t *next;
  fc_process_t process;
  fc_ring_t ring;
  uv_poll_t exit_poll;
  uv_poll_t bell_poll;
  uv_poll_t output_poll;
  uint32_t handles;  // open
  bool serving;
  bool ended;
  bool rung;    // false: has calls it was not told of
  bool asleep;  // the loop says it waits
  fc_cause_t cause;
  uint64_t started_ns;
  uint64_t calls;
  uint64_t bells;  // wake-ups it has caused
  uint32_t first;  // the oldest slot in use
  uint32_t count;  // in use
  fc_held_t held[FC_RING_SLOTS];
  fc_output_t output;
} fc_child_t;

struct fc_host_t {
  fc_pool_t *pool;
  const fc_host_options_t *options;
  fc_host_t *next_busy;
  bool busy;  // in the pool's list: its processes may have calls
  uint32_t index;
  fc_module_t *module;  // held: one that fails is let go
  fc_str_t name;
  uint32_t most;         // processes
  uint64_t load_ns;      // most time from start to serving
  fc_child_t *children;  // oldest first
  uint32_t living;
  uint32_t starting;
  uint32_t missing;  // that have ended, and nothing has taken their place yet
  bool loaded;       // the first process has served
  bool failed;       // it could not
  bool closing;
  bool retired;   // and goes once `open` is 0
  uint32_t open;  // children and the timer, until libuv has let go of them
  uv_timer_t timer;
  uint64_t calls;  // that a process has made, or ended with
  fc_health_t health;
  fc_blame_t blame;
  fc_host_counts_t counts;
};

static void arm(fc_host_t *host);

// ---------------------------------------------------------------------------
// Starting

static void free_host(fc_host_t *host) {
  fc_module_release(host->module);
  fc_free(host->pool->allocator, host);
}

// The last of what a retired host holds is gone.
static void let_go(fc_host_t *host) {
  fc_pool_t *pool = host->pool;
  const uint32_t index = host->index;
  if (--host->open || !host->retired) return;
  free_host(host);
  fc_pool_on_retired(pool, index);
}

static void free_child(fc_child_t *child) {
  fc_host_t *host = child->host;
  fc_ring_close(&child->ring);
  fc_process_close(&child->process);
  fc_free(host->pool->allocator, child);
  let_go(host);
}

static void on_handle_closed(uv_handle_t *handle) {
  fc_child_t *child = handle->data;
  if (--child->handles == 0) free_child(child);
}

static void on_exit(uv_poll_t *poll, int status, int events);
static void on_bell(uv_poll_t *poll, int status, int events);
static void on_output(uv_poll_t *poll, int status, int events);

static bool watch(fc_child_t *child, uv_poll_t *poll, int descriptor,
                  uv_poll_cb callback) {
  poll->data = child;
  if (uv_poll_init(child->host->options->uv, poll, descriptor)) return false;
  child->handles++;
  return uv_poll_start(poll, UV_READABLE, callback) == 0;
}

static bool watch_all(fc_child_t *child) {
  const fc_process_t *process = &child->process;
  return watch(child, &child->exit_poll, process->pidfd, on_exit) &&
         watch(child, &child->bell_poll, process->bell, on_bell) &&
         watch(child, &child->output_poll, process->output, on_output);
}

static void close_child(fc_child_t *child);

static fc_status_t spawn(fc_host_t *host, fc_child_t *child, fc_error_t *err) {
  const fc_host_options_t *options = host->options;
  const fc_module_files_t files = fc_module_get_files(host->module);
  fc_ring_setup_t setup = options->setup;
  setup.digest = files.digest;
  FC_TRY(fc_ring_create(&setup, &child->ring, err));
  const fc_process_start_t start = {
      .program = options->program,
      .path = fc_module_get_path(host->module).data,
      .parameters = options->parameters,
      .region = child->ring.fd,
      .files = files};
  return fc_process_spawn(&start, &child->process, err);
}

static fc_status_t start_child(fc_host_t *host, fc_error_t *err) {
  fc_child_t *child = fc_alloc(host->pool->allocator, sizeof *child);
  if (!child) return fc_fail_memory(err);
  child->host = host;
  host->open++;
  child->process = (fc_process_t){.pidfd = -1, .bell = -1, .output = -1};
  fc_status_t status = spawn(host, child, err);
  if (status != FC_OK) {
    free_child(child);
    return status;
  }
  child->rung = true;
  child->started_ns = fc_clock_ns();
  fc_output_init(&child->output, host->options->log, host->name,
                 (int)child->process.pid);
  fc_child_t **last = &host->children;
  while (*last) last = &(*last)->next;
  *last = child;
  if (!watch_all(child)) {
    fc_process_end_t end;
    fc_process_kill(&child->process);
    (void)fc_process_reap(&child->process, true, &end);
    close_child(child);
    return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                   "a worker process cannot be watched");
  }
  host->living++;
  host->pool->processes++;
  host->starting++;
  arm(host);
  return FC_OK;
}

static void kill_child(fc_child_t *child, fc_cause_t cause) {
  if (child->cause != FC_CAUSE_NONE) return;
  child->cause = cause;
  fc_process_kill(&child->process);
}

// ---------------------------------------------------------------------------
// Calls

static bool copy_answer(fc_child_t *child, uint32_t index, uint64_t size,
                        fc_slot_t *slot, fc_error_t *err) {
  fc_blocks_t *blocks = child->host->pool->region.blocks;
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
  memcpy(slot->pieces, out.pieces, out.count * sizeof *out.pieces);
  slot->piece_count = out.count;
  return true;
}

static fc_held_t pop_held(fc_child_t *child) {
  fc_held_t held = child->held[child->first];
  child->first = (child->first + 1) % FC_RING_SLOTS;
  child->count--;
  fc_pool_note_end(child->host->pool, child->host->index);
  return held;
}

static fc_str_t function_name(const fc_host_t *host, uint32_t function) {
  return fc_module_function(host->module, function)->name;
}

static void fill_outcome(fc_child_t *child, uint32_t index,
                         const fc_held_t *held, fc_slot_t *slot,
                         uint64_t *out_size) {
  fc_error_t *error = &slot->error;
  if (!fc_ring_read(&child->ring, index, &held->sent, slot, out_size, error)) {
    kill_child(child, FC_CAUSE_LIE);
    slot->status = error->status;
    slot->stage = FC_STAGE_CALL;
    *out_size = 0;
    return;
  }
  bool has_answer =
      slot->status == FC_OK && !(held->sent.flags & FC_CALL_VALIDATE);
  if (has_answer && held->job &&
      !copy_answer(child, index, *out_size, slot, error)) {
    slot->status = error->status;
    slot->stage = FC_STAGE_ENCODE;
  }
}

// The oldest call of a child is DONE.
static void finish_call(fc_child_t *child) {
  fc_pool_t *pool = child->host->pool;
  uint32_t index = child->first;
  fc_held_t held = pop_held(child);
  held.sent.awaited = held.job != NULL;
  uint64_t size = 0;
  fc_slot_t *slot = fc_pool_delivery(pool, held.job);
  fill_outcome(child, index, &held, slot, &size);
  if (child->cause == FC_CAUSE_NONE) {
    fc_pool_note_outcome(pool, child->host->index, slot, held.dropped_ns != 0);
  }
  bool failed_to_encode =
      slot->status != FC_OK && slot->stage == FC_STAGE_ENCODE;
  if (child->cause != FC_CAUSE_LIE) {
    // An answer that was refused may have been written all the same.
    if (failed_to_encode) size = child->ring.setup.result_size;
    fc_ring_free(&child->ring, index, held.sent.body_size, size);
  }
  child->calls++;
  // What failed to decode, or only was, says nothing of the function.
  child->host->calls += slot->stage >= FC_STAGE_CALL;
  if (held.job) fc_pool_deliver(pool, held.job);
}

static void collect_child(fc_child_t *child) {
  while (child->count && child->cause != FC_CAUSE_LIE) {
    uint32_t state = fc_ring_state(&child->ring, child->first);
    if (state == FC_RING_READY || state == FC_RING_BUSY) return;
    if (state != FC_RING_DONE) {
      kill_child(child, FC_CAUSE_LIE);
      return;
    }
    finish_call(child);
  }
}

static bool has_calls(const fc_host_t *host) {
  for (const fc_child_t *child = host->children; child; child = child->next) {
    if (child->count) return true;
  }
  return false;
}

// A loop turn is not to cost anything for modules nobody calls, so those that
// are called are listed. They leave the list here alone, while nobody sleeps.
void fc_hosts_collect(fc_pool_t *pool) {
  fc_host_t **at = &pool->busy_hosts;
  while (*at) {
    fc_host_t *host = *at;
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (child->count) collect_child(child);
    }
    host->busy = has_calls(host);
    if (host->busy) at = &host->next_busy;
    else *at = host->next_busy;
  }
}

static void list_as_busy(fc_host_t *host) {
  if (host->busy) return;
  host->busy = true;
  host->next_busy = host->pool->busy_hosts;
  host->pool->busy_hosts = host;
}

// What is given to a process waits for the call it runs, though another may be
// free first: only one whose calls take no time has more than one.
static bool is_slow(const fc_child_t *child, uint64_t now_ns) {
  return now_ns - child->held[child->first].sent.sent_ns > AHEAD_NS;
}

// The one with the fewest calls; NULL when each has `ahead`.
static fc_child_t *find_room(fc_host_t *host, uint32_t ahead, uint64_t now_ns) {
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

static void start_another(fc_host_t *host);

static fc_str_t body_of(const fc_host_t *host, const fc_job_t *job) {
  fc_blocks_t *blocks = host->pool->region.blocks;
  const char *body = (const char *)fc_block_data(blocks, job->call.body.block) +
                     job->call.body.offset;
  return fc_str_make(body, (size_t)job->call.body.size);
}

// Looked up once, and again only when there is more to be found.
static bool is_blamed(fc_host_t *host, fc_job_t *job, uint64_t now_ns) {
  uint64_t at_ns;
  if (job->looked_up == host->blame.changes) return false;
  job->looked_up = host->blame.changes;
  return fc_blame_find(&host->blame, job->call.function, body_of(host, job),
                       now_ns, &at_ns);
}

void fc_host_refuse(fc_host_t *host, fc_job_t *job) {
  const uint64_t now_ns = fc_clock_ns();
  uint64_t at_ns = now_ns;
  (void)fc_blame_find(&host->blame, job->call.function, body_of(host, job),
                      now_ns, &at_ns);
  const unsigned ago_s = (unsigned)((now_ns - at_ns) / 1000000000u);
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_CALL_QUARANTINED,
                "this very call crashed module '%.*s' %u s ago: it is refused "
                "for %u s more",
                FC_STR_ARG(host->name), ago_s,
                FC_LIMIT_HEALTHY_MS / 1000 - ago_s);
  fc_pool_fail(host->pool, job, FC_STAGE_QUEUE, &error);
}

fc_offer_t fc_host_offer(fc_host_t *host, fc_job_t *job, uint32_t ahead) {
  if (ahead > FC_RING_SLOTS) ahead = FC_RING_SLOTS;
  const uint64_t now_ns = fc_clock_ns();
  if (host->blame.until_ns && is_blamed(host, job, now_ns)) {
    return FC_OFFER_BLAMED;
  }
  fc_child_t *child = find_room(host, ahead, now_ns);
  if (!child || child->count) start_another(host);
  if (!child) return FC_OFFER_FULL;
  uint32_t index = (child->first + child->count) % FC_RING_SLOTS;
  fc_held_t *held = &child->held[index];
  *held = (fc_held_t){.job = job,
                      .sent = {.sent_ns = now_ns,
                               .body_size = job->call.body.size,
                               .deadline_ns = job->call.deadline_ns,
                               .flags = job->call.flags},
                      .function = job->call.function};
  if (child->count++ && host->most > 1) {
    fc_pool_note_due(host->pool, now_ns + AHEAD_NS);
  }
  list_as_busy(host);
  child->rung = false;
  job->child = child;
  fc_ring_put(&child->ring, index, &job->call, body_of(host, job));
  return FC_OFFER_TAKEN;
}

void fc_host_drop(fc_host_t *host, fc_job_t *job) {
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
    fc_pool_note_due(host->pool, now_ns + GRACE_NS);
  }
}

void fc_hosts_ring(fc_pool_t *pool) {
  for (fc_host_t *host = pool->busy_hosts; host; host = host->next_busy) {
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (child->rung) continue;
      child->rung = true;
      fc_ring_bell(&child->ring);
    }
  }
}

bool fc_hosts_sleep(fc_pool_t *pool) {
  bool quiet = true;
  for (fc_host_t *host = pool->busy_hosts; host; host = host->next_busy) {
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (child->count == 0 || child->ended || child->cause == FC_CAUSE_LIE) {
        continue;
      }
      child->asleep = true;
      // Calls are taken in turn: one that is finished out of turn is not.
      if (!fc_ring_sleep(&child->ring, child->first, 1)) quiet = false;
    }
  }
  return quiet;
}

void fc_hosts_wake(fc_pool_t *pool) {
  for (fc_host_t *host = pool->busy_hosts; host; host = host->next_busy) {
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (!child->asleep) continue;
      child->asleep = false;
      fc_ring_wake(&child->ring);
    }
  }
}

// ---------------------------------------------------------------------------
// Deadlines

static void fail_deadline(fc_child_t *child, fc_held_t *held,
                          fc_stage_t stage) {
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_DEADLINE_EXCEEDED, "the deadline passed %s",
                stage == FC_STAGE_QUEUE ? "in the queue" : "while it ran");
  fc_job_t *job = held->job;
  held->job = NULL;
  if (job) fc_pool_fail(child->host->pool, job, stage, &error);
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns) {
  return !a_ns || (b_ns && b_ns < a_ns) ? b_ns : a_ns;
}

// When a call is to be over, and why; 0: it may take its time.
static uint64_t end_of(const fc_child_t *child, const fc_held_t *held,
                       fc_cause_t *out_cause) {
  *out_cause = FC_CAUSE_DEADLINE;
  const uint64_t deadline_ns = held->sent.deadline_ns;
  if (!child->host->options->kill_dropped) return deadline_ns;
  uint64_t end_ns = earlier(deadline_ns, held->dropped_ns);
  if (end_ns && end_ns == held->dropped_ns) *out_cause = FC_CAUSE_DROPPED;
  return end_ns;
}

// A process that has nothing else to do and does not begin a call, long after
// its end, never will.
static bool ignores(const fc_held_t *held, uint64_t end_ns, uint64_t now_ns) {
  return now_ns >= end_ns + LOOK_NS && now_ns >= held->sent.sent_ns + LOOK_NS;
}

// A call that runs past its end is ended with its process; one that waits behind
// it is only answered. Returns when to look again, 0: when something happens.
static uint64_t expire_call(fc_child_t *child, uint32_t position,
                            uint64_t now_ns) {
  uint32_t index = (child->first + position) % FC_RING_SLOTS;
  fc_held_t *held = &child->held[index];
  fc_cause_t cause;
  uint64_t end_ns = end_of(child, held, &cause);
  uint32_t state = fc_ring_state(&child->ring, index);
  if (!end_ns) return 0;
  if (state == FC_RING_DONE && child->cause != FC_CAUSE_LIE) return 0;
  bool waits = state == FC_RING_READY;
  uint64_t due_ns = end_ns + (waits ? 0 : GRACE_NS);
  if (due_ns > now_ns) return due_ns;
  if (child->cause == FC_CAUSE_NONE &&
      (!waits || (position == 0 && ignores(held, end_ns, now_ns)))) {
    fc_pool_note_stopped(child->host->pool, child->host->index,
                         cause == FC_CAUSE_DROPPED);
    kill_child(child, cause);
  }
  atomic_store_explicit(&child->ring.head->slots[index].slot.cancel, 1,
                        memory_order_relaxed);
  fail_deadline(child, held, waits ? FC_STAGE_QUEUE : FC_STAGE_CALL);
  // It may be begun all the same.
  return child->cause == FC_CAUSE_NONE ? now_ns + LOOK_NS : 0;
}

// The calls from this position on, unless the process has begun them just now.
static void take_back(fc_child_t *child, uint32_t position) {
  // To the head of the queue, so the oldest last.
  for (uint32_t i = child->count; i-- > position;) {
    uint32_t index = (child->first + i) % FC_RING_SLOTS;
    fc_held_t *held = &child->held[index];
    fc_slot_t *slot = &child->ring.head->slots[index].slot;
    if (!held->job || !fc_slot_begin(&slot->begun, FC_BEGUN_NEVER)) continue;
    fc_pool_requeue(child->host->pool, held->job);
    held->job = NULL;
  }
}

// May there be another process for its calls?
static bool has_others(const fc_child_t *child) {
  return child->host->most > 1 && !child->host->health.quarantined_ns;
}

// What waits behind a call that takes its time goes to another process. Returns
// when to do so, 0: it need not be.
static uint64_t share(fc_child_t *child, uint64_t now_ns) {
  if (child->count < 2 || !has_others(child)) return 0;
  uint64_t due_ns = child->held[child->first].sent.sent_ns + AHEAD_NS;
  if (due_ns >= now_ns) return due_ns + 1;
  take_back(child, 1);
  return 0;
}

// It sleeps though it has a call: somebody has stopped it. On a busy machine
// others may only have run before it, so this takes longer to tell.
static bool is_deaf(const fc_child_t *child, uint64_t now_ns) {
  const uint64_t patience_ns = FC_LIMIT_DEAF_MS * 1000000ull;
  if (child->count == 0 || !has_others(child)) return false;
  return now_ns > child->held[child->first].sent.sent_ns + patience_ns &&
         fc_ring_state(&child->ring, child->first) == FC_RING_READY;
}

uint64_t fc_host_expire(fc_host_t *host, uint64_t now_ns) {
  uint64_t earliest_ns = 0;
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (child->ended) continue;
    if (child->cause == FC_CAUSE_NONE) {
      earliest_ns = earlier(earliest_ns, share(child, now_ns));
    }
    for (uint32_t i = 0; i < child->count; i++) {
      earliest_ns = earlier(earliest_ns, expire_call(child, i, now_ns));
    }
  }
  return earliest_ns;
}

// What was taken is asked before what the calls may take, so that one that
// finishes meanwhile makes no culprit.
static bool is_greedy(const fc_child_t *child) {
  const uint64_t taken = fc_ring_taken(&child->ring);
  uint64_t most = FC_RING_SPARE;
  for (uint32_t i = 0; i < child->count; i++) {
    uint32_t index = (child->first + i) % FC_RING_SLOTS;
    most += child->held[index].sent.body_size;
    if (fc_ring_state(&child->ring, index) != FC_RING_READY) {
      most += child->ring.setup.result_size;
    }
  }
  return taken > most;
}

void fc_host_look(fc_host_t *host, uint64_t now_ns) {
  fc_health_look(&host->health, host->calls, now_ns);
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (child->ended || child->cause != FC_CAUSE_NONE) continue;
    if (is_greedy(child)) kill_child(child, FC_CAUSE_GREED);
    else if (is_deaf(child, now_ns)) take_back(child, 0);
  }
}

// ---------------------------------------------------------------------------
// Crashes

// Nobody can run them before the quarantine ends.
static void refuse_waiting(fc_host_t *host) {
  fc_error_t error;
  uint32_t retry_s;
  (void)fc_host_admit(host, &retry_s, &error);
  fc_pool_fail_waiting(host->pool, host->index, retry_s, &error);
}

static void quarantine(fc_host_t *host, uint64_t now_ns) {
  host->counts.quarantines++;
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", host->name),
      FC_LOG_NUMBER("crashes", host->counts.crashes),
      FC_LOG_NUMBER("for_ms",
                    (host->health.quarantined_ns - now_ns) / 1000000u),
  };
  fc_log_fields(host->options->log, FC_LOG_ERROR,
                FC_STR("module quarantined: it keeps crashing"), fields,
                FC_ARRAY_COUNT(fields));
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (child->count == 0) kill_child(child, FC_CAUSE_RETIRED);
  }
  refuse_waiting(host);
}

static void note_crash(fc_host_t *host, bool served) {
  uint64_t now_ns = fc_clock_ns();
  host->counts.crashes++;
  host->calls++;
  if (fc_health_crash(&host->health, served, host->calls, now_ns)) {
    quarantine(host, now_ns);
  }
}

static void describe_end(const fc_child_t *child, const fc_process_end_t *end,
                         char *out, size_t capacity) {
  const char *known = kCauses[child->cause].how;
  if (known) {
    snprintf(out, capacity, "%s", known);
    return;
  }
  if (!end->signal) {
    snprintf(out, capacity, "ended its process: exit(%d)", end->code);
    return;
  }
  const char *name = sigabbrev_np(end->signal);
  int size = snprintf(out, capacity, "was stopped by signal %d (SIG%s)",
                      end->signal, name ? name : "?");
  fc_fault_t fault = fc_ring_fault(&child->ring);
  if (fault.signal != (uint32_t)end->signal) return;
  static const char *const kClasses[FC_FAULT_COUNT] = {
      [FC_FAULT_NONE] = "",
      [FC_FAULT_NULL] = ", address near zero",
      [FC_FAULT_STACK] = ", address near the stack's end",
      [FC_FAULT_ELSEWHERE] = ""};
  char *at = out + size;
  capacity -= (size_t)size;
  if (fault.in_module) {
    size = snprintf(at, capacity, " at offset 0x%llx of the module",
                    (unsigned long long)fault.offset);
    at += size;
    capacity -= (size_t)size;
  }
  snprintf(at, capacity, "%s", kClasses[fault.class_]);
}

static fc_status_t describe_crash(const fc_child_t *child,
                                  const fc_process_end_t *end,
                                  fc_str_t function, fc_error_t *err) {
  // Nobody of ours sent it, so the kernel did.
  if (end->signal == SIGKILL && child->cause == FC_CAUSE_NONE) {
    return fc_fail(err, FC_CODE_WORKER_OUT_OF_MEMORY,
                   "function '%.*s' was killed from outside (SIGKILL), most "
                   "likely because memory ran out",
                   FC_STR_ARG(function));
  }
  char how[160];
  describe_end(child, end, how, sizeof how);
  return fc_fail(err, FC_CODE_WORKER_CRASHED, "function '%.*s' %s",
                 FC_STR_ARG(function), how);
}

static void log_end(const fc_child_t *child, const fc_process_end_t *end) {
  const fc_host_t *host = child->host;
  fc_str_t running =
      child->count ? function_name(host, child->held[child->first].function)
                   : FC_STR("");
  char how[160];
  describe_end(child, end, how, sizeof how);
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", host->name),
      FC_LOG_NUMBER("pid", (uint64_t)child->process.pid),
      FC_LOG_TEXT("function", running),
      FC_LOG_TEXT("how", fc_str(how)),
      FC_LOG_NUMBER("calls", child->calls),
      FC_LOG_TEXT("said",
                  fc_str_make(child->output.last, child->output.last_size)),
  };
  const fc_cause_row_t *cause = &kCauses[child->cause];
  fc_log_fields(host->options->log, cause->level, fc_str(cause->text), fields,
                FC_ARRAY_COUNT(fields));
}

// A call ended its process. Not so where the process was killed (SIGKILL): by the
// host, or from outside, which may have had any reason. Where the client has gone,
// what is left of its call is the copy in the region.
static void blame(fc_child_t *child, uint32_t index, const fc_held_t *held,
                  const fc_process_end_t *end) {
  fc_host_t *host = child->host;
  if (!host->health.limit || end->signal == SIGKILL) return;
  const fc_str_t copy =
      fc_str_make((const char *)fc_ring_body(&child->ring, index).data,
                  (size_t)held->sent.body_size);
  fc_blame_note(&host->blame, held->function,
                held->job ? body_of(host, held->job) : copy, fc_clock_ns());
}

// The calls a process had when it ended, oldest first. What had not begun waits
// again; in the order it came, so the newest is put back first.
static void settle_calls(fc_child_t *child, const fc_process_end_t *end) {
  fc_host_t *host = child->host;
  fc_held_t held[FC_RING_SLOTS];
  bool begun[FC_RING_SLOTS];
  uint32_t count = 0;
  while (child->count) {
    const uint32_t index = child->first;
    uint32_t state = fc_ring_state(&child->ring, index);
    begun[count] = state != FC_RING_READY;
    held[count] = pop_held(child);
    if (begun[count]) blame(child, index, &held[count], end);
    count++;
  }
  for (uint32_t i = count; i-- > 0;) {
    fc_job_t *job = held[i].job;
    if (!job || begun[i] || job->attempts >= FC_LIMIT_ATTEMPTS) continue;
    // That another call was ended for its time says nothing against this one.
    if (kCauses[child->cause].crash) job->attempts++;
    fc_pool_requeue(host->pool, job);
    held[i].job = NULL;
  }
  for (uint32_t i = 0; i < count; i++) {
    fc_error_t error;
    if (!held[i].job) continue;
    // Whoever is told may drop the next one.
    held[i].job->child = NULL;
    if (begun[i]) {
      (void)describe_crash(child, end, function_name(host, held[i].function),
                           &error);
    } else {
      (void)fc_fail(&error, FC_CODE_WORKER_CRASHED,
                    "not begun: its process ended before its turn, %u times",
                    held[i].job->attempts + 1u);
    }
    fc_pool_fail(host->pool, held[i].job,
                 begun[i] ? FC_STAGE_CALL : FC_STAGE_QUEUE, &error);
  }
}

static void unlink_child(fc_child_t *child) {
  fc_child_t **at = &child->host->children;
  while (*at != child) at = &(*at)->next;
  *at = child->next;
}

static void close_child(fc_child_t *child) {
  uv_poll_t *const polls[] = {&child->exit_poll, &child->bell_poll,
                              &child->output_poll};
  unlink_child(child);
  if (child->handles == 0) free_child(child);
  else {
    for (size_t i = 0; i < FC_ARRAY_COUNT(polls); i++) {
      uv_handle_t *handle = (uv_handle_t *)polls[i];
      if (handle->type && !uv_is_closing(handle)) {
        uv_close(handle, on_handle_closed);
      }
    }
    // The descriptors are not watched any more.
    fc_process_close(&child->process);
  }
}

// The first process did not come to serve: the module cannot be loaded.
static void fail_load(fc_host_t *host, const fc_error_t *error) {
  if (host->loaded || host->failed) return;
  host->failed = true;
  fc_pool_on_host(host->pool, host->index, error);
}

static void fail_start(fc_child_t *child, const fc_process_end_t *end) {
  fc_error_t error;
  char how[160];
  describe_end(child, end, how, sizeof how);
  if (child->cause == FC_CAUSE_LOAD) {
    (void)fc_fail(&error, FC_CODE_MODULE_LOAD,
                  "loading it takes longer than %llu s",
                  (unsigned long long)(child->host->load_ns / 1000000000u));
  } else {
    (void)fc_fail(&error, FC_CODE_MODULE_LOAD, "while it was loaded it %s",
                  how);
  }
  fail_load(child->host, &error);
}

static void look_at_phase(fc_child_t *child);

static void on_exit(uv_poll_t *poll, int status, int events) {
  fc_child_t *child = poll->data;
  fc_host_t *host = child->host;
  fc_process_end_t end;
  (void)status;
  (void)events;
  if (!fc_process_reap(&child->process, false, &end)) return;
  child->ended = true;
  // Why it failed may be noticed after it has ended.
  if (!child->serving && child->cause == FC_CAUSE_NONE) look_at_phase(child);
  collect_child(child);
  (void)fc_output_read(&child->output, child->process.output);
  fc_output_finish(&child->output);
  host->living--;
  host->pool->processes--;
  host->missing++;
  if (!child->serving) host->starting--;
  bool crash = kCauses[child->cause].crash, loaded = host->loaded;
  bool served = child->serving;
  if (loaded && child->cause != FC_CAUSE_RETIRED) log_end(child, &end);
  if (!loaded) fail_start(child, &end);
  settle_calls(child, &end);
  close_child(child);
  if (loaded && crash) note_crash(host, served);
  // What waits again of a process that outlived the quarantine's begin.
  if (host->living == 0 && host->health.quarantined_ns) refuse_waiting(host);
  if (host->living == 0) start_another(host);
  arm(host);
}

// ---------------------------------------------------------------------------
// What a process says

static void begin_serving(fc_child_t *child) {
  fc_host_t *host = child->host;
  child->serving = true;
  host->starting--;
  arm(host);
  if (host->missing) {
    host->missing--;
    host->counts.restarts++;
  }
  if (host->loaded) return;
  host->loaded = true;
  fc_pool_on_host(host->pool, host->index, NULL);
}

static void look_at_phase(fc_child_t *child) {
  char digest[FC_DIGEST_SIZE];
  fc_error_t error;
  switch (fc_ring_phase(&child->ring, digest, &error)) {
    case FC_RING_LOADING:
      return;
    case FC_RING_SERVING:
      // One that could not even say so has not begun.
      if (child->ended) return;
      if (fc_str_equal(fc_str_make(digest, sizeof digest),
                       fc_module_get_digest(child->host->module))) {
        begin_serving(child);
        return;
      }
      (void)fc_fail(&error, FC_CODE_MODULE_LOAD,
                    "its worker loaded another file: it was changed");
      break;
    case FC_RING_FAILED:
      break;
  }
  if (child->host->loaded) {
    fc_log_field_t field = FC_LOG_TEXT("module", child->host->name);
    fc_log_fields(child->host->options->log, FC_LOG_ERROR,
                  fc_str(error.message), &field, 1);
  }
  fail_load(child->host, &error);
  kill_child(child, FC_CAUSE_LOAD);
}

// It is to ring once when it has loaded its module, and at most once for each
// call. What it has finished may not be collected yet.
static void count_bell(fc_child_t *child) {
  child->bells++;
  if (child->bells <= child->calls + FC_RING_SLOTS + FC_LIMIT_BELLS) return;
  kill_child(child, FC_CAUSE_NOISE);
}

static void on_bell(uv_poll_t *poll, int status, int events) {
  fc_child_t *child = poll->data;
  uint64_t count;
  (void)status;
  (void)events;
  ssize_t size = read(child->process.bell, &count, sizeof count);
  (void)size;
  count_bell(child);
  // Calls are collected before the loop waits again.
  if (!child->serving && child->cause == FC_CAUSE_NONE) look_at_phase(child);
}

static void on_output(uv_poll_t *poll, int status, int events) {
  fc_child_t *child = poll->data;
  (void)events;
  if (status < 0 || !fc_output_read(&child->output, child->process.output)) {
    uv_poll_stop(poll);
  }
}

// ---------------------------------------------------------------------------
// Time

// One more process, if one may be and it is not too early.
static void start_another(fc_host_t *host) {
  if (host->failed || host->closing || host->starting) return;
  if (host->living >= host->most || host->health.quarantined_ns) return;
  uint64_t now_ns = fc_clock_ns();
  if (host->health.restart_ns > now_ns) return;
  fc_error_t error;
  if (start_child(host, &error) == FC_OK) return;
  fc_health_delay(&host->health, now_ns);
  fc_log_field_t field = FC_LOG_TEXT("module", host->name);
  fc_log_fields(host->options->log, FC_LOG_ERROR, fc_str(error.message), &field,
                1);
  arm(host);
}

static void on_timer(uv_timer_t *timer) {
  fc_host_t *host = timer->data;
  uint64_t now_ns = fc_clock_ns();
  for (fc_child_t *child = host->children; child; child = child->next) {
    uint64_t spent_ns = now_ns - child->started_ns;
    if (!child->serving && spent_ns >= host->load_ns) {
      kill_child(child, FC_CAUSE_LOAD);
    }
  }
  if (fc_health_recover(&host->health, now_ns)) {
    fc_log_field_t field = FC_LOG_TEXT("module", host->name);
    fc_log_fields(host->options->log, FC_LOG_WARN,
                  FC_STR("quarantine ends: trying the module again"), &field,
                  1);
  }
  if (host->living == 0) start_another(host);
  arm(host);
}

static void arm(fc_host_t *host) {
  uint64_t due_ns = host->health.quarantined_ns;
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (child->serving || child->cause != FC_CAUSE_NONE) continue;
    due_ns = earlier(due_ns, child->started_ns + host->load_ns);
  }
  if (host->living == 0 && !host->failed && !host->health.quarantined_ns) {
    due_ns = earlier(due_ns, host->health.restart_ns);
  }
  if (host->closing || uv_is_closing((uv_handle_t *)&host->timer)) return;
  if (!due_ns) {
    uv_timer_stop(&host->timer);
    return;
  }
  uint64_t now_ns = fc_clock_ns();
  uint64_t left_ms = due_ns > now_ns ? (due_ns - now_ns) / 1000000u + 1 : 1;
  uv_timer_start(&host->timer, on_timer, left_ms, 0);
}

// ---------------------------------------------------------------------------

fc_status_t fc_host_admit(const fc_host_t *host, uint32_t *out_retry_s,
                          fc_error_t *err) {
  *out_retry_s = fc_health_retry_s(&host->health, fc_clock_ns());
  if (!*out_retry_s) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_QUARANTINED,
                 "module '%.*s' crashed %llu times, %u of them within a "
                 "minute: it is tried again in %u s",
                 FC_STR_ARG(host->name),
                 (unsigned long long)host->counts.crashes, host->health.recent,
                 *out_retry_s);
}

fc_host_counts_t fc_host_counts(const fc_host_t *host) { return host->counts; }

uint64_t fc_host_quarantined_ns(const fc_host_t *host) {
  return host->health.quarantined_ns;
}

bool fc_host_worker(const fc_host_t *host, uint32_t position,
                    fc_host_worker_t *out_worker) {
  const fc_child_t *child = host->children;
  while (child && position--) child = child->next;
  if (!child) return false;
  const char *state = "idle";
  if (child->cause != FC_CAUSE_NONE) state = "ending";
  else if (!child->serving) state = "starting";
  else if (child->count) state = "busy";
  *out_worker =
      (fc_host_worker_t){(int)child->process.pid, state, child->calls};
  return true;
}

// Weights are read once for their digest, from a disk perhaps.
static uint64_t load_ns(const fc_module_t *module) {
  struct stat file = {0};
  (void)fstat(fc_module_get_files(module).module, &file);
  const uint64_t mib = (uint64_t)file.st_size >> 20;
  return (FC_LIMIT_LOAD_MS + mib * FC_LIMIT_LOAD_MIB_MS) * 1000000u;
}

fc_status_t fc_host_create(fc_pool_t *pool, uint32_t index, fc_module_t *module,
                           const fc_host_options_t *options,
                           fc_host_t **out_host, fc_error_t *err) {
  fc_host_t *host = fc_alloc(pool->allocator, sizeof *host);
  if (!host) return fc_fail_memory(err);
  *host = (fc_host_t){.pool = pool,
                      .options = options,
                      .index = index,
                      .module = fc_module_retain(module),
                      .name = fc_module_get_name(module),
                      .most = options->workers};
  if (fc_module_get_info(module)->serial) host->most = 1;
  host->load_ns = load_ns(module);
  fc_health_init(&host->health, options->crash_limit, options->quarantine_ms);
  uint64_t key[2] = {fc_clock_ns(), (uintptr_t)host};
  (void)uv_random(NULL, NULL, key, sizeof key, 0, NULL);
  fc_blame_init(&host->blame, key);
  host->timer.data = host;
  (void)uv_timer_init(options->uv, &host->timer);  // it cannot fail
  host->open = 1;
  *out_host = host;
  fc_error_t error;
  if (start_child(host, &error) != FC_OK) fail_load(host, &error);
  return FC_OK;
}

void fc_host_destroy(fc_host_t *host) {
  if (!host) return;
  host->closing = true;
  host->retired = false;  // it goes here, not with its last child
  for (fc_child_t *child = host->children; child; child = child->next) {
    fc_process_kill(&child->process);
  }
  fc_child_t *next;
  for (fc_child_t *child = host->children; child; child = next) {
    next = child->next;
    fc_process_end_t end;
    (void)fc_process_reap(&child->process, true, &end);
    free_child(child);
  }
  free_host(host);
}

static void on_timer_closed(uv_handle_t *handle) { let_go(handle->data); }

static void unlist(fc_host_t *host) {
  fc_host_t **at = &host->pool->busy_hosts;
  if (!host->busy) return;
  while (*at != host) at = &(*at)->next_busy;
  *at = host->next_busy;
}

void fc_host_retire(fc_host_t *host) {
  host->closing = host->retired = true;
  unlist(host);
  uv_close((uv_handle_t *)&host->timer, on_timer_closed);
  // Each is taken down when it has ended.
  for (fc_child_t *child = host->children; child; child = child->next) {
    kill_child(child, FC_CAUSE_RETIRED);
  }
}
