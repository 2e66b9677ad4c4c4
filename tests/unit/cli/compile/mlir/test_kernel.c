// SPDX-License-Identifier: Apache-2.0
//
// For which types a contraction has code, and what is put into the template.
// e2e/lowering tests that MLIR accepts it, and what it computes.
#include "helpers/test.h"

#include "compile/mlir/kernel.h"

#define TEXT_MAX ((size_t)1 << 20)

typedef struct kernel_row_t {
  const char *name;
  const char *types[3];
  fc_widen_t widen[2];
  bool known;
  bool pairs;  // on x86
} kernel_row_t;

#define S FC_WIDEN_SIGNED
#define U FC_WIDEN_UNSIGNED
#define F FC_WIDEN_FLOAT
static const kernel_row_t kernels[] = {
    {"f32", {"f32", "f32", "f32"}, {0}, true, false},
    {"f64", {"f64", "f64", "f64"}, {0}, true, false},
    {"f16 to f32", {"f16", "f16", "f32"}, {F, F}, true, false},
    {"bf16 and f32 to f64", {"bf16", "f32", "f64"}, {F, F}, true, false},
    {"one is one already", {"f32", "f16", "f32"}, {0, F}, true, false},
    {"i32", {"i32", "i32", "i32"}, {0}, true, false},
    {"i64", {"i64", "i64", "i64"}, {0}, true, false},
    {"i8 to i32", {"i8", "i8", "i32"}, {S, S}, true, true},
    {"u8 to i32", {"i8", "i8", "i32"}, {U, U}, true, true},
    {"i16 and u8 to i32", {"i16", "i8", "i32"}, {S, U}, true, true},
    {"u16 has no room for its sign",
     {"i16", "i16", "i32"},
     {U, S},
     true,
     false},
    {"a pair of i32 is too wide", {"i8", "i32", "i32"}, {S, 0}, true, false},
    {"i16 to i64", {"i16", "i16", "i64"}, {S, S}, true, false},
    {"sums of f16", {"f16", "f16", "f16"}, {0}, false, false},
    {"sums of i8", {"i8", "i8", "i8"}, {0}, false, false},
    {"floats and integers", {"i8", "f32", "f32"}, {S, 0}, false, false},
    {"wider than the sum", {"f64", "f32", "f32"}, {F, 0}, false, false},
    {"widened to itself", {"f32", "f32", "f32"}, {F, F}, false, false},
    {"not widened", {"f16", "f32", "f32"}, {0}, false, false},
    {"other types", {"i1", "i1", "i32"}, {U, U}, false, false},
    {"no types", {"", "", ""}, {0}, false, false},
};

static fc_kernel_t kernel_of(const kernel_row_t *row) {
  fc_kernel_t kernel = {.widen = {row->widen[0], row->widen[1]}};
  for (int i = 0; i < 3; i++) kernel.types[i] = fc_str(row->types[i]);
  return kernel;
}

static void types_are_known(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const kernel_row_t, row, kernels) {
    const fc_kernel_t kernel = kernel_of(row);
    assert_int_equal(fc_kernel_is_known(&kernel), row->known);
  }
}

static void kernels_differ_by_types_and_signs(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const kernel_row_t, row, kernels) {
    const fc_kernel_t a = kernel_of(row);
    for (size_t i = 0; i < FC_ARRAY_COUNT(kernels); i++) {
      const fc_kernel_t b = kernel_of(&kernels[i]);
      assert_int_equal(fc_kernel_equal(&a, &b), &kernels[i] == row);
    }
  }
}

static bool has(fc_str_t text, const char *word) {
  return memmem(text.data, text.size, word, strlen(word));
}

// No placeholder of the template is left, and vectors have the requested size.
static void assert_written(const kernel_row_t *row, size_t vector_size) {
  static const struct {
    size_t size;
    const char *narrow, *wide;  // a vector of 4, of 8 bytes an element
    const char *pairs;
  } kSizes[] = {
      {16, "vector<4x", "vector<2x", "llvm.x86.sse2.pmadd.wd"},
      {32, "vector<8x", "vector<4x", "llvm.x86.avx2.pmadd.wd"},
      {64, "vector<16x", "vector<8x", "llvm.x86.avx512.pmaddw.d.512"}};
  const fc_kernel_t kernel = kernel_of(row);
  fc_text_t out;
  fc_error_t err;
  fc_text_init(&out, fc_allocator_system(), TEXT_MAX);
  assert_int_equal(fc_kernel_put(&kernel, 7, vector_size, &out, &err), 0);
  const fc_str_t text = fc_text_str(&out);
  assert_true(has(text, "@farcall.contract7("));
  assert_false(has(text, "$"));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSizes); i++) {
    if (kSizes[i].size != vector_size) continue;
    const bool is_wide = row->types[2][1] == '6';
    assert_true(has(text, is_wide ? kSizes[i].wide : kSizes[i].narrow));
#if defined(__x86_64__)
    assert_int_equal(has(text, kSizes[i].pairs), row->pairs);
#endif
  }
  fc_text_deinit(&out);
}

static void every_word_of_the_template_is_replaced(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const kernel_row_t, row, kernels) {
    for (size_t size = 16; row->known && size <= 64; size *= 2) {
      assert_written(row, size);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(types_are_known),
      FC_TEST(kernels_differ_by_types_and_signs),
      FC_TEST(every_word_of_the_template_is_replaced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
