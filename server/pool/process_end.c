// SPDX-License-Identifier: Apache-2.0
//
// Handles the end of a process. The log and the client of the running call learn how it
// ended. A call that it had not begun is queued again, unless that has already happened
// after FC_LIMIT_ATTEMPTS crashes. Its module may be quarantined.
#include <signal.h>
#include <stdio.h>

#include "config/limits.h"
#include "pool/process_hosts.h"

const fc_cause_row_t fc_causes[FC_CAUSE_COUNT] = {
    [FC_CAUSE_NONE] = {true, FC_LOG_ERROR, "worker crashed", NULL},
    [FC_CAUSE_DEADLINE] = {false, FC_LOG_WARN,
                           "worker killed: its call's deadline passed", NULL},
    [FC_CAUSE_BATCH] = {false, FC_LOG_WARN,
                        "worker killed: its calls take too long together",
                        NULL},
    [FC_CAUSE_DROPPED] = {false, FC_LOG_INFO,
                          "worker killed: nobody waits for its call", NULL},
    [FC_CAUSE_LIE] = {true, FC_LOG_ERROR, "worker crashed",
                      "wrote over the memory it shares with the server"},
    [FC_CAUSE_GREED] = {true, FC_LOG_ERROR, "worker crashed",
                        "took more of the memory it shares with the server "
                        "than its calls need"},
    [FC_CAUSE_NOISE] = {true, FC_LOG_ERROR, "worker crashed",
                        "woke the server for nothing, again and again"},
    [FC_CAUSE_SHUT] = {true, FC_LOG_ERROR, "worker crashed",
                       "does not take the files that it is sent"},
    [FC_CAUSE_LOAD] = {true, FC_LOG_ERROR, "worker crashed", NULL},
    [FC_CAUSE_RETIRED] = {false, FC_LOG_INFO, "worker retired", NULL},
    [FC_CAUSE_SPARE] = {false, FC_LOG_INFO,
                        "worker retired: it had no calls for long", NULL},
    [FC_CAUSE_USED] = {false, FC_LOG_INFO, "worker retired: it had its call",
                       NULL},
    [FC_CAUSE_MEMORY] = {false, FC_LOG_WARN,
                         "worker ended: a call of it ran out of memory", NULL},
    [FC_CAUSE_TIME] = {false, FC_LOG_WARN,
                       "worker ended: it has taken its processor time", NULL},
};

#define SECOND_NS 1000000000u

void fc_process_host_refuse(fc_process_host_t *host) {
  fc_error_t error;
  uint32_t room, retry_s;
  (void)fc_process_host_admit(&host->base, &room, &retry_s, &error);
  fc_pool_fail_waiting(&host->base, retry_s, &error);
}

static void quarantine(fc_process_host_t *host, uint64_t now_ns) {
  host->quarantines++;
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", host->name),
      FC_LOG_NUMBER("crashes", host->crashes),
      FC_LOG_NUMBER("for_ms",
                    (host->health.quarantined_ns - now_ns) / 1000000u),
  };
  fc_log_fields(host->options->log, FC_LOG_ERROR,
                FC_STR("module quarantined: it keeps crashing"), fields,
                FC_ARRAY_COUNT(fields));
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (child->count == 0) fc_child_kill(child, FC_CAUSE_RETIRED);
  }
  fc_process_host_refuse(host);
}

static void note_crash(fc_process_host_t *host, bool served) {
  uint64_t now_ns = fc_clock_ns();
  host->crashes++;
  host->calls++;
  const bool quarantined =
      fc_health_crash(&host->health, served, host->calls, now_ns);
  if (quarantined) quarantine(host, now_ns);
  const fc_pool_events_t *events = &host->base.pool->events;
  if (!events->on_crashed) return;
  events->on_crashed(events->context, host->base.generation, host->crashes,
                     host->calls, quarantined);
}

// Was the process ended by --worker-cpu-time? A module can send itself SIGXCPU, so the
// signal alone does not prove it. The kernel counts the limit in ticks, and may send the
// signal a little before the final sum has reached it.
static bool is_used_up(const fc_child_t *child, const fc_process_end_t *end) {
  const uint64_t limit_ns = child->ring.setup.cpu_limit_s * SECOND_NS;
  if (!limit_ns) return false;
  if (child->cause != FC_CAUSE_NONE && child->cause != FC_CAUSE_TIME) {
    return false;
  }
  const uint64_t less_ns = limit_ns < 2 * SECOND_NS ? limit_ns / 2 : SECOND_NS;
  return (end->signal == SIGXCPU && end->cpu_ns >= limit_ns - less_ns) ||
         (end->signal == SIGKILL && end->cpu_ns >= limit_ns);
}

static void describe_end(const fc_child_t *child, const fc_process_end_t *end,
                         char *out, size_t capacity) {
  const char *known = fc_causes[child->cause].how;
  if (known) {
    snprintf(out, capacity, "%s", known);
    return;
  }
  if (is_used_up(child, end)) {
    snprintf(out, capacity,
             "was ended: its process has taken %llu s of processor time, the "
             "limit (--worker-cpu-time)",
             (unsigned long long)child->ring.setup.cpu_limit_s);
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

// The server did not send the signal, so most likely the kernel did, because memory ran
// out.
static bool is_from_outside(const fc_child_t *child,
                            const fc_process_end_t *end) {
  return end->signal == SIGKILL && child->cause == FC_CAUSE_NONE &&
         !is_used_up(child, end);
}

static fc_status_t describe_crash(const fc_child_t *child,
                                  const fc_process_end_t *end,
                                  fc_str_t function, fc_error_t *err) {
  if (is_from_outside(child, end)) {
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

static void note_end(const fc_child_t *child, const fc_process_end_t *end) {
  fc_last_ends_t *last = &child->host->last;
  const uint64_t now_ns = fc_clock_ns();
  if (child->cause == FC_CAUSE_MEMORY || is_from_outside(child, end)) {
    last->memory_ns = now_ns;
  }
  if (child->cause == FC_CAUSE_TIME) last->budget_ns = now_ns;
  if (!fc_causes[child->cause].crash) return;
  const fc_held_t *held = child->count ? &child->held[child->first] : NULL;
  const fc_str_t function =
      held ? fc_process_host_function(child->host, held->function) : FC_STR("");
  char how[160], name[72];
  describe_end(child, end, how, sizeof how);
  fc_escape(name, sizeof name, 64, function);
  last->crashed_ns = now_ns;
  snprintf(last->crash, sizeof last->crash, "%s%s%s %s",
           held ? "function '" : "without a call it", name, held ? "'" : "",
           how);
}

static void log_end(const fc_child_t *child, const fc_process_end_t *end) {
  const fc_process_host_t *host = child->host;
  fc_str_t running =
      child->count
          ? fc_process_host_function(host, child->held[child->first].function)
          : FC_STR("");
  char how[160];
  describe_end(child, end, how, sizeof how);
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", host->name),
      FC_LOG_NUMBER("pid", (uint64_t)child->process.pid),
      FC_LOG_TEXT("function", running),
      FC_LOG_TEXT("how", fc_str(how)),
      FC_LOG_NUMBER("calls", child->calls),
      FC_LOG_TEXT("said", fc_str_make(child->cradle.output.last,
                                      child->cradle.output.last_size)),
  };
  const fc_cause_row_t *cause = &fc_causes[child->cause];
  fc_log_fields(host->options->log, cause->level, fc_str(cause->text), fields,
                FC_ARRAY_COUNT(fields));
}

// Records that a call ended its process, if crashes are limited. Two ends say nothing
// about the call: SIGKILL, which the host or somebody outside sent; and the limit of
// processor time, part of which earlier calls used. If the client has left, the body is
// read from the process's copy.
static void blame(fc_child_t *child, uint32_t index,
                  const fc_process_end_t *end) {
  fc_process_host_t *host = child->host;
  fc_str_t body;
  if (!host->health.limit || end->signal == SIGKILL) return;
  const fc_held_t *held = &child->held[index];
  if (is_used_up(child, end) || (held->claim && !held->claim->salt)) return;
  if (!fc_child_body(child, index, &body)) return;
  fc_blame_note(&host->blame, fc_claim_blamed(held->claim, held->function),
                body, fc_clock_ns());
}

// Puts a call back into the queue. False: FC_LIMIT_ATTEMPTS crashes have put it back
// before.
static bool requeue(fc_child_t *child, fc_job_t *job) {
  if (job->attempts >= FC_LIMIT_ATTEMPTS) return false;
  // Another call that ran too long says nothing against this call.
  if (fc_causes[child->cause].crash) job->attempts++;
  job->child = NULL;
  fc_pool_requeue(&child->host->base, job);
  return true;
}

// Puts the calls that the process had not begun back into the queue, in the old order:
// each goes to the head, so the newest is put back first. A call that was put back after
// FC_LIMIT_ATTEMPTS crashes is not put back again. Begun calls of a batch are made again
// outside a batch; other begun calls are blamed. `begun` gets an entry for each slot in
// use.
static void put_back(fc_child_t *child, const fc_process_end_t *end,
                     bool *begun) {
  for (uint32_t i = child->count; i-- > 0;) {
    const uint32_t index = (child->first + i) % FC_RING_SLOTS;
    fc_held_t *held = &child->held[index];
    fc_job_t *job = held->job;
    begun[index] = fc_child_state(child, index) != FC_RING_READY;
    if (begun[index] && !held->sent.batched) {
      blame(child, index, end);
      continue;
    }
    if (!job) continue;
    if (begun[index]) fc_child_make_alone(child, job);
    else if (!requeue(child, job)) continue;
    held->job = NULL;
    fc_child_return_claim(held);
  }
}

static void fail_call(fc_child_t *child, const fc_process_end_t *end,
                      const fc_held_t *held, bool begun) {
  fc_process_host_t *host = child->host;
  fc_error_t error;
  // Cleared before the outcome is delivered, because the waiter may then use the job for
  // its next call.
  held->job->child = NULL;
  if (begun && held->sent.parts) {
    fc_pool_charge_turn(&host->base, &held->job->caller,
                        fc_clock_ns() - held->sent.sent_ns);
  }
  if (begun) {
    (void)describe_crash(
        child, end, fc_process_host_function(host, held->function), &error);
  } else {
    (void)fc_fail(&error, FC_CODE_WORKER_CRASHED,
                  "not begun: its process ended before its turn, %u times",
                  held->job->attempts + 1u);
  }
  fc_pool_fail(&host->base, held->job, begun ? FC_STAGE_CALL : FC_STAGE_QUEUE,
               &error);
}

// Settles the calls that a process had when it ended: those that are not put back fail,
// the oldest first. A waiter that is told may drop any other call. So each call stays
// with the child, where a drop finds it, until its own turn has come.
static void settle_calls(fc_child_t *child, const fc_process_end_t *end) {
  bool begun[FC_RING_SLOTS];
  put_back(child, end, begun);
  while (child->count) {
    const uint32_t index = child->first;
    fc_child_note_steps(child, index);
    const fc_held_t held = fc_child_pop(child);
    if (held.claim) fc_child_leave_claim(child, &held, begun[index]);
    if (held.job) fail_call(child, end, &held, begun[index]);
    else if (begun[index]) fc_child_charge(child, &held, true);
  }
}

static void fail_start(fc_child_t *child, const fc_process_end_t *end) {
  fc_error_t error;
  char how[160];
  describe_end(child, end, how, sizeof how);
  if (child->cause == FC_CAUSE_LOAD) {
    (void)fc_fail(&error, FC_CODE_MODULE_LOAD,
                  "loading it takes longer than %llu s",
                  (unsigned long long)(child->host->load_ns / 1000000000u));
  } else if (is_from_outside(child, end)) {
    // The module's file may not be the cause.
    (void)fc_fail(&error, FC_CODE_OUT_OF_MEMORY,
                  "while it was loaded its process was killed from outside "
                  "(SIGKILL), most likely because memory ran out");
  } else {
    (void)fc_fail(&error, FC_CODE_MODULE_LOAD, "while it was loaded it %s",
                  how);
  }
  fc_process_host_fail(child->host, &error);
}

// The sessions that have references in the process are lost, and their calls are refused.
// The sessions are told bit by bit (fc_process_hosts_collect).
static void end_home(fc_child_t *child) {
  fc_claim_t *claim;
  fc_home_end(&child->home);
  while ((claim = fc_home_pop(&child->home))) {
    fc_pool_pass_claim(child->host->base.pool, claim);
  }
}

static void settle(fc_child_t *child) {
  fc_process_host_t *host = child->host;
  const fc_process_end_t *end = &child->end;
  // A process that uses its whole time to load is a failure: otherwise others would
  // follow without a pause.
  if (child->serving && is_used_up(child, end)) child->cause = FC_CAUSE_TIME;
  host->living--;
  host->base.hosts->watched--;
  const bool used = child->cause == FC_CAUSE_USED;
  if (child->cause != FC_CAUSE_SPARE && !used) host->missing++;
  if (!child->serving) fc_process_host_count_starting(host, -1);
  bool crash = fc_causes[child->cause].crash, loaded = host->loaded;
  bool served = child->serving;
  fc_child_read_stops(child);
  if (loaded && child->cause != FC_CAUSE_RETIRED && !used) {
    note_end(child, end);
    log_end(child, end);
  }
  if (!loaded) fail_start(child, end);
  settle_calls(child, end);
  end_home(child);
  fc_child_drop_copies(child);
  fc_child_close(child);
  // Calls of the batch are judged when they are made outside it.
  if (child->batch_failed && crash) host->crashes++;
  else if (loaded && crash) note_crash(host, served);
  // A process that ended after the quarantine had begun may have put calls back into the
  // queue.
  if (host->living == 0 && host->health.quarantined_ns) {
    fc_process_host_refuse(host);
  }
  fc_process_host_fill(host);
  fc_process_host_arm(host);
}

// Finished calls of the process are still delivered. A large answer is copied in several
// turns.
void fc_child_settle(fc_child_t *child) {
  fc_child_collect(child);
  if (!child->taking.active || child->cause == FC_CAUSE_LIE) settle(child);
}

void fc_child_on_end(fc_child_t *child) {
  child->ended = true;
  child->host->cpu_ns += child->end.cpu_ns;
  // The loop may learn that the process has ended before it has read why the process
  // could not serve.
  if (!child->serving && child->cause == FC_CAUSE_NONE)
    fc_child_read_phase(child);
  fc_child_settle(child);
}
