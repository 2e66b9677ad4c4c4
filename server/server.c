// SPDX-License-Identifier: Apache-2.0
//
// Makes the loop, sets its one timer for the time-outs of connections, calls and modules,
// and hands calls over to the pool together, once a turn.
#include "server.h"

#include <signal.h>
#include <stdio.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/quota.h"
#include "config/limits.h"
#include "config/table.h"
#include "descriptors.h"
#include "drain.h"
#include "empty.h"
#include "listen/accept.h"
#include "listen/endpoints.h"
#include "modules/act.h"
#include "modules/demand.h"
#include "modules/rollback.h"
#include "modules/trial.h"
#include "named.h"
#include "pool/order.h"
#include "reread.h"
#include "sessions.h"
#include "signals.h"
#include "watching.h"

#define NS_PER_MS 1000000u
// The most bytes of blocks that are kept for reuse.
#define KEPT_BLOCKS (128u << 20)
// The largest block that is kept when the server is idle.
#define KEPT_WHEN_IDLE (64u << 10)

// ---------------------------------------------------------------------------
// The clock and the timer

static uint64_t now_ms(void *context) {
  const fc_loop_t *loop = context;
  return uv_now(&loop->uv);
}

static void on_timer(uv_timer_t *timer) {
  fc_loop_t *loop = timer->data;
  loop->timer_due_ms = UINT64_MAX;
  fc_http1_expire(&loop->http1);
  fc_pool_expire(&loop->pool, fc_clock_ns());
  fc_demand_expire(&loop->modules, fc_clock_ns());
  fc_loop_look_at_sessions(loop, fc_clock_ns());
}

// Converts `due_ns`, a time of our clock, to the millisecond of libuv's time by which it
// has passed. The result is at least the next millisecond, so that the loop does not spin
// when `due_ns` is past.
static uint64_t passed_ms(const fc_loop_t *loop, uint64_t due_ns) {
  const uint64_t now_ns = fc_clock_ns();
  const uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
  return uv_now(&loop->uv) + left_ns / NS_PER_MS + 1;
}

// Sets the timer to the next time-out if that comes before the timer's present time. So
// most requests touch neither the timer nor the clock.
static void arm_timer(fc_loop_t *loop) {
  uint64_t now = uv_now(&loop->uv);
  uint64_t due = fc_http1_due_ms(&loop->http1);
  const uint64_t demand_ns = fc_demand_due_ns(&loop->modules);
  // libuv uses the same clock (CLOCK_MONOTONIC), but in milliseconds, and its time stands
  // still during a turn. So passed_ms reads the clock: a time-out counted from the start
  // of the turn would come too late by the turn's duration.
  uint64_t due_ns = fc_pool_due_ns(&loop->pool, now * NS_PER_MS);
  if (demand_ns && (!due_ns || demand_ns < due_ns)) due_ns = demand_ns;
  const uint64_t sessions_ns = fc_loop_sessions_due_ns(loop);
  if (sessions_ns && (!due_ns || sessions_ns < due_ns)) due_ns = sessions_ns;
  if (due_ns && due_ns / NS_PER_MS + 1 < loop->timer_due_ms) {
    const uint64_t at = passed_ms(loop, due_ns);
    if (at < due) due = at;
  }
  if (due >= loop->timer_due_ms) return;
  loop->timer_due_ms = due;
  uv_timer_start(&loop->timer, on_timer, due > now ? due - now : 0, 0);
}

// ---------------------------------------------------------------------------
// Each turn of the loop

static void on_bell(uv_async_t *bell) {
  fc_loop_t *loop = bell->data;
  fc_pool_collect(&loop->pool, true);
}

static void wake(void *context) {
  fc_loop_t *loop = context;
  uv_async_send(&loop->bell);
}

static void hand_over(fc_loop_t *loop) {
  fc_pool_collect(&loop->pool, false);
  fc_pool_flush(&loop->pool);
}

static void on_awake(uv_check_t *awake) {
  fc_loop_t *loop = awake->data;
  fc_pool_wake(&loop->pool);
}

static void on_busy(uv_idle_t *busy) { (void)busy; }

// Runs once a turn, before the loop waits for events: hands over the calls of the turn,
// and does the other work of each turn.
static void on_turn(uv_prepare_t *turn) {
  fc_loop_t *loop = turn->data;
  fc_exchange_write_part(&loop->server);
  fc_exchange_tell_watchers(&loop->server);
  const bool more = fc_http1_go_on(&loop->http1);
  hand_over(loop);
  if (fc_http2_is_unsent(&loop->http2)) {
    fc_http2_send_all(&loop->http2);
    hand_over(loop);
  }
  bool quiet = fc_pool_sleep(&loop->pool);
  if (!quiet) {
    hand_over(loop);
    quiet = fc_pool_sleep(&loop->pool);
  }
  if (loop->server.drafts) quiet = false;  // documents have more parts
  if (more) quiet = false;                 // pipelined requests wait
  if (fc_http2_is_unsent(&loop->http2)) quiet = false;
  if (loop->server.connections == 0 && loop->modules.started) {
    fc_blocks_trim(loop->blocks, KEPT_WHEN_IDLE);
  }
  if (fc_blocks_release(loop->blocks, FC_LIMIT_RELEASE)) quiet = false;
  // The loop polls for events without waiting while there is more work: finished calls to
  // collect, further parts of documents, pipelined requests, or memory to give back. That
  // work goes on in the next turn, and sockets are handled in between.
  if (quiet) uv_idle_stop(&loop->busy);
  else uv_idle_start(&loop->busy, on_busy);
  arm_timer(loop);
  fc_otlp_turn(&loop->otlp);
  if (loop->log.size) fc_log_flush(&loop->log);
  if (loop->notify.reloading && !fc_modules_is_acting(&loop->modules)) {
    fc_notify_ready(&loop->notify);
  }
  fc_loop_check_drained(loop);
}

// ---------------------------------------------------------------------------
// Loading modules

static fc_module_options_t module_options(fc_loop_t *loop) {
  const fc_server_options_t *options = loop->options;
  size_t count = 0;
  if (options->vm_state != FC_VM_STATE_AUTO) {
    loop->settings[count++] =
        (fc_setting_t){FC_STR("vm.state"),
                       fc_choice_word(FC_WORDS(VM_STATE), options->vm_state)};
  }
  return (fc_module_options_t){.forbid_native = options->no_native_kernels,
                               .describe_native = true,
                               .settings = loop->settings,
                               .setting_count = count,
                               .hash_max = FC_LIMIT_HASH_AT_ONCE,
                               .admit = *options->trust ? fc_trust_admit : NULL,
                               .admit_context = &loop->trust};
}

// Called when the start is over: every module can be called, or will be loaded when it is
// asked for, or has failed.
static void on_started(void *context) {
  fc_loop_t *loop = context;
  const bool strict = loop->modules.any_failed && loop->options->strict_load;
  if (strict || fc_loop_is_for_nothing(loop)) {
    loop->exit_code = 65;
    fc_log(&loop->log, FC_LOG_ERROR, "ending with status 65: %s",
           strict ? "--strict-load, and a module could not be loaded"
                  : "no PATH is a module, and without --allow-empty, --watch, "
                    "--load=demand or --admin none can come");
    fc_loop_drain(loop);
    return;
  }
  fc_named_tell(loop);
  fc_endpoints_open(&loop->endpoints);
  for (uint32_t i = 0; i < loop->endpoints.count; i++) {
    const fc_endpoint_t *endpoint = &loop->endpoints.rows[i];
    fc_notify_at(&loop->notify, fc_endpoint_scheme(endpoint), endpoint->host,
                 endpoint->port);
  }
  fc_notify_ready(&loop->notify);
  // Writes the log now: the probe of the jail may still run.
  fc_log_flush(&loop->log);
  fc_jailing_settle(&loop->jail);
}

static bool is_own(const fc_job_t *job) {
  return job->call.flags & FC_CALL_OWN;
}

static void on_done(void *context, fc_job_t *job) {
  fc_loop_t *loop = context;
  if (is_own(job)) fc_trial_on_done(&loop->modules, job);
  else fc_exchange_on_done(loop, job);
}

static void on_expired(void *context, fc_job_t *job) {
  fc_loop_t *loop = context;
  if (is_own(job)) fc_trial_on_expired(&loop->modules, job);
  else fc_exchange_on_expired(loop, job);
}

static void on_added(void *context, uint32_t generation,
                     const fc_error_t *error) {
  fc_loop_t *loop = context;
  fc_modules_on_added(&loop->modules, generation, error);
}

static void on_retired(void *context, uint32_t generation) {
  fc_loop_t *loop = context;
  fc_modules_on_retired(&loop->modules, generation);
}

static void on_crashed(void *context, uint32_t generation, uint64_t crashes,
                       uint64_t calls, bool quarantined) {
  fc_loop_t *loop = context;
  fc_rollback_on_crash(&loop->modules, generation, crashes, calls, quarantined);
}

static void on_lost(void *context, uint32_t index, uint32_t function) {
  fc_loop_t *loop = context;
  const fc_generation_t *generation =
      fc_generations_at(&loop->modules.generations, index);
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", generation->claim.name),
      FC_LOG_TEXT("function", fc_order_function(generation->module, function)),
      FC_LOG_NUMBER("lost", fc_pool_lost_threads(&loop->pool)),
      FC_LOG_NUMBER("threads", fc_pool_threads(&loop->pool)),
  };
  fc_log_fields(&loop->log, FC_LOG_ERROR,
                FC_STR("a thread is lost: its native call does not end"),
                fields, FC_ARRAY_COUNT(fields));
}

static void on_unlike(void *context, uint32_t index, uint32_t function) {
  fc_loop_t *loop = context;
  const fc_generation_t *generation =
      fc_generations_at(&loop->modules.generations, index);
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", generation->claim.name),
      FC_LOG_TEXT("function", fc_order_function(generation->module, function)),
  };
  fc_log_fields(&loop->log, FC_LOG_ERROR,
                FC_STR("a call had another result with others than by itself: "
                       "calls and rows are no longer computed together"),
                fields, FC_ARRAY_COUNT(fields));
}

// Returns how many connections may be open. Each takes a descriptor, and `reserved_files`
// descriptors are kept for other uses. If the limit of descriptors is not known, the
// result is 64. The kernel watches each connection, and libuv ends the process if the
// kernel refuses. So half of what the kernel may watch for one user is left to other
// processes.
static uint32_t connection_max(const fc_loop_t *loop) {
  const uint64_t wanted = loop->options->connections;
  const uint64_t reserved = loop->reserved_files;
  const uint64_t files = fc_descriptors_raise(wanted + reserved);
  if (!files) return 64;
  uint64_t most = files > reserved ? files - reserved : 1;
  if (loop->watches && loop->watches / 2 < most) most = loop->watches / 2;
  return (uint32_t)(wanted < most ? wanted : most);
}

static uint32_t files_of(const fc_loop_t *loop,
                         const fc_generation_t *generation) {
  const uint32_t workers = generation->policy->workers
                               ? (uint32_t)generation->policy->workers
                               : loop->processes.workers;
  if (!generation->in_process) return FC_LIMIT_MODULE_FILES;
  return FC_LIMIT_MODULE_FILES + workers * FC_LIMIT_WORKER_FILES;
}

// Called when one more module holds open files.
static void on_opened(void *context, fc_generation_t *generation) {
  fc_loop_t *loop = context;
  generation->loading.files = files_of(loop, generation);
  loop->reserved_files += generation->loading.files;
  loop->server.connection_max = connection_max(loop);
}

static void on_closed(void *context, fc_generation_t *generation) {
  fc_loop_t *loop = context;
  loop->reserved_files -= generation->loading.files;
  loop->server.connection_max = connection_max(loop);
}

static void on_loader_bell(uv_async_t *bell) {
  fc_loop_t *loop = bell->data;
  fc_modules_collect(&loop->modules);
}

static void wake_for_loader(void *context) {
  fc_loop_t *loop = context;
  uv_async_send(&loop->loader_bell);
}

static fc_status_t init_trust(fc_loop_t *loop, fc_error_t *err) {
  const char *file = loop->options->trust;
  if (!*file) return FC_OK;
  fc_trust_init(&loop->trust, file);
  FC_TRY(fc_trust_read(&loop->trust, err));
  fc_log(&loop->log, FC_LOG_INFO, "%s has %u sums of files that may be loaded",
         file, fc_trust_count(&loop->trust));
  return FC_OK;
}

static fc_status_t init_modules(fc_loop_t *loop, fc_error_t *err) {
  const fc_server_options_t *wanted = loop->options;
  FC_TRY(init_trust(loop, err));
  const fc_modules_options_t options = {
      .backends = loop->backends,
      .open = module_options(loop),
      .pool = &loop->pool,
      .dialect = FC_DIALECT_NATIVE,
      .body_max = wanted->max_body,
      .log = &loop->log,
      .demand = wanted->load == FC_LOAD_ON_DEMAND,
      .heap = fc_quota_memory_here() / 2,
      .memory = wanted->module_memory,
      .idle_ms = wanted->idle_unload,
      .series = (uint32_t)wanted->metrics_functions,
      .state_dir = fc_str(wanted->state_dir),
      .policies = &loop->policies};
  const fc_modules_events_t events = {.wake = wake_for_loader,
                                      .on_opened = on_opened,
                                      .on_closed = on_closed,
                                      .on_replacing = fc_loop_pass_sessions,
                                      .on_started = on_started,
                                      .context = loop};
  return fc_modules_init(&loop->modules, loop->allocator, &options, &events,
                         err);
}

// ---------------------------------------------------------------------------
// Starting the loop

// Some handles need a descriptor, so this can fail.
static fc_status_t init_handles(fc_loop_t *loop, fc_error_t *err) {
  uv_loop_t *uv = &loop->uv;
  uv_prepare_init(uv, &loop->turn);
  uv_check_init(uv, &loop->awake);
  uv_idle_init(uv, &loop->busy);
  uv_timer_init(uv, &loop->timer);
  fc_notify_init(&loop->notify, uv);
  int failed = uv_async_init(uv, &loop->bell, on_bell);
  if (!failed) failed = uv_async_init(uv, &loop->loader_bell, on_loader_bell);
  if (!failed) failed = fc_loop_init_drain(loop);
  if (!failed) failed = fc_loop_init_signals(loop);
  loop->bell.data = loop->loader_bell.data = loop;
  loop->turn.data = loop->awake.data = loop->timer.data = loop;
  if (!failed) return FC_OK;
  return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot watch for events: %s",
                 uv_strerror(failed));
}

static fc_status_t start_handles(fc_loop_t *loop, fc_error_t *err) {
  FC_TRY(fc_loop_watch_signals(loop, err));
  // These fail only without a callback.
  uv_prepare_start(&loop->turn, on_turn);
  uv_check_start(&loop->awake, on_awake);
  FC_TRY(fc_modules_start(&loop->modules, loop->options->paths,
                          loop->options->path_count, err));
  return fc_loop_watch_files(loop, err);
}

static uint64_t default_memory(void) {
  const uint64_t total = fc_quota_memory_here();
  return total / 4 < 1u << 30 ? total / 4 : 1u << 30;
}

static fc_status_t init_memory(fc_loop_t *loop, int log_descriptor,
                               fc_error_t *err) {
  const fc_server_options_t *options = loop->options;
  bool json =
      options->log_format == FC_LOG_FORMAT_JSON ||
      (options->log_format == FC_LOG_FORMAT_AUTO && !isatty(log_descriptor));
  FC_TRY(fc_log_init(&loop->log, loop->allocator, log_descriptor, json, err));
  FC_TRY(
      fc_module_policies_init(&loop->policies, loop->allocator, options, err));
  uint32_t user, group;
  FC_TRY(fc_jailing_user(options, &user, &group, err));
  fc_jailing_begin(&loop->jail, &loop->policies, user, &loop->log);
  uint64_t memory =
      options->max_memory ? options->max_memory : default_memory();
  const uint64_t kept = memory < KEPT_BLOCKS ? memory : KEPT_BLOCKS;
  FC_TRY(fc_blocks_create(loop->allocator, memory, kept, &loop->blocks, err));
  fc_blocks_set_share(loop->blocks, options->client_memory
                                        ? options->client_memory
                                        : memory / 2);
  const uint32_t cpus = fc_quota_cpus("", uv_available_parallelism());
  const uint32_t workers = options->workers ? (uint32_t)options->workers : cpus;
  const uint32_t queue = fc_pool_queue_limit(options->queue, workers);
  const uint32_t tiles =
      options->tiles < FC_TILES_MAX ? (uint32_t)options->tiles : FC_TILES_MAX;
  loop->processes = (fc_process_options_t){
      .uv = &loop->uv,
      .log = &loop->log,
      .program = options->worker_program,
      .groups = &loop->groups,
      .jail = fc_jailing_know,
      .jail_context = &loop->jail,
      .setup = {.body_size = options->max_body,
                .result_size = fc_limits_default().result_size,
                .call_memory = memory,
                .state_size = fc_loop_session_memory(options, memory),
                .memory_limit = options->worker_memory,
                .cpu_limit_s = (options->worker_cpu_time + 999) / 1000,
                .spin_ns = cpus > 1 ? FC_LIMIT_SPIN_NS : 0,
                .forbid_native = options->no_native_kernels,
                .guard = (uint8_t)options->guard,
                .tiles = (uint8_t)tiles,
                .user = user,
                .group = group},
      .workers = workers,
      .crash_limit = (uint32_t)options->crash_limit,
      .quarantine_ms = options->quarantine,
      .kill_dropped = options->cancel == FC_CANCEL_KILL};
  fc_pool_options_t pool = {.workers = workers,
                            .queue_limit = queue,
                            .client_calls = &loop->server.client_calls,
                            .flow_key = fc_clock_ns(),
                            .load_ms = FC_LIMIT_LOAD_MS,
                            .lane = (fc_lane_t)options->lane,
                            .guard = (fc_guard_policy_t)options->guard,
                            .tiles = tiles,
                            .process = &loop->processes};
  (void)uv_random(NULL, NULL, &pool.flow_key, sizeof pool.flow_key, 0, NULL);
  const fc_pool_events_t events = {.wake = wake,
                                   .on_done = on_done,
                                   .on_expired = on_expired,
                                   .on_added = on_added,
                                   .on_retired = on_retired,
                                   .on_crashed = on_crashed,
                                   .on_lost = on_lost,
                                   .on_unlike = on_unlike,
                                   .context = loop};
  FC_TRY(fc_pool_init(&loop->pool, loop->allocator, &pool, loop->blocks,
                      loop->dialects, &events, err));
  fc_loop_init_sessions(loop, memory);
  return FC_OK;
}

static fc_status_t init_traces(fc_loop_t *loop, fc_error_t *err) {
  static const char *const kStages[] = {
#define FC_STAGE(name, text) text,
#include "pool/stage.def"
#undef FC_STAGE
  };
  const fc_server_options_t *options = loop->options;
  fc_collector_t collector;
  FC_TRY(fc_collector_parse(fc_str(options->otlp), &collector, err));
  if (!collector.host[0]) return FC_OK;
  FC_TRY(fc_otlp_init(&loop->otlp, &loop->uv, loop->allocator, &collector,
                      kStages, &loop->log, err));
  loop->server.spans = &loop->otlp.spans;
  return fc_ratio_parse(fc_str(options->trace_sample),
                        &loop->server.trace_ratio, err);
}

// Call it when the endpoints are set up: it reads their policies and their number.
static fc_status_t init_requests(fc_loop_t *loop, const fc_routes_t *routes,
                                 fc_error_t *err) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  loop->server =
      (fc_server_t){.routes = routes,
                    .options = loop->options,
                    .modules = &loop->modules,
                    .pool = &loop->pool,
                    .sessions = &loop->sessions,
                    .blocks = loop->blocks,
                    .log = &loop->log,
                    .jail = &loop->jail.facts,
                    .groups = &loop->groups,
                    .tls = &loop->endpoints.tls.counts,
                    .client_calls = {.allocator = loop->allocator},
                    .client_connections = {.allocator = loop->allocator},
                    .started_ns = fc_clock_ns(),
                    .started_unix_ns = (uint64_t)now.tv_sec * 1000000000u +
                                       (uint64_t)now.tv_nsec};
  FC_TRY(init_traces(loop, err));
  for (uint32_t i = 0; i < loop->endpoints.count; i++) {
    const fc_endpoint_t *row = &loop->endpoints.rows[i];
    if (!row->own && fc_policy_has_admin(&row->policy)) {
      loop->server.may_grow = true;
    }
  }
  loop->server.may_grow |= loop->options->load == FC_LOAD_ON_DEMAND;
  uint64_t *state = &loop->server.id_state;
  if (uv_random(NULL, NULL, state, sizeof *state, 0, NULL)) {
    *state = loop->server.started_ns;
  }
  loop->server.instance = fc_trace_random(state);
  FC_TRY(fc_http1_init(&loop->http1, loop->allocator, &loop->server, now_ms,
                       loop, err));
  FC_TRY(fc_http2_init(&loop->http2, &loop->http1, err));
  loop->reserved_files =
      FC_LIMIT_RESERVED_FILES + 2u * (loop->endpoints.count - 1);
  loop->server.connection_max = connection_max(loop);
  return FC_OK;
}

static void on_abort(int number) {
  static const char kText[] =
      "farcalld: cannot start: no memory, descriptor or thread is left\n";
  (void)number;
  ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  (void)written;
  _exit(EX_OSERR);
}

// libuv calls abort() if it has no memory, descriptor or thread. During its set-up a
// handler of SIGABRT reports this before the process ends. No module is loaded yet, so no
// module can raise the signal.
static fc_status_t init_watched(fc_loop_t *loop, fc_error_t *err) {
  const struct sigaction told = {.sa_handler = on_abort};
  struct sigaction before;
  sigaction(SIGABRT, &told, &before);
  fc_status_t status = fc_descriptors_open_loop(loop, err);
  const bool begun = status == FC_OK;
  if (begun) status = init_handles(loop, err);
  if (status == FC_OK) status = fc_endpoints_listen(&loop->endpoints, err);
  sigaction(SIGABRT, &before, NULL);
  if (begun && status != FC_OK) fc_loop_deinit(loop);
  return status;
}

fc_status_t fc_loop_init(fc_loop_t *loop, fc_allocator_t allocator,
                         const fc_server_options_t *options,
                         const fc_backend_t *const *backends,
                         const fc_routes_t *routes, int log_descriptor,
                         fc_error_t *err) {
  *loop = (fc_loop_t){.allocator = allocator,
                      .live = *options,
                      .backends = backends,
                      .timer_due_ms = UINT64_MAX};
  loop->options = &loop->live;
  loop->endpoints = (fc_endpoints_t){.uv = &loop->uv,
                                     .allocator = allocator,
                                     .options = loop->options,
                                     .log = &loop->log,
                                     .http1 = &loop->http1,
                                     .server = &loop->server};
  fc_dialect_workers(routes, loop->dialects);
  FC_TRY(init_watched(loop, err));
  fc_status_t status = init_memory(loop, log_descriptor, err);
  if (status == FC_OK) status = init_modules(loop, err);
  if (status == FC_OK) status = init_requests(loop, routes, err);
  if (status == FC_OK)
    fc_jailing_open_groups(&loop->policies, &loop->log, &loop->groups);
  if (status == FC_OK)
    status = fc_jailing_check_policies(&loop->policies, &loop->jail.facts, err);
  if (status == FC_OK) status = start_handles(loop, err);
  if (status != FC_OK) fc_loop_deinit(loop);
  return status;
}

int fc_loop_run(fc_loop_t *loop) {
  uv_run(&loop->uv, UV_RUN_DEFAULT);
  return loop->exit_code;
}

void fc_loop_deinit(fc_loop_t *loop) {
  fc_endpoints_close(&loop->endpoints);
  // The modules stop before the handles are closed, because the loader wakes the loop
  // through a handle.
  fc_modules_stop(&loop->modules);
  fc_loop_close_handles(loop);
  uv_run(&loop->uv, UV_RUN_DEFAULT);
  fc_endpoints_deinit(&loop->endpoints);
  fc_pool_deinit(&loop->pool);
  fc_loop_deinit_sessions(loop);
  uv_loop_close(&loop->uv);
  fc_modules_deinit(&loop->modules);
  fc_trust_deinit(&loop->trust);
  fc_blocks_destroy(loop->blocks);
  fc_module_policies_deinit(&loop->policies);
  fc_jail_forget(&loop->jail.facts);
  fc_reread_free(loop);
  fc_watch_close(&loop->watch);
  fc_http2_deinit(&loop->http2);
  fc_http1_deinit(&loop->http1);
  fc_owners_deinit(&loop->server.client_calls);
  fc_owners_deinit(&loop->server.client_connections);
  fc_guesses_destroy(loop->server.guesses);
  fc_notify_deinit(&loop->notify);
  fc_otlp_deinit(&loop->otlp);
  fc_log_deinit(&loop->log);
}
