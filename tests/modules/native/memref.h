// SPDX-License-Identifier: Apache-2.0
//
// The C form of what MLIR lowers memrefs to, so that a C compiler is enough for the
// fixtures of the native backend. Written from MLIR's documents, not from core/memref.
#ifndef FARCALL_TESTS_MODULES_NATIVE_MEMREF_H_
#define FARCALL_TESTS_MODULES_NATIVE_MEMREF_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct r0_t {
  float *allocated, *aligned;
  int64_t offset;
} r0_t;
typedef struct r1_t {
  float *allocated, *aligned;
  int64_t offset, size, stride;
} r1_t;
typedef struct r2_t {
  float *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
} r2_t;
typedef struct any_t {
  int64_t rank;
  void *descriptor;
} any_t;

#define GLOBAL ((float *)(uintptr_t)0xdeadbeef)
#define EXPORT __attribute__((visibility("default")))
#define CIFACE(name) EXPORT _mlir_ciface_##name

#endif  // FARCALL_TESTS_MODULES_NATIVE_MEMREF_H_
