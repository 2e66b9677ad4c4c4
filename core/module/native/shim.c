// SPDX-License-Identifier: Apache-2.0
//
// Runtime functions that the compiler's output itself calls and that no system library
// has; those of MLIR's runner libraries are in runner.c. farcalld, farcall and the shared
// library export them, so modules need none of MLIR's own runtime libraries. Called by
// module code on the worker's thread. The allocation functions are only the defaults:
// loading a module replaces them by tracked ones (hook.c).
#include "module/native/shim.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "memref/descriptor.h"
#include "module/native/hook.h"

// Copies `source` to `dest`, element by element. MLIR emits calls of this
// function for copies that are not contiguous. MLIR's lowering guarantees that
// both shapes are equal.
__attribute__((visibility("default"))) void memrefCopy(
    int64_t element_size, fc_memref_unranked_t *source,
    fc_memref_unranked_t *dest) {
  const int64_t rank = source->rank;
  if (rank < 0 || rank > FC_RANK_MAX) abort();
  const fc_memref_t *from = source->descriptor;
  const fc_memref_t *to = dest->descriptor;
  const int64_t *sizes = from->words;
  for (int64_t i = 0; i < rank; i++) {
    if (sizes[i] <= 0) return;
  }
  const char *read = (const char *)from->aligned + from->offset * element_size;
  char *write = (char *)to->aligned + to->offset * element_size;
  int64_t index[FC_RANK_MAX] = {0};
  for (;;) {
    memcpy(write, read, (size_t)element_size);
    int64_t i = rank;
    while (i-- > 0) {
      const int64_t from_stride = from->words[rank + i] * element_size;
      const int64_t to_stride = to->words[rank + i] * element_size;
      read += from_stride;
      write += to_stride;
      if (++index[i] < sizes[i]) break;
      read -= from_stride * sizes[i];
      write -= to_stride * sizes[i];
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

// Returns a bf16 as arguments and results pass it: in the low half of a float register.
static float bfloat_in_register(uint16_t bits) {
  const uint32_t wide = bits;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

__attribute__((visibility("default"))) float __truncsfbf2(float value) {
  return bfloat_in_register(fc_bfloat_from_float(value));
}

__attribute__((visibility("default"))) float __truncdfbf2(double value) {
  return bfloat_in_register(fc_bfloat_from_double(value));
}

// Modules compiled with --finalize-memref-to-llvm=use-generic-functions=1 call these
// three instead of malloc, aligned_alloc and free.
__attribute__((visibility("default"))) void *_mlir_memref_to_llvm_alloc(
    size_t size) {
  return malloc(size);
}

__attribute__((visibility("default"))) void *_mlir_memref_to_llvm_aligned_alloc(
    size_t alignment, size_t size) {
  return aligned_alloc(alignment, size);
}

__attribute__((visibility("default"))) void _mlir_memref_to_llvm_free(
    void *memory) {
  free(memory);
}

// The allocation functions under the names of MLIR's own runtime library.
__attribute__((visibility("default"))) void *mlirAlloc(size_t size) {
  return malloc(size);
}

__attribute__((visibility("default"))) void *mlirAlignedAlloc(size_t alignment,
                                                              size_t size) {
  return aligned_alloc(alignment, size);
}

__attribute__((visibility("default"))) void mlirFree(void *memory) {
  free(memory);
}

__attribute__((visibility("default"))) void mlirAlignedFree(void *memory) {
  free(memory);
}

// Compilers turn vector.print into calls of these functions. They write the same text
// as MLIR's own runtime library, but to stderr, because results may go to stdout.
#define PRINT __attribute__((visibility("default"))) void

PRINT printI64(int64_t value) { fprintf(fc_hook_output(), "%" PRId64, value); }
PRINT printU64(uint64_t value) { fprintf(fc_hook_output(), "%" PRIu64, value); }
PRINT printF32(float value) { fprintf(fc_hook_output(), "%g", (double)value); }
PRINT printF64(double value) { fprintf(fc_hook_output(), "%g", value); }
PRINT printF16(uint16_t bits) { printF32(fc_half_to_float(bits)); }
PRINT printBF16(uint16_t bits) { printF32(fc_bfloat_to_float(bits)); }
PRINT printString(const char *text) { fputs(text, fc_hook_output()); }
PRINT printOpen(void) { fputs("( ", fc_hook_output()); }
PRINT printClose(void) { fputs(" )", fc_hook_output()); }
PRINT printComma(void) { fputs(", ", fc_hook_output()); }
PRINT printNewline(void) { fputc('\n', fc_hook_output()); }
#undef PRINT

bool fc_shim_provides(fc_str_t name) {
  static const struct {
    const char *name;
    void (*function)(void);
  } kProvided[] = {
#define FUNCTION(result, symbol, parameters) \
  {#symbol, (void (*)(void))(symbol)},
#define ELEMENT(suffix, dtype)                        \
  FUNCTION(, _mlir_ciface_printMemref##suffix, )      \
  FUNCTION(, printMemref##suffix, )                   \
  FUNCTION(, _mlir_ciface_printMemref1d##suffix, )    \
  FUNCTION(, _mlir_ciface_printMemrefShape##suffix, ) \
  FUNCTION(, _mlir_ciface_verifyMemRef##suffix, )     \
  FUNCTION(, verifyMemRef##suffix, )
#include "module/native/runner.def"
#undef FUNCTION
#undef ELEMENT
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kProvided); i++) {
    if (fc_str_equal(name, fc_str(kProvided[i].name))) {
      return kProvided[i].function != NULL;
    }
  }
  return false;
}

void fc_shim_offer(void) {
  Dl_info info;
  const void *own = (const void *)(uintptr_t)memrefCopy;
  if (!dladdr(own, &info)) return;
  void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  if (library) dlclose(library);
}
