// SPDX-License-Identifier: Apache-2.0
//
//   bench_hal FILE.vmfb FUNCTION THREADS CALLS [TILES]
//
// Calls a function of tensors on THREADS threads that share the module. Each thread has a
// frame and an instance, like a worker of a server, and its inputs stay in place. Prints
// the nanoseconds and the processor time of a call. With CALLS 0 it makes as many calls
// as fit into a third of a second. With TILES, that many threads share the work of each
// call. Scalars are 9, dynamic dims 4. bench/hal compares the figures with IREE's tool.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "config/limits.h"
#include "farcall/module.h"
#include "pool/helpers.h"

#define THREADS_MAX 64
#define BATCH 16
#define SPEND_NS 0.33e9

typedef struct caller_t {
  pthread_t thread;
  const fc_function_t *function;
  long calls;  // calls to make; after the run, calls made
  const fc_tiles_t *tiles;
  fc_value_t *arguments;
  size_t argument_count;
  double spent_ns;
  double busy_ns;  // processor time of this thread
  fc_status_t status;
  fc_error_t err;
} caller_t;

static double clock_of(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// The values of the elements do not matter. Data and shape are in one block, the data
// first.
static fc_status_t make_tensor(const fc_signature_t *signature,
                               const fc_type_t *type, fc_value_t *out,
                               fc_error_t *err) {
  int64_t shape[FC_RANK_MAX];
  for (int32_t i = 0; i < type->rank; i++) {
    const int64_t dim = fc_signature_dims(signature, type)[i];
    shape[i] = dim < 0 ? 4 : dim;
  }
  size_t count, size;
  if (type->rank < 0 ||
      !fc_shape_count(shape, type->rank, (fc_dtype_t)type->dtype, &count,
                      &size) ||
      !fc_size_align(size, 64, &size)) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "no tensor of that shape");
  }
  uint8_t *data =
      fc_alloc_aligned(fc_allocator_system(), size + sizeof shape, 64);
  if (!data) return fc_fail_memory(err);
  memset(data, 0x3D, size);
  memcpy(data + size, shape, sizeof shape);
  *out = (fc_value_t){.kind = FC_VALUE_TENSOR,
                      .tensor = {.dtype = (fc_dtype_t)type->dtype,
                                 .rank = type->rank,
                                 .shape = (int64_t *)(void *)(data + size),
                                 .data = data}};
  return FC_OK;
}

static fc_status_t make_argument(const fc_signature_t *signature,
                                 const fc_param_t *param, fc_value_t *out,
                                 fc_error_t *err) {
  const fc_type_t *type = fc_signature_node(signature, param->type);
  if (type->kind == FC_TYPE_TENSOR) {
    return make_tensor(signature, type, out, err);
  }
  if (type->kind != FC_TYPE_SCALAR) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "bench_hal calls functions of scalars and tensors");
  }
  *out = (fc_value_t){.kind = FC_VALUE_SCALAR,
                      .dtype = (fc_dtype_t)type->dtype,
                      .scalar = {.i64 = 9}};
  return FC_OK;
}

static fc_status_t make_arguments(caller_t *caller, fc_error_t *err) {
  const fc_signature_t *signature = caller->function->signature;
  caller->argument_count = signature->argument_count;
  caller->arguments =
      fc_alloc_array(fc_allocator_system(), caller->argument_count + 1,
                     sizeof *caller->arguments);
  if (!caller->arguments) return fc_fail_memory(err);
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    FC_TRY(make_argument(signature, &signature->arguments[i],
                         &caller->arguments[i], err));
  }
  return FC_OK;
}

static fc_status_t call_once(caller_t *caller, fc_frame_t *frame,
                             void *instance, fc_error_t *err) {
  const fc_function_t *function = caller->function;
  fc_frame_begin(frame, function->plan, NULL);
  size_t count;
  fc_value_t *arguments = fc_frame_arguments(frame, &count);
  if (!arguments || count != caller->argument_count) return fc_fail_memory(err);
  memcpy(arguments, caller->arguments, count * sizeof *arguments);
  fc_status_t status =
      fc_frame_invoke(frame, fc_module_get_backend(function->module), instance,
                      function->index, NULL, 0, err);
  fc_frame_end(frame);
  return status;
}

static fc_status_t call_all(caller_t *caller, fc_frame_t *frame, void *instance,
                            fc_error_t *err) {
  const long wanted = caller->calls;
  for (int i = 0; i < 4; i++) FC_TRY(call_once(caller, frame, instance, err));
  const double start = clock_of(CLOCK_MONOTONIC);
  const double idle = clock_of(CLOCK_THREAD_CPUTIME_ID);
  double spent = 0;
  long calls = 0;
  while (wanted ? calls < wanted : spent < SPEND_NS) {
    for (int i = 0; i < BATCH && (!wanted || calls < wanted); i++, calls++) {
      FC_TRY(call_once(caller, frame, instance, err));
    }
    spent = clock_of(CLOCK_MONOTONIC) - start;
  }
  caller->calls = calls;
  caller->spent_ns = spent;
  caller->busy_ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - idle;
  return FC_OK;
}

static void *run(void *context) {
  caller_t *caller = context;
  const fc_module_t *module = caller->function->module;
  const fc_backend_t *backend = fc_module_get_backend(module);
  fc_allocator_t allocator = fc_allocator_system();
  fc_frame_t *frame = NULL;
  void *instance = NULL;
  caller->status = fc_frame_create(allocator, NULL, &frame, &caller->err);
  if (!caller->status) {
    caller->status = backend->instance_create(
        fc_module_get_handle(module), allocator, &instance, &caller->err);
  }
  if (!caller->status) {
    fc_frame_set_tiles(frame, caller->tiles);
    caller->status = make_arguments(caller, &caller->err);
  }
  if (!caller->status) {
    caller->status = call_all(caller, frame, instance, &caller->err);
  }
  fc_frame_destroy(frame);
  if (instance) backend->instance_destroy(instance);
  for (size_t i = 0; caller->arguments && i < caller->argument_count; i++) {
    if (caller->arguments[i].kind != FC_VALUE_TENSOR) continue;
    fc_free(allocator, caller->arguments[i].tensor.data);
  }
  fc_free(allocator, caller->arguments);
  return NULL;
}

static fc_status_t measure(const fc_function_t *function, int threads,
                           long calls, const fc_tiles_t *tiles,
                           fc_error_t *err) {
  static caller_t callers[THREADS_MAX];
  for (int i = 0; i < threads; i++) {
    callers[i] =
        (caller_t){.function = function, .calls = calls, .tiles = tiles};
    if (pthread_create(&callers[i].thread, NULL, run, &callers[i])) {
      return fc_fail_memory(err);
    }
  }
  double per_second = 0, busy = 0;
  long made = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(callers[i].thread, NULL);
    if (callers[i].status) *err = callers[i].err;
    per_second += (double)callers[i].calls / callers[i].spent_ns;
    made += callers[i].calls;
    busy += callers[i].busy_ns;
  }
  if (err->status) return err->status;
  printf("%.1f %.1f\n", 1 / per_second, busy / (double)made);
  return FC_OK;
}

static fc_status_t run_bench(const fc_module_t *module, char **argv,
                             uint32_t tiles, fc_error_t *err) {
  const fc_function_t *function = fc_module_find(module, fc_str(argv[2]));
  if (!function || !function->plan) {
    return fc_fail(err, FC_CODE_FUNCTION_NOT_FOUND, "no %s", argv[2]);
  }
  fc_helpers_t *helpers = NULL;
  if (tiles > 1) {
    FC_TRY(fc_helpers_create(fc_allocator_system(), tiles, FC_LIMIT_SPIN_NS,
                             &helpers, err));
  }
  fc_status_t status = measure(function, (int)strtol(argv[3], NULL, 10),
                               strtol(argv[4], NULL, 10),
                               helpers ? fc_helpers_tiles(helpers) : NULL, err);
  fc_helpers_destroy(helpers);
  return status;
}

int main(int argc, char **argv) {
  const long threads = argc >= 5 ? strtol(argv[3], NULL, 10) : 0;
  const long tiles = argc == 6 ? strtol(argv[5], NULL, 10) : 1;
  if (threads < 1 || threads > THREADS_MAX || tiles < 1 ||
      tiles > FC_TILES_MAX || argc > 6) {
    fprintf(stderr,
            "usage: bench_hal FILE.vmfb FUNCTION THREADS CALLS [TILES]\n");
    return 64;
  }
  static const fc_backend_t *const backends[] = {&fc_backend_vm, NULL};
  fc_error_t err = {0};
  fc_module_t *module = NULL;
  fc_status_t status = fc_module_load(backends, fc_str(argv[1]), NULL,
                                      fc_allocator_system(), &module, &err);
  if (!status) status = run_bench(module, argv, (uint32_t)tiles, &err);
  if (status) fprintf(stderr, "bench_hal: %s\n", err.message);
  fc_module_release(module);
  return status ? 1 : 0;
}
