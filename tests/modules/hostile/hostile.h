// SPDX-License-Identifier: Apache-2.0
//
// Modules that do to their process what no module should. A KIND is a function
// i32 -> i32; every object also has `fine`, which shows whether its process
// still works. The tests copy an object once per kind and write the sidecar.
#ifndef FARCALL_TESTS_MODULES_HOSTILE_HOSTILE_H_
#define FARCALL_TESTS_MODULES_HOSTILE_HOSTILE_H_

#include <stdint.h>

#define KIND(name)                       \
  __attribute__((visibility("default"))) \
  int32_t _mlir_ciface_##name(__attribute__((unused)) int32_t a)

// a + 1, by way of a division that shows a changed rounding mode.
KIND(fine) {
  volatile double one = 1, three = 3;
  double third = one / three;
  return third == 0.33333333333333331 ? a + 1 : -1;
}

#endif  // FARCALL_TESTS_MODULES_HOSTILE_HOSTILE_H_
