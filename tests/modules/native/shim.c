// SPDX-License-Identifier: Apache-2.0
//
// Imports every function of the runtime shim.
#include "memref.h"

#include <stddef.h>
#include <string.h>

void memrefCopy(int64_t element_size, void *source, void *dest);
float __truncsfbf2(float value);
float __truncdfbf2(double value);
void *_mlir_memref_to_llvm_alloc(size_t size);
void *_mlir_memref_to_llvm_aligned_alloc(size_t alignment, size_t size);
void _mlir_memref_to_llvm_free(void *memory);

static r2_t dense(int64_t m, int64_t n) {
  float *data = _mlir_memref_to_llvm_alloc((size_t)(m * n) * sizeof *data);
  return (r2_t){data, data, 0, {m, n}, {n, 1}};
}

EXPORT void _mlir_ciface_transpose(r2_t *out, const r2_t *a) {
  r2_t from = *a;
  from.sizes[0] = a->sizes[1];
  from.sizes[1] = a->sizes[0];
  from.strides[0] = a->strides[1];
  from.strides[1] = a->strides[0];
  *out = dense(from.sizes[0], from.sizes[1]);
  any_t source = {2, &from};
  any_t dest = {2, out};
  memrefCopy(sizeof(float), &source, &dest);
}
EXPORT float _mlir_ciface_bf16_from_f32(float a) { return __truncsfbf2(a); }
EXPORT float _mlir_ciface_bf16_from_f64(double a) { return __truncdfbf2(a); }
EXPORT void _mlir_ciface_generic(r1_t *out, int64_t n) {
  _mlir_memref_to_llvm_free(_mlir_memref_to_llvm_alloc(100));
  float *data = _mlir_memref_to_llvm_aligned_alloc(
      64, ((size_t)n * sizeof *data + 63) & ~(size_t)63);
  for (int64_t i = 0; i < n; i++) data[i] = 1;
  *out = (r1_t){data, data, 0, n, 1};
}
