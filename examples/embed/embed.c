// SPDX-License-Identifier: Apache-2.0
//
// Reads a handwritten digit with two modules. shade.so, compiled from C, scales
// the picture from 0 … 255 to the 0 … 16 on which digits.vmfb, compiled by
// IREE, was trained. docs/embedding.md explains each step.
#include <farcall/farcall.h>
#include <stdio.h>
#include <stdlib.h>

static fc_error_t err;

static void check(fc_status_t status) {
  if (status == FC_OK) return;
  fprintf(stderr, "%s: %s\n", fc_code_info(err.code)->text, err.message);
  exit(1);
}

static fc_call_t *load(const char *path, const char *function) {
  fc_module_t *module;
  fc_instance_t *instance;
  fc_call_t *call;
  check(fc_module_open(path, NULL, &module, &err));
  check(fc_instance_create(module, NULL, &instance, &err));
  check(fc_call_create(instance, function, &call, &err));
  fc_instance_destroy(instance);  // the call keeps what it needs
  fc_module_release(module);
  return call;
}

int main(int argc, char **argv) {
  static const uint8_t picture[8][8] = {
      {0, 0, 32, 191, 128, 112, 96, 32}, {0, 0, 143, 255, 239, 255, 255, 80},
      {0, 0, 207, 175, 0, 159, 223, 0},  {0, 0, 175, 48, 32, 239, 64, 0},
      {0, 0, 0, 0, 175, 143, 0, 0},      {0, 0, 0, 128, 255, 64, 0, 0},
      {0, 0, 0, 239, 191, 0, 0, 0},      {0, 0, 64, 255, 96, 0, 0, 0}};
  static const int64_t shape[] = {8, 8};
  fc_tensor_t image = {FC_DTYPE_UI8, 2, shape, NULL, (void *)picture};
  fc_tensor_t shades, digit, confidence;
  if (argc != 3) return 2;
  fc_call_t *shade = load(argv[1], "shade");
  fc_call_t *classify = load(argv[2], "classify");

  check(fc_call_set(shade, "image", &image, &err));
  check(fc_call_run(shade, NULL, &err));
  check(fc_call_get(shade, "0", &shades, &err));
  check(fc_call_set(classify, "image", &shades, &err));
  check(fc_call_run(classify, NULL, &err));
  check(fc_call_get(classify, "0/digit", &digit, &err));
  check(fc_call_get(classify, "0/confidence", &confidence, &err));
  printf("%d, sure to %.0f %%\n", *(int *)digit.data,
         100 * (double)*(float *)confidence.data);

  fc_call_destroy(classify);
  fc_call_destroy(shade);
  return 0;
}
