// SPDX-License-Identifier: Apache-2.0
//
// Which operations of linalg are contractions, and which of their loops are rows,
// columns and sums. The texts are as mlir-opt prints them. What is computed is tested
// by e2e/lowering.
#include "helpers/test.h"

#include <stdio.h>

#include "compile/mlir/contraction.h"

#define MAP3(a, b, c)                                                \
  "affine_map<(d0, d1, d2) -> (" a ")>, affine_map<(d0, d1, d2) -> " \
  "(" b ")>, affine_map<(d0, d1, d2) -> (" c ")>"
#define MATMUL MAP3("d0, d2", "d2, d1", "d0, d1")

#define BB0(a, b, c) "    ^bb0(%x: " a ", %y: " b ", %z: " c "):\n"
#define OP(result, name, operands) \
  "      " result " = \"" name "\"(" operands ") : (f32, f32) -> f32\n"
#define YIELD(value) "      \"linalg.yield\"(" value ") : (f32) -> ()\n"
#define SUM                        \
  BB0("f32", "f32", "f32")         \
  OP("%p", "arith.mulf", "%x, %y") \
  OP("%s", "arith.addf", "%z, %p") \
  YIELD("%s")

#define NONE FC_LOOP_NONE
#define NOT_FOUND \
  false, 0, 0, 0, "", { 0 }

typedef struct operation_row_t {
  const char *name;
  const char *maps;
  const char *body;
  bool found;
  size_t m, n, k;
  const char *a;  // the operand that is A then
  fc_widen_t widen[2];
} operation_row_t;

static const operation_row_t operations[] = {
    {"a product", MATMUL, SUM, true, 0, 1, 2, "%a", {0}},
    {"of a transposed",
     MAP3("d2, d0", "d2, d1", "d0, d1"),
     SUM,
     true,
     0,
     1,
     2,
     "%a",
     {0}},
    {"columns of the result are those of a",
     MAP3("d0, d2", "d2, d1", "d1, d0"),
     SUM,
     true,
     1,
     0,
     2,
     "%b",
     {0}},
    {"batches",
     "affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) "
     "-> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>",
     SUM,
     true,
     1,
     2,
     3,
     "%a",
     {0}},
    {"a matrix and a vector",
     "affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, "
     "affine_map<(d0, d1) -> (d0)>",
     SUM,
     true,
     NONE,
     0,
     1,
     "%b",
     {0}},
    {"a convolution, whose window is no loop of its own",
     "affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d3, d2)>, affine_map<(d0, d1, "
     "d2, d3) -> (d3, d2, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>",
     SUM,
     true,
     0,
     1,
     2,
     "%a",
     {0}},
    {"a dim that is constant",
     MAP3("d0, 3, d2", "d2, d1", "d0, d1"),
     SUM,
     true,
     0,
     1,
     2,
     "%a",
     {0}},
    {"an alias", "#map2, #map, #map1", SUM, NOT_FOUND},
    {"other orders",
     MATMUL,
     BB0("f32", "f32", "f32") OP("%p", "arith.mulf", "%y, %x")
         OP("%s", "arith.addf", "%p, %z") YIELD("%s"),
     true,
     0,
     1,
     2,
     "%a",
     {0}},
    {"widened floats",
     MATMUL,
     BB0("f16", "bf16", "f32") OP("%u", "arith.extf", "%x")
         OP("%v", "arith.extf", "%y") OP("%p", "arith.mulf", "%u, %v")
             OP("%s", "arith.addf", "%z, %p") YIELD("%s"),
     true,
     0,
     1,
     2,
     "%a",
     {FC_WIDEN_FLOAT, FC_WIDEN_FLOAT}},
    {"one with a sign, one without, swapped",
     MAP3("d0, d2", "d2, d1", "d1, d0"),
     BB0("i8", "i8", "i32") OP("%u", "arith.extsi", "%x")
         OP("%v", "arith.extui", "%y") OP("%p", "arith.muli", "%u, %v")
             OP("%s", "arith.addi", "%z, %p") YIELD("%s"),
     true,
     1,
     0,
     2,
     "%b",
     {FC_WIDEN_UNSIGNED, FC_WIDEN_SIGNED}},
    {"widened only to half", MATMUL,
     BB0("i8", "i8", "i32") OP("%u", "arith.extsi", "%x")
         OP("%p", "arith.muli", "%u, %y") OP("%s", "arith.addi", "%z, %p")
             YIELD("%s"),
     NOT_FOUND},
    {"a maximum", MATMUL,
     BB0("f32", "f32", "f32") OP("%p", "arith.mulf", "%x, %y")
         OP("%s", "arith.maximumf", "%z, %p") YIELD("%s"),
     NOT_FOUND},
    {"a square", MATMUL,
     BB0("f32", "f32", "f32") OP("%p", "arith.mulf", "%x, %x")
         OP("%s", "arith.addf", "%z, %p") YIELD("%s"),
     NOT_FOUND},
    {"the product twice", MATMUL,
     BB0("f32", "f32", "f32") OP("%p", "arith.mulf", "%x, %y")
         OP("%s", "arith.addf", "%p, %p") YIELD("%s"),
     NOT_FOUND},
    {"more than a sum", MATMUL,
     BB0("f32", "f32", "f32") OP("%p", "arith.mulf", "%x, %y")
         OP("%s", "arith.addf", "%z, %p") OP("%t", "arith.addf", "%s, %p")
             YIELD("%t"),
     NOT_FOUND},
    {"only the product", MATMUL,
     BB0("f32", "f32", "f32") OP("%p", "arith.mulf", "%x, %y")
         OP("%s", "arith.addf", "%z, %p") YIELD("%p"),
     NOT_FOUND},
    {"no arguments", MATMUL, YIELD("%s"), NOT_FOUND},
    {"nothing is summed", MAP3("d0, d1, d2", "d0, d1, d2", "d0, d1, d2"), SUM,
     NOT_FOUND},
    {"an element of the result met twice", MAP3("d0, d2", "d2, d1", "d0 + d1"),
     SUM, NOT_FOUND},
    {"a diagonal", MAP3("d0, d2", "d2, d1", "d0, d0"), SUM, NOT_FOUND},
    {"backwards", MAP3("d0, -d2", "d2, d1", "d0, d1"), SUM, NOT_FOUND},
    {"a quotient", MAP3("d0 floordiv 2, d2", "d2, d1", "d0, d1"), SUM,
     NOT_FOUND},
    {"a loop that is not there", MAP3("d0, d3", "d2, d1", "d0, d1"), SUM,
     NOT_FOUND},
    {"a factor of seven digits", MAP3("d0 * 1000000, d2", "d2, d1", "d0, d1"),
     SUM, NOT_FOUND},
    {"a symbol",
     "affine_map<(d0, d1)[s0] -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, "
     "affine_map<(d0, d1) -> (d0)>",
     SUM, NOT_FOUND},
    {"loops that differ in number",
     "affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1) -> (d1)>, "
     "affine_map<(d0, d1, d2) -> (d0, d1)>",
     SUM, NOT_FOUND},
    {"two maps", "affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>",
     SUM, NOT_FOUND},
    {"more loops than there is room for",
     "affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12) -> "
     "(d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) "
     "-> (d0, d1)>",
     SUM, NOT_FOUND},
    {"more dims than there is room for",
     MAP3("d0, d2, 0, 0, 0, 0, 0, 0, 0", "d2, d1", "d0, d1"), SUM, NOT_FOUND},
};

static const char kForm[] =
    "    %s\"linalg.generic\"(%%a, %%b, %%c) <{indexing_maps = [%s], "
    "iterator_types = [], operandSegmentSizes = array<i32: 2, 1>}> ({\n%s"
    "    }) {note = \": (\"} : (%s<?x4xf32>, memref<4x?xf32>, "
    "memref<?x?xf32, strided<[?, 1]>>) -> () loc(\"m.mlir\":1:2)\n"
    "    \"func.return\"() : () -> ()\n";

static bool read(fc_str_t text, fc_contraction_t *out) {
  fc_operation_t operation;
  size_t at = 0;
  return fc_operation_next(text, &at, &operation) &&
         fc_contraction_read(text, &operation, out);
}

static void operations_are_told_apart(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const operation_row_t, row, operations) {
    char text[2048];
    fc_contraction_t found;
    snprintf(text, sizeof text, kForm, "", row->maps, row->body, "memref");
    const bool is_one = read(fc_str(text), &found);
    assert_int_equal(is_one, row->found);
    if (!is_one) continue;
    assert_int_equal(found.m, row->m);
    assert_int_equal(found.n, row->n);
    assert_int_equal(found.k, row->k);
    assert_true(fc_str_equal(found.operands[FC_A].name, fc_str(row->a)));
    assert_int_equal(found.kernel.widen[FC_A], row->widen[FC_A]);
    assert_int_equal(found.kernel.widen[FC_B], row->widen[FC_B]);
    assert_non_null(strstr(found.operands[FC_C].type.data, "strided"));
  }
}

static void operands_are_memory(void **state) {
  (void)state;
  fc_contraction_t found;
  char text[2048];
  snprintf(text, sizeof text, kForm, "", MATMUL, SUM, "tensor");
  assert_false(read(fc_str(text), &found));
  snprintf(text, sizeof text, kForm, "%0 = ", MATMUL, SUM, "memref");
  assert_false(read(fc_str(text), &found));
}

static void loops_have_sizes(void **state) {
  (void)state;
  static const struct {
    int operand;
    size_t dim;
  } wanted[] = {{FC_A, 0}, {FC_B, 1}, {FC_A, 1}};
  fc_contraction_t found;
  char text[2048];
  snprintf(text, sizeof text, kForm, "", MATMUL, SUM, "memref");
  assert_true(read(fc_str(text), &found));
  for (size_t loop = 0; loop < FC_ARRAY_COUNT(wanted); loop++) {
    int operand;
    size_t dim;
    assert_true(fc_contraction_size(&found, loop, &operand, &dim));
    assert_int_equal(operand, wanted[loop].operand);
    assert_int_equal(dim, wanted[loop].dim);
  }
}

static void maps_that_broadcast_are_told_apart(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    bool permutes;
  } rows[] = {
      {"no map", "", true},
      {"no loops", "affine_map<() -> ()>", true},
      {"the same", "affine_map<(d0, d1) -> (d0, d1)>", true},
      {"another order", "affine_map<(d0, d1, d2) -> (d2, d0, d1)>", true},
      {"fewer", "affine_map<(d0, d1) -> (d0)>", false},
      {"a scalar", "affine_map<(d0) -> ()>", false},
      {"a constant", "affine_map<(d0, d1) -> (d0, 0)>", false},
      {"one twice", "affine_map<(d0, d1) -> (d0, d0)>", false},
      {"a sum", "affine_map<(d0, d1) -> (d0 + d1, d1)>", false},
      {"symbols", "affine_map<(d0)[s0] -> (d0)>", false},
      {"the second", "affine_map<(d0) -> (d0)> affine_map<(d0) -> ()>", false},
      {"cut", "affine_map<(d0, d1", false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(fc_mlir_permutes(fc_str(row->text)), row->permutes);
  }
}

static void every_prefix_is_survived(void **state) {
  (void)state;
  char text[2048];
  snprintf(text, sizeof text, kForm, "", MATMUL, SUM, "memref");
  for (size_t size = 0; size < strlen(text); size++) {
    // The copy has the exact size, so ASan reports a read past its end.
    char *copy = fc_alloc(fc_allocator_system(), size);
    memcpy(copy, text, size);
    fc_contraction_t found;
    (void)read((fc_str_t){copy, size}, &found);
    fc_free(fc_allocator_system(), copy);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(operations_are_told_apart),
      FC_TEST(operands_are_memory),
      FC_TEST(loops_have_sizes),
      FC_TEST(maps_that_broadcast_are_told_apart),
      FC_TEST(every_prefix_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
