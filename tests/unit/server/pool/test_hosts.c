// SPDX-License-Identifier: Apache-2.0
//
// One table of calls through both hosts of the worker loop: threads that share the
// loop's region, and worker processes (this program again) with regions of their own.
// The outcomes in the slots must be the same, bit for bit.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "abi/render.h"
#include "dialect/native.h"
#include "helpers/files.h"
#include "helpers/test.h"
#include "marshal/batch.h"
#include "modules/demand.h"
#include "modules/modules.h"
#include "modules/trial.h"
#include "pool/handoff.h"
#include "pool/isolation.h"
#include "pool/module_queue.h"
#include "pool/process_hosts.h"
#include "pool/process_main.h"
#include "pool/shared.h"
#include "pool/threads_hosts.h"
#include "pool/turn.h"
#include "pool/worker.h"
#include "state/session.h"

#define NATIVE FARCALL_BUILD_DIR "/tests/modules/native/"
#define CORPUS FARCALL_SOURCE_DIR "/tests/corpus/"

#define ENDLESS_MS 50

static const struct {
  const char *path;
  uint32_t timeout_ms;
} kModules[] = {
    {NATIVE "scalars.so", 60000},
    {NATIVE "owner.so", 60000},
    {NATIVE "conventions.so", 60000},
    {NATIVE "hostile.so", 60000},
    {NATIVE "undefined.so", 0},  // cannot be loaded
    {CORPUS "vm/ops.vmfb", 60000},
    {CORPUS "vm/endless.vmfb", ENDLESS_MS},
    {CORPUS "iree/releases/scalars-3.13.0.vmfb", 60000},
    {CORPUS "iree/releases/versions-3.13.0-vmvx.vmfb", 60000},
    {FC_TEST_NATIVE "/releases/versions-3.13.0-llvm-cpu.vmfb", 60000},
};

static fc_backend_t late;   // of bytecode, see below
static fc_backend_t stuck;  // of machine code, see below
static const fc_backend_t *const kBackends[] = {&stuck, &late, NULL};
static const fc_dialect_worker_t *dialects[FC_DIALECTS_MAX];

// A worker is told the hash of its module's file and must not compute it. So the
// process ends if it hashes more bytes at once than a signature can have. (The program
// is linked with --wrap.)
#define SIGNATURE_MAX ((size_t)16 << 10)  // less than any of the .so above
static bool is_worker;

void __real_nettle_sha256_update(void *context, size_t size,
                                 const uint8_t *data);
void __wrap_nettle_sha256_update(void *context, size_t size,
                                 const uint8_t *data);
void __wrap_nettle_sha256_update(void *context, size_t size,
                                 const uint8_t *data) {
  if (is_worker && size >= SIGNATURE_MAX) abort();
  __real_nettle_sha256_update(context, size, data);
}

// `ahead_ns`: how far the clock is ahead of the system's. `stopped_ns`: if not 0, the
// clock stands at this time. (The program is linked with --wrap.)
static _Atomic uint64_t ahead_ns, stopped_ns;

uint64_t __real_fc_clock_ns(void);
uint64_t __wrap_fc_clock_ns(void);
uint64_t __wrap_fc_clock_ns(void) {
  const uint64_t ns = atomic_load(&stopped_ns);
  return ns ? ns : __real_fc_clock_ns() + atomic_load(&ahead_ns);
}

// With `is_slow`, a new process takes long to make: the thread that makes it waits
// until the test lets it go on. It must not be the loop's thread. (The program is
// linked with --wrap.)
static pthread_t loop_thread;
static _Atomic bool is_slow;
static _Atomic int spawn_error;
static sem_t spawning, spawn_gate;

// The next `doomed` processes of scalars.so fail: with `doom_error` they cannot be
// made; without, they are killed while they load.
#define DOOMED "it is killed while it loads"
static _Atomic int doomed, doom_error;
static _Atomic uint32_t spawns;  // of scalars.so

int __real_posix_spawn(pid_t *pid, const char *path,
                       const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[],
                       char *const environment[]);
int __wrap_posix_spawn(pid_t *pid, const char *path,
                       const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[],
                       char *const environment[]);
int __wrap_posix_spawn(pid_t *pid, const char *path,
                       const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[],
                       char *const environment[]) {
  if (pthread_equal(pthread_self(), loop_thread)) abort();
  if (atomic_load(&is_slow)) {
    sem_post(&spawning);
    sem_wait(&spawn_gate);
  }
  const int error = atomic_exchange(&spawn_error, 0);
  if (error) return error;
  static char reason[] = DOOMED;
  char *killed[] = {argv[0], argv[1], argv[2], argv[3], reason, NULL};
  const bool scalars = fc_str_ends(fc_str(argv[2]), FC_STR("/scalars.so"));
  if (scalars) atomic_fetch_add(&spawns, 1);
  if (!scalars || atomic_load(&doomed) == 0) {
    return __real_posix_spawn(pid, path, actions, attributes, argv,
                              environment);
  }
  atomic_fetch_sub(&doomed, 1);
  if (atomic_load(&doom_error)) return atomic_load(&doom_error);
  const int failed =
      __real_posix_spawn(pid, path, actions, attributes, killed, environment);
  if (!failed) kill(*pid, SIGKILL);
  return failed;
}

// Giving back memory of files may take as long as a module likes, so it must not happen
// on the loop's thread. (The program is linked with --wrap.)
static _Atomic unsigned holes;
static _Atomic bool
    is_filling;  // each waits for `hole_gate`, as behind such a module
static sem_t hole_gate;

int __real_fallocate(int file, int mode, off_t at, off_t size);
int __wrap_fallocate(int file, int mode, off_t at, off_t size);
int __wrap_fallocate(int file, int mode, off_t at, off_t size) {
  if (pthread_equal(pthread_self(), loop_thread)) abort();
  atomic_fetch_add(&holes, 1);
  if (atomic_load(&is_filling)) sem_wait(&hole_gate);
  return __real_fallocate(file, mode, at, size);
}

// ---------------------------------------------------------------------------
// A loop with nothing but a pool

typedef struct house_t {
  fc_test_allocator_t memory;
  uv_loop_t uv;
  fc_log_t log;
  int sink;  // of the log
  fc_blocks_t *blocks;
  fc_isolation_mode_t host;
  fc_module_policies_t policies;
  fc_modules_t modules;
  fc_process_options_t processes;
  fc_pool_t pool;
  bool alone;        // the test adds to the pool itself, not by house.modules
  uint32_t opening;  // generations added and without a worker so far
  uint32_t retired;  // the generation that was retired last
  fc_error_t error;  // of the last one that could not be added
  bool may_lose;     // a thread may be lost
  fc_job_t *done;
  bool expired;  // a call has expired in the queue
  // Called when a call has ended. True: the call is this function's, and is not noted
  // in `done`. May be NULL.
  bool (*hear)(struct house_t *house, fc_job_t *job);
} house_t;

static void wake(void *context) { (void)context; }

// This call is dropped as soon as the outcome of any other call is reported. Its memory
// is then overwritten, as if it were reused.
static fc_job_t *other;

static void drop_other(house_t *house) {
  if (!other) return;
  fc_pool_drop(&house->pool, other);
  memset(other, 0x5A, sizeof *other);
  other = NULL;
}

static void on_done(void *context, fc_job_t *job) {
  house_t *house = context;
  drop_other(house);
  if (job->call.flags & FC_CALL_OWN) fc_trial_on_done(&house->modules, job);
  else if (!house->hear || !house->hear(house, job)) house->done = job;
}

// Called when a call has expired in the queue. That may happen here: a process that
// replaces one killed for a deadline may need longer than that deadline to start.
static void on_expired(void *context, fc_job_t *job) {
  house_t *house = context;
  fc_block_give(house->blocks, job->call.body.block);
  house->expired = true;
  drop_other(house);
}

static void on_added(void *context, uint32_t module, const fc_error_t *error) {
  house_t *house = context;
  if (!house->alone) {
    fc_modules_on_added(&house->modules, module, error);
    return;
  }
  house->opening--;
  if (error) house->error = *error;
}

static void on_retired(void *context, uint32_t module) {
  house_t *house = context;
  house->retired = module;
  if (!house->alone) fc_modules_on_retired(&house->modules, module);
}

static void on_started(void *context) { (void)context; }

static void on_lost(void *context, uint32_t module, uint32_t function) {
  house_t *house = context;
  if (house->may_lose) return;
  fail_msg("module %u, function %u: the thread is lost", module, function);
}

// Does the rest of what a server's loop does in a turn.
static void turn(house_t *house) {
  fc_pool_flush(&house->pool);
  uv_run(&house->uv, UV_RUN_NOWAIT);
  fc_pool_collect(&house->pool, true);
  fc_modules_collect(&house->modules);
  fc_demand_expire(&house->modules, fc_clock_ns());
  fc_pool_expire(&house->pool, fc_clock_ns());
}

static const fc_generation_t *generation_at(const house_t *house,
                                            uint32_t index) {
  const fc_generation_t *generation =
      fc_generations_at(&house->modules.generations, index);
  assert_non_null(generation);
  return generation;
}

static const char *parameters = "";
static bool on_demand;

static void load(house_t *house, fc_allocator_t allocator, bool describe) {
  fc_error_t error;
  const char *paths[FC_ARRAY_COUNT(kModules)];
  const fc_modules_options_t options = {.backends = kBackends,
                                        .open.describe_native = describe,
                                        .pool = &house->pool,
                                        .dialect = FC_DIALECT_NATIVE,
                                        .body_max = 1u << 16,
                                        .log = &house->log,
                                        .demand = on_demand,
                                        .policies = &house->policies};
  const fc_modules_events_t events = {
      .wake = wake, .on_started = on_started, .context = house};
  fc_server_options_t server;
  fc_server_options_init(&server);
  server.isolation = house->host;
  server.parameters = parameters;
  assert_int_equal(
      fc_module_policies_init(&house->policies, allocator, &server, &error),
      FC_OK);
  assert_int_equal(
      fc_modules_init(&house->modules, allocator, &options, &events, &error),
      FC_OK);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kModules); i++) {
    paths[i] = kModules[i].path;
  }
  assert_int_equal(fc_modules_start(&house->modules, paths,
                                    FC_ARRAY_COUNT(kModules), &error),
                   FC_OK);
  while (!house->modules.started) turn(house);
  // One more generation may exist: another try of a module that failed.
  assert_in_range(house->modules.generations.used, FC_ARRAY_COUNT(kModules),
                  FC_ARRAY_COUNT(kModules) + 1);
}

static uint32_t processes_of_each = 1;

static void enter(house_t *house, fc_isolation_mode_t host,
                  uint32_t crash_limit) {
  *house = (house_t){.host = host};
  fc_allocator_t allocator = fc_test_allocator_init(&house->memory, 0);
  fc_error_t error;
  assert_int_equal(uv_loop_init(&house->uv), 0);
  house->sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
  assert_int_equal(
      fc_log_init(&house->log, allocator, house->sink, false, &error), FC_OK);
  assert_int_equal(
      fc_blocks_create(allocator, 1u << 30, 1u << 20, &house->blocks, &error),
      FC_OK);
  house->processes = (fc_process_options_t){
      .uv = &house->uv,
      .log = &house->log,
      .program = "/proc/self/exe",
      .setup = {.body_size = FC_LIMIT_SHARED,
                .result_size = fc_limits_default().result_size},
      .workers = processes_of_each,
      .crash_limit = crash_limit,
      .quarantine_ms = 60000};
  const fc_pool_options_t options = {.workers = 1,
                                     .queue_limit = 8,
                                     .load_ms = 60000,
                                     .lane = FC_LANE_NEVER,
                                     .process = &house->processes};
  const fc_pool_events_t events = {.wake = wake,
                                   .on_done = on_done,
                                   .on_expired = on_expired,
                                   .on_added = on_added,
                                   .on_retired = on_retired,
                                   .on_lost = on_lost,
                                   .context = house};
  assert_int_equal(fc_pool_init(&house->pool, allocator, &options,
                                house->blocks, dialects, &events, &error),
                   FC_OK);
  load(house, allocator, host == FC_ISOLATION_PROCESS);
}

static void close_handle(uv_handle_t *handle, void *context) {
  (void)context;
  if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

static void leave(house_t *house) {
  fc_modules_stop(&house->modules);
  uv_walk(&house->uv, close_handle, NULL);
  uv_run(&house->uv, UV_RUN_DEFAULT);
  fc_pool_deinit(&house->pool);
  assert_int_equal(uv_loop_close(&house->uv), 0);
  fc_blocks_destroy(house->blocks);
  fc_modules_deinit(&house->modules);
  fc_module_policies_deinit(&house->policies);
  fc_log_deinit(&house->log);
  close(house->sink);
}

// ---------------------------------------------------------------------------
// Calls

typedef struct outcome_t {
  fc_status_t status;
  uint8_t stage;
  fc_error_t error;
  char *bytes;  // of the answer
  size_t size;
} outcome_t;

static void take_answer(house_t *house, const fc_outcome_t *answer,
                        outcome_t *outcome) {
  for (uint32_t i = 0; i < answer->piece_count; i++) {
    const fc_piece_t *piece = &answer->pieces[i];
    outcome->bytes = realloc(outcome->bytes, outcome->size + piece->size);
    assert_non_null(outcome->bytes);
    memcpy(outcome->bytes + outcome->size,
           fc_block_data(house->blocks, piece->block) + piece->offset,
           piece->size);
    outcome->size += piece->size;
  }
}

static fc_job_t make_job(house_t *house, uint32_t module, uint32_t function,
                         fc_str_t body, uint8_t flags) {
  fc_error_t error;
  fc_job_t job = {.call = {.generation = module,
                           .function = function,
                           .dialect = FC_DIALECT_NATIVE,
                           .flags = flags,
                           .body = {.size = body.size}}};
  assert_int_equal(
      fc_block_take(house->blocks, body.size, &job.call.body.block, &error),
      FC_OK);
  uint8_t *data = fc_block_data(house->blocks, job.call.body.block);
  memcpy(data, body.data, body.size);
  memset(data + body.size, 0, FC_BLOCK_TAIL);
  return job;
}

static outcome_t call(house_t *house, uint32_t module, uint32_t function,
                      fc_str_t body, uint8_t flags) {
  fc_job_t job = make_job(house, module, function, body, flags);
  // A newer generation of a module has an index beyond the table of modules.
  const uint64_t timeout_ms =
      module < FC_ARRAY_COUNT(kModules) ? kModules[module].timeout_ms : 60000;
  job.limit_ns = job.call.deadline_ns = fc_clock_ns() + timeout_ms * 1000000u;
  house->done = NULL;
  house->expired = false;
  fc_pool_enqueue(&house->pool, &job);
  while (!house->done && !house->expired) turn(house);
  if (house->expired) return call(house, module, function, body, flags);
  assert_ptr_equal(house->done, &job);
  const fc_outcome_t *answer = job.outcome;
  outcome_t outcome = {.status = answer->status, .stage = answer->stage};
  if (answer->status == FC_OK) take_answer(house, answer, &outcome);
  else outcome.error = answer->error;
  fc_pool_finish(&house->pool, &job);
  if (outcome.status == FC_DEADLINE_EXCEEDED &&
      outcome.stage == FC_STAGE_QUEUE) {
    return call(house, module, function, body, flags);
  }
  return outcome;
}

static unsigned compared, answered;

static void expect_same(const outcome_t *thread, const outcome_t *process) {
  const fc_error_t *a = &thread->error, *b = &process->error;
  compared++;
  answered += thread->status == FC_OK;
  if (thread->status != process->status || thread->stage != process->stage ||
      a->code != b->code || strcmp(a->message, b->message)) {
    fail_msg("in a thread %s at %s: %s, in a process %s at %s: %s",
             fc_status_name(thread->status), fc_stage_name(thread->stage),
             a->message, fc_status_name(process->status),
             fc_stage_name(process->stage), b->message);
  }
  if (thread->size != process->size ||
      (thread->size &&
       memcmp(thread->bytes, process->bytes, thread->size) != 0)) {
    fail_msg("a thread answers %.*s, a process %.*s", (int)thread->size,
             thread->bytes, (int)process->size, process->bytes);
  }
  if (thread->status == FC_OK) return;
  assert_int_equal(a->byte_offset, b->byte_offset);
  assert_int_equal(a->has_pointer, b->has_pointer);
  assert_string_equal(a->pointer, b->pointer);
  assert_string_equal(a->expected, b->expected);
  assert_string_equal(a->got, b->got);
}

static void compare(house_t *thread, house_t *process, uint32_t module,
                    const fc_function_t *function, fc_str_t body,
                    uint8_t flags) {
  const uint32_t index = (uint32_t)function->index;
  static char name[400];  // static: it is printed after a failure
  snprintf(name, sizeof name, "%.*s/%.*s %.*s",
           FC_STR_ARG(generation_at(thread, module)->claim.name),
           FC_STR_ARG(function->name), FC_STR_ARG(body));
  fc_test_row(name);
  outcome_t a = call(thread, module, index, body, flags);
  outcome_t b = call(process, module, index, body, flags);
  expect_same(&a, &b);
  fc_test_row(NULL);
  free(a.bytes);
  free(b.bytes);
}

// True for functions whose result depends on memory that they did not write.
static bool is_unpredictable(fc_str_t name) {
  static const char *const kNames[] = {"beyond_argument", "cached", "keep"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNames); i++) {
    if (fc_str_equal(name, fc_str(kNames[i]))) return true;
  }
  return false;
}

static void compare_function(house_t *thread, house_t *process, uint32_t module,
                             const fc_function_t *function) {
  static const char *const kBodies[] = {
      "",  "[",  "[]",   "[3]",       "[[1.5,2,3]]", "[[1,2],[3,4]]",
      "7", "{}", "[1 2", "[1,2,3,4]", "[[1,2],2]",   "{\"kwargs\":{\"n\":1}}"};
  fc_error_t error;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1u << 20);
  if (fc_signature_print_example(function->signature, &text.sink, &error) ==
      FC_OK) {
    fc_str_t example = fc_text_str(&text);
    compare(thread, process, module, function, example, 0);
    compare(thread, process, module, function, example, FC_CALL_VALIDATE);
  }
  fc_text_deinit(&text);
  if (kModules[module].timeout_ms == ENDLESS_MS) return;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kBodies); i++) {
    compare(thread, process, module, function, fc_str(kBodies[i]), 0);
  }
}

static fc_host_facts_t facts(const house_t *house, uint32_t module) {
  fc_host_facts_t facts;
  fc_host_describe(fc_pool_host(&house->pool, module), &facts);
  return facts;
}

static void every_function_answers_the_same(void **state) {
  (void)state;
  static house_t thread, process;
  enter(&thread, FC_ISOLATION_THREAD, 0);
  enter(&process, FC_ISOLATION_PROCESS, 0);
  for (uint32_t m = 0; m < FC_ARRAY_COUNT(kModules); m++) {
    const fc_generation_t *here = generation_at(&thread, m);
    const fc_generation_t *there = generation_at(&process, m);
    assert_int_equal(here->module == NULL, there->module == NULL);
    if (!here->module) {
      assert_string_equal(here->error.message, there->error.message);
      continue;
    }
    assert_false(facts(&thread, m).in_process);
    assert_true(facts(&process, m).in_process);
    for (size_t f = 0; f < fc_module_function_count(here->module); f++) {
      const fc_function_t *function = fc_module_function(here->module, f);
      if (!function->plan || is_unpredictable(function->name)) continue;
      compare_function(&thread, &process, m, function);
    }
  }
  print_message("%u calls compared, %u of them answered\n", compared, answered);
  assert_true(compared > 5000 && answered > 500);
  leave(&thread);
  leave(&process);
}

// ---------------------------------------------------------------------------
// Generations

#define SCALARS 0
#define UNDEFINED 4

typedef struct usage_t {
  size_t blocks;  // of memory
  uint32_t processes;
  uint32_t files;
} usage_t;

static usage_t usage(house_t *house) {
  const fc_process_hosts_t *all =
      (const fc_process_hosts_t *)house->pool.hosts[FC_HOSTS_PROCESS];
  while (all->is_freeing || fc_blocks_has_dying_files(house->blocks)) {
    turn(house);
  }
  return (usage_t){atomic_load(&house->memory.live),
                   house->pool.hosts[FC_HOSTS_PROCESS]->watched,
                   fc_test_open_files()};
}

static fc_generation_t *find(const house_t *house) {
  fc_generation_t *generation =
      fc_generations_find(&house->modules.generations, FC_STR("scalars"));
  assert_non_null(generation);
  return generation;
}

// Loads the file again, so that a newer generation takes over the name.
static void replace(house_t *house) {
  const fc_generation_t *old = find(house);
  fc_error_t error;
  assert_int_equal(
      fc_modules_load(&house->modules, fc_str(kModules[SCALARS].path), true,
                      &error),
      FC_OK);
  while (find(house) == old) turn(house);
}

static void expect_answer(house_t *house, uint32_t generation) {
  const fc_module_t *module = generation_at(house, generation)->module;
  const fc_function_t *function = fc_module_find(module, FC_STR("s_i32"));
  assert_non_null(function);
  outcome_t outcome =
      call(house, generation, (uint32_t)function->index, FC_STR("[21]"), 0);
  assert_int_equal(outcome.status, FC_OK);
  const fc_str_t expected = FC_STR("{\"results\":[42]}");
  assert_true(fc_str_equal(fc_str_make(outcome.bytes, outcome.size), expected));
  free(outcome.bytes);
}

// Makes `calls` good calls, then kills the process `ends` times.
static void wear_out(house_t *house, uint32_t calls, uint32_t ends) {
  const fc_host_t *host = fc_pool_host(&house->pool, 0);
  while (calls--) expect_answer(house, 0);
  for (uint32_t i = 0; i < ends; i++) {
    fc_host_worker_t worker = {0};
    while (!fc_host_worker(host, 0, &worker) || strcmp(worker.state, "idle")) {
      turn(house);
    }
    assert_int_equal(kill(worker.pid, SIGKILL), 0);
    while (facts(house, 0).crashes == i) turn(house);
  }
}

static void a_quarantined_module_wakes_nobody(void **state) {
  (void)state;
  static house_t house;
  enter(&house, FC_ISOLATION_PROCESS, 1);
  wear_out(&house, 15, 5);
  assert_true(facts(&house, 0).quarantined_ns != 0);
  for (int i = 0; i < 3; i++) turn(&house);  // so that what is closed is gone
  assert_in_range(uv_backend_timeout(&house.uv), 50000, 60000);
  leave(&house);
}

static void wait_until_idle(house_t *house, uint32_t position, int pid) {
  fc_host_worker_t worker = {0};
  while (!fc_host_worker(fc_pool_host(&house->pool, 0), position, &worker) ||
         strcmp(worker.state, "idle") || (pid && worker.pid != pid)) {
    turn(house);
  }
}

static void a_process_more_than_calls_need_ends(void **state) {
  (void)state;
  static house_t house;
  fc_host_worker_t first, second;
  processes_of_each = 2;
  enter(&house, FC_ISOLATION_PROCESS, 5);
  processes_of_each = 1;
  const fc_host_t *host = fc_pool_host(&house.pool, 0);
  assert_true(fc_host_worker(host, 0, &first));
  assert_false(fc_host_worker(host, 1, &second));
  // Two calls at once make the pool start a second process.
  fc_job_t jobs[2];
  for (int i = 0; i < 2; i++) {
    jobs[i] = make_job(&house, 0, 0, FC_STR("[]"), FC_CALL_VALIDATE);
    fc_pool_enqueue(&house.pool, &jobs[i]);
  }
  for (int i = 0; i < 2; i++) {
    while (!jobs[i].outcome) turn(&house);
    fc_pool_finish(&house.pool, &jobs[i]);
  }
  wait_until_idle(&house, 1, 0);
  assert_true(fc_host_worker(host, 1, &second));
  // Some time later both processes are still there; much later only the first is.
  const uint64_t now_ns = fc_clock_ns();
  const uint64_t spare_ns = FC_LIMIT_SPARE_MS * 1000000ull;
  fc_pool_expire(&house.pool, now_ns + spare_ns / 2);
  assert_true(fc_host_worker(host, 1, &second));
  assert_string_equal(second.state, "idle");
  fc_pool_expire(&house.pool, now_ns + 2 * spare_ns);
  while (fc_host_worker(host, 1, &second)) turn(&house);
  wait_until_idle(&house, 0, first.pid);
  // The end of the second process is not a crash, and the next process is not a
  // restart.
  assert_int_equal(facts(&house, 0).crashes, 0);
  assert_int_equal(facts(&house, 0).restarts, 0);
  leave(&house);
}

static fc_child_t *first_child(const house_t *house, uint32_t module) {
  const fc_host_t *host = fc_pool_host(&house->pool, module);
  return ((const fc_process_host_t *)host)->children;
}

// A module sends itself the signal of --worker-cpu-time, to hide its crashes.
static void a_signal_alone_is_not_the_limit_of_time(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t limit_s;
  } rows[] = {{"no limit", 0}, {"1 s", 1}, {"2 s", 2}, {"an hour", 3600}};
  static house_t house;
  enter(&house, FC_ISOLATION_PROCESS, 0);
  uint64_t crashes = 0;
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    wait_until_idle(&house, 0, 0);
    fc_child_t *child = first_child(&house, SCALARS);
    child->ring.setup.cpu_limit_s = row->limit_s;
    assert_int_equal(kill(child->process.pid, SIGXCPU), 0);
    while (facts(&house, SCALARS).crashes == crashes) turn(&house);
    crashes++;
  }
  leave(&house);
}

// A process has taken shared memory that none of its calls needs.
static void a_process_that_takes_too_much_is_ended(void **state) {
  (void)state;
  static house_t house;
  enter(&house, FC_ISOLATION_PROCESS, 0);
  const fc_child_t *child = first_child(&house, SCALARS);
  const fc_span_t area = fc_ring_answer(&child->ring, 0);
  memset(area.data, 1, FC_RING_SPARE / 2);
  fc_child_weigh(first_child(&house, SCALARS));
  assert_int_equal(child->cause, FC_CAUSE_NONE);
  // Only the nursery notices this, and it does so without any call, too.
  memset(area.data, 1, FC_RING_SPARE * 2);
  while (child->cause == FC_CAUSE_NONE) {
    fc_pool_collect(&house.pool, true);
  }
  assert_int_equal(child->cause, FC_CAUSE_GREED);
  leave(&house);
}

// Makes more calls than there are slots. Their bodies fill more of the ring than it
// keeps.
static void memory_of_bodies_goes_back_beside_the_loop(void **state) {
  (void)state;
  enum { CALLS = 3 * FC_RING_SLOTS, SIZE = FC_RING_KEPT + (100 << 10) };
  static house_t house;
  static fc_job_t jobs[CALLS];
  char *body = malloc(SIZE);
  assert_non_null(body);
  memset(body, ' ', SIZE);
  body[0] = '[';
  body[SIZE - 1] = '}';
  enter(&house, FC_ISOLATION_PROCESS, 0);
  fc_child_t *child = first_child(&house, SCALARS);
  const unsigned before = atomic_load(&holes);
  for (unsigned i = 0; i < CALLS; i++) {
    jobs[i] =
        make_job(&house, SCALARS, 0, fc_str_make(body, SIZE), FC_CALL_VALIDATE);
    fc_pool_enqueue(&house.pool, &jobs[i]);
  }
  for (unsigned i = 0; i < CALLS; i++) {
    while (!jobs[i].outcome) turn(&house);
    assert_int_equal(jobs[i].outcome->error.code, FC_CODE_JSON_SYNTAX);
    fc_pool_finish(&house.pool, &jobs[i]);
    assert_in_range(child->count + child->left, 0, FC_RING_SLOTS);
  }
  // All slots become free again, and the ring keeps no more memory than it may.
  while (child->left) turn(&house);
  assert_in_range(atomic_load(&holes) - before, CALLS, UINT_MAX);
  assert_in_range(fc_ring_taken(&child->ring), 1, FC_RING_KEPT);
  for (unsigned i = 0; i < FC_RING_SLOTS; i++) {
    assert_int_equal(child->filled[i].body + child->filled[i].answer, 0);
    assert_int_equal(fc_ring_state(&child->ring, i), FC_RING_FREE);
  }
  assert_int_equal(child->cause, FC_CAUSE_NONE);
  // The server may end while memory is being given back.
  jobs[0] =
      make_job(&house, SCALARS, 0, fc_str_make(body, SIZE), FC_CALL_VALIDATE);
  fc_pool_enqueue(&house.pool, &jobs[0]);
  while (!jobs[0].outcome) turn(&house);
  fc_pool_finish(&house.pool, &jobs[0]);
  leave(&house);
  assert_int_equal(atomic_load(&house.memory.live), 0);
  free(body);
}

static void run_large(house_t *house, fc_job_t *job, fc_str_t body) {
  *job = make_job(house, SCALARS, 0, body, FC_CALL_VALIDATE);
  fc_pool_enqueue(&house->pool, job);
}

// Calls come one after the other, before the nursery has freed any slot.
static void a_process_whose_slots_are_scrubbed_needs_no_other(void **state) {
  (void)state;
  enum { SIZE = FC_RING_KEPT + (100 << 10) };
  static house_t house;
  static char body[SIZE];
  fc_job_t job;
  memset(body, ' ', SIZE);
  body[0] = '[';
  processes_of_each = 2;
  enter(&house, FC_ISOLATION_PROCESS, 0);
  processes_of_each = 1;
  wait_until_idle(&house, 0, 0);
  const fc_child_t *child = first_child(&house, SCALARS);
  assert_int_equal(sem_init(&hole_gate, 0, 0), 0);
  atomic_store(&is_filling, true);
  for (unsigned i = 0; i < FC_RING_SLOTS; i++) {
    run_large(&house, &job, fc_str_make(body, SIZE));
    while (!job.outcome) turn(&house);
    fc_pool_finish(&house.pool, &job);
  }
  assert_int_equal(child->left, FC_RING_SLOTS);
  const unsigned before = atomic_load(&spawns);
  run_large(&house, &job, fc_str_make(body, SIZE));
  turn(&house);
  assert_null(job.outcome);
  assert_int_equal(child->host->living, 1);
  atomic_store(&is_filling, false);
  sem_post(&hole_gate);
  while (!job.outcome) turn(&house);
  fc_pool_finish(&house.pool, &job);
  assert_int_equal(child->host->living, 1);
  assert_int_equal(atomic_load(&spawns), before);
  leave(&house);
  assert_int_equal(atomic_load(&house.memory.live), 0);
}

// The server ends before the loop has read the last output of a process.
static void what_a_process_printed_last_is_logged(void **state) {
  (void)state;
  static const char kLast[] = "a line\nlast words";
  static house_t house;
  char path[64], text[8192] = "";
  enter(&house, FC_ISOLATION_PROCESS, 0);
  wait_until_idle(&house, 0, 0);
  snprintf(path, sizeof path, "/proc/%d/fd/1",
           (int)first_child(&house, SCALARS)->process.pid);
  const int output = open(path, O_WRONLY | O_CLOEXEC);
  const int log = memfd_create("log", MFD_CLOEXEC);
  assert_true(output >= 0 && log >= 0);
  assert_int_equal(dup3(log, house.sink, O_CLOEXEC), house.sink);
  assert_int_equal(write(output, kLast, sizeof kLast - 1), sizeof kLast - 1);
  close(output);
  leave(&house);
  assert_true(pread(log, text, sizeof text - 1, 0) > 0);
  close(log);
  assert_non_null(strstr(text, "a line"));
  assert_non_null(strstr(text, "last words"));
  assert_int_equal(atomic_load(&house.memory.live), 0);
}

// The loop is told that the process has ended before it has looked for answers.
static void what_was_finished_before_the_end_is_answered(void **state) {
  (void)state;
  static house_t house;
  enter(&house, FC_ISOLATION_PROCESS, 0);
  const fc_function_t *function =
      fc_module_find(generation_at(&house, SCALARS)->module, FC_STR("s_i32"));
  fc_job_t job =
      make_job(&house, SCALARS, (uint32_t)function->index, FC_STR("[21]"), 0);
  const fc_child_t *child = first_child(&house, SCALARS);
  siginfo_t info;
  house.done = NULL;
  fc_pool_enqueue(&house.pool, &job);
  fc_pool_flush(&house.pool);
  while (fc_child_state(child, child->first) != FC_RING_DONE) usleep(100);
  assert_int_equal(kill(child->process.pid, SIGKILL), 0);
  assert_int_equal(
      waitid(P_PID, (id_t)child->process.pid, &info, WEXITED | WNOWAIT), 0);
  const fc_nursery_t *nursery = &fc_process_hosts_of(child->host)->nursery;
  while (!atomic_load(&nursery->replied)) usleep(100);
  while (!house.done) fc_pool_collect(&house.pool, true);
  assert_int_equal(job.outcome->status, FC_OK);
  outcome_t outcome = {0};
  take_answer(&house, job.outcome, &outcome);
  assert_true(fc_str_equal(fc_str_make(outcome.bytes, outcome.size),
                           FC_STR("{\"results\":[42]}")));
  free(outcome.bytes);
  fc_pool_finish(&house.pool, &job);
  leave(&house);
}

// The loop has not checked deadlines since the call came.
static void what_is_late_is_not_begun(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_isolation_mode_t host;
  } rows[] = {{"a thread", FC_ISOLATION_THREAD},
              {"a process", FC_ISOLATION_PROCESS}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static house_t house;
    enter(&house, row->host, 0);
    fc_job_t job = make_job(&house, SCALARS, 0, FC_STR("[]"), 0);
    job.call.deadline_ns = fc_clock_ns();
    house.done = NULL;
    fc_pool_enqueue(&house.pool, &job);
    fc_pool_flush(&house.pool);
    while (!house.done) fc_pool_collect(&house.pool, true);
    assert_int_equal(job.outcome->stage, FC_STAGE_QUEUE);
    assert_int_equal(job.outcome->status, FC_DEADLINE_EXCEEDED);
    assert_string_equal(job.outcome->error.message,
                        "the deadline passed in the queue");
    fc_pool_finish(&house.pool, &job);
    leave(&house);
  }
}

static unsigned heard;

static bool count_heard(house_t *house, fc_job_t *job) {
  (void)house;
  (void)job;
  heard++;
  return true;
}

static void queue_two(house_t *house, fc_job_t jobs[2], uint64_t deadline_ns) {
  for (int i = 0; i < 2; i++) {
    jobs[i] = make_job(house, SCALARS, 0, FC_STR("[]"), FC_CALL_VALIDATE);
    jobs[i].call.deadline_ns = deadline_ns;
    fc_pool_enqueue(&house->pool, &jobs[i]);
  }
}

// A process with two calls ends. Whoever is told of the first call may drop the second
// one.
static void a_waiter_may_drop_another_call_of_an_ended_process(void **state) {
  (void)state;
  static house_t house;
  enter(&house, FC_ISOLATION_PROCESS, 0);
  fc_child_t *child = first_child(&house, SCALARS);
  fc_job_t jobs[2];
  siginfo_t info;
  wait_until_idle(&house, 0, 0);
  assert_int_equal(kill(child->process.pid, SIGSTOP), 0);
  assert_int_equal(
      waitid(P_PID, (id_t)child->process.pid, &info, WSTOPPED | WNOWAIT), 0);
  queue_two(&house, jobs, 0);
  // This call is slow, so its process gets no other one.
  atomic_store(&stopped_ns, fc_clock_ns());
  fc_pool_flush(&house.pool);
  atomic_store(&stopped_ns, 0);
  assert_int_equal(child->count, 2);
  for (int i = 0; i < 2; i++) jobs[i].attempts = FC_LIMIT_ATTEMPTS;
  heard = 0;
  house.hear = count_heard;
  other = &jobs[1];
  assert_int_equal(kill(child->process.pid, SIGKILL), 0);
  while (!heard) turn(&house);
  assert_int_equal(heard, 1);
  assert_int_equal(jobs[0].outcome->error.code, FC_CODE_WORKER_CRASHED);
  fc_pool_finish(&house.pool, &jobs[0]);
  for (int i = 0; i < 3; i++) turn(&house);
  assert_int_equal(heard, 1);
  assert_int_equal(fc_pool_running(&house.pool), 0);
  leave(&house);
}

static void a_waiter_may_drop_another_call_that_is_late(void **state) {
  (void)state;
  static house_t house;
  fc_job_t jobs[2];
  enter(&house, FC_ISOLATION_THREAD, 0);
  queue_two(&house, jobs, fc_clock_ns());
  heard = 0;
  house.hear = count_heard;
  house.expired = false;
  other = &jobs[1];
  fc_pool_expire(&house.pool, fc_clock_ns());
  assert_true(house.expired);
  assert_null(other);
  assert_int_equal(house.pool.waiting, 0);
  leave(&house);
}

// ---------------------------------------------------------------------------
// Calls that run on although nobody waits for them: each begins by waiting for the
// signal SIGUSR1 in its process.

#define STUCK "its calls wait for a signal"

static bool is_stuck;  // in the worker

#define LEAKING "its calls find no memory"

static bool is_leaking;

static fc_status_t call_stuck(void *instance, size_t index,
                              fc_backend_call_t *call, fc_error_t *err) {
  sigset_t wanted;
  int number;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGUSR1);
  if (is_stuck) (void)sigwait(&wanted, &number);
  if (is_leaking) return fc_fail_memory(err);
  return fc_backend_native.call(instance, index, call, err);
}

static void be_stuck(void) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  (void)sigprocmask(SIG_BLOCK, &blocked, NULL);
  is_stuck = true;
}

#define MS 1000000ull
#define TOOK_MS 2000
#define SHORT_MS 1000

// How the calls of a test have ended. (A call's outcome is valid only while it is
// reported.)
typedef struct ended_t {
  const fc_job_t *job;
  fc_code_t code;
  uint8_t stage;
} ended_t;

static ended_t ended[8];

static bool hear_stuck(house_t *house, fc_job_t *job) {
  ended[heard++] = (ended_t){
      job,
      job->outcome->status == FC_OK ? FC_CODE_NONE : job->outcome->error.code,
      job->outcome->stage};
  fc_pool_finish(&house->pool, job);
  return true;
}

static const ended_t *find_end(const fc_job_t *job) {
  for (unsigned i = 0; i < heard; i++) {
    if (ended[i].job == job) return &ended[i];
  }
  return NULL;
}

// Starts the pool and its hosts with a module that has `processes` processes. The host
// is told that each takes TOOK_MS to load; in fact they are quick.
static fc_process_host_t *enter_stuck(house_t *house, uint32_t processes) {
  processes_of_each = processes;
  parameters = STUCK;
  enter(house, FC_ISOLATION_PROCESS, 0);
  processes_of_each = 1;
  parameters = "";
  heard = 0;
  house->hear = hear_stuck;
  fc_process_host_t *host =
      (fc_process_host_t *)(uintptr_t)fc_pool_host(&house->pool, SCALARS);
  host->took_ns = TOOK_MS * MS;
  return host;
}

// Queues a call with a client's deadline of `ms` and an operator's of `limit_ms`.
static void begin_stuck(house_t *house, fc_job_t *job, uint64_t ms,
                        uint64_t limit_ms) {
  const fc_function_t *function =
      fc_module_find(generation_at(house, SCALARS)->module, FC_STR("s_i32"));
  *job = make_job(house, SCALARS, (uint32_t)function->index, FC_STR("[21]"), 0);
  job->call.deadline_ns = fc_clock_ns() + ms * MS;
  job->limit_ns = fc_clock_ns() + limit_ms * MS;
  fc_pool_enqueue(&house->pool, job);
}

// Waits until the process is in the module's function. Before that it would still obey
// the cancel word.
static void wait_until_busy(house_t *house, const fc_child_t *child) {
  const fc_ring_slot_t *slots = child->ring.head->slots;
  while (!child->count ||
         slots[child->first].slot.outcome.stage != FC_STAGE_CALL) {
    turn(house);
  }
}

static void pass(house_t *house, uint64_t ms) {
  atomic_fetch_add(&ahead_ns, ms * MS);
  for (int i = 0; i < 3; i++) turn(house);
}

static void expect_late(house_t *house, const fc_job_t *job) {
  while (!find_end(job)) turn(house);
  assert_int_equal(find_end(job)->code, FC_CODE_DEADLINE_EXCEEDED);
}

// Lets the processes go on until this call of another client is answered.
static void expect_answered(house_t *house, const fc_job_t *job) {
  while (!find_end(job)) {
    const fc_child_t *child = first_child(house, SCALARS);
    for (; child; child = child->next) {
      if (!child->serving || child->ended || !child->count) continue;
      (void)kill(child->process.pid, SIGUSR1);
    }
    turn(house);
  }
  assert_int_equal(find_end(job)->code, FC_CODE_NONE);
}

static void a_clients_deadline_answers_and_ends_no_process(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t ms;  // of the client
    bool others;  // wait for the process
    bool kill;    // --cancel=kill
    bool drop;    // the client goes
    uint64_t pass_ms;
    fc_cause_t cause;
  } rows[] = {
      {"late, for long", SHORT_MS, false, false, false, 20000, FC_CAUSE_NONE},
      {"others wait, not as long as loading takes", SHORT_MS, true, false,
       false, TOOK_MS - 500, FC_CAUSE_NONE},
      {"others wait longer", SHORT_MS, true, false, false, TOOK_MS + 500,
       FC_CAUSE_DROPPED},
      {"the operator's deadline", 60000, false, false, false, 60000,
       FC_CAUSE_DEADLINE},
      {"the operator's, after the client's", SHORT_MS, false, false, false,
       60000, FC_CAUSE_DEADLINE},
      {"its client has gone", 60000, true, false, true, 20000, FC_CAUSE_NONE},
      {"and its deadline has passed", SHORT_MS, true, false, true,
       TOOK_MS + 500, FC_CAUSE_DROPPED},
      {"gone, --cancel=kill", 60000, false, true, true, TOOK_MS + 500,
       FC_CAUSE_DROPPED},
      {"gone just now, --cancel=kill", 60000, false, true, true, TOOK_MS - 500,
       FC_CAUSE_NONE},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static house_t house;
    const fc_process_host_t *host = enter_stuck(&house, 1);
    house.processes.kill_dropped = row->kill;
    fc_child_t *child = first_child(&house, SCALARS);
    fc_job_t job, waiting;
    begin_stuck(&house, &job, row->ms, 60000);
    wait_until_busy(&house, child);
    if (row->others) begin_stuck(&house, &waiting, 600000, 600000);
    if (row->drop) fc_pool_drop(&house.pool, &job);
    pass(&house, row->ms == SHORT_MS ? SHORT_MS + 5 : 5);
    if (row->ms == SHORT_MS && !row->drop) expect_late(&house, &job);
    assert_int_equal(child->cause, FC_CAUSE_NONE);
    pass(&house, row->pass_ms);
    if (row->cause == FC_CAUSE_NONE) {
      assert_int_equal(child->cause, FC_CAUSE_NONE);
      (void)kill(child->process.pid, SIGUSR1);
    } else {
      while (!host->restarts) turn(&house);
    }
    if (row->ms != SHORT_MS && !row->drop) expect_late(&house, &job);
    if (row->others) expect_answered(&house, &waiting);
    while (fc_pool_running(&house.pool)) turn(&house);
    assert_int_equal(host->restarts, row->cause != FC_CAUSE_NONE);
    assert_int_equal(host->crashes, 0);
    fc_pool_numbers_t metrics;
    fc_pool_numbers(&house.pool, SCALARS, &metrics);
    assert_int_equal(metrics.timeouts, row->ms == SHORT_MS || !row->drop);
    leave(&house);
    atomic_store(&ahead_ns, 0);
  }
}

// ---------------------------------------------------------------------------
// Calls that are begun together. Each of the two waits in the process for its own
// signal, so the first one runs until the test lets it go.

// The time that a call is believed to take.
static uint64_t known_ns = 3600000 * MS;

static void let_join(house_t *house, uint32_t module) {
  const fc_module_t *held = generation_at(house, module)->module;
  fc_module_queue_t *queue = house->pool.queues[module];
  for (size_t f = 0; f < fc_module_function_count(held); f++) {
    queue->costs[f].together = FC_BATCH_CALLS;
    queue->costs[f].average_ns = known_ns;
  }
}

// Gives two calls as a batch to the first process, and waits until it has begun both.
static fc_child_t *begin_batch(house_t *house, fc_job_t jobs[2],
                               const uint64_t ms[2],
                               const uint64_t limit_ms[2]) {
  fc_child_t *child = first_child(house, SCALARS);
  let_join(house, SCALARS);
  while (!child->serving) turn(house);
  for (int i = 0; i < 2; i++) {
    begin_stuck(house, &jobs[i], ms[i], limit_ms[i]);
  }
  fc_pool_flush(&house->pool);
  assert_int_equal(child->count, 2);
  const uint32_t second = (child->first + 1) % FC_RING_SLOTS;
  wait_until_busy(house, child);
  while (fc_child_state(child, second) != FC_RING_BUSY) turn(house);
  return child;
}

static void expect_batch_end(house_t *house, const fc_job_t *job,
                             fc_code_t code) {
  if (code == FC_CODE_NONE) expect_answered(house, job);
  while (!find_end(job)) turn(house);
  if (find_end(job)->code != code) {
    fail_msg("it ends with %d, not with %d", (int)find_end(job)->code,
             (int)code);
  }
}

// Whatever ends the process during a batch, each call that is still awaited is made
// again alone, and no call is blamed.
static void each_call_of_a_batch_ends_by_itself(void **state) {
  (void)state;
  enum { GO, CRASH, KILL, LIE, PASS, HANG };
  static const struct {
    const char *name;
    uint64_t ms[2], limit_ms[2];
    int dropped;  // 1 or 2: which; 3: both; 0: none
    int what;
    uint32_t crashes, restarts;
    fc_code_t ends[2];
  } rows[] = {
#define LONG {600000, 600000}
      {"both are answered", LONG, LONG, 0, GO, 0, 0, {0, 0}},
      {"a crash", LONG, LONG, 0, CRASH, 1, 1, {0, 0}},
      {"killed from outside", LONG, LONG, 0, KILL, 1, 1, {0, 0}},
      {"it writes what cannot be", LONG, LONG, 0, LIE, 1, 1, {0, 0}},
      {"the first client's deadline",
       {SHORT_MS, 600000},
       LONG,
       0,
       PASS,
       0,
       0,
       {FC_CODE_DEADLINE_EXCEEDED, 0}},
      {"the second client's deadline",
       {600000, SHORT_MS},
       LONG,
       0,
       PASS,
       0,
       0,
       {0, FC_CODE_DEADLINE_EXCEEDED}},
      {"the operator's deadline of the first",
       {SHORT_MS, 600000},
       {SHORT_MS, 600000},
       0,
       PASS,
       0,
       1,
       {FC_CODE_DEADLINE_EXCEEDED, 0}},
      {"the operator's deadline of the second",
       {600000, SHORT_MS},
       {600000, SHORT_MS},
       0,
       PASS,
       0,
       1,
       {0, FC_CODE_DEADLINE_EXCEEDED}},
      {"it takes longer than such calls do", LONG, LONG, 0, HANG, 0, 1, {0, 0}},
      {"so it does, and a client has left", LONG, LONG, 1, HANG, 0, 1, {0, 0}},
      {"the first client leaves, then a crash",
       LONG,
       LONG,
       1,
       CRASH,
       1,
       1,
       {0, 0}},
      {"the second client leaves", LONG, LONG, 2, GO, 0, 0, {0, 0}},
      {"both clients leave, then a crash", LONG, LONG, 3, CRASH, 1, 1, {0, 0}},
#undef LONG
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static house_t house;
    fc_job_t jobs[2];
    fc_process_host_t *host = enter_stuck(&house, 1);
    host->health.limit = FC_LIMIT_CRASHES;
    known_ns = row->what == HANG ? 1 : 3600000 * MS;
    const fc_child_t *child = begin_batch(&house, jobs, row->ms, row->limit_ms);
    fc_ring_slot_t *slot = &child->ring.head->slots[child->first];
    for (int i = 0; i < 2; i++) {
      if (row->dropped & 1 << i) fc_pool_drop(&house.pool, &jobs[i]);
    }
    if (row->what == CRASH) (void)kill(child->process.pid, SIGSEGV);
    if (row->what == KILL) (void)kill(child->process.pid, SIGKILL);
    if (row->what == LIE) {
      slot->slot.outcome.stage = FC_STAGE_COUNT;
      atomic_store(&slot->state, FC_RING_DONE);
      // Wait here: the process, if it went on, would overwrite the lie with the truth.
      while (!host->crashes) turn(&house);
    }
    if (row->what == HANG) pass(&house, FC_LIMIT_BATCH_MS / 2);
    if (row->what == HANG) assert_int_equal(child->cause, FC_CAUSE_NONE);
    if (row->what == HANG) pass(&house, FC_LIMIT_BATCH_MS);
    if (row->what == PASS) pass(&house, SHORT_MS + 5);
    if (row->what == PASS && !row->restarts) {
      // If other calls needed it, a process with so late a call would be killed.
      expect_late(&house, &jobs[row->ends[0] ? 0 : 1]);
      pass(&house, TOOK_MS + 500);
    }
    for (int i = 0; i < 2; i++) {
      if (!(row->dropped & 1 << i))
        expect_batch_end(&house, &jobs[i], row->ends[i]);
    }
    while (host->restarts < row->restarts) turn(&house);
    while (fc_pool_running(&house.pool)) {
      const fc_child_t *last = first_child(&house, SCALARS);
      if (last->serving && last->count) (void)kill(last->process.pid, SIGUSR1);
      turn(&house);
    }
    assert_int_equal(host->crashes, row->crashes);
    assert_int_equal(host->restarts, row->restarts);
    assert_int_equal(host->blame.until_ns, 0);
    assert_int_equal(host->health.crashes, row->dropped == 3);
    assert_int_equal(heard, row->dropped == 3 ? 0 : row->dropped ? 1 : 2);
    leave(&house);
    atomic_store(&ahead_ns, 0);
    assert_int_equal(atomic_load(&house.memory.live), 0);
  }
}

// A batch whose calls are answered one after the other is not given up.
static void a_batch_goes_on_while_its_calls_come_back(void **state) {
  (void)state;
  static house_t house;
  static const uint64_t kLong[2] = {600000, 600000};
  fc_job_t jobs[2];
  const fc_process_host_t *host = enter_stuck(&house, 1);
  known_ns = 1;
  const fc_child_t *child = begin_batch(&house, jobs, kLong, kLong);
  pass(&house, FC_LIMIT_BATCH_MS - 100);
  (void)kill(child->process.pid, SIGUSR1);
  while (!find_end(&jobs[0])) turn(&house);
  pass(&house, FC_LIMIT_BATCH_MS - 100);
  assert_int_equal(child->cause, FC_CAUSE_NONE);
  expect_answered(&house, &jobs[1]);
  assert_int_equal(host->restarts, 0);
  known_ns = 3600000 * MS;
  leave(&house);
  atomic_store(&ahead_ns, 0);
}

// A call that ends its process again when it is made alone gets an error and is blamed.
static void a_call_is_made_again_once(void **state) {
  (void)state;
  static house_t house;
  static const uint64_t kLong[2] = {600000, 600000};
  fc_job_t jobs[2];
  fc_process_host_t *host = enter_stuck(&house, 1);
  host->health.limit = FC_LIMIT_CRASHES;
  fc_child_t *child = begin_batch(&house, jobs, kLong, kLong);
  (void)kill(child->process.pid, SIGSEGV);
  while (host->restarts < 1) turn(&house);
  child = first_child(&house, SCALARS);
  wait_until_busy(&house, child);
  assert_false(child->held[child->first].sent.batched);
  (void)kill(child->process.pid, SIGSEGV);
  expect_batch_end(&house, &jobs[0], FC_CODE_WORKER_CRASHED);
  // The other call has the same body, so it is refused.
  expect_batch_end(&house, &jobs[1], FC_CODE_CALL_QUARANTINED);
  assert_int_equal(host->crashes, 2);
  assert_int_equal(host->health.crashes, 1);
  assert_int_not_equal(host->blame.until_ns, 0);
  leave(&house);
}

// Calls wait until a worker is free. Then it is given all that wait.
static void what_waits_is_given_together(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_isolation_mode_t host;
    uint32_t module;
    bool together;
  } rows[] = {{"bytecode in threads", FC_ISOLATION_THREAD, 5, true},
              {"machine code in threads", FC_ISOLATION_THREAD, SCALARS, false},
              {"processes", FC_ISOLATION_PROCESS, SCALARS, true}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    enum { CALLS = 5 };
    static house_t house;
    fc_job_t jobs[CALLS];
    enter(&house, row->host, 0);
    let_join(&house, row->module);
    if (row->host == FC_ISOLATION_PROCESS) wait_until_idle(&house, 0, 0);
    heard = 0;
    house.hear = hear_stuck;
    const fc_hosts_t *hosts = fc_pool_host(&house.pool, row->module)->hosts;
    for (int i = 0; i < CALLS; i++) {
      jobs[i] = make_job(&house, row->module, 0, FC_STR("nonsense"), 0);
      fc_pool_enqueue(&house.pool, &jobs[i]);
    }
    fc_pool_flush(&house.pool);
    // Calls that never join are given to the worker before it is free.
    assert_int_equal(hosts->running,
                     row->together ? CALLS : FC_HOST_SLOW_AHEAD);
    while (heard < CALLS) turn(&house);
    for (int i = 0; i < CALLS; i++) {
      assert_int_equal(find_end(&jobs[i])->code, FC_CODE_JSON_SYNTAX);
      assert_ptr_equal(ended[i].job, &jobs[i]);  // in their order
    }
    assert_int_equal(hosts->running, 0);
    // A later call is given to a worker as usual.
    jobs[0] = make_job(&house, row->module, 0, FC_STR("nonsense"), 0);
    fc_pool_enqueue(&house.pool, &jobs[0]);
    heard = 0;
    while (!heard) turn(&house);
    leave(&house);
    assert_int_equal(atomic_load(&house.memory.live), 0);
  }
}

// A process without memory gets no more calls, and another one replaces it. But that is
// not done so often that loading would take more than a certain share of the time.
static void a_process_without_memory_is_replaced(void **state) {
  (void)state;
  static house_t house;
  parameters = LEAKING;
  enter(&house, FC_ISOLATION_PROCESS, 0);
  parameters = "";
  const fc_function_t *function =
      fc_module_find(generation_at(&house, SCALARS)->module, FC_STR("s_i32"));
  fc_process_host_t *host =
      (fc_process_host_t *)(uintptr_t)fc_pool_host(&house.pool, SCALARS);
  for (uint32_t i = 1; i <= 3; i++) {
    for (int calls = 0; calls < 4; calls++) {
      const outcome_t outcome =
          call(&house, SCALARS, (uint32_t)function->index, FC_STR("[21]"), 0);
      assert_int_equal(outcome.error.code, FC_CODE_OUT_OF_MEMORY);
      while (host->restarts < i) turn(&house);
      assert_int_equal(host->restarts, i);
      host->took_ns = TOOK_MS * MS;
      assert_int_equal(first_child(&house, SCALARS)->cause, FC_CAUSE_NONE);
    }
    pass(&house, FC_LIMIT_SPENT_SHARE * TOOK_MS);
  }
  assert_int_equal(host->crashes, 0);
  leave(&house);
  atomic_store(&ahead_ns, 0);
}

// However many calls are late, only one process is ended at a time, and the next one
// only when its replacement serves.
static void processes_end_no_faster_than_they_are_replaced(void **state) {
  (void)state;
  static house_t house;
  enum { PROCESSES = 3 };
  fc_process_host_t *host = enter_stuck(&house, PROCESSES);
  fc_job_t jobs[PROCESSES], waiting[PROCESSES];
  for (uint32_t i = 0; i < PROCESSES; i++) {
    begin_stuck(&house, &jobs[i], 100000, 600000);
    while (host->living <= i || host->starting) turn(&house);
  }
  for (fc_child_t *child = host->children; child; child = child->next) {
    wait_until_busy(&house, child);
  }
  host->took_ns = TOOK_MS * MS;
  for (int i = 0; i < PROCESSES; i++) {
    begin_stuck(&house, &waiting[i], 900000, 900000);
  }
  pass(&house, 100005);
  for (int i = 0; i < PROCESSES; i++) expect_late(&house, &jobs[i]);
  assert_int_equal(host->restarts, 0);
  uint32_t ending = 0;
  atomic_fetch_add(&ahead_ns, (TOOK_MS + 1000) * MS);
  fc_pool_expire(&house.pool, fc_clock_ns());
  fc_pool_expire(&house.pool, fc_clock_ns() + 1000 * MS);
  for (fc_child_t *child = host->children; child; child = child->next) {
    ending += child->cause == FC_CAUSE_DROPPED;
  }
  assert_int_equal(ending, 1);
  while (!host->restarts) {
    assert_true(host->living + 1 >= PROCESSES);
    turn(&house);
  }
  for (int i = 0; i < PROCESSES; i++) expect_answered(&house, &waiting[i]);
  leave(&house);
  atomic_store(&ahead_ns, 0);
}

// ---------------------------------------------------------------------------
// Loading that fails for an outside reason

#define KILLED                                               \
  "while it was loaded its process was killed from outside " \
  "(SIGKILL), most likely because memory ran out"
#define NOT_MADE                                             \
  "cannot start a worker process: /proc/self/exe: Resource " \
  "temporarily unavailable"

static void be_slow(bool is) {
  sem_init(&spawning, 0, 0);
  sem_init(&spawn_gate, 0, 0);
  atomic_store(&is_slow, is);
}

// Waits until no module is being loaded.
static void settle(house_t *house) {
  do turn(house);
  while (house->modules.pending);
  for (int i = 0; i < 3; i++) turn(house);
}

static void enter_doomed(house_t *house, int count, int error) {
  atomic_store(&stopped_ns, __real_fc_clock_ns());
  atomic_store(&doomed, count);
  atomic_store(&doom_error, error);
  atomic_store(&spawns, 0);
  enter(house, FC_ISOLATION_PROCESS, 0);
  settle(house);
}

static void leave_doomed(house_t *house) {
  leave(house);
  assert_int_equal(atomic_load(&house->memory.live), 0);
  atomic_store(&stopped_ns, 0);
  atomic_store(&doomed, 0);
}

static void expect_failed(const house_t *house, const char *reason,
                          uint32_t tries) {
  const fc_generation_t *generation = find(house);
  assert_int_equal(fc_generation_state(generation), FC_GENERATION_FAILED);
  assert_string_equal(generation->error.message, reason);
  assert_int_equal(atomic_load(&spawns), tries);
}

// The second try comes at once, the third after 100 ms, the fourth after 200 ms; each
// delay may be a fifth shorter or longer.
static void a_module_gets_another_try_by_and_by(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int error;
    const char *reason;
  } rows[] = {
      {"its process is killed while it loads", 0, KILLED},
      {"its process cannot be made", EAGAIN, NOT_MADE},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static house_t house;
    enter_doomed(&house, 3, row->error);
    expect_failed(&house, row->reason, 2);
    atomic_fetch_add(&stopped_ns, 79 * MS);
    settle(&house);
    expect_failed(&house, row->reason, 2);
    atomic_fetch_add(&stopped_ns, 42 * MS);
    settle(&house);
    expect_failed(&house, row->reason, 3);
    atomic_fetch_add(&stopped_ns, 159 * MS);
    settle(&house);
    expect_failed(&house, row->reason, 3);
    atomic_fetch_add(&stopped_ns, 82 * MS);
    settle(&house);
    assert_int_equal(atomic_load(&spawns), 4);
    assert_int_equal(fc_generation_state(find(&house)), FC_GENERATION_READY);
    assert_int_equal(house.modules.generations.used, FC_ARRAY_COUNT(kModules));
    expect_answer(&house, find(&house)->index);
    // A module with a faulty file is not tried again.
    assert_int_equal(fc_generation_state(generation_at(&house, UNDEFINED)),
                     FC_GENERATION_FAILED);
    assert_int_equal(house.modules.retry_ns, 0);
    leave_doomed(&house);
  }
}

// The module is unloaded while its process is being made.
static void a_try_that_nobody_wants_any_more_is_dropped(void **state) {
  (void)state;
  static house_t house;
  enter_doomed(&house, 2, 0);
  be_slow(true);
  atomic_fetch_add(&stopped_ns, 121 * MS);
  while (sem_trywait(&spawning)) turn(&house);
  atomic_store(&is_slow, false);
  fc_generations_drain(&house.modules.generations, find(&house));
  sem_post(&spawn_gate);
  settle(&house);
  while (house.modules.generations.used >= FC_ARRAY_COUNT(kModules)) {
    turn(&house);
  }
  assert_null(
      fc_generations_find(&house.modules.generations, FC_STR("scalars")));
  assert_int_equal(atomic_load(&spawns), 3);
  leave_doomed(&house);
}

static void note_woken(fc_waiter_t *waiter) { waiter->due_ns = 1; }

static fc_status_t ask(house_t *house, fc_waiter_t *waiter, fc_error_t *err) {
  *waiter = (fc_waiter_t){.on_woken = note_woken};
  FC_TRY(fc_demand_wait(&house->modules, find(house), true, waiter, err));
  settle(house);
  assert_int_equal(waiter->due_ns, 1);
  return FC_OK;
}

// With --load=demand each request may load the module again, but not sooner than the
// delay of other modules allows.
static void a_demanded_module_gets_another_try_by_a_request(void **state) {
  (void)state;
  static house_t house;
  fc_waiter_t waiter;
  fc_error_t error;
  on_demand = true;
  enter_doomed(&house, 2, 0);
  on_demand = false;
  assert_int_equal(atomic_load(&spawns), 0);
  for (uint32_t tries = 1; tries <= 2; tries++) {
    assert_int_equal(ask(&house, &waiter, &error), FC_OK);
    assert_true(waiter.failed);
    assert_int_equal(fc_generation_state(find(&house)),
                     FC_GENERATION_DESCRIBED);
    assert_string_equal(find(&house)->error.message, KILLED);
    assert_int_equal(atomic_load(&spawns), tries);
  }
  assert_int_equal(ask(&house, &waiter, &error), FC_RESOURCE_EXHAUSTED);
  assert_int_equal(error.code, FC_CODE_OUT_OF_MEMORY);
  assert_string_equal(error.message, KILLED);
  atomic_fetch_add(&stopped_ns, 121 * MS);
  settle(&house);
  assert_int_equal(atomic_load(&spawns), 2);
  assert_int_equal(ask(&house, &waiter, &error), FC_OK);
  assert_false(waiter.failed);
  assert_int_equal(fc_generation_state(find(&house)), FC_GENERATION_READY);
  expect_answer(&house, find(&house)->index);
  leave_doomed(&house);
}

#define ANOTHER_FILE "it says that it has loaded another file"

// A worker process that claims to serve, but with the digest of another file.
static _Noreturn void load_another_file(void) {
  const uint64_t one = 1;
  fc_ring_t ring;
  fc_error_t error;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (fc_ring_open(FC_PROCESS_RING, &ring, &error)) _exit(1);
  memset(ring.head->digest, 'x', sizeof ring.head->digest);
  atomic_store(&ring.head->phase, FC_RING_SERVING);
  if (write(FC_PROCESS_BELL, &one, sizeof one) < 0) _exit(1);
  for (;;) pause();
}

static void a_process_with_another_file_does_not_serve(void **state) {
  (void)state;
  static house_t house;
  parameters = ANOTHER_FILE;
  enter(&house, FC_ISOLATION_PROCESS, 0);
  parameters = "";
  const fc_generation_t *generation = generation_at(&house, SCALARS);
  assert_int_equal(fc_generation_state(generation), FC_GENERATION_FAILED);
  assert_string_equal(generation->error.message,
                      "its worker loaded another file: it was changed");
  leave(&house);
}

static void wait_for_end(house_t *house, uint32_t index) {
  while (fc_generations_at(&house->modules.generations, index)) turn(house);
}

// A call keeps the generation that it was routed to. That generation still answers
// beside the new one, and ends after the call.
static void serve_side_by_side(house_t *house) {
  fc_generation_t *old = find(house);
  const uint32_t index = old->index;
  fc_generation_hold(old);
  fc_job_t job = make_job(house, index, 0, FC_STR("[]"), FC_CALL_VALIDATE);
  house->done = NULL;
  fc_pool_enqueue(&house->pool, &job);
  replace(house);
  assert_int_equal(fc_generation_state(old), FC_GENERATION_DRAINING);
  while (!house->done) turn(house);
  fc_pool_finish(&house->pool, &job);
  for (int i = 0; i < 3; i++) {
    expect_answer(house, index);
    expect_answer(house, find(house)->index);
  }
  fc_generations_release(&house->modules.generations, old);
  wait_for_end(house, index);
  expect_answer(house, find(house)->index);
}

// The call is dropped while a worker may still run it.
static void replace_under_a_dropped_call(house_t *house) {
  const uint32_t index = find(house)->index;
  fc_job_t job = make_job(house, index, 0, FC_STR("[]"), 0);
  fc_pool_enqueue(&house->pool, &job);
  fc_pool_flush(&house->pool);
  fc_pool_drop(&house->pool, &job);
  fc_block_give(house->blocks, job.call.body.block);
  replace(house);
  wait_for_end(house, index);
}

static void generations_come_and_go(fc_isolation_mode_t host) {
  static house_t house;
  enter(&house, host, 0);
  usage_t before = {0};
  for (int i = 0; i < 10; i++) {
    serve_side_by_side(&house);
    replace_under_a_dropped_call(&house);
    // By now queues, blocks and instances have been made, so memory must not grow
    // further.
    if (i == 1) before = usage(&house);
  }
  const usage_t after = usage(&house);
  assert_int_equal(after.blocks, before.blocks);
  assert_int_equal(after.processes, before.processes);
  assert_int_equal(after.files, before.files);
  leave(&house);
  assert_int_equal(atomic_load(&house.memory.live), 0);
}

// If a newer file cannot be loaded, the generation that serves its name stays.
static void a_failure_keeps_what_serves(void **state) {
  (void)state;
  static house_t house;
  enter(&house, FC_ISOLATION_THREAD, 0);
  const fc_generation_t *serving = find(&house);
  const uint32_t used = house.modules.generations.used;
  fc_error_t error;
  assert_int_equal(
      fc_modules_load(&house.modules, FC_STR("/nonexistent/scalars.so"), true,
                      &error),
      FC_OK);
  while (house.modules.pending) turn(&house);
  assert_ptr_equal(find(&house), serving);
  assert_int_equal(house.modules.generations.used, used);
  expect_answer(&house, serving->index);
  leave(&house);
}

// Clients see the error's text, so it must not contain a folder.
static void a_second_module_of_one_name_is_an_error(void **state) {
  (void)state;
  static house_t house;
  enter(&house, FC_ISOLATION_THREAD, 0);
  const fc_generation_t *serving = find(&house);
  const uint32_t used = house.modules.generations.used;
  fc_error_t error;
  assert_int_equal(
      fc_modules_load(&house.modules, FC_STR("/elsewhere/scalars.vmfb"), false,
                      &error),
      FC_OK);
  const fc_generation_t *second = generation_at(&house, used);
  assert_int_equal(fc_generation_state(second), FC_GENERATION_FAILED);
  assert_string_equal(second->error.message,
                      "two modules are called 'scalars': 'scalars.so' and "
                      "'scalars.vmfb'");
  assert_string_equal(second->kind, "vm");
  assert_ptr_equal(find(&house), serving);
  leave(&house);
}

// ---------------------------------------------------------------------------
// Modules whose first instance takes long to make

static sem_t making, made;
static _Atomic bool is_late;
static _Atomic uint32_t late_calls;

static fc_status_t make_late(void *module, fc_allocator_t allocator,
                             void **out_instance, fc_error_t *err) {
  if (atomic_load(&is_late)) {
    sem_post(&making);
    sem_wait(&made);
  }
  return fc_backend_vm.instance_create(module, allocator, out_instance, err);
}

static fc_status_t call_late(void *instance, size_t index,
                             fc_backend_call_t *call, fc_error_t *err) {
  if (atomic_load(&is_late)) atomic_fetch_add(&late_calls, 1);
  return fc_backend_vm.call(instance, index, call, err);
}

static void be_late(bool is) {
  sem_init(&making, 0, 0);
  sem_init(&made, 0, 0);
  atomic_store(&late_calls, 0);
  atomic_store(&is_late, is);
}

static void an_instance_that_is_not_made_fails_its_module(void **state) {
  (void)state;
  static house_t house;
  enter(&house, FC_ISOLATION_THREAD, 0);
  be_late(true);
  fc_module_t *module;
  fc_error_t error;
  assert_int_equal(fc_module_load(kBackends, FC_STR(CORPUS "vm/ops.vmfb"), NULL,
                                  fc_allocator_system(), &module, &error),
                   FC_OK);
  house.pool.options.load_ms = 1;
  house.may_lose = true;
  const uint32_t index = FC_ARRAY_COUNT(kModules);
  house.opening++;
  house.alone = true;
  assert_int_equal(
      fc_pool_add(&house.pool, index, module, &(fc_hosting_t){0}, &error),
      FC_OK);
  fc_module_release(module);
  fc_pool_flush(&house.pool);
  sem_wait(&making);
  while (house.opening) turn(&house);
  assert_string_equal(house.error.message, "loading it takes longer than 1 ms");
  // Another thread has replaced the lost one.
  expect_answer(&house, SCALARS);
  // Once the lost thread has returned, the generation can end.
  sem_post(&made);
  house.retired = UINT32_MAX;
  fc_pool_retire(&house.pool, index);
  while (house.retired != index) turn(&house);
  be_late(false);
  leave(&house);
}

// The time limit of a trial passes while its first instance is still being made. The
// trial's calls are made all the same.
static void a_trial_is_timed_from_its_first_worker(void **state) {
  (void)state;
  static house_t house;
  fc_error_t error;
  enter(&house, FC_ISOLATION_THREAD, 0);
  house.pool.options.load_ms = 2 * FC_LIMIT_TRIAL_MS;
  house.policies.others.warm_up = 1;
  house.policies.others.origins[FC_MODULE_KEY_warm_up] =
      (fc_origin_t){.from = FC_ORIGIN_FILE};
  be_late(true);
  const uint64_t loads = house.modules.loads;
  assert_int_equal(fc_modules_load(&house.modules, FC_STR(CORPUS "vm/ops.vmfb"),
                                   true, &error),
                   FC_OK);
  while (sem_trywait(&making)) turn(&house);
  atomic_store(&ahead_ns, (FC_LIMIT_TRIAL_MS + 1000) * 1000000ull);
  sem_post(&made);
  while (house.modules.loads == loads) turn(&house);
  assert_true(atomic_load(&late_calls) > 0);
  be_late(false);
  leave(&house);
  atomic_store(&ahead_ns, 0);
}

// The loader opens the module for threads. Meanwhile its policy changes, as SIGHUP
// does.
static void a_module_is_hosted_as_it_was_opened(void **state) {
  (void)state;
  static house_t house;
  fc_error_t error;
  enter(&house, FC_ISOLATION_THREAD, 0);
  const fc_generation_t *old = find(&house);
  assert_int_equal(
      fc_modules_load(&house.modules, fc_str(kModules[SCALARS].path), true,
                      &error),
      FC_OK);
  house.policies.others.isolation = FC_ISOLATION_PROCESS;
  while (find(&house) == old) turn(&house);
  assert_false(facts(&house, find(&house)->index).in_process);
  expect_answer(&house, find(&house)->index);
  leave(&house);
}

// ---------------------------------------------------------------------------
// A steady stream of quick calls: when one ends, another one begins. Each ends when the
// test lets it.

#define STREAM 40

static sem_t gate;
static atomic_uint gated;  // calls that came to it
static fc_job_t stream[STREAM];
static bool streaming;
static unsigned streamed;  // calls that have ended

static fc_status_t call_gated(void *instance, size_t index,
                              fc_backend_call_t *call, fc_error_t *err) {
  atomic_fetch_add(&gated, 1);
  sem_wait(&gate);
  return fc_backend_native.call(instance, index, call, err);
}

static void begin_streamed(house_t *house, fc_job_t *job, uint32_t index) {
  const fc_function_t *function =
      fc_module_find(generation_at(house, SCALARS)->module, FC_STR("s_i32"));
  *job = make_job(house, index, (uint32_t)function->index, FC_STR("[21]"), 0);
  fc_pool_enqueue(&house->pool, job);
}

// The call counts as quick, however long the test has held it.
static bool hear_streamed(house_t *house, fc_job_t *job) {
  if (job < stream || job >= stream + STREAM) return false;
  assert_int_equal(job->outcome->status, FC_OK);
  memset(job->outcome->spent_ns, 0, sizeof job->outcome->spent_ns);
  fc_pool_finish(&house->pool, job);
  streamed++;
  if (streaming) begin_streamed(house, job, job->call.generation);
  return true;
}

static void let_go(house_t *house, unsigned count) {
  const unsigned before = streamed;
  for (unsigned i = 0; i < count; i++) sem_post(&gate);
  while (streamed - before < count) turn(house);
}

// `endless`: as of machine code, nothing but their code ends the calls.
static uint32_t add_gated(house_t *house, bool endless,
                          fc_module_t **out_module) {
  static fc_backend_t backend;
  const fc_backend_t *const backends[] = {&backend, NULL};
  const uint32_t index = FC_ARRAY_COUNT(kModules);
  fc_error_t error;
  backend = fc_backend_native;
  backend.call = call_gated;
  assert_int_equal(
      fc_module_load(backends, fc_str(kModules[SCALARS].path), NULL,
                     fc_allocator_system(), out_module, &error),
      FC_OK);
  fc_module_info_t *info =
      (fc_module_info_t *)(uintptr_t)fc_module_get_info(*out_module);
  info->endless = endless;
  house->alone = true;
  house->opening++;
  assert_int_equal(
      fc_pool_add(&house->pool, index, *out_module, &(fc_hosting_t){0}, &error),
      FC_OK);
  while (house->opening) turn(house);
  return index;
}

// A single call shows that the function is quick. Then more calls are made than the
// thread is given at a time.
static void begin_stream(house_t *house, uint32_t index) {
  sem_init(&gate, 0, 0);
  house->hear = hear_streamed;
  streaming = false;
  begin_streamed(house, &stream[0], index);
  let_go(house, 1);
  streaming = true;
  for (unsigned i = 0; i < STREAM; i++) {
    begin_streamed(house, &stream[i], index);
  }
  fc_pool_flush(&house->pool);
  assert_int_equal(house->pool.hosts[FC_HOSTS_THREAD]->running, 16);
}

static void end_stream(house_t *house) {
  streaming = false;
  let_go(house, STREAM);
  house->hear = NULL;
}

// What must not wait for the stream to end: the first instance of a module, and a call
// of a function that was never called before.
static void quick_calls_keep_nobody_waiting(void **state) {
  (void)state;
  for (int loads = 0; loads < 2; loads++) {
    static house_t house;
    fc_module_t *module;
    enter(&house, FC_ISOLATION_THREAD, 0);
    const uint32_t index = add_gated(&house, true, &module);
    begin_stream(&house, index);
    fc_job_t job;
    house.done = NULL;
    if (loads) {
      house.opening++;
      assert_int_equal(
          fc_pool_add(&house.pool, index + 1, module, &(fc_hosting_t){0}, NULL),
          FC_OK);
    } else {
      begin_streamed(&house, &job, SCALARS);
    }
    const unsigned before = streamed;
    while (!house.done && (!loads || house.opening)) {
      assert_true(streamed - before < 2 * STREAM);
      let_go(&house, 1);
    }
    if (!loads) fc_pool_finish(&house.pool, &job);
    end_stream(&house);
    fc_module_release(module);
    leave(&house);
  }
}

// A call waits until there are enough calls to join it, but at most as long as its
// module says, and only if its deadline allows that.
static void a_call_waits_for_others_as_long_as_its_module_says(void **state) {
  (void)state;
  enum { DELAY_MS = 300000, LATE_MS = 100 * DELAY_MS };
  static const struct {
    const char *name;
    int calls;
    uint64_t deadline_ms, pass_ms;
    uint32_t running;
    bool endless;
  } rows[] = {{"nobody comes", 1, LATE_MS, DELAY_MS / 2, 0, false},
              {"nobody has come", 1, LATE_MS, DELAY_MS + 1, 1, false},
              {"one comes", 2, LATE_MS, 0, 2, false},
              {"its deadline comes first", 1, DELAY_MS, 0, 1, false},
              {"a .so in threads has no batches", 1, LATE_MS, 0, 1, true}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static house_t house;
    static fc_batch_t batch;
    fc_module_t *module;
    fc_job_t jobs[2];
    enter(&house, FC_ISOLATION_THREAD, 0);
    const uint32_t index = add_gated(&house, row->endless, &module);
    const fc_function_t *function = fc_module_find(module, FC_STR("s_i32"));
    fc_plan_t *plan = (fc_plan_t *)(uintptr_t)function->plan;
    plan->batch = &batch;
    house.pool.queues[index]->costs[function->index] =
        (fc_cost_t){.together = 2, .average_ns = MS, .delay_ns = DELAY_MS * MS};
    house.hear = hear_stuck;
    heard = 0;
    sem_init(&gate, 0, 2);
    atomic_store(&gated, 0);
    for (int i = 0; i < row->calls; i++) {
      jobs[i] =
          make_job(&house, index, (uint32_t)function->index, FC_STR("[21]"), 0);
      jobs[i].limit_ns = jobs[i].call.deadline_ns =
          fc_clock_ns() + row->deadline_ms * MS;
      jobs[i].came_ns = 1;  // of its client's last call
      fc_pool_enqueue(&house.pool, &jobs[i]);
    }
    fc_pool_flush(&house.pool);
    if (row->pass_ms) {
      assert_int_equal(fc_pool_running(&house.pool), 0);
      assert_in_range(fc_pool_due_ns(&house.pool, 0), 1,
                      jobs[0].came_ns + DELAY_MS * MS);
      atomic_fetch_add(&ahead_ns, row->pass_ms * MS);
      fc_pool_flush(&house.pool);
    }
    assert_int_equal(fc_pool_running(&house.pool), row->running);
    atomic_fetch_add(&ahead_ns, DELAY_MS * MS);
    while (heard < (unsigned)row->calls) turn(&house);
    house.hear = NULL;
    plan->batch = NULL;
    fc_module_release(module);
    leave(&house);
    atomic_store(&ahead_ns, 0);
  }
}

// Machine code that runs past the deadlines of a batch costs one thread, whichever call
// of the batch is late.
static void a_batch_loses_its_thread_once(void **state) {
  (void)state;
  static house_t house;
  fc_module_t *module;
  fc_job_t jobs[2];
  enter(&house, FC_ISOLATION_THREAD, 0);
  const uint32_t index = add_gated(&house, false, &module);
  const fc_function_t *function = fc_module_find(module, FC_STR("s_i32"));
  fc_cost_t *cost = &house.pool.queues[index]->costs[function->index];
  *cost = (fc_cost_t){.together = FC_BATCH_CALLS, .average_ns = MS};
  house.may_lose = true;
  house.hear = hear_stuck;
  heard = 0;
  sem_init(&gate, 0, 0);
  atomic_store(&gated, 0);
  for (int i = 0; i < 2; i++) {
    jobs[i] =
        make_job(&house, index, (uint32_t)function->index, FC_STR("[21]"), 0);
    jobs[i].limit_ns = jobs[i].call.deadline_ns = fc_clock_ns() + 600000 * MS;
    fc_pool_enqueue(&house.pool, &jobs[i]);
  }
  while (!atomic_load(&gated)) turn(&house);
  assert_int_equal(house.pool.hosts[FC_HOSTS_THREAD]->running, 2);
  pass(&house, 600000 + FC_LIMIT_KILL_GRACE_MS);
  for (int i = 0; i < 2; i++) expect_late(&house, &jobs[i]);
  assert_int_equal(facts(&house, index).lost_threads, 1);
  assert_int_equal(facts(&house, index).stuck, 1);
  for (int i = 0; i < 2; i++) sem_post(&gate);
  while (fc_pool_running(&house.pool)) turn(&house);
  assert_int_equal(facts(&house, index).stuck, 0);
  house.hear = NULL;
  fc_module_release(module);
  leave(&house);
  atomic_store(&ahead_ns, 0);
}

// The caller is charged for the last turn of a call and for a turn that fails.
static void a_turn_that_ends_is_paid_for(void **state) {
  (void)state;
  static const fc_isolation_mode_t kKinds[] = {FC_ISOLATION_THREAD,
                                               FC_ISOLATION_PROCESS};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kKinds); i++) {
    static house_t house;
    enter(&house, kKinds[i], 0);
    fc_job_t job = make_job(&house, SCALARS, 0, FC_STR("}"), 0);
    job.call.parts = 1;
    house.done = NULL;
    fc_pool_enqueue(&house.pool, &job);
    while (!house.done) turn(&house);
    assert_int_not_equal(job.outcome->status, FC_OK);
    const uint64_t spent_ns = fc_outcome_worker_ns(job.outcome);
    assert_true(spent_ns > 0);
    fc_pool_finish(&house.pool, &job);
    assert_int_equal(house.pool.flows.debt_count, 1);
    assert_in_range(house.pool.flows.debts[0].ns, 1, spent_ns);
    assert_true(fc_pool_cpu_ns(&house.pool, SCALARS) > 0);
    leave(&house);
  }
}

static void queue_loop(house_t *house, fc_job_t *job) {
  static const char body[] =
      "{\"args\":[21],\"repeat\":{\"times\":9999999,\"emit\":[]}}";
  const fc_function_t *function =
      fc_module_find(generation_at(house, SCALARS)->module, FC_STR("s_i32"));
  *job = make_job(house, SCALARS, (uint32_t)function->index, fc_str(body), 0);
  job->call.parts = 1;
  // The native dialect has the limit of steps as its second parameter.
  const uint64_t steps = 9999999;
  memcpy(job->call.parameters + sizeof steps, &steps, sizeof steps);
  job->call.deadline_ns = job->limit_ns = fc_clock_ns() + 600000 * MS;
  fc_pool_enqueue(&house->pool, job);
}

// The whole time of a turn is charged, whatever happens to its client and process. Each
// case gets a new process: the one before may have a pending signal, or may not be gone
// yet.
static void a_turn_that_nobody_waits_for_is_paid_for(void **state) {
  (void)state;
  enum { LEAVES, CRASHES, IS_LATE, WAYS, SPENT_MS = 30 };
  for (int way = 0; way < WAYS; way++) {
    static house_t house;
    (void)enter_stuck(&house, 1);
    fc_job_t job;
    queue_loop(&house, &job);
    const fc_child_t *child = first_child(&house, SCALARS);
    wait_until_busy(&house, child);
    pass(&house, SPENT_MS);
    if (way == LEAVES) fc_pool_drop(&house.pool, &job);
    if (way == CRASHES) (void)kill(child->process.pid, SIGKILL);
    if (way == IS_LATE) pass(&house, 600000);
    while (fc_pool_running(&house.pool)) {
      if (way == LEAVES) (void)kill(child->process.pid, SIGUSR1);
      turn(&house);
    }
    assert_int_equal(house.pool.flows.debt_count, 1);
    assert_in_range(house.pool.flows.debts[0].ns, SPENT_MS * MS,
                    FC_LIMIT_TURNS_OWED_NS);
    leave(&house);
    atomic_store(&ahead_ns, 0);
  }
}

static void a_thread_turns_for_nobody_and_is_paid_for(void **state) {
  (void)state;
  static house_t house;
  enter(&house, FC_ISOLATION_THREAD, 0);
  // Repeats this until the thread has begun the call before its client leaves.
  while (!house.pool.flows.debt_count) {
    fc_job_t job;
    queue_loop(&house, &job);
    fc_pool_flush(&house.pool);
    usleep(1000);
    fc_pool_drop(&house.pool, &job);
    while (fc_pool_running(&house.pool)) turn(&house);
  }
  leave(&house);
}

// Processes that load at the same time share the processors, so each may take longer.
static void a_process_may_load_for_longer_where_many_load(void **state) {
  (void)state;
  static const struct {
    uint32_t starting;
    uint64_t load_ns;
  } kRows[] = {{1, 1000}, {16, 1000}, {32, 2000}, {200, 12500}};
  static fc_process_hosts_t all;
  static fc_process_host_t host = {.base.hosts = &all.base, .load_ns = 1000};
  static fc_child_t child = {.host = &host};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    all.starting = kRows[i].starting;
    assert_int_equal(fc_child_load_ns(&child), kRows[i].load_ns);
  }
}

static void generations_of_threads_come_and_go(void **state) {
  (void)state;
  generations_come_and_go(FC_ISOLATION_THREAD);
}

static void generations_of_processes_come_and_go(void **state) {
  (void)state;
  generations_come_and_go(FC_ISOLATION_PROCESS);
}

// ---------------------------------------------------------------------------
// Processes that take long to make

// Ends the process of SCALARS and waits until its successor is being made.
static fc_child_t *end_first(house_t *house) {
  wait_until_idle(house, 0, 0);
  be_slow(true);
  assert_int_equal(kill(first_child(house, SCALARS)->process.pid, SIGKILL), 0);
  while (sem_trywait(&spawning)) turn(house);
  fc_child_t *child = first_child(house, SCALARS);
  assert_int_equal(child->process.pid, 0);
  return child;
}

#define OWNER 1

static void a_process_that_is_being_made_keeps_nobody_waiting(void **state) {
  (void)state;
  static house_t house;
  fc_host_worker_t worker;
  enter(&house, FC_ISOLATION_PROCESS, 0);
  (void)end_first(&house);
  assert_false(fc_host_worker(fc_pool_host(&house.pool, SCALARS), 0, &worker));
  // Meanwhile calls of another module are answered, and a call of this one waits.
  fc_job_t job = make_job(&house, SCALARS, 0, FC_STR("[]"), FC_CALL_VALIDATE);
  fc_pool_enqueue(&house.pool, &job);
  const fc_function_t *other_function =
      fc_module_function(generation_at(&house, OWNER)->module, 0);
  outcome_t outcome = call(&house, OWNER, (uint32_t)other_function->index,
                           FC_STR("["), FC_CALL_VALIDATE);
  assert_int_equal(outcome.error.code, FC_CODE_JSON_SYNTAX);
  assert_null(job.outcome);
  atomic_store(&is_slow, false);
  sem_post(&spawn_gate);
  while (!job.outcome) turn(&house);
  fc_pool_finish(&house.pool, &job);
  expect_answer(&house, SCALARS);
  assert_int_equal(facts(&house, SCALARS).restarts, 1);
  leave(&house);
  assert_int_equal(atomic_load(&house.memory.live), 0);
}

static void a_process_may_be_unwanted_before_it_is_there(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool retired;   // its generation, meanwhile
    bool late;      // it has not come to serve in time
    bool shutdown;  // the server ends meanwhile
    int error;      // it cannot be made after all
  } rows[] = {
      {"its generation is retired", .retired = true},
      {"and it cannot be made", .retired = true, .error = EAGAIN},
      {"its time to load has passed", .late = true},
      {"the server ends", .shutdown = true},
      {"it cannot be made", .error = EAGAIN},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static house_t house;
    enter(&house, FC_ISOLATION_PROCESS, 0);
    fc_child_t *child = end_first(&house);
    house.retired = UINT32_MAX;
    atomic_store(&spawn_error, row->error);
    atomic_store(&is_slow, false);
    if (row->retired) {
      fc_generations_drain(&house.modules.generations, find(&house));
      fc_pool_flush(&house.pool);
      assert_int_equal(child->cause, FC_CAUSE_RETIRED);
    }
    if (row->late) fc_child_kill(child, FC_CAUSE_LOAD);
    sem_post(&spawn_gate);
    if (row->retired) {
      while (house.retired != SCALARS) turn(&house);
    } else if (!row->shutdown) {
      // Another process takes its place.
      wait_until_idle(&house, 0, 0);
      expect_answer(&house, SCALARS);
    }
    leave(&house);
    assert_int_equal(atomic_load(&house.memory.live), 0);
    assert_int_equal(atomic_load(&spawn_error), 0);
  }
}

// The generation's processes were told to end; the server does not wait for them.
static void a_server_may_end_while_a_generation_does(void **state) {
  (void)state;
  static house_t house;
  enter(&house, FC_ISOLATION_PROCESS, 0);
  fc_generations_drain(&house.modules.generations, find(&house));
  fc_pool_flush(&house.pool);
  uv_run(&house.uv, UV_RUN_NOWAIT);
  leave(&house);
  assert_int_equal(atomic_load(&house.memory.live), 0);
}

// ---------------------------------------------------------------------------
// Sessions while processes are killed. Each call of the toy adds a number to every byte of
// its session's value "sum", one half after the other, and returns what the bytes are
// then. It also writes the session's owner, and checks that no other owner was there. Some
// calls do so in TURNS turns.

#define TOY (FC_DIALECTS_MAX - 1)
#define TOY_SIZE 10000
#define CROWD 10u
#define TURNS 3u
#define EACH 2u  // calls of a session that wait at once
#define CROWD_CALLS 700u

static fc_status_t open_toy(fc_store_t *store, fc_str_t name, int64_t size,
                            void **out_data, fc_error_t *err) {
  fc_store_row_t *row = fc_store_find(store->desk, name);
  if (row) return fc_store_own(store, row, NULL, out_data, err);
  const fc_value_t value = {
      .kind = FC_VALUE_TENSOR,
      .tensor = {.dtype = FC_DTYPE_UI8, .rank = 1, .shape = &size}};
  fc_store_row_t fresh;
  FC_TRY(fc_store_describe(name, &value, &fresh, err));
  FC_TRY(fc_store_place(store, &fresh, out_data, err));
  return fc_store_put(store, &fresh, err);
}

static _Atomic bool is_toy_slow;  // in threads: half of "sum" is written

static fc_status_t turn_toy(fc_turn_t *turn, fc_error_t *err) {
  fc_store_t *store = turn->worker->store;
  unsigned whose, more, left;
  char text[64];
  void *who, *sum;
  if (!turn->body.data) turn->body = fc_str_make((char *)turn->carry, 64);
  snprintf(text, sizeof text, "%.*s", FC_STR_ARG(turn->body));
  if (sscanf(text, "%u %u %u", &whose, &more, &left) != 3) abort();
  *turn->stage = FC_STAGE_CALL;
  FC_TRY(open_toy(store, FC_STR("who"), sizeof whose, &who, err));
  FC_TRY(open_toy(store, FC_STR("sum"), TOY_SIZE, &sum, err));
  uint8_t *at = sum;
  const char *wrong = "";
  for (int i = 1; i < TOY_SIZE; i++) {
    if (at[i] != at[0]) wrong = " torn";
  }
  unsigned known;
  memcpy(&known, who, sizeof known);
  if (known && known != whose) wrong = " another's";
  memcpy(who, &whose, sizeof whose);
  for (int i = 0; i < TOY_SIZE / 2; i++) at[i] = (uint8_t)(at[i] + more);
  if (atomic_load(&is_toy_slow)) {
    sem_post(&making);
    sem_wait(&made);
  }
  usleep(more * 10);
  for (int i = TOY_SIZE / 2; i < TOY_SIZE; i++) at[i] = (uint8_t)(at[i] + more);
  *turn->stage = FC_STAGE_ENCODE;
  if (--left) {
    FC_TRY(fc_turn_grow(turn, sizeof text, err));
    snprintf((char *)turn->carry, sizeof text, "%u %u %u", whose, more, left);
    turn->carry_size = sizeof text;
    turn->more = true;
    atomic_fetch_add(turn->steps, 1);
  }
  snprintf(text, sizeof text, "%u%s", at[0], wrong);
  return fc_sink_put(turn->sink, fc_str(text), err);
}

static const fc_dialect_worker_t toy = {.turn = turn_toy};

static struct {
  fc_sessions_t all;
  struct {
    fc_session_t *session;
    uint8_t sum;       // the oracle
    bool lost;         // a call of it was ended with its process
    unsigned waiting;  // calls
    unsigned whose;
    fc_job_t *has_turns;  // the call that other calls let go on
    fc_job_t jobs[EACH];
  } each[CROWD];
  unsigned begun, answered, lost, refused;
  bool checkpoints;  // nothing is lost: the call alone fails
} crowd;

static void begin_session(unsigned i) {
  static unsigned count;
  const fc_session_wish_t wish = {.generation = 1,
                                  .checkpoint = crowd.checkpoints};
  fc_error_t error;
  assert_int_equal(fc_session_create(&crowd.all, &wish, fc_clock_ns(),
                                     &crowd.each[i].session, &error),
                   FC_OK);
  crowd.each[i].sum = 0;
  crowd.each[i].lost = false;
  crowd.each[i].whose = ++count;
}

static void begin_toy(house_t *house, unsigned i, unsigned j) {
  char body[32];
  const int size = snprintf(body, sizeof body, "%u %u %u", crowd.each[i].whose,
                            i + 1, (i + j) % 2 ? TURNS : 1);
  fc_job_t *job = &crowd.each[i].jobs[j];
  *job = make_job(house, SCALARS, 0, fc_str_make(body, (size_t)size),
                  FC_CALL_SESSION);
  job->call.dialect = TOY;
  job->call.parts = FC_PART_FORM_LINES;
  job->claim = &crowd.each[i].session->claim;
  crowd.each[i].waiting++;
  crowd.begun++;
  fc_pool_enqueue(&house->pool, job);
}

static void hear_answer(house_t *house, unsigned i, const fc_job_t *job) {
  outcome_t outcome = {0};
  char text[16];
  take_answer(house, job->outcome, &outcome);
  crowd.each[i].sum = (uint8_t)(crowd.each[i].sum + i + 1);
  snprintf(text, sizeof text, "%u", crowd.each[i].sum);
  if (crowd.each[i].lost ||
      !fc_str_equal(fc_str_make(outcome.bytes, outcome.size), fc_str(text))) {
    fail_msg("session %u is at %s, its call answers %.*s", i, text,
             (int)outcome.size, outcome.bytes);
  }
  free(outcome.bytes);
  crowd.answered++;
}

static void hear_error(unsigned i, const fc_error_t *error) {
  if (error->code == FC_CODE_SESSION_LOST) {
    assert_true(crowd.each[i].lost);
    crowd.refused++;
    return;
  }
  // The function was running when the process was killed from outside. If it had not
  // begun, another process would have made the call.
  assert_int_equal(error->code, FC_CODE_WORKER_OUT_OF_MEMORY);
  assert_false(crowd.each[i].lost);
  crowd.each[i].lost = !crowd.checkpoints;
  crowd.lost++;
}

static void go_on_with_toy(house_t *house, fc_job_t *job) {
  fc_error_t error;
  uint32_t retry_s;
  job->call.flags |= FC_CALL_LATER;
  assert_int_equal(fc_pool_pause(&house->pool, job, &error), FC_OK);
  assert_int_equal(fc_pool_go_on(&house->pool, job, &retry_s, &error), FC_OK);
}

static bool hear_toy(house_t *house, fc_job_t *job) {
  for (unsigned i = 0; i < CROWD; i++) {
    const size_t j = (size_t)(job - crowd.each[i].jobs);
    if (j >= EACH) continue;
    fc_job_t **has_turns = &crowd.each[i].has_turns;
    if (*has_turns) assert_ptr_equal(*has_turns, job);
    *has_turns = job->outcome->more ? job : NULL;
    if (job->outcome->status == FC_OK) hear_answer(house, i, job);
    else hear_error(i, &job->outcome->error);
    if (job->outcome->more) {
      go_on_with_toy(house, job);
      return true;
    }
    fc_pool_finish(&house->pool, job);
    if (--crowd.each[i].waiting == 0 && crowd.each[i].lost) {
      fc_session_end(crowd.each[i].session, FC_SESSION_END_DELETED);
      begin_session(i);
      for (unsigned k = 0; k < EACH; k++) begin_toy(house, i, k);
    } else if (!crowd.each[i].lost && crowd.begun < CROWD_CALLS) {
      begin_toy(house, i, (unsigned)j);
    }
    return true;
  }
  return false;
}

static void kill_some(house_t *house, unsigned *random) {
  const fc_host_t *host = fc_pool_host(&house->pool, SCALARS);
  fc_child_t *child = ((const fc_process_host_t *)host)->children;
  *random = *random * 1664525 + 1013904223;
  for (unsigned skip = *random >> 30; child && skip--;) child = child->next;
  if (child && child->serving && !child->ended) {
    kill(child->process.pid, SIGKILL);
  }
}

static void run_crowd(house_t *house, bool kills) {
  unsigned random = 1, killed_at = 0;
  for (unsigned i = 0; i < CROWD; i++) {
    begin_session(i);
    for (unsigned j = 0; j < EACH; j++) begin_toy(house, i, j);
  }
  unsigned waiting = 1;
  while (waiting) {
    turn(house);
    if (kills && crowd.answered > killed_at + 25) {
      killed_at = crowd.answered;
      kill_some(house, &random);
    }
    waiting = 0;
    for (unsigned i = 0; i < CROWD; i++) waiting += crowd.each[i].waiting;
  }
}

// Gives the process a socket whose other end is closed, or one that nobody reads.
// Returns the end that must be closed.
static int spoil_handoff(const fc_child_t *child, bool closed) {
  int ends[2];
  assert_true(fc_handoff_open(ends));
  assert_true(dup2(ends[0], child->process.handoff) >= 0);
  if (closed) {
    close(ends[1]);
    return ends[0];
  }
  bool has_room = true;
  while (has_room) {
    has_room = fc_handoff_send(ends[0], 1, FC_HANDOFF_BODY, 0, STDERR_FILENO);
  }
  assert_int_equal(errno, EAGAIN);
  close(ends[0]);
  return ends[1];
}

static void begin_crowd(const house_t *house) {
  fc_hosts_t *hosts = house->pool.hosts[FC_HOSTS_PROCESS];
  fc_error_t error;
  memset(&crowd, 0, sizeof crowd);
  assert_int_equal(fc_process_hosts_start_nursery(hosts, &error), FC_OK);
  crowd.all = (fc_sessions_t){
      .allocator = house->pool.allocator,
      .limits = fc_session_limits(16 * CROWD, 1u << 30, UINT64_MAX / 4),
      .claims = &fc_session_claims,
      .nursery = fc_process_hosts_nursery(hosts)};
}

// The call is still made, by another process.
static void a_process_that_takes_no_slab_makes_room(void **state) {
  (void)state;
  for (int closed = 0; closed < 2; closed++) {
    static house_t house;
    enter(&house, FC_ISOLATION_PROCESS, 0);
    wait_until_idle(&house, 0, 0);
    begin_crowd(&house);
    house.hear = hear_toy;
    crowd.begun = CROWD_CALLS;
    const int end = spoil_handoff(first_child(&house, SCALARS), closed);
    begin_session(0);
    begin_toy(&house, 0, 0);
    while (crowd.each[0].waiting) turn(&house);
    assert_int_equal(crowd.answered, 1);
    assert_int_equal(facts(&house, SCALARS).crashes, 1);
    close(end);
    fc_session_end(crowd.each[0].session, FC_SESSION_END_DELETED);
    while (crowd.all.slabs) turn(&house);
    leave(&house);
    fc_sessions_deinit(&crowd.all);
  }
}

// Gives the session a reference in the process; returns its number.
static uint64_t bind_to(fc_child_t *child, fc_session_t *session) {
  fc_store_desk_t desk;
  fc_home_grant(&child->home, &session->claim, 1, &desk);
  fc_home_keep(&session->claim, desk.reference);
  fc_home_end_grant(&session->claim, 0);
  return desk.reference;
}

// Makes a session that has a reference in the process; returns its number.
static uint64_t begin_bound(const house_t *house, fc_child_t *child) {
  begin_crowd(house);
  begin_session(0);
  return bind_to(child, crowd.each[0].session);
}

static void begin_bound_call(house_t *house, fc_job_t *job) {
  const fc_function_t *function =
      fc_module_find(generation_at(house, SCALARS)->module, FC_STR("s_i32"));
  *job = make_job(house, SCALARS, (uint32_t)function->index, FC_STR("[21]"),
                  FC_CALL_SESSION);
  job->claim = &crowd.each[0].session->claim;
  fc_pool_enqueue(&house->pool, job);
}

static void end_bound(house_t *house, uint64_t number) {
  fc_home_drop(&crowd.each[0].session->claim, number);
  fc_session_end(crowd.each[0].session, FC_SESSION_END_DELETED);
  while (crowd.all.slabs) turn(house);
}

#define MANY (2 * FC_LIMIT_LOSSES + 1)

// No turn tells more sessions than it may that their process has ended. Each is lost from
// the first turn on.
static void a_process_with_many_sessions_ends_in_several_turns(void **state) {
  static house_t house;
  static fc_session_t *sessions[MANY];
  fc_error_t error;
  (void)state;
  enter(&house, FC_ISOLATION_PROCESS, 0);
  wait_until_idle(&house, 0, 0);
  begin_crowd(&house);
  crowd.all.limits = fc_session_limits(8 * MANY, 1u << 30, UINT64_MAX / 4);
  fc_child_t *child = first_child(&house, SCALARS);
  for (uint32_t i = 0; i < MANY; i++) {
    const fc_session_wish_t wish = {.generation = 1,
                                    .owner.bytes[0] = (uint8_t)i};
    assert_int_equal(fc_session_create(&crowd.all, &wish, fc_clock_ns(),
                                       &sessions[i], &error),
                     FC_OK);
    (void)bind_to(child, sessions[i]);
  }
  (void)kill(child->process.pid, SIGKILL);
  uint64_t told = 0;
  while (told < MANY) {
    turn(&house);
    const uint64_t before = told;
    told = crowd.all.ends[FC_SESSION_END_WORKER];
    assert_in_range(told - before, 0, FC_LIMIT_LOSSES);
    for (uint32_t i = 0; i < MANY && told; i++) {
      assert_int_not_equal(fc_session_check(sessions[i], &error), FC_OK);
      assert_int_equal(error.code, FC_CODE_SESSION_LOST);
    }
  }
  for (uint32_t i = 0; i < MANY; i++) {
    fc_session_end(sessions[i], FC_SESSION_END_DELETED);
  }
  while (crowd.all.slabs) turn(&house);
  leave(&house);
  fc_sessions_deinit(&crowd.all);
  assert_int_equal(atomic_load(&house.memory.live), 0);
}

// A call that looks at its deadline may end by itself, and sessions of others stay.
static void references_give_a_late_call_time_to_end(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool bound;  // a session has a reference in the process
    uint64_t past_ms;
    fc_cause_t cause;
  } rows[] = {
      {"at once", false, FC_LIMIT_KILL_GRACE_MS, FC_CAUSE_DEADLINE},
      {"not before others' references have waited", true, FC_LIMIT_LOOK_MS - 1,
       FC_CAUSE_NONE},
      {"then", true, FC_LIMIT_LOOK_MS, FC_CAUSE_DEADLINE},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static house_t house;
    fc_job_t job;
    uint64_t number = 0;
    (void)enter_stuck(&house, 1);
    fc_child_t *child = first_child(&house, SCALARS);
    while (!child->serving) turn(&house);
    if (row->bound) number = begin_bound(&house, child);
    begin_stuck(&house, &job, 600000, 600000);
    wait_until_busy(&house, child);
    atomic_store(&stopped_ns, job.limit_ns + row->past_ms * MS);
    turn(&house);
    assert_int_equal(child->cause, row->cause);
    atomic_store(&stopped_ns, 0);
    if (row->cause == FC_CAUSE_NONE) (void)kill(child->process.pid, SIGUSR1);
    while (!find_end(&job)) turn(&house);
    if (row->bound) end_bound(&house, number);
    leave(&house);
    if (row->bound) fc_sessions_deinit(&crowd.all);
  }
}

// A call that nobody waits for keeps a process with others' references for a minute, and
// then only if nobody else needs the process.
static void references_keep_a_process_for_a_minute(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool drop;  // the client goes, with --cancel=kill; else its deadline passes
    bool others;  // wait for the process
    uint64_t pass_ms;
    fc_cause_t cause;
  } rows[] = {
      {"late, not a minute", false, true, FC_LIMIT_HOME_HELD_MS - 5000,
       FC_CAUSE_NONE},
      {"late, a minute", false, true, FC_LIMIT_HOME_HELD_MS + 1000,
       FC_CAUSE_DROPPED},
      {"late, nobody waits", false, false, 3 * FC_LIMIT_HOME_HELD_MS,
       FC_CAUSE_NONE},
      {"gone, not a minute", true, true, FC_LIMIT_HOME_HELD_MS - 5000,
       FC_CAUSE_NONE},
      {"gone, a minute", true, true, FC_LIMIT_HOME_HELD_MS + 1000,
       FC_CAUSE_DROPPED},
      {"gone, nobody waits", true, false, 3 * FC_LIMIT_HOME_HELD_MS,
       FC_CAUSE_NONE},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static house_t house;
    fc_job_t job, waiting;
    const fc_process_host_t *host = enter_stuck(&house, 1);
    house.processes.kill_dropped = row->drop;
    fc_child_t *child = first_child(&house, SCALARS);
    while (!child->serving) turn(&house);
    const uint64_t number = begin_bound(&house, child);
    begin_stuck(&house, &job, row->drop ? 3600000 : SHORT_MS, 3600000);
    wait_until_busy(&house, child);
    if (row->others) begin_stuck(&house, &waiting, 600000, 3600000);
    if (row->drop) fc_pool_drop(&house.pool, &job);
    pass(&house, SHORT_MS + 5);
    if (!row->drop) expect_late(&house, &job);
    pass(&house, row->pass_ms);
    const bool ends = row->cause != FC_CAUSE_NONE;
    if (!ends) {
      assert_int_equal(child->cause, FC_CAUSE_NONE);
      (void)kill(child->process.pid, SIGUSR1);
    }
    while (ends && !host->restarts) turn(&house);
    if (row->others) expect_answered(&house, &waiting);
    while (fc_pool_running(&house.pool)) turn(&house);
    assert_int_equal(host->restarts, ends);
    assert_int_equal(crowd.all.ends[FC_SESSION_END_WORKER], ends);
    end_bound(&house, number);
    leave(&house);
    fc_sessions_deinit(&crowd.all);
    atomic_store(&ahead_ns, 0);
  }
}

static void let_one_go(house_t *house) {
  const unsigned before = streamed;
  (void)kill(first_child(house, SCALARS)->process.pid, SIGUSR1);
  while (streamed == before && !house->done) turn(house);
}

// Quick calls keep the only process full, and its places become free one by one.
static void quick_calls_keep_no_session_from_its_home(void **state) {
  static house_t house;
  (void)state;
  (void)enter_stuck(&house, 1);
  fc_child_t *child = first_child(&house, SCALARS);
  while (!child->serving) turn(&house);
  const uint64_t number = begin_bound(&house, child);
  house.hear = hear_streamed;
  house.done = NULL;
  begin_streamed(&house, &stream[0], SCALARS);
  let_one_go(&house);
  streaming = true;
  for (int i = 0; i < STREAM; i++) begin_streamed(&house, &stream[i], SCALARS);
  fc_pool_flush(&house.pool);
  assert_int_equal(child->count, FC_RING_SLOTS);
  fc_job_t job;
  begin_bound_call(&house, &job);
  const unsigned before = streamed;
  while (!house.done) {
    assert_true(streamed - before < 3 * STREAM);
    let_one_go(&house);
  }
  assert_int_equal(job.outcome->status, FC_OK);
  fc_pool_finish(&house.pool, &job);
  house.done = NULL;
  streaming = false;
  for (int i = 0; i < STREAM; i++) let_one_go(&house);
  house.hear = NULL;
  end_bound(&house, number);
  leave(&house);
  fc_sessions_deinit(&crowd.all);
}

// Starts two processes that serve, of which the first is the home of a session. Returns
// it, and the number of the session's reference.
static fc_child_t *enter_two(house_t *house, uint64_t *out_number) {
  fc_process_host_t *host = enter_stuck(house, 2);
  fc_child_t *home = first_child(house, SCALARS);
  while (!home->serving) turn(house);
  fc_process_host_start(host);
  while (!home->next || !home->next->serving) turn(house);
  *out_number = begin_bound(house, home);
  return home;
}

// Nobody waits for the call that the home makes. Another process is free, but a call of
// the home's session cannot be made there.
static void a_sessions_call_waits_for_its_home_alone(void **state) {
  static house_t house;
  fc_job_t first, bound;
  uint64_t number;
  (void)state;
  const fc_child_t *home = enter_two(&house, &number);
  begin_stuck(&house, &first, SHORT_MS, 3600000);
  wait_until_busy(&house, home);
  begin_bound_call(&house, &bound);
  pass(&house, SHORT_MS + 5);
  expect_late(&house, &first);
  assert_int_equal(home->cause, FC_CAUSE_NONE);
  pass(&house, FC_LIMIT_HOME_HELD_MS + 1000);
  while (!find_end(&bound)) turn(&house);
  assert_int_equal(find_end(&bound)->code, FC_CODE_SESSION_LOST);
  while (!crowd.all.ends[FC_SESSION_END_WORKER]) turn(&house);
  end_bound(&house, number);
  leave(&house);
  fc_sessions_deinit(&crowd.all);
  atomic_store(&ahead_ns, 0);
}

// Its home makes a call and does not read the socket by which it is handed files.
static void a_session_whose_home_takes_no_file_keeps_nobody_waiting(
    void **state) {
  static house_t house;
  fc_job_t first, bound, behind;
  uint64_t number;
  (void)state;
  fc_child_t *home = enter_two(&house, &number);
  begin_stuck(&house, &first, 600000, 600000);
  wait_until_busy(&house, home);
  const int good = dup(home->process.handoff);
  const int end = spoil_handoff(home, false);
  begin_bound_call(&house, &bound);
  begin_stuck(&house, &behind, 600000, 600000);
  fc_pool_flush(&house.pool);
  assert_ptr_equal(behind.child, home->next);
  assert_true(dup2(good, home->process.handoff) >= 0);
  close(good);
  close(end);
  expect_answered(&house, &bound);
  expect_answered(&house, &behind);
  assert_non_null(find_end(&first));
  end_bound(&house, number);
  leave(&house);
  fc_sessions_deinit(&crowd.all);
}

static bool hear_either(house_t *house, fc_job_t *job) {
  return hear_streamed(house, job) || hear_stuck(house, job);
}

// Both processes are full, and other calls have waited since the session's stepped aside.
static void a_call_that_stepped_aside_comes_first_again(void **state) {
  static house_t house;
  fc_job_t bound;
  uint64_t number;
  (void)state;
  fc_child_t *home = enter_two(&house, &number);
  house.hear = hear_either;
  house.done = NULL;
  streaming = false;
  streamed = 0;
  begin_streamed(&house, &stream[0], SCALARS);
  let_one_go(&house);
  atomic_store(&stopped_ns, fc_clock_ns());  // no call is taken back
  const int most = 2 * FC_RING_SLOTS;
  for (int i = 0; i < most + 2; i++) {
    if (i == most - 1) begin_bound_call(&house, &bound);
    begin_streamed(&house, &stream[i], SCALARS);
    fc_pool_flush(&house.pool);
  }
  assert_int_equal(home->count, FC_RING_SLOTS);
  assert_int_equal(home->next->count, FC_RING_SLOTS);
  assert_true(bound.parked);
  assert_int_equal(stream[most].state, FC_JOB_QUEUED);
  let_one_go(&house);
  fc_pool_flush(&house.pool);
  assert_ptr_equal(bound.child, home);
  assert_int_equal(stream[most].state, FC_JOB_QUEUED);
  atomic_store(&stopped_ns, 0);
  while (streamed < 1u + (unsigned)most + 2 || !find_end(&bound)) {
    (void)kill(home->process.pid, SIGUSR1);
    (void)kill(home->next->process.pid, SIGUSR1);
    turn(&house);
  }
  assert_int_equal(find_end(&bound)->code, FC_CODE_NONE);
  end_bound(&house, number);
  leave(&house);
  fc_sessions_deinit(&crowd.all);
}

static fc_job_t *begin_slow_toy(house_t *house, unsigned i, unsigned j,
                                uint64_t wait_ms) {
  begin_toy(house, i, j);
  fc_job_t *job = &crowd.each[i].jobs[j];
  if (wait_ms) job->call.deadline_ns = fc_clock_ns() + wait_ms * MS;
  job->limit_ns = fc_clock_ns() + 3600 * 1000 * MS;
  return job;
}

static void expect_end(house_t *house, unsigned count, const fc_job_t *job,
                       fc_code_t code, fc_stage_t stage) {
  while (heard < count) turn(house);
  assert_int_equal(find_end(job)->code, code);
  assert_int_equal(find_end(job)->stage, stage);
}

// A thread is lost in machine code while it writes to the values of its session.
static void a_lost_thread_writes_to_nobody_else(void **state) {
  (void)state;
  static house_t house;
  uint32_t index;
  enter(&house, FC_ISOLATION_THREAD, 0);
  begin_crowd(&house);
  sem_init(&making, 0, 0);
  sem_init(&made, 0, 0);
  atomic_store(&is_toy_slow, true);
  heard = 0;
  house.hear = hear_stuck;
  house.may_lose = true;
  for (unsigned i = 0; i < 2; i++) begin_session(i);
  fc_session_t *session = crowd.each[0].session;
  const fc_job_t *slow = begin_slow_toy(&house, 0, 0, 5000);
  const fc_job_t *next = begin_slow_toy(&house, 0, 1, 0);
  while (sem_trywait(&making)) turn(&house);
  // Neither client waits longer. The second call was given to the thread, which has not
  // begun it.
  const fc_job_t *second = begin_slow_toy(&house, 1, 0, 5000);
  turn(&house);
  assert_int_equal(second->state, FC_JOB_RUNNING);
  atomic_fetch_add(&ahead_ns, 60 * 1000 * MS);
  expect_end(&house, 2, slow, FC_CODE_DEADLINE_EXCEEDED, FC_STAGE_CALL);
  expect_end(&house, 2, second, FC_CODE_DEADLINE_EXCEEDED, FC_STAGE_QUEUE);
  const fc_slab_t *slab = session->slab;
  const uint64_t granted = session->budget;
  assert_true(granted > 0);
  atomic_fetch_add(&ahead_ns, 2 * 3600 * 1000 * MS);
  expect_end(&house, 3, next, FC_CODE_SESSION_LOST, FC_STAGE_QUEUE);
  expect_end(&house, 4, begin_slow_toy(&house, 0, 1, 0), FC_CODE_SESSION_LOST,
             FC_STAGE_QUEUE);
  // Until the thread returns, all memory that it can write to must stay, even after the
  // session has ended.
  assert_int_equal(session->budget, granted);
  assert_true(slab->claim.allowed >= granted);
  assert_false(fc_sessions_weigh(&crowd.all, &index));
  fc_session_end(session, FC_SESSION_END_DELETED);
  turn(&house);
  assert_int_equal(crowd.all.count, 2);
  assert_int_equal(session->budget, granted);
  fc_session_end(crowd.each[1].session, FC_SESSION_END_DELETED);
  sem_post(&made);
  while (crowd.all.slabs) turn(&house);
  assert_int_equal(crowd.all.count, 0);
  assert_int_equal(heard, 4);
  atomic_store(&is_toy_slow, false);
  atomic_store(&ahead_ns, 0);
  leave(&house);
  fc_sessions_deinit(&crowd.all);
}

static void sessions_hold_what_their_calls_made(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_isolation_mode_t host;
    bool kills, checkpoints;
  } rows[] = {{"threads", FC_ISOLATION_THREAD, false, false},
              {"processes", FC_ISOLATION_PROCESS, false, false},
              {"processes that are killed", FC_ISOLATION_PROCESS, true, false},
              {"the same, with checkpoints", FC_ISOLATION_PROCESS, true, true}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static house_t house;
    processes_of_each = 2;
    enter(&house, row->host, 0);
    begin_crowd(&house);
    house.hear = hear_toy;
    crowd.checkpoints = row->checkpoints;
    run_crowd(&house, row->kills);
    print_message("%s: %u answers, %u sessions lost, %u calls refused\n",
                  row->name, crowd.answered, crowd.lost, crowd.refused);
    assert_true(crowd.answered > CROWD_CALLS / 2);
    assert_int_equal(crowd.lost > 0, row->kills);
    // Each session has one page of "who" and three of "sum".
    assert_int_equal(crowd.all.bytes, CROWD * 4 * FC_STORE_PAGE);
    const int slab = dup(crowd.all.slabs->claim.file);
    while (fc_shared_taken(slab) > CROWD * 4 * FC_STORE_PAGE) turn(&house);
    for (unsigned i = 0; i < CROWD; i++) {
      fc_session_end(crowd.each[i].session, FC_SESSION_END_DELETED);
    }
    while (crowd.all.slabs) turn(&house);
    assert_int_equal(fc_shared_taken(slab), 0);
    close(slab);
    leave(&house);
    fc_sessions_deinit(&crowd.all);
    assert_int_equal(atomic_load(&house.memory.live), 0);
    processes_of_each = 1;
  }
}

static void count_object(void *object, int change) {
  atomic_fetch_add((_Atomic int *)object, change);
}

// While one has gone, calls of other modules have all slots. Its module has no call any
// more.
static void a_reference_that_has_gone_is_freed_when_there_is_a_slot(
    void **state) {
  (void)state;
  static house_t house;
  _Atomic int object = 0;
  const fc_opaque_t opaque = {FC_STR("!vm.list"), &object, count_object};
  fc_error_t error;
  enter(&house, FC_ISOLATION_THREAD, 0);
  fc_thread_host_t *host = (fc_thread_host_t *)house.pool.queues[SCALARS]->host;
  fc_thread_hosts_t *all = fc_thread_hosts_of(&host->base);
  fc_references_t *references = fc_region_references(&all->region, SCALARS);
  assert_int_equal(fc_references_add(references, 1, &opaque, &error), FC_OK);
  const uint32_t slots = all->free_count;
  all->free_count = 0;
  host->home.class_->drop(&host->home, 1);
  turn(&house);
  assert_int_equal(atomic_load(&object), 1);
  all->free_count = slots;
  (void)call(&house, OWNER, 0, FC_STR("[]"), 0);
  while (host->frees || all->frees_wait) turn(&house);
  assert_int_equal(fc_references_count(references), 0);
  assert_int_equal(atomic_load(&object), 0);
  leave(&house);
}

int main(int argc, char **argv) {
  late = fc_backend_vm;
  late.instance_create = make_late;
  late.call = call_late;
  stuck = fc_backend_native;
  stuck.call = call_stuck;
  fc_dialect_workers(&fc_routes, dialects);
  dialects[TOY] = &toy;
  if (argc > 1 && !strcmp(argv[1], "--worker")) {
    is_worker = true;
    if (argc > 4 && !strcmp(argv[4], ANOTHER_FILE)) load_another_file();
    if (argc > 4 && !strcmp(argv[4], DOOMED)) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) pause();
    }
    if (argc > 4 && !strcmp(argv[4], STUCK)) be_stuck();
    is_leaking = argc > 4 && !strcmp(argv[4], LEAKING);
    fc_process_main(argc, argv, kBackends, dialects);
  }
  loop_thread = pthread_self();
  const struct CMUnitTest tests[] = {
      FC_TEST(sessions_hold_what_their_calls_made),
      FC_TEST(a_process_that_takes_no_slab_makes_room),
      FC_TEST(quick_calls_keep_no_session_from_its_home),
      FC_TEST(a_process_with_many_sessions_ends_in_several_turns),
      FC_TEST(a_sessions_call_waits_for_its_home_alone),
      FC_TEST(a_session_whose_home_takes_no_file_keeps_nobody_waiting),
      FC_TEST(a_call_that_stepped_aside_comes_first_again),
      FC_TEST(references_give_a_late_call_time_to_end),
      FC_TEST(references_keep_a_process_for_a_minute),
      FC_TEST(a_lost_thread_writes_to_nobody_else),
      FC_TEST(a_reference_that_has_gone_is_freed_when_there_is_a_slot),
      FC_TEST(every_function_answers_the_same),
      FC_TEST(each_call_of_a_batch_ends_by_itself),
      FC_TEST(a_batch_goes_on_while_its_calls_come_back),
      FC_TEST(a_call_is_made_again_once),
      FC_TEST(what_waits_is_given_together),
      FC_TEST(a_quarantined_module_wakes_nobody),
      FC_TEST(a_process_more_than_calls_need_ends),
      FC_TEST(a_signal_alone_is_not_the_limit_of_time),
      FC_TEST(a_process_that_takes_too_much_is_ended),
      FC_TEST(memory_of_bodies_goes_back_beside_the_loop),
      FC_TEST(a_process_whose_slots_are_scrubbed_needs_no_other),
      FC_TEST(what_a_process_printed_last_is_logged),
      FC_TEST(what_was_finished_before_the_end_is_answered),
      FC_TEST(what_is_late_is_not_begun),
      FC_TEST(a_waiter_may_drop_another_call_of_an_ended_process),
      FC_TEST(a_waiter_may_drop_another_call_that_is_late),
      FC_TEST(a_clients_deadline_answers_and_ends_no_process),
      FC_TEST(processes_end_no_faster_than_they_are_replaced),
      FC_TEST(a_process_without_memory_is_replaced),
      FC_TEST(a_process_with_another_file_does_not_serve),
      FC_TEST(a_module_gets_another_try_by_and_by),
      FC_TEST(a_try_that_nobody_wants_any_more_is_dropped),
      FC_TEST(a_demanded_module_gets_another_try_by_a_request),
      FC_TEST(an_instance_that_is_not_made_fails_its_module),
      FC_TEST(a_trial_is_timed_from_its_first_worker),
      FC_TEST(a_module_is_hosted_as_it_was_opened),
      FC_TEST(quick_calls_keep_nobody_waiting),
      FC_TEST(a_batch_loses_its_thread_once),
      FC_TEST(a_call_waits_for_others_as_long_as_its_module_says),
      FC_TEST(a_turn_that_ends_is_paid_for),
      FC_TEST(a_turn_that_nobody_waits_for_is_paid_for),
      FC_TEST(a_thread_turns_for_nobody_and_is_paid_for),
      FC_TEST(a_process_may_load_for_longer_where_many_load),
      FC_TEST(generations_of_threads_come_and_go),
      FC_TEST(generations_of_processes_come_and_go),
      FC_TEST(a_process_that_is_being_made_keeps_nobody_waiting),
      FC_TEST(a_process_may_be_unwanted_before_it_is_there),
      FC_TEST(a_failure_keeps_what_serves),
      FC_TEST(a_second_module_of_one_name_is_an_error),
      FC_TEST(a_server_may_end_while_a_generation_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
