// SPDX-License-Identifier: Apache-2.0
//
// Modules that harm their own process. A KIND is a function i32 -> i32. Every object
// also has `fine`, which shows whether the process still works. The tests copy an
// object once for each kind, and write its sidecar.
#ifndef FARCALL_TESTS_MODULES_HOSTILE_HOSTILE_H_
#define FARCALL_TESTS_MODULES_HOSTILE_HOSTILE_H_

#include <stdint.h>

#define KIND(name)                       \
  __attribute__((visibility("default"))) \
  int32_t _mlir_ciface_##name(__attribute__((unused)) int32_t a)

// Returns a + 1, after a division that shows whether the rounding mode has changed.
KIND(fine) {
  volatile double one = 1, three = 3;
  double third = one / three;
  return third == 0.33333333333333331 ? a + 1 : -1;
}

#endif  // FARCALL_TESTS_MODULES_HOSTILE_HOSTILE_H_
