// SPDX-License-Identifier: Apache-2.0
//
// A program that, like Python, is not linked with libfarcall: it opens the library
// late, and the library's names are not visible to other libraries. A module must still
// find in it the functions that compiled code imports.
//
//   late LIBFARCALL MODULE      MODULE: tests/modules/native/shim.so
#include <dlfcn.h>
#include <farcall/call.h>
#include <stdio.h>

#define CALL(library, name) ((__typeof__(name) *)dlsym(library, #name))

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  fc_error_t err = {.message = "no error"};
  fc_module_t *module;
  fc_instance_t *instance;
  fc_call_t *call;
  const float in[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const int64_t shape[] = {2, 3};
  fc_tensor_t x = {FC_DTYPE_F32, 2, shape, NULL, (void *)in}, y;
  if (CALL(library, fc_module_open)(argv[2], NULL, &module, &err) ||
      CALL(library, fc_instance_create)(module, NULL, &instance, &err) ||
      CALL(library, fc_call_create)(instance, "transpose", &call, &err) ||
      CALL(library, fc_call_set)(call, "0", &x, &err) ||
      CALL(library, fc_call_run)(call, NULL, &err) ||
      CALL(library, fc_call_get)(call, "0", &y, &err)) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  const float first[2] = {1, 4};  // of the transposed, three rows of two
  const int wrong = y.shape[0] != 3 || memcmp(y.data, first, sizeof first) != 0;
  CALL(library, fc_call_destroy)(call);
  CALL(library, fc_instance_destroy)(instance);
  CALL(library, fc_module_release)(module);
  return wrong;
}
