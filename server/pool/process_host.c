// SPDX-License-Identifier: Apache-2.0
//
// The host of one generation decides how many processes it has and when the next one may
// start, from the health of its module and with one timer.
#include "pool/process_hosts.h"

#include <sys/stat.h>
#include <unistd.h>

#include "config/limits.h"
#include "pool/order.h"

#define LOOK_AGAIN_NS 1000000000u
// A call that nobody waits for usually ends soon.
#define STUCK_NS 1000000000u

// Counts processes that have had no call and are not ending, including those that start.
static uint32_t count_unused(const fc_process_host_t *host) {
  uint32_t count = 0;
  for (const fc_child_t *child = host->children; child; child = child->next) {
    count += !child->ended && child->cause == FC_CAUSE_NONE && !child->count &&
             !child->calls;
  }
  return count;
}

// Processes start one after another. With `fresh`, after the module was loaded once, as
// many start at a time as are needed to have `workers` unused ones.
static bool has_enough(const fc_process_host_t *host) {
  if (host->living >= host->most) return true;
  if (!host->fresh || !host->loaded) return host->starting;
  return count_unused(host) >= host->workers;
}

void fc_process_host_start(fc_process_host_t *host) {
  if (host->failed || host->closing || has_enough(host)) return;
  if (host->health.quarantined_ns) return;
  uint64_t now_ns = fc_clock_ns();
  if (host->health.restart_ns > now_ns) return;
  fc_error_t error;
  if (fc_child_start(host, &error) != FC_OK) {
    fc_process_host_lacks(host, &error);
  }
}

void fc_process_host_lacks(fc_process_host_t *host, const fc_error_t *error) {
  if (host->closing) return;
  if (!host->loaded) {
    fc_process_host_fail(host, error);
    return;
  }
  fc_health_delay(&host->health, fc_clock_ns());
  fc_log_field_t field = FC_LOG_TEXT("module", host->name);
  fc_log_fields(host->options->log, FC_LOG_ERROR, fc_str(error->message),
                &field, 1);
  fc_process_host_arm(host);
}

void fc_process_host_fill(fc_process_host_t *host) {
  if (host->living == 0 || (host->fresh && host->loaded)) {
    fc_process_host_start(host);
  }
}

void fc_process_host_count_starting(fc_process_host_t *host, int change) {
  host->starting += (uint32_t)change;
  fc_process_hosts_of(host)->starting += (uint32_t)change;
}

uint64_t fc_child_load_ns(const fc_child_t *child) {
  const fc_process_host_t *host = child->host;
  const uint64_t starting = fc_process_hosts_of(host)->starting;
  if (starting <= FC_LIMIT_LOAD_TOGETHER) return host->load_ns;
  return host->load_ns * starting / FC_LIMIT_LOAD_TOGETHER;
}

// Returns when to check whether the process serves. While many load, the allowed time
// changes with their number, so the host checks every LOOK_AGAIN_NS after `load_ns` has
// passed.
static uint64_t next_look_ns(const fc_child_t *child, uint64_t now_ns) {
  const uint64_t due_ns = child->started_ns + child->host->load_ns;
  return due_ns > now_ns ? due_ns : now_ns + LOOK_AGAIN_NS;
}

static void on_timer(uv_timer_t *timer) {
  fc_process_host_t *host = timer->data;
  uint64_t now_ns = fc_clock_ns();
  for (fc_child_t *child = host->children; child; child = child->next) {
    uint64_t spent_ns = now_ns - child->started_ns;
    if (!child->serving && spent_ns >= fc_child_load_ns(child)) {
      fc_child_kill(child, FC_CAUSE_LOAD);
    }
  }
  if (fc_health_recover(&host->health, now_ns)) {
    fc_log_field_t field = FC_LOG_TEXT("module", host->name);
    fc_log_fields(host->options->log, FC_LOG_WARN,
                  FC_STR("quarantine ends: trying the module again"), &field,
                  1);
  }
  fc_process_host_fill(host);
  fc_process_host_arm(host);
}

// Returns when the module, which has no process, gets one again; 0: it does not wait for
// one.
static uint64_t waits_until_ns(const fc_process_host_t *host) {
  const bool waits =
      host->living == 0 && !host->failed && !host->health.quarantined_ns;
  return waits ? host->health.restart_ns : 0;
}

void fc_process_host_arm(fc_process_host_t *host) {
  const uint64_t now_ns = fc_clock_ns();
  uint64_t due_ns = host->health.quarantined_ns;
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (child->serving || child->cause != FC_CAUSE_NONE) continue;
    due_ns = fc_earlier(due_ns, next_look_ns(child, now_ns));
  }
  due_ns = fc_earlier(due_ns, waits_until_ns(host));
  if (host->closing || uv_is_closing((uv_handle_t *)&host->timer)) return;
  if (!due_ns) {
    uv_timer_stop(&host->timer);
    return;
  }
  uint64_t left_ms = due_ns > now_ns ? (due_ns - now_ns) / 1000000u + 1 : 1;
  uv_timer_start(&host->timer, on_timer, left_ms, 0);
}

// ---------------------------------------------------------------------------

fc_str_t fc_process_host_function(const fc_process_host_t *host,
                                  uint32_t function) {
  return fc_order_function(host->module, function);
}

void fc_process_host_fail(fc_process_host_t *host, const fc_error_t *error) {
  if (host->loaded || host->failed) return;
  host->failed = true;
  fc_pool_on_host(&host->base, error);
}

fc_status_t fc_process_host_admit(const fc_host_t *base, uint32_t *out_room,
                                  uint32_t *out_retry_s, fc_error_t *err) {
  const fc_process_host_t *host = (const fc_process_host_t *)base;
  const uint32_t most =
      host->fresh ? host->workers : FC_HOST_SLOW_AHEAD * host->workers;
  *out_room = most > base->running ? most - base->running : 0;
  *out_retry_s = fc_health_retry_s(&host->health, fc_clock_ns());
  if (!*out_retry_s) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_QUARANTINED,
                 "module '%.*s' crashed %llu times, %u of them within a "
                 "minute: it is tried again in %u s",
                 FC_STR_ARG(host->name), (unsigned long long)host->crashes,
                 host->health.recent, *out_retry_s);
}

// Nothing to do: an answer is copied to the loop's blocks and files before it is
// delivered.
static void finish(fc_host_t *host, fc_job_t *job) {
  (void)host;
  (void)job;
}

static uint32_t count_stuck(const fc_process_host_t *host) {
  const uint64_t now_ns = fc_clock_ns();
  uint32_t count = 0;
  for (const fc_child_t *child = host->children; child; child = child->next) {
    const uint64_t left_ns =
        child->count ? child->held[child->first].left_ns : 0;
    count += !child->ended && left_ns && now_ns > left_ns + STUCK_NS;
  }
  return count;
}

static uint32_t count_references(const fc_process_host_t *host) {
  uint32_t count = 0;
  for (const fc_child_t *child = host->children; child; child = child->next) {
    if (!child->ended) count += child->home.class_->count(&child->home);
  }
  return count;
}

static void describe(const fc_host_t *base, fc_host_facts_t *out_facts) {
  const fc_process_host_t *host = (const fc_process_host_t *)base;
  *out_facts = (fc_host_facts_t){
      .in_process = true,
      .fresh = host->fresh,
      .sandbox = host->sandbox,
      .crashes = host->crashes,
      .restarts = host->restarts,
      .quarantines = host->quarantines,
      .quarantined_ns = host->health.quarantined_ns,
      .restart_ns = waits_until_ns(host),
      .stuck = count_stuck(host),
      .references = count_references(host),
      .crashed_ns = host->last.crashed_ns,
      .memory_ns = host->last.memory_ns,
      .budget_ns = host->last.budget_ns,
      .blamed_ns = host->blame.until_ns,
      .crash = host->last.crashed_ns ? host->last.crash : NULL};
}

static void end_workers(fc_host_t *base) {
  fc_process_host_t *host = (fc_process_host_t *)base;
  for (fc_child_t *child = host->children; child; child = child->next) {
    if (!child->ended) fc_child_kill(child, FC_CAUSE_GREED);
  }
}

static uint64_t cpu_ns(const fc_host_t *base) {
  const fc_process_host_t *host = (const fc_process_host_t *)base;
  uint64_t taken_ns = host->cpu_ns;
  for (const fc_child_t *child = host->children; child; child = child->next) {
    if (!child->ended) taken_ns += fc_process_cpu_ns(&child->process);
  }
  return taken_ns;
}

static bool worker(const fc_host_t *base, uint32_t position,
                   fc_host_worker_t *out_worker) {
  const fc_child_t *child = ((const fc_process_host_t *)base)->children;
  // Processes that do not exist yet come last.
  while (child && child->process.pid && position--) child = child->next;
  if (!child || !child->process.pid) return false;
  const char *state = "idle";
  if (child->cause != FC_CAUSE_NONE) state = "ending";
  else if (!child->serving) state = "starting";
  else if (child->count) state = "busy";
  *out_worker =
      (fc_host_worker_t){(int)child->process.pid, state, child->calls};
  return true;
}

// ---------------------------------------------------------------------------
// Beginning and end

// Loading reads the whole file for its digest, perhaps from a slow disk, so the time
// grows with the file's size.
static uint64_t load_ns(const fc_module_t *module) {
  struct stat file = {0};
  (void)fstat(fc_module_get_files(module).module, &file);
  const uint64_t mib = (uint64_t)file.st_size >> 20;
  return (FC_LIMIT_LOAD_MS + mib * FC_LIMIT_LOAD_MIB_MS) * 1000000u;
}

static fc_process_host_t *make_host(fc_pool_t *pool, fc_module_t *module,
                                    const fc_hosting_t *hosting) {
  const fc_process_options_t *options = pool->options.process;
  const fc_str_t parameters =
      fc_str(hosting->parameters ? hosting->parameters : "");
  fc_process_host_t *host =
      fc_alloc(pool->allocator, sizeof *host + parameters.size + 1);
  if (!host) return NULL;
  if (parameters.size) {
    memcpy(host->parameters, parameters.data, parameters.size);
  }
  host->options = options;
  host->module = fc_module_retain(module);
  host->name = fc_module_get_name(module);
  host->workers = hosting->workers ? hosting->workers : options->workers;
  host->tiles = hosting->tiles;
  host->heap = hosting->heap;
  host->sandbox = hosting->sandbox;
  const fc_group_limits_t *limits = &hosting->group;
  host->group.limits = *limits;
  host->group.wanted = options->groups && fc_group_limits_any(limits);
  host->group.procs = -1;
  host->most = fc_module_get_info(module)->serial ? 1 : host->workers;
  host->fresh = hosting->fresh;
  // `workers` processes run calls, as many wait for calls, and as many end.
  if (host->fresh) host->most = 3 * host->workers;
  host->load_ns = load_ns(module);
  fc_health_init(&host->health, hosting->trial ? 0 : options->crash_limit,
                 options->quarantine_ms);
  uint64_t key[2] = {fc_clock_ns(), (uintptr_t)host};
  (void)uv_random(NULL, NULL, key, sizeof key, 0, NULL);
  fc_blame_init(&host->blame, key);
  host->group.removal.context = host->timer.data = host;
  (void)uv_timer_init(options->uv, &host->timer);  // it cannot fail
  host->open = 1;
  return host;
}

// Without --sandbox=strict, a module runs without limits that cannot be set, and without
// a group if no limit can be set or the group cannot be made.
void fc_process_host_tell_lacks(fc_process_host_t *host) {
  fc_host_group_t *group = &host->group;
  fc_log_t *log = host->options->log;
  if (!group->made || group->told) return;
  group->told = true;
  for (unsigned i = 0; i < FC_GROUP_LIMITS; i++) {
    if (!group->lacks.reasons[i][0]) continue;
    const fc_log_field_t fields[] = {
        FC_LOG_TEXT("module", host->name),
        FC_LOG_TEXT("controller",
                    fc_str(fc_group_limit_name((fc_group_limit_t)i))),
        FC_LOG_TEXT("reason", fc_str(group->lacks.reasons[i]))};
    fc_log_fields(log, FC_LOG_WARN,
                  FC_STR("the module's control group lacks a limit"), fields,
                  FC_ARRAY_COUNT(fields));
  }
  if (!group->failed || host->sandbox == FC_SANDBOX_STRICT) return;
  const fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", host->name),
      FC_LOG_TEXT("reason", fc_str(group->error.message))};
  fc_log_fields(log, FC_LOG_WARN,
                FC_STR("the module goes without a control group"), fields,
                FC_ARRAY_COUNT(fields));
}

fc_nursery_t *fc_process_hosts_nursery(fc_hosts_t *hosts) {
  return &((fc_process_hosts_t *)hosts)->nursery;
}

fc_status_t fc_process_hosts_start_nursery(fc_hosts_t *hosts, fc_error_t *err) {
  fc_nursery_t *nursery = fc_process_hosts_nursery(hosts);
  const fc_pool_events_t *events = &hosts->pool->events;
  if (nursery->started) return FC_OK;
  return fc_nursery_start(nursery, events->wake, events->context, err);
}

static fc_status_t create(fc_hosts_t *hosts, uint32_t generation,
                          fc_module_t *module, const fc_hosting_t *hosting,
                          fc_host_t **out_host, fc_error_t *err) {
  FC_TRY(fc_process_hosts_start_nursery(hosts, err));
  fc_process_host_t *host = make_host(hosts->pool, module, hosting);
  if (!host) return fc_fail_memory(err);
  fc_hosts_link(hosts, generation, &host->base);
  // With `fresh` no body is in a file that processes share, because a reused file still
  // has bytes of the previous call.
  host->base.audience =
      host->fresh ? FC_AUDIENCE_NONE : fc_blocks_audience(hosts->pool->blocks);
  *out_host = &host->base;
  fc_error_t error;
  if (fc_child_start(host, &error) != FC_OK) {
    fc_process_host_fail(host, &error);
  }
  return FC_OK;
}

static void free_host(fc_process_host_t *host) {
  fc_hosts_unlink(&host->base);
  fc_blocks_disband(host->base.pool->blocks, host->base.audience);
  fc_module_release(host->module);
  fc_free(host->base.pool->allocator, host);
}

void fc_process_host_let_go(fc_process_host_t *host) {
  if (--host->open || !host->retired) return;
  if (host->group.procs >= 0) fc_cradle_remove_group(host);
  else fc_process_host_on_left(&host->group.removal);
}

void fc_process_host_on_left(fc_order_t *removal) {
  fc_process_host_t *host = removal->context;
  fc_pool_t *pool = host->base.pool;
  const uint32_t generation = host->base.generation;
  free_host(host);
  fc_pool_on_retired(pool, generation);
}

static void on_timer_closed(uv_handle_t *handle) {
  fc_process_host_let_go(handle->data);
}

static void unlist(fc_process_host_t *host) {
  fc_process_host_t **at = &fc_process_hosts_of(host)->busy;
  if (!host->busy) return;
  while (*at != host) at = &(*at)->next_busy;
  *at = host->next_busy;
}

static void retire(fc_host_t *base) {
  fc_process_host_t *host = (fc_process_host_t *)base;
  host->closing = host->retired = true;
  unlist(host);
  uv_close((uv_handle_t *)&host->timer, on_timer_closed);
  // Each child is removed when its process has ended.
  for (fc_child_t *child = host->children; child; child = child->next) {
    fc_child_kill(child, FC_CAUSE_RETIRED);
  }
}

static void destroy_host(fc_process_host_t *host) {
  host->closing = true;
  host->retired = false;  // it is freed here, not with its last child
  for (fc_child_t *child = host->children; child; child = child->next) {
    fc_process_kill(&child->cradle.process);
  }
  while (host->children) {
    fc_child_t *child = host->children;
    host->children = child->next;
    fc_child_free(child);
  }
  fc_cradle_leave_group(host);
  free_host(host);
}

static void destroy(fc_hosts_t *hosts) {
  fc_process_hosts_t *all = (fc_process_hosts_t *)hosts;
  fc_nursery_stop(&all->nursery);
  // All are freed below. No event is sent, because its receiver may add a module.
  for (fc_host_t *host = hosts->first; host; host = host->next) {
    ((fc_process_host_t *)host)->retired = false;
  }
  while (all->closed) {
    fc_child_t *child = all->closed;
    all->closed = child->next;
    fc_child_free(child);
  }
  while (hosts->first) destroy_host((fc_process_host_t *)hosts->first);
  fc_free(hosts->pool->allocator, hosts);
}

static const fc_host_class_t kClass = {.create = create,
                                       .admit = fc_process_host_admit,
                                       .offer = fc_process_host_offer,
                                       .may_join = fc_process_host_may_join,
                                       .join = fc_process_host_join,
                                       .finish = finish,
                                       .drop = fc_process_host_drop,
                                       .retire = retire,
                                       .describe = describe,
                                       .end_workers = end_workers,
                                       .cpu_ns = cpu_ns,
                                       .worker = worker,
                                       .notify = fc_process_hosts_notify,
                                       .collect = fc_process_hosts_collect,
                                       .sleep = fc_process_hosts_sleep,
                                       .wake = fc_process_hosts_wake,
                                       .expire = fc_process_hosts_expire,
                                       .look = fc_process_hosts_look,
                                       .destroy = destroy};

fc_status_t fc_process_hosts_create(fc_pool_t *pool, fc_hosts_t **out_hosts,
                                    fc_error_t *err) {
  fc_process_hosts_t *all = fc_alloc(pool->allocator, sizeof *all);
  if (!all) return fc_fail_memory(err);
  all->base = (fc_hosts_t){.class_ = &kClass, .pool = pool};
  fc_cradles_init(all);
  *out_hosts = &all->base;
  return FC_OK;
}
