// SPDX-License-Identifier: Apache-2.0
//
// A program that has libfarcall in it: loads a module, makes one call, and says what came
// of it: farcall_embed FILE matmul f32 | FILE fact i64.
#include <farcall/farcall.h>
#include <stdio.h>
#include <string.h>

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
  fc_module_t *module = NULL;
  fc_instance_t *instance = NULL;
  fc_call_t *call = NULL;
  fc_status_t status = fc_module_open(words[1], NULL, &module, err);
  if (status == FC_OK) {
    status = fc_instance_create(module, NULL, &instance, err);
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
  fc_error_t error;
  if (argc != 4) return 64;
  if (use(argv, &error) == FC_OK) {
    if (fflush(stdout) == 0) return 0;
    perror("standard output");
    return 74;
  }
  fprintf(stderr, "%s: %s\n", fc_code_info(error.code)->text, error.message);
  return 1;
}
