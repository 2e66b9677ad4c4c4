// SPDX-License-Identifier: Apache-2.0
//
// Functions that programs for MLIR's own runner import from its runtime libraries: they
// print memrefs, compare, sort and tell the time. They write the same text as those
// libraries, but to stderr, because results may go to stdout. Called by module code on
// the worker's thread. Functions for sparse tensors and random numbers are missing.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include "module/native/hook.h"
#include "module/native/shim.h"
#include "value/gather.h"

#define EXPORT __attribute__((visibility("default")))
#define VERIFY_SHOWN_MAX 10

// A memref of any rank.
typedef struct view_t {
  const fc_memref_t *descriptor;
  int64_t rank;
  fc_dtype_t dtype;
  int64_t size;  // of an element
} view_t;

static view_t view_of(const fc_memref_unranked_t *memref, fc_dtype_t dtype) {
  if (memref->rank < 0 || memref->rank > FC_RANK_MAX) abort();
  return (view_t){memref->descriptor, memref->rank, dtype,
                  (int64_t)fc_dtype_size(dtype)};
}

// An index into a view. Its last dim counts fastest.
typedef struct walk_t {
  const view_t *view;
  int64_t index[FC_RANK_MAX];
  int64_t at;  // offset of the element
} walk_t;

// Begins at the first element. False when the view has no element.
static bool walk_begin(walk_t *walk, const view_t *view) {
  *walk = (walk_t){.view = view, .at = view->descriptor->offset};
  for (int64_t i = 0; i < view->rank; i++) {
    if (view->descriptor->words[i] <= 0) return false;
  }
  return true;
}

// Goes to the next element. Returns how many of the innermost dims began again at 0.
// After the last element it returns the number of all dims.
static int64_t walk_next(walk_t *walk) {
  const int32_t rank = (int32_t)walk->view->rank;
  const int64_t *sizes = walk->view->descriptor->words;
  return rank - 1 -
         fc_view_step(rank, sizes, sizes + rank, walk->index, &walk->at);
}

// ---------------------------------------------------------------------------
// Printing

static void print_times(const char *text, int64_t count) {
  while (count-- > 0) fputs(text, fc_hook_output());
}

static const uint8_t *element(const view_t *view, int64_t at) {
  return (const uint8_t *)view->descriptor->aligned + at * view->size;
}

static double part_of(fc_dtype_t dtype, const uint8_t *bytes) {
  uint16_t half;
  float single;
  double both;
  memcpy(&half, bytes, sizeof half);
  if (dtype == FC_DTYPE_F16) return (double)fc_half_to_float(half);
  if (dtype == FC_DTYPE_BF16) return (double)fc_bfloat_to_float(half);
  memcpy(&single, bytes, sizeof single);
  if (dtype == FC_DTYPE_F32) return (double)single;
  memcpy(&both, bytes, sizeof both);
  return both;
}

static int64_t integer_of(fc_dtype_t dtype, const uint8_t *bytes) {
  uint64_t bits = 0;
  const size_t size = fc_dtype_size(dtype);
  memcpy(&bits, bytes, size);
  const unsigned unused = 64 - 8 * (unsigned)size;
  return (int64_t)(bits << unused) >> unused;
}

static void print_element(fc_dtype_t dtype, const uint8_t *bytes) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  if (info->class_ == FC_DTYPE_CLASS_COMPLEX) {
    fprintf(fc_hook_output(), "(%g,%g)", part_of(info->part, bytes),
            part_of(info->part, bytes + info->size / 2));
  } else if (info->class_ == FC_DTYPE_CLASS_FLOAT) {
    fprintf(fc_hook_output(), "%g", part_of(dtype, bytes));
  } else if (dtype == FC_DTYPE_I8) {  // MLIR prints it as a character
    fputc(*bytes, fc_hook_output());
  } else if (dtype == FC_DTYPE_UI64) {
    fprintf(fc_hook_output(), "%" PRIu64, (uint64_t)integer_of(dtype, bytes));
  } else {
    fprintf(fc_hook_output(), "%" PRId64, integer_of(dtype, bytes));
  }
}

static void print_list(const char *name, const int64_t *values, int64_t count) {
  fprintf(fc_hook_output(), " %s = [", name);
  for (int64_t i = 0; i < count; i++) {
    fprintf(fc_hook_output(), "%s%" PRId64, i ? ", " : "", values[i]);
  }
  fputs("]", fc_hook_output());
}

static void print_shape(const view_t *view) {
  const fc_memref_t *descriptor = view->descriptor;
  fprintf(fc_hook_output(), "base@ = %p rank = %" PRId64 " offset = %" PRId64,
          descriptor->aligned, view->rank, descriptor->offset);
  print_list("sizes", descriptor->words, view->rank);
  print_list("strides", descriptor->words + view->rank, view->rank);
}

// Prints a vector of 4 x 4 floats.
static void print_vector(const uint8_t *bytes) {
  fputc('(', fc_hook_output());
  for (int i = 0; i < 4; i++) {
    if (i) fputs(i < 3 ? ",   " : ",  ", fc_hook_output());
    for (int k = 0; k < 4; k++) {
      fputs(k ? ", " : "(", fc_hook_output());
      print_element(FC_DTYPE_F32, bytes + 16 * i + 4 * k);
    }
    fputc(')', fc_hook_output());
  }
  fputc(')', fc_hook_output());
}

// Prints the elements: each row is a line, and each dim is indented by one more space.
static void print_elements(const view_t *view) {
  const int64_t brackets = view->rank ? view->rank : 1;
  walk_t walk;
  print_times("[", brackets);
  bool more = walk_begin(&walk, view);
  while (more) {
    const uint8_t *bytes = element(view, walk.at);
    if (view->dtype == FC_DTYPE_NONE) print_vector(bytes);
    else print_element(view->dtype, bytes);
    const int64_t ended = walk_next(&walk);
    more = ended < view->rank;
    if (!more) break;
    print_times("]", ended);
    fputs(ended ? ", \n" : ", ", fc_hook_output());
    print_times(" ", view->rank - ended);
    print_times("[", ended);
  }
  print_times("]", brackets);
}

static void print_memref(const char *kind, view_t view) {
  fputs(kind, fc_hook_output());
  print_shape(&view);
  fputs(" data = \n", fc_hook_output());
  print_elements(&view);
  fputc('\n', fc_hook_output());
}

static void print_ranked(const fc_memref_t *memref, int64_t rank,
                         fc_dtype_t dtype) {
  print_memref("Memref ",
               (view_t){memref, rank, dtype, (int64_t)fc_dtype_size(dtype)});
}

static void print_unranked_shape(view_t view) {
  fputs("Unranked Memref ", fc_hook_output());
  print_shape(&view);
  fputc('\n', fc_hook_output());
}

EXPORT void _mlir_ciface_printMemref0dF32(fc_memref_t *memref) {
  print_ranked(memref, 0, FC_DTYPE_F32);
}
EXPORT void _mlir_ciface_printMemref2dF32(fc_memref_t *memref) {
  print_ranked(memref, 2, FC_DTYPE_F32);
}
EXPORT void _mlir_ciface_printMemref3dF32(fc_memref_t *memref) {
  print_ranked(memref, 3, FC_DTYPE_F32);
}
EXPORT void _mlir_ciface_printMemref4dF32(fc_memref_t *memref) {
  print_ranked(memref, 4, FC_DTYPE_F32);
}

EXPORT void _mlir_ciface_printMemrefVector4x4xf32(fc_memref_t *memref) {
  print_memref("Memref ", (view_t){memref, 2, FC_DTYPE_NONE, 64});
}

EXPORT void printFlops(double flops) {
  fprintf(fc_hook_output(), "%f GFLOPS\n", flops / 1e9);
}

// ---------------------------------------------------------------------------
// Comparing

// Compares two elements. Floats of 32 and 64 bits may differ a little; an infinity or NaN
// of these types is equal to nothing.
static bool is_equal(fc_dtype_t dtype, const uint8_t *actual,
                     const uint8_t *expected) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  if (info->class_ == FC_DTYPE_CLASS_COMPLEX) {
    const size_t half = info->size / 2;
    return part_of(info->part, actual) == part_of(info->part, expected) &&
           part_of(info->part, actual + half) ==
               part_of(info->part, expected + half);
  }
  if (info->class_ != FC_DTYPE_CLASS_FLOAT) {
    return !memcmp(actual, expected, info->size);
  }
  const double a = part_of(dtype, actual), b = part_of(dtype, expected);
  if (info->size == 2) return a == b;
  const double most = dtype == FC_DTYPE_F64 ? 1e-12 : 1e-6;
  return isfinite(a) && isfinite(b) && fabs(a - b) <= most * fabs(b);
}

static bool has_shape_of(const view_t *actual, const view_t *expected) {
  const size_t words = 2 * (size_t)actual->rank;
  return actual->rank == 0 ||
         (actual->rank == expected->rank &&
          actual->descriptor->offset == expected->descriptor->offset &&
          !memcmp(actual->descriptor->words, expected->descriptor->words,
                  words * sizeof(int64_t)));
}

// Returns the number of elements that differ, or -1 if the shapes differ.
static int64_t verify(view_t actual, view_t expected) {
  if (!has_shape_of(&actual, &expected)) {
    print_shape(&actual);
    print_shape(&expected);
    return -1;
  }
  int64_t errors = 0;
  walk_t walk;
  if (!walk_begin(&walk, &actual)) return 0;
  do {
    const uint8_t *a = element(&actual, walk.at);
    const uint8_t *b = element(&expected, walk.at);
    if (is_equal(actual.dtype, a, b)) continue;
    if (errors++ >= VERIFY_SHOWN_MAX) continue;
    print_element(actual.dtype, a);
    fputs(" != ", fc_hook_output());
    print_element(actual.dtype, b);
    fprintf(fc_hook_output(), " offset = %" PRId64 "\n", walk.at);
  } while (walk_next(&walk) < actual.rank);
  return errors;
}

#define FUNCTION(result, name, parameters)
#define ELEMENT(suffix, dtype)                                                 \
  EXPORT void _mlir_ciface_printMemref##suffix(fc_memref_unranked_t *memref) { \
    print_memref("Unranked Memref ", view_of(memref, FC_DTYPE_##dtype));       \
  }                                                                            \
  EXPORT void printMemref##suffix(int64_t rank, void *descriptor) {            \
    fc_memref_unranked_t memref = {rank, descriptor};                          \
    _mlir_ciface_printMemref##suffix(&memref);                                 \
  }                                                                            \
  EXPORT void _mlir_ciface_printMemref1d##suffix(fc_memref_t *memref) {        \
    print_ranked(memref, 1, FC_DTYPE_##dtype);                                 \
  }                                                                            \
  EXPORT void _mlir_ciface_printMemrefShape##suffix(                           \
      fc_memref_unranked_t *memref) {                                          \
    print_unranked_shape(view_of(memref, FC_DTYPE_##dtype));                   \
  }                                                                            \
  EXPORT int64_t _mlir_ciface_verifyMemRef##suffix(                            \
      fc_memref_unranked_t *actual, fc_memref_unranked_t *expected) {          \
    return verify(view_of(actual, FC_DTYPE_##dtype),                           \
                  view_of(expected, FC_DTYPE_##dtype));                        \
  }                                                                            \
  EXPORT int64_t verifyMemRef##suffix(int64_t rank, void *actual,              \
                                      void *expected) {                        \
    fc_memref_unranked_t a = {rank, actual}, b = {rank, expected};             \
    return _mlir_ciface_verifyMemRef##suffix(&a, &b);                          \
  }
#include "module/native/runner.def"
#undef FUNCTION
#undef ELEMENT

// ---------------------------------------------------------------------------
// Sorting and time

#define SORT(suffix, type)                                               \
  static int compare_##suffix(const void *a, const void *b) {            \
    const type x = *(const type *)a, y = *(const type *)b;               \
    return (x > y) - (x < y);                                            \
  }                                                                      \
  EXPORT void _mlir_ciface_stdSort##suffix(uint64_t count,               \
                                           fc_memref_t *memref) {        \
    qsort((type *)memref->aligned + memref->offset, count, sizeof(type), \
          compare_##suffix);                                             \
  }
SORT(I64, int64_t)
SORT(F32, float)
SORT(F64, double)

EXPORT double rtclock(void) {
  struct timeval now;
  gettimeofday(&now, NULL);
  return (double)now.tv_sec + (double)now.tv_usec * 1e-6;
}

EXPORT int64_t _mlir_ciface_nanoTime(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
