// SPDX-License-Identifier: Apache-2.0
//
// Many threads call one module. A stateless module is shared without a lock; a stateful
// one counts every call exactly once. With the thread sanitizer this shows that nothing
// else is shared. The expected values are simple arithmetic.
#include <pthread.h>
#include <stdatomic.h>

#include "farcall/module.h"
#include "module/vm/files.h"

#define THREADS 8
#define CALLS 200
typedef struct shared_t {
  fc_module_t *loaded;
  void *module;  // its handle
  size_t index;
  _Atomic(uint32_t) wrong;
  _Atomic(uint64_t) sum;  // of what a stateful function returned
} shared_t;

typedef struct worker_t {
  shared_t *shared;
  void *instance;
  uint32_t number;
} worker_t;

static size_t find(void *module, const char *name) {
  const fc_module_info_t *info = fc_backend_vm.describe(module);
  for (size_t i = 0; i < info->count; i++) {
    const fc_signature_t *signature = info->signatures[i];
    if (fc_str_equal(fc_signature_text(signature, signature->name),
                     fc_str(name))) {
      return i;
    }
  }
  fail_msg("no function %s", name);
  return 0;
}

// ---------------------------------------------------------------------------
// Stateless: mul4

static bool multiply(worker_t *worker, uint32_t round, fc_arena_t *arena) {
  _Alignas(64) float a[4], b[4];
  const int64_t shape[] = {4};
  for (uint32_t i = 0; i < 4; i++) {
    a[i] = (float)(worker->number * 1000 + round);
    b[i] = (float)(i + 1);
  }
  fc_value_t arguments[2] = {{.kind = FC_VALUE_TENSOR},
                             {.kind = FC_VALUE_TENSOR}};
  arguments[0].tensor = (fc_tensor_t){
      .dtype = FC_DTYPE_F32, .rank = 1, .shape = shape, .data = a};
  arguments[1].tensor = (fc_tensor_t){
      .dtype = FC_DTYPE_F32, .rank = 1, .shape = shape, .data = b};
  fc_value_t result = {.kind = FC_VALUE_NULL};
  fc_backend_call_t call = {.arguments = arguments,
                            .argument_count = 2,
                            .results = &result,
                            .result_count = 1,
                            .arena = arena};
  const size_t index = worker->shared->index;
  bool right = fc_backend_vm.call(worker->instance, index, &call, NULL) == 0;
  right = right && result.kind == FC_VALUE_TENSOR && result.tensor.rank == 1;
  for (uint32_t i = 0; right && i < 4; i++) {
    right = ((const float *)result.tensor.data)[i] == a[i] * b[i];
  }
  fc_backend_vm.call_end(worker->instance, index, &call);
  return right;
}

static void *multiply_often(void *context) {
  worker_t *worker = context;
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
  for (uint32_t round = 0; round < CALLS; round++) {
    fc_arena_reset(&arena);
    if (!multiply(worker, round, &arena)) worker->shared->wrong++;
  }
  fc_arena_deinit(&arena);
  return NULL;
}

// ---------------------------------------------------------------------------
// Stateful: next, which counts from 1

static void *count_often(void *context) {
  worker_t *worker = context;
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
  int32_t before = 0;
  for (uint32_t round = 0; round < CALLS; round++) {
    fc_arena_reset(&arena);
    fc_value_t result = {.kind = FC_VALUE_NULL};
    fc_backend_call_t call = {
        .results = &result, .result_count = 1, .arena = &arena};
    const size_t index = worker->shared->index;
    int32_t count = 0;
    if (fc_backend_vm.call(worker->instance, index, &call, NULL) == 0 &&
        result.kind == FC_VALUE_TENSOR) {
      memcpy(&count, result.tensor.data, sizeof count);
    }
    fc_backend_vm.call_end(worker->instance, index, &call);
    if (count <= before) worker->shared->wrong++;
    before = count;
    worker->shared->sum += (uint64_t)count;
  }
  fc_arena_deinit(&arena);
  return NULL;
}

// ---------------------------------------------------------------------------

static shared_t open_file(const char *path) {
  static const fc_backend_t *const kinds[] = {&fc_backend_vm, NULL};
  fc_error_t err = {0};
  shared_t shared = {.loaded = NULL};
  if (fc_module_load(kinds, fc_str(path), NULL, fc_allocator_system(),
                     &shared.loaded, &err)) {
    fail_msg("%s: %s", path, err.message);
  }
  shared.module = fc_module_get_handle(shared.loaded);
  return shared;
}

static void run_threads(shared_t *shared, void *(*body)(void *context)) {
  pthread_t threads[THREADS];
  worker_t workers[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i] = (worker_t){.shared = shared, .number = i};
    assert_int_equal(
        fc_backend_vm.instance_create(shared->module, fc_allocator_system(),
                                      &workers[i].instance, NULL),
        0);
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, body, &workers[i]), 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    fc_backend_vm.instance_destroy(workers[i].instance);
  }
}

static const char *const backends[] = {"llvm-cpu", "vmvx"};

static shared_t open_named(const char *before, const char *backend) {
  char name[64], path[512];
  snprintf(name, sizeof name, "%s-%s.vmfb", before, backend);
  return open_file(corpus_path(name, path));
}

static void a_stateless_module_is_shared(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(backends); i++) {
    shared_t shared = open_named("async/async", backends[i]);
    assert_false(fc_backend_vm.describe(shared.module)->serial);
    shared.index = find(shared.module, "mul4");
    run_threads(&shared, multiply_often);
    fc_module_release(shared.loaded);
    assert_int_equal(shared.wrong, 0);
  }
}

static void a_stateful_module_counts_every_call(void **state) {
  (void)state;
  const uint64_t calls = (uint64_t)THREADS * CALLS;
  for (size_t i = 0; i < FC_ARRAY_COUNT(backends); i++) {
    shared_t shared = open_named("releases/versions-3.13.0", backends[i]);
    assert_true(fc_backend_vm.describe(shared.module)->serial);
    shared.index = find(shared.module, "next");
    run_threads(&shared, count_often);
    fc_module_release(shared.loaded);
    assert_int_equal(shared.wrong, 0);
    // The sum is 1 + 2 + … + calls: no number was returned twice or left out.
    assert_int_equal(shared.sum, calls * (calls + 1) / 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_stateless_module_is_shared),
      FC_TEST(a_stateful_module_counts_every_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
