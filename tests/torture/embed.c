// SPDX-License-Identifier: Apache-2.0
//
// A program that embeds libfarcall. It loads a module, makes calls and prints their
// results: farcall_embed FILE matmul f32 | FILE fact i64. With a last argument `again`
// it does so five times: failures are printed, and the last time decides. If a block of
// memory is left after the module was unloaded, that is an error.
#include <farcall/farcall.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_long blocks;

static void *allocate(void *context, size_t size, size_t alignment) {
  const fc_allocator_t system = fc_allocator_system();
  void *memory = system.allocate(system.context, size, alignment);
  (void)context;
  if (memory) atomic_fetch_add(&blocks, 1);
  return memory;
}

static void release(void *context, void *memory) {
  const fc_allocator_t system = fc_allocator_system();
  (void)context;
  if (memory) atomic_fetch_sub(&blocks, 1);
  system.release(system.context, memory);
}

static const fc_allocator_t kCounted = {NULL, allocate, release};

static fc_status_t set(fc_call_t *call, bool floats, fc_error_t *err) {
  static const float kNumbers[] = {1, 2, 3, 4};
  static const int64_t kShape[] = {2, 2}, kFive = 5;
  const fc_tensor_t matrix = {FC_DTYPE_F32, 2, kShape, NULL, (void *)kNumbers};
  const fc_tensor_t number = {FC_DTYPE_I64, 0, NULL, NULL, (void *)&kFive};
  FC_TRY(fc_call_set(call, "0", floats ? &matrix : &number, err));
  return floats ? fc_call_set(call, "1", &matrix, err) : FC_OK;
}

static fc_status_t make_call(fc_call_t *call, bool floats, fc_error_t *err) {
  fc_tensor_t result;
  FC_TRY(set(call, floats, err));
  for (int i = 0; i < 3; i++) FC_TRY(fc_call_run(call, NULL, err));
  FC_TRY(fc_call_get(call, "0", &result, err));
  if (floats) printf("%g\n", (double)((float *)result.data)[3]);
  else printf("%lld\n", (long long)*(int64_t *)result.data);
  return FC_OK;
}

static fc_status_t use(char **words, fc_error_t *err) {
  const fc_instance_options_t options = {.allocator = kCounted};
  fc_module_t *module = NULL;
  fc_instance_t *instance = NULL;
  fc_call_t *call = NULL;
  fc_status_t status =
      fc_module_load(NULL, fc_str(words[1]), NULL, kCounted, &module, err);
  if (status == FC_OK) {
    status = fc_instance_create(module, &options, &instance, err);
  }
  if (status == FC_OK) {
    status = fc_call_create(instance, words[2], &call, err);
  }
  if (status == FC_OK) status = make_call(call, !strcmp(words[3], "f32"), err);
  fc_call_destroy(call);
  fc_instance_destroy(instance);
  fc_module_release(module);
  return status;
}

int main(int argc, char **argv) {
  const int times = argc == 5 && !strcmp(argv[4], "again") ? 5 : 1;
  fc_status_t status = FC_OK;
  if (argc != 4 && times == 1) return 64;
  for (int i = 0; i < times; i++) {
    fc_error_t error;
    status = use(argv, &error);
    if (status) {
      fprintf(stderr, "%s: %s\n", fc_code_info(error.code)->text,
              error.message);
    }
    if (atomic_load(&blocks)) {
      fprintf(stderr, "%ld blocks of memory are left\n", atomic_load(&blocks));
      return 70;
    }
  }
  if (status) return 1;
  if (fflush(stdout) == 0) return 0;
  perror("standard output");
  return 74;
}
