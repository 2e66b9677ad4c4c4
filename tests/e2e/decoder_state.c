// SPDX-License-Identifier: Apache-2.0
//
// Greedy steps of a decoder whose cache is state, made with the embedding API;
// test_decoder_state_peer.py compares them with iree.runtime. Writes the logits of each
// step, then the cache. Prints how many bytes of state were copied, and the shortest
// time of a decode in nanoseconds.
//
//   decoder_state MODULE WEIGHTS OUT STEPS STRIDE ID…
#include <stdio.h>
#include <stdlib.h>

#include "farcall/farcall.h"
#include "module/state.h"

static fc_error_t err;

static void check(fc_status_t status) {
  if (status == FC_OK) return;
  fprintf(stderr, "%s: %s\n", fc_code_info(err.code)->text, err.message);
  exit(1);
}

static void set(fc_call_t *call, const char *path, const int64_t *data,
                int32_t rank, int64_t count) {
  const int64_t shape[] = {1, count};
  const fc_tensor_t tensor = {FC_DTYPE_I64, rank, shape, NULL,
                              (void *)(uintptr_t)data};
  check(fc_call_set(call, path, &tensor, &err));
}

static float half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = (float)(bits & 1023);
  float value = exponent ? 1 + fraction / 1024 : fraction / 512;
  for (int i = 15; i < exponent; i++) value *= 2;
  for (int i = exponent ? exponent : 1; i < 15; i++) value /= 2;
  return bits & 0x8000 ? -value : value;
}

static int64_t greedy(const fc_tensor_t *logits) {
  const int64_t count = logits->shape[2];
  const uint16_t *last =
      (const uint16_t *)logits->data + (logits->shape[1] - 1) * count;
  int64_t best = 0;
  for (int64_t i = 1; i < count; i++) {
    if (half(last[i]) > half(last[best])) best = i;
  }
  return best;
}

static void put(FILE *out, const fc_tensor_t *tensor) {
  size_t count, size;
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size) ||
      fwrite(tensor->data, 1, size, out) != size) {
    exit(1);
  }
}

int main(int argc, char **argv) {
  if (argc < 7) return 2;
  int64_t ids[256] = {0}, blocks[64], count = argc - 6, start = 0;
  const int64_t steps = atol(argv[4]), stride = atol(argv[5]);
  char weights[4096];
  snprintf(weights, sizeof weights, "model=%s", argv[2]);
  const fc_setting_t setting = {fc_str("vm.parameters"), fc_str(weights)};
  const fc_module_options_t options = {.settings = &setting,
                                       .setting_count = 1};
  fc_module_t *module;
  fc_instance_t *instance;
  fc_call_t *prefill, *decode;
  fc_state_t *state;
  fc_tensor_t logits, cache;
  FILE *out = fopen(argv[3], "wb");
  if (!out || count > 128) return 2;
  for (int i = 0; i < 64; i++) blocks[i] = i;
  for (int i = 0; i < count; i++) ids[i] = atol(argv[6 + i]);
  check(fc_module_open(argv[1], &options, &module, &err));
  check(fc_instance_create(module, NULL, &instance, &err));
  check(fc_call_create(instance, "prefill_bs1", &prefill, &err));
  check(fc_call_create(instance, "decode_bs1", &decode, &err));
  check(fc_state_create(NULL, &state, &err));
  fc_call_use_state(prefill, state);
  fc_call_use_state(decode, state);

  set(prefill, "0", ids, 2, (count + stride - 1) / stride * stride);
  set(prefill, "1", &start, 1, 1);
  set(prefill, "2", &count, 1, 1);
  set(prefill, "3", blocks, 2, (count + stride - 1) / stride);
  check(fc_call_run(prefill, NULL, &err));
  check(fc_call_get(prefill, "0", &logits, &err));
  put(out, &logits);
  uint64_t least = UINT64_MAX;
  for (int64_t step = 0; step < steps; step++) {
    ids[0] = greedy(&logits);
    start = count++;
    set(decode, "0", ids, 2, 1);
    set(decode, "1", &count, 1, 1);
    set(decode, "2", &start, 1, 1);
    set(decode, "3", blocks, 2, (count + stride - 1) / stride);
    const uint64_t begin = fc_clock_ns();
    check(fc_call_run(decode, NULL, &err));
    const uint64_t took = fc_clock_ns() - begin;
    if (took < least) least = took;
    check(fc_call_get(decode, "0", &logits, &err));
    put(out, &logits);
  }
  check(fc_state_get(state, "kv", &cache, &err));
  put(out, &cache);
  printf("%llu %llu\n", (unsigned long long)fc_state_copied(state),
         (unsigned long long)least);
  fc_call_destroy(prefill);
  fc_call_destroy(decode);
  fc_state_destroy(state);
  fc_instance_destroy(instance);
  fc_module_release(module);
  return fclose(out) == 0 ? 0 : 1;
}
