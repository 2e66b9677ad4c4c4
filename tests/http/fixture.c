// SPDX-License-Identifier: Apache-2.0
//
// The test module kind and the client. The kind needs no compiler: its functions are
// written here, and the builder makes their types.
#include "fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitize.h"
#if FARCALL_TLS
#include "helpers/secure.h"
#endif
#include "dialect/native.h"
#include "listen/endpoints.h"
#include "module/files.h"
#include "pool/process_main.h"

#if FC_TSAN
// libuv closes descriptors by a system call that the sanitizer does not see. If another
// thread reuses the number of a connection for a file, the sanitizer takes both for the
// same descriptor.
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
  return "race:^accept_one$\nrace:^secure$\n";
}
#endif

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                        \
    }                                                                 \
  } while (0)

// ---------------------------------------------------------------------------
// Gates that tests open and close. Calls may run in processes that are killed at any
// instruction, so the gates have no lock. They lie in a file that all processes map.

typedef struct gates_t {
  _Atomic uint32_t changes;  // a futex that every waiting thread waits at
  _Atomic uint64_t gate;     // calls inside t.block, and how many were let go
  _Atomic uint32_t until;    // calls inside t.until
  _Atomic uint32_t calls;
  _Atomic uint32_t cancelled;
  _Atomic uint32_t loading_held;
} gates_t;

static gates_t *gates;
static char gates_path[64];
#define GATES "gates"  // its name in the folder of a server's modules
static _Atomic pthread_t last_thread;

static void map_gates(const char *path) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  CHECK(fd >= 0);
  gates = mmap(NULL, sizeof *gates, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(gates != MAP_FAILED);
  close(fd);
}

static void remove_gates(void) { unlink(gates_path); }

static void make_gates(void) {
  if (gates) return;
  snprintf(gates_path, sizeof gates_path, "/tmp/farcall-gates-XXXXXX");
  int fd = mkstemp(gates_path);
  CHECK(fd >= 0 && ftruncate(fd, sizeof *gates) == 0);
  close(fd);
  atexit(remove_gates);
  map_gates(gates_path);
}

static void note_change(void) {
  atomic_fetch_add(&gates->changes, 1);
  syscall(SYS_futex, &gates->changes, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

// Waits until `is_so(value)` is true. Only a change of the gates can make it true.
static void wait_until(bool (*is_so)(uint32_t value), uint32_t value) {
  for (;;) {
    uint32_t seen = atomic_load(&gates->changes);
    if (is_so(value)) return;
    syscall(SYS_futex, &gates->changes, FUTEX_WAIT, seen, NULL, NULL, 0);
  }
}

static uint64_t pack_gate(uint32_t inside, uint32_t let_go) {
  return (uint64_t)inside << 32 | let_go;
}

// Uses up one of the releases that fixture_release added. False: there was none, so the
// caller stays blocked.
static bool leave_block(uint32_t unused) {
  (void)unused;
  uint64_t now = atomic_load(&gates->gate);
  while ((uint32_t)now) {
    uint64_t then = pack_gate((uint32_t)(now >> 32) - 1, (uint32_t)now - 1);
    if (atomic_compare_exchange_weak(&gates->gate, &now, then)) return true;
  }
  return false;
}

static void wait_in_block(void) {
  atomic_fetch_add(&gates->gate, pack_gate(1, 0));
  note_change();
  wait_until(leave_block, 0);
  note_change();
}

static bool are_blocked(uint32_t count) {
  uint64_t gate = atomic_load(&gates->gate);
  uint32_t inside = (uint32_t)(gate >> 32), let_go = (uint32_t)gate;
  return inside - (let_go < inside ? let_go : inside) +
             atomic_load(&gates->until) ==
         count;
}

void fixture_wait_blocked(unsigned count) { wait_until(are_blocked, count); }

void fixture_release(unsigned count) {
  atomic_fetch_add(&gates->gate, count);
  note_change();
}

void fixture_hold_loading(bool hold) {
  make_gates();
  atomic_store(&gates->loading_held, hold);
  note_change();
}

static bool may_load(uint32_t unused) {
  (void)unused;
  return !atomic_load(&gates->loading_held);
}

unsigned fixture_calls(void) { return atomic_load(&gates->calls); }
unsigned fixture_cancelled(void) { return atomic_load(&gates->cancelled); }
pthread_t fixture_last_thread(void) { return atomic_load(&last_thread); }

static void note_call(void) {
  atomic_fetch_add(&gates->calls, 1);
  atomic_store(&last_thread, pthread_self());
}

// ---------------------------------------------------------------------------
// The functions of module "t"

typedef enum function_t {
  FUNCTION_ADD,     // (a: i64, b: i64) -> i64
  FUNCTION_ECHO,    // (x: tensor<?xf32>) -> tensor<?xf32>
  FUNCTION_NARROW,  // (x: i8) -> i8
  FUNCTION_ROWS,    // (x: tensor<?x2xi32>) -> ()
  FUNCTION_GROW,    // (n: i64) -> tensor<?xi8>, n zeros
  FUNCTION_BLOCK,   // () -> (), until fixture_release
  FUNCTION_UNTIL,   // () -> (), until cancelled
  FUNCTION_FAIL,    // (status: i64) -> (), fails with that status
  FUNCTION_BAD,     // () -> (), an invalid result
  FUNCTION_BUG,     // () -> (), an internal error
  FUNCTION_FIELDS,  // (x: {a: i64}) -> ()
  FUNCTION_SPIN,    // (ms: i64) -> (), keeps its thread busy
  FUNCTION_PAIR,    // (x: (i64, i64)) -> ()
  FUNCTION_ANY,     // (x: ?) -> ()
  FUNCTION_OPAQUE,  // (x: !secret) -> (), not callable
  FUNCTION_COUNT
} function_t;

// Why the run time of each function is bounded.
static const uint8_t kBounds[FUNCTION_COUNT] = {
    [FUNCTION_ADD] = FC_BOUND_PROVED,
    [FUNCTION_ECHO] = FC_BOUND_BUDGET,
    [FUNCTION_GROW] = FC_BOUND_BUDGET,
    [FUNCTION_SPIN] = FC_BOUND_BUDGET,
};

typedef struct fixture_module_t {
  fc_allocator_t allocator;
  fc_module_info_t info;
  fc_signature_t *signatures[FUNCTION_COUNT];
} fixture_module_t;

// With `narrowed`, argument b of `add` is an i8, so fewer calls are accepted.
static void describe(fc_builder_t *b, function_t function, bool narrowed) {
  const int64_t dynamic[] = {FC_DIM_DYNAMIC, 2};
  fc_str_t none = FC_STR("");
#define ARGUMENT(name, node) \
  fc_builder_argument(b, FC_STR(name), node, FC_ROLE_IN, true, FC_RAW_NEXT)
#define RESULT(node) fc_builder_result(b, none, node, FC_RAW_NEXT)
  switch (function) {
    case FUNCTION_ADD:
      fc_builder_name(b, FC_STR("add"));
      ARGUMENT("a", fc_builder_scalar(b, FC_DTYPE_I64));
      ARGUMENT("b",
               fc_builder_scalar(b, narrowed ? FC_DTYPE_I8 : FC_DTYPE_I64));
      RESULT(fc_builder_scalar(b, FC_DTYPE_I64));
      break;
    case FUNCTION_ECHO:
      fc_builder_name(b, FC_STR("echo"));
      ARGUMENT("x", fc_builder_tensor(b, FC_DTYPE_F32, 1, dynamic));
      RESULT(fc_builder_tensor(b, FC_DTYPE_F32, 1, dynamic));
      break;
    case FUNCTION_NARROW:
      fc_builder_name(b, FC_STR("narrow"));
      ARGUMENT("x", fc_builder_scalar(b, FC_DTYPE_I8));
      RESULT(fc_builder_scalar(b, FC_DTYPE_I8));
      break;
    case FUNCTION_ROWS:
      fc_builder_name(b, FC_STR("rows"));
      ARGUMENT("x", fc_builder_tensor(b, FC_DTYPE_I32, 2, dynamic));
      break;
    case FUNCTION_GROW:
      fc_builder_name(b, FC_STR("grow"));
      ARGUMENT("n", fc_builder_scalar(b, FC_DTYPE_I64));
      RESULT(fc_builder_tensor(b, FC_DTYPE_I8, 1, dynamic));
      break;
    case FUNCTION_SPIN:
      fc_builder_name(b, FC_STR("spin"));
      ARGUMENT("ms", fc_builder_scalar(b, FC_DTYPE_I64));
      break;
    case FUNCTION_BLOCK:
      fc_builder_name(b, FC_STR("block"));
      break;
    case FUNCTION_UNTIL:
      fc_builder_name(b, FC_STR("until"));
      break;
    case FUNCTION_FAIL:
      fc_builder_name(b, FC_STR("fail"));
      ARGUMENT("status", fc_builder_scalar(b, FC_DTYPE_I64));
      break;
    case FUNCTION_BAD:
      fc_builder_name(b, FC_STR("bad"));
      break;
    case FUNCTION_BUG:
      fc_builder_name(b, FC_STR("bug"));
      break;
    case FUNCTION_FIELDS: {
      fc_builder_name(b, FC_STR("fields"));
      uint32_t dict = fc_builder_node(b, FC_TYPE_DICT);
      fc_builder_append_key(b, dict, FC_STR("a"),
                            fc_builder_scalar(b, FC_DTYPE_I64));
      ARGUMENT("x", dict);
      break;
    }
    case FUNCTION_PAIR: {
      fc_builder_name(b, FC_STR("pair"));
      uint32_t tuple = fc_builder_node(b, FC_TYPE_TUPLE);
      fc_builder_append(b, tuple, fc_builder_scalar(b, FC_DTYPE_I64));
      fc_builder_append(b, tuple, fc_builder_scalar(b, FC_DTYPE_I64));
      ARGUMENT("x", tuple);
      break;
    }
    case FUNCTION_ANY:
      fc_builder_name(b, FC_STR("any"));
      ARGUMENT("x", fc_builder_node(b, FC_TYPE_UNKNOWN));
      break;
    default:
      fc_builder_name(b, FC_STR("opaque"));
      ARGUMENT("x", fc_builder_opaque(b, FC_STR("!secret")));
      fc_builder_refuse(b, FC_STR("argument 0 is of type !secret"));
      break;
  }
}

static void fixture_close(void *handle) {
  fixture_module_t *module = handle;
  for (int i = 0; i < FUNCTION_COUNT; i++) {
    if (module->signatures[i]) fc_signature_destroy(module->signatures[i]);
  }
  fc_free(module->allocator, module);
}

static fc_status_t fixture_probe(fc_str_t head, fc_error_t *err) {
  if (fc_str_starts(head, FC_STR("fixture"))) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_LOAD, "no fixture");
}

static fc_status_t fixture_open(const fc_module_source_t *source,
                                fc_allocator_t allocator, void **out_module,
                                fc_error_t *err) {
  const bool few = fc_str_starts(source->file.bytes, FC_STR("fixture few"));
  if (!gates) {  // in a worker process
    char path[128];
    const size_t folder = source->path.size - fc_path_file(source->path).size;
    snprintf(path, sizeof path, "%.*s" GATES, (int)folder, source->path.data);
    map_gates(path);
    if (few) wait_in_block();
  }
  wait_until(may_load, 0);
  if (fc_str_equal(source->name, FC_STR("broken"))) {
    return fc_fail(err, FC_CODE_MODULE_LOAD, "it was made that way");
  }
  fixture_module_t *module = fc_alloc(allocator, sizeof *module);
  fc_builder_t *builder = fc_builder_create(allocator);
  CHECK(module && builder);
  module->allocator = allocator;
  const bool narrowed =
      fc_str_starts(source->file.bytes, FC_STR("fixture narrowed"));
  for (int i = 0; i < FUNCTION_COUNT; i++) {
    fc_builder_reset(builder);
    fc_builder_source(builder, FC_SOURCE_SIDECAR);
    fc_builder_memory_safe(builder, true, false);
    describe(builder, (function_t)i, narrowed);
    CHECK(fc_signature_build(builder, &module->signatures[i], err) == FC_OK);
  }
  fc_builder_destroy(builder);
  module->info = (fc_module_info_t){
      .signatures = module->signatures,
      .count = few ? 1 : FUNCTION_COUNT,
      .serial = fc_str_equal(source->name, FC_STR("serial")),
      .private_state = fc_str_equal(fc_source_setting(source, "vm.state"),
                                    FC_STR("private")),
      .warning = FC_STR(""),
  };
  if (!module->info.serial && !module->info.private_state) {
    module->info.bounds = kBounds;
  }
  *out_module = module;
  return FC_OK;
}

static const fc_module_info_t *fixture_describe(const void *module) {
  return &((const fixture_module_t *)module)->info;
}

static fc_status_t fixture_instance_create(void *module,
                                           fc_allocator_t allocator,
                                           void **out_instance,
                                           fc_error_t *err) {
  (void)allocator;
  (void)err;
  // With vm.state=private, making an instance takes so long that a test notices it if
  // it happens on the loop.
  uint64_t begin_ns = fc_clock_ns();
  while (((fixture_module_t *)module)->info.private_state &&
         fc_clock_ns() < begin_ns + 2 * FC_LIMIT_INLINE_WORST_NS) {
  }
  *out_instance = module;
  return FC_OK;
}

static fc_status_t run_grow(fc_backend_call_t *call, fc_error_t *err) {
  int64_t count = call->arguments[0].scalar.i64;
  int8_t *data = calloc(1, (size_t)count + 1);
  int64_t *shape = fc_arena_alloc_array(call->arena, 1, sizeof *shape);
  if (!data || !shape) {
    free(data);
    return fc_fail_memory(err);
  }
  *shape = count;
  call->state = data;
  call->results[0].kind = FC_VALUE_TENSOR;
  call->results[0].tensor = (fc_tensor_t){
      .dtype = FC_DTYPE_I8, .rank = 1, .shape = shape, .data = data};
  return FC_OK;
}

// An attempt to echo a 13 first writes to its argument, then finds its budget used up.
static fc_status_t spoil_attempt(const fc_backend_call_t *call,
                                 fc_error_t *err) {
  const fc_tensor_t *tensor = &call->arguments[0].tensor;
  float *data = tensor->data;
  const int64_t count = tensor->shape[0];
  if (!call->budget || !count || data[count - 1] != 13) return FC_OK;
  memset(data, 0, (size_t)count * sizeof *data);
  call->budget->over = true;
  return fc_fail(err, FC_CODE_CALL_FAILED, "the budget is used up");
}

static fc_status_t run_spin(const fc_backend_call_t *call, fc_error_t *err) {
  const uint64_t ms = (uint64_t)call->arguments[0].scalar.i64;
  const uint64_t until_ns = fc_clock_ns() + ms * 1000000u;
  while (ms && fc_clock_ns() < until_ns) {
    if (!call->budget || fc_clock_ns() < call->budget->end_ns) continue;
    call->budget->over = true;
    return fc_fail(err, FC_CODE_CALL_FAILED, "the budget is used up");
  }
  return FC_OK;
}

static fc_status_t run_until(const fc_backend_call_t *call, fc_error_t *err) {
  atomic_fetch_add(&gates->until, 1);
  note_change();
  bool late = false;
  while (!late && !atomic_load(call->cancel)) {
    late = call->deadline_ns && fc_clock_ns() > call->deadline_ns;
    sched_yield();
  }
  if (!late) atomic_fetch_add(&gates->cancelled, 1);
  atomic_fetch_sub(&gates->until, 1);
  note_change();
  return fc_fail(err, FC_CODE_DEADLINE_EXCEEDED, "the deadline passed");
}

static void set_i64(fc_value_t *value, int64_t number) {
  *value = (fc_value_t){.kind = FC_VALUE_SCALAR,
                        .dtype = FC_DTYPE_I64,
                        .scalar = {.i64 = number}};
}

static fc_status_t fixture_call(void *instance, size_t index,
                                fc_backend_call_t *call, fc_error_t *err) {
  (void)instance;
  note_call();
  switch ((function_t)index) {
    case FUNCTION_ADD:
      set_i64(&call->results[0],
              call->arguments[0].scalar.i64 + call->arguments[1].scalar.i64);
      return FC_OK;
    case FUNCTION_ECHO:
      FC_TRY(spoil_attempt(call, err));
      call->results[0] = call->arguments[0];
      return FC_OK;
    case FUNCTION_NARROW:
      call->results[0] = call->arguments[0];
      return FC_OK;
    case FUNCTION_GROW:
      return run_grow(call, err);
    case FUNCTION_SPIN:
      return run_spin(call, err);
    case FUNCTION_BLOCK:
      wait_in_block();
      return FC_OK;
    case FUNCTION_UNTIL:
      return run_until(call, err);
    case FUNCTION_FAIL: {
      fc_status_t status = (fc_status_t)call->arguments[0].scalar.i64;
      return fc_fail_as(err, FC_CODE_CALL_FAILED, status, "as asked: %s",
                        fc_status_name(status));
    }
    case FUNCTION_BAD:
      return fc_fail(err, FC_CODE_BAD_RESULT, "result 0 has no data");
    case FUNCTION_BUG:
      return fc_fail(err, FC_CODE_INTERNAL, "a secret");
    default:
      return FC_OK;
  }
}

static void fixture_call_end(void *instance, size_t index,
                             fc_backend_call_t *call) {
  (void)instance;
  if (index == FUNCTION_GROW) free(call->state);
  call->state = NULL;
}

static void fixture_instance_destroy(void *instance) { (void)instance; }

static const char *const fixture_settings[] = {"vm.state", NULL};

const fc_backend_t fixture_backend = {
    .kind = "fixture",
    .title = "fixture",
    .suffix = ".fixture",
    .settings = fixture_settings,
    .probe = fixture_probe,
    .open = fixture_open,
    .describe = fixture_describe,
    .instance_create = fixture_instance_create,
    .inspect = fixture_describe,  // an instance is its module
    .call = fixture_call,
    .call_end = fixture_call_end,
    .instance_destroy = fixture_instance_destroy,
    .close = fixture_close,
};

// ---------------------------------------------------------------------------
// The server

static _Atomic size_t refused_size;

void fixture_refuse_memory(size_t size) { atomic_store(&refused_size, size); }

static void *allocate(void *context, size_t size, size_t alignment) {
  (void)context;
  if (size && size == atomic_load(&refused_size)) return NULL;
  fc_allocator_t system = fc_allocator_system();
  return system.allocate(system.context, size, alignment);
}

static fc_allocator_t server_memory(void) {
  return (fc_allocator_t){NULL, allocate, fc_allocator_system().release};
}

static const fc_backend_t *const kBackends[] = {
    &fixture_backend, &fc_backend_native, &fc_backend_vm, NULL};
static const char *const kFiles[] = {"t.fixture", "broken.fixture",
                                     "serial.fixture"};

static const fc_routes_t *routes = &fc_routes;

void fixture_use_routes(const fc_routes_t *used) { routes = used; }

void fixture_worker(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--worker")) {
    const fc_dialect_worker_t *dialects[FC_DIALECTS_MAX];
    fc_dialect_workers(routes, dialects);
    fc_process_main(argc, argv, kBackends, dialects);
  }
}

static void *serve(void *context) {
  fixture_server_t *server = context;
  server->exit_code = fc_loop_run(server->loop);
  return NULL;
}

static void make_files(fixture_server_t *server) {
  snprintf(server->directory, sizeof server->directory,
           "/tmp/farcall-http-XXXXXX");
  CHECK(mkdtemp(server->directory));
  char path[128];
  snprintf(path, sizeof path, "%s/" GATES, server->directory);
  CHECK(symlink(gates_path, path) == 0);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFiles); i++) {
    snprintf(path, sizeof path, "%s/%s", server->directory, kFiles[i]);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs("fixture", file) > 0);
    fclose(file);
  }
}

// With FARCALL_FIXTURE_TLS=1 servers and clients speak TLS. Tests send and read the
// same bytes as without it.
static bool is_secure(void) {
  const char *word = getenv("FARCALL_FIXTURE_TLS");
  return word && *word;
}

static char certificate[64];

static void remove_certificate(void) { unlink(certificate); }

#if FARCALL_TLS
// libuv's threads hold memory of OpenSSL, which leaks if OpenSSL ends before them.
static void end_threads(void) { uv_library_shutdown(); }

static void make_certificate(void) {
  if (*certificate) return;
  snprintf(certificate, sizeof certificate, "/tmp/farcall-tls-XXXXXX");
  const int fd = mkstemp(certificate);
  CHECK(fd >= 0);
  close(fd);
  atexit(remove_certificate);
  secure_make_file(certificate);
  atexit(end_threads);
}

// After this, the socket's number is the plain side of a TLS connection. The connected
// socket, with its options, gets another number.
static void secure(int socket) {
  const int below = dup(socket), above = secure_wrap(below);
  struct timeval limit = {.tv_sec = 60};
  setsockopt(above, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  CHECK(below >= 0 && dup2(above, socket) == socket);
  close(above);
}
#else
static void make_certificate(void) {
  fprintf(stderr, "built with -DFARCALL_TLS=OFF\n");
  atexit(remove_certificate);
  exit(77);
}
static void secure(int socket) { (void)socket; }
#endif

// Reads the log until a line contains `text`.
static void wait_for_log(fixture_server_t *server, const char *text) {
  while (!server->log_text || !strstr(server->log_text, text)) {
    server->log_text = realloc(server->log_text, server->log_size + 4097);
    CHECK(server->log_text);
    ssize_t size =
        read(server->log[0], server->log_text + server->log_size, 4096);
    CHECK(size > 0);
    server->log_size += (size_t)size;
    server->log_text[server->log_size] = '\0';
  }
}

static void on_reload(uv_async_t *reload) {
  fixture_server_t *server = reload->data;
  char path[128];
  fc_error_t error;
  snprintf(path, sizeof path, "%s/t.fixture", server->directory);
  CHECK(fc_modules_load(&server->loop->modules, fc_str(path), true, &error) ==
        FC_OK);
}

void fixture_reload(fixture_server_t *server) {
  uv_async_send(&server->reload);
}

void fixture_start(fixture_server_t *server, const char *flags) {
  memset(server, 0, sizeof *server);
  signal(SIGPIPE, SIG_IGN);  // as main does
  make_gates();
  // Processes of an earlier server that were killed may have left other values.
  atomic_store(&gates->gate, 0);
  atomic_store(&gates->until, 0);
  make_files(server);
  static char words[512];
  snprintf(words, sizeof words, "%s", flags);
  const char *arguments[32] = {"farcalld", "--workers=2"};
  int count = 2;
  if (!strstr(words, "--listen=")) arguments[count++] = "--listen=127.0.0.1:0";
  char *rest = words, *word;
  while ((word = strsep(&rest, " "))) {
    if (*word) arguments[count++] = word;
  }
  static char certificate_flag[80], key_flag[80];
  if (is_secure()) {
    make_certificate();
    snprintf(certificate_flag, sizeof certificate_flag, "--tls-cert=%s",
             certificate);
    snprintf(key_flag, sizeof key_flag, "--tls-key=%s", certificate);
    arguments[count++] = certificate_flag;
    arguments[count++] = key_flag;
  }
  arguments[count++] = server->directory;
  // The host in which calls run, unless the flags choose another.
  static char isolation[64];
  const char *host = getenv("FARCALL_ISOLATION");
  snprintf(isolation, sizeof isolation, "FARCALL_ISOLATION=%s",
           host ? host : "");
  // With the strict sandbox, modules could not open the gates' file while they are
  // loaded (map_gates).
  const char *variables[] = {isolation, "FARCALL_SANDBOX=basic", NULL};
  fc_error_t error;
  if (fc_server_options_parse(&server->options, count, arguments, server->paths,
                              variables, &error) != FC_OK) {
    fprintf(stderr, "%s\n", error.message);
    abort();
  }
  CHECK(pipe(server->log) == 0);
  server->loop = calloc(1, sizeof *server->loop);
  CHECK(server->loop);
  CHECK(fc_loop_init(server->loop, server_memory(), &server->options, kBackends,
                     routes, server->log[1], &error) == FC_OK);
  CHECK(uv_async_init(&server->loop->uv, &server->reload, on_reload) == 0);
  server->reload.data = server;
  CHECK(pthread_create(&server->thread, NULL, serve, server) == 0);
  if (may_load(0)) wait_for_log(server, "listening on");
}

void fixture_join(fixture_server_t *server) {
  pthread_join(server->thread, NULL);
  // A worker may still be inside t.block, but the test has released it by now.
  fc_loop_deinit(server->loop);
  free(server->loop);
  close(server->log[1]);
  ssize_t size;
  do {
    server->log_text = realloc(server->log_text, server->log_size + 4097);
    CHECK(server->log_text);
    size = read(server->log[0], server->log_text + server->log_size, 4096);
    CHECK(size >= 0);
    server->log_size += (size_t)size;
    server->log_text[server->log_size] = '\0';
  } while (size > 0);
  close(server->log[0]);
  char path[128];
  snprintf(path, sizeof path, "%s/" GATES, server->directory);
  unlink(path);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFiles); i++) {
    snprintf(path, sizeof path, "%s/%s", server->directory, kFiles[i]);
    unlink(path);
  }
  rmdir(server->directory);
}

void fixture_stop(fixture_server_t *server) {
  fc_loop_stop(server->loop);
  fixture_join(server);
}

void fixture_write_config(char path[FIXTURE_CONFIG], const char *format, ...) {
  va_list arguments;
  snprintf(path, FIXTURE_CONFIG, "/tmp/farcall-config-XXXXXX");
  const int file = mkstemp(path);
  CHECK(file >= 0);
  va_start(arguments, format);
  CHECK(vdprintf(file, format, arguments) > 0);
  va_end(arguments);
  close(file);
}

void fixture_forget(fixture_server_t *server) {
  free(server->log_text);
  server->log_text = NULL;
  fc_server_options_deinit(&server->options);
}

uint64_t fixture_bytes(const fixture_server_t *server) {
  return atomic_load_explicit(&server->loop->http1.bytes_in,
                              memory_order_acquire);
}

void fixture_wait_bytes(const fixture_server_t *server, uint64_t count) {
  while (fixture_bytes(server) < count) sched_yield();
}

// ---------------------------------------------------------------------------
// The client

int fixture_socket(void) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(fd >= 0);
  // This time-out is only for a server that hangs. No test should wait so long.
  struct timeval limit = {.tv_sec = 60};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof one);
  return fd;
}

void fixture_bind(int socket, unsigned n) {
  struct sockaddr_in address = {
      .sin_family = AF_INET,
      .sin_addr.s_addr = htonl((INADDR_LOOPBACK & 0xFFFFFF00u) | n)};
  CHECK(bind(socket, (struct sockaddr *)&address, sizeof address) == 0);
}

void fixture_connect_socket(const fixture_server_t *server, int socket) {
  struct sockaddr_in address = {
      .sin_family = AF_INET,
      .sin_port = htons((uint16_t)server->loop->endpoints.rows[0].port),
      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  CHECK(connect(socket, (struct sockaddr *)&address, sizeof address) == 0);
  if (is_secure()) secure(socket);
}

int fixture_connect(const fixture_server_t *server) {
  int fd = fixture_socket();
  fixture_connect_socket(server, fd);
  return fd;
}

bool fixture_send(int socket, const void *data, size_t size) {
  const char *at = data;
  while (size) {
    ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= (size_t)sent;
  }
  return true;
}

bool fixture_send_text(int socket, const char *text) {
  return fixture_send(socket, text, strlen(text));
}

static bool receive_byte(int socket, char *out) {
  ssize_t size;
  do size = recv(socket, out, 1, 0);
  while (size < 0 && errno == EINTR);
  CHECK(size >= 0 || errno != EAGAIN);
  return size == 1;
}

const char *fixture_header(const fixture_response_t *response, const char *name,
                           char *out, size_t capacity) {
  const char *line = strstr(response->head, "\r\n");
  size_t size = strlen(name);
  while (line && line[2] != '\r') {
    line += 2;
    const char *end = strstr(line, "\r\n");
    if (!strncasecmp(line, name, size) && line[size] == ':') {
      const char *value = line + size + 1;
      while (*value == ' ') value++;
      snprintf(out, capacity, "%.*s", (int)(end - value), value);
      return out;
    }
    line = end;
  }
  return NULL;
}

static void receive_bytes(int socket, char *out, size_t size) {
  for (size_t got = 0; got < size;) {
    ssize_t part = recv(socket, out + got, size - got, 0);
    if (part < 0 && errno == EINTR) continue;
    CHECK(part > 0);
    got += (size_t)part;
  }
}

static void receive_chunks(int socket, fixture_response_t *out) {
  for (size_t size = 1; size;) {
    char line[20] = "", end[2];
    for (size_t i = 0; !strchr(line, '\n'); i++) {
      CHECK(i < sizeof line - 1 && receive_byte(socket, &line[i]));
    }
    size = strtoul(line, NULL, 16);
    out->body = realloc(out->body, out->size + size + 1);
    CHECK(out->body);
    receive_bytes(socket, out->body + out->size, size);
    receive_bytes(socket, end, sizeof end);
    CHECK(!memcmp(end, "\r\n", 2));
    out->size += size;
  }
}

bool fixture_receive(int socket, bool no_body, fixture_response_t *out) {
  memset(out, 0, sizeof *out);
  size_t size = 0;
  while (size < 4 || memcmp(out->head + size - 4, "\r\n\r\n", 4)) {
    CHECK(size < sizeof out->head - 1);
    if (!receive_byte(socket, &out->head[size])) return false;
    size++;
  }
  out->head[size] = '\0';
  CHECK(sscanf(out->head, "HTTP/1.1 %d ", &out->status) == 1);
  char value[32];
  if (!no_body && fixture_header(out, "Content-Length", value, sizeof value)) {
    out->size = strtoul(value, NULL, 10);
  }
  out->body = malloc(out->size + 1);
  CHECK(out->body);
  receive_bytes(socket, out->body, out->size);
  if (!no_body &&
      fixture_header(out, "Transfer-Encoding", value, sizeof value)) {
    receive_chunks(socket, out);
  }
  out->body[out->size] = '\0';
  return true;
}

void fixture_response_free(fixture_response_t *response) {
  free(response->body);
  response->body = NULL;
}

bool fixture_closed(int socket) {
  char byte;
  return !receive_byte(socket, &byte);
}

static size_t post(int socket, const char *path, const char *body) {
  char head[512];
  int size = snprintf(head, sizeof head,
                      "POST %s HTTP/1.1\r\nHost: localhost\r\n"
                      "Content-Length: %zu\r\n\r\n",
                      path, strlen(body));
  CHECK(fixture_send(socket, head, (size_t)size));
  CHECK(fixture_send_text(socket, body));
  return (size_t)size + strlen(body);
}

void fixture_post(int socket, const char *path, const char *body) {
  post(socket, path, body);
}

void fixture_post_handled(const fixture_server_t *server, int socket,
                          const char *path, const char *body) {
  uint64_t before = fixture_bytes(server);
  fixture_wait_bytes(server, before + post(socket, path, body));
}

fixture_response_t fixture_request(const fixture_server_t *server,
                                   const char *method, const char *path,
                                   const char *body) {
  int fd = fixture_connect(server);
  char head[512];
  snprintf(head, sizeof head,
           "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n"
           "Connection: close\r\n\r\n",
           method, path, strlen(body));
  CHECK(fixture_send_text(fd, head));
  fixture_send_text(fd, body);
  fixture_response_t response;
  CHECK(fixture_receive(fd, !strcmp(method, "HEAD"), &response));
  close(fd);
  return response;
}
