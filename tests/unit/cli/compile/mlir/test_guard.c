// SPDX-License-Identifier: Apache-2.0
//
// The checks that farcall compile adds to a module's text: for which operations, for
// which of their operands, and with which source location. e2e/compile runs them.
#include "helpers/arena.h"

#include <stdio.h>

#include "compile/mlir/text.h"

typedef struct guard_row_t {
  const char *name;
  const char *line;
  const char *sizes[3];  // that are checked
} guard_row_t;

static const guard_row_t guards[] = {
    {"two sizes and a symbol",
     "    %3 = \"memref.alloc\"(%1, %arg0, %2) <{alignment = 64 : i64, "
     "operandSegmentSizes = array<i32: 2, 1>}> : (index, index, index) -> "
     "memref<?x?xf32, #map> loc(\"m.mlir\":2:3)\n",
     {"%1", "%arg0"}},
    {"on the stack",
     "%3 = \"memref.alloca\"(%1) <{operandSegmentSizes = array<i32: 1, 0>}> : "
     "(index) -> memref<?xf32> loc(\"a b.mlir\":7:9)\n",
     {"%1"}},
    {"none",
     "%3 = \"memref.alloc\"() <{operandSegmentSizes = array<i32: 0, 0>}> : () "
     "-> memref<4xf32> loc(\"m.mlir\":2:3)\n",
     {NULL}},
    {"another operation",
     "%3 = \"memref.load\"(%1) <{operandSegmentSizes = array<i32: 1, 0>}> : "
     "() -> f32 loc(\"m.mlir\":2:3)\n",
     {NULL}},
};

static size_t count_of(fc_str_t text, const char *wanted) {
  size_t count = 0, size = strlen(wanted);
  for (size_t at = 0; at + size <= text.size; at++) {
    if (!memcmp(text.data + at, wanted, size)) count++;
  }
  return count;
}

static void allocations_are_guarded(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const guard_row_t, row, guards) {
    char wanted[128];
    fc_text_t out;
    fc_error_t err;
    fc_text_init(&out, fc_allocator_system(), 8192);
    assert_int_equal(fc_mlir_guard_sizes(fc_str(row->line), &out, &err), 0);
    size_t checks = 0;
    for (; row->sizes[checks]; checks++) {
      snprintf(wanted, sizeof wanted, "arith.cmpi sge, %s, ",
               row->sizes[checks]);
      assert_int_equal(count_of(fc_text_str(&out), wanted), 1);
    }
    assert_int_equal(count_of(fc_text_str(&out), "cf.assert %"), checks);
    const char *place = strstr(row->line, "m.mlir\":2:3")
                            ? "Location: loc(\\22m.mlir\\22:2:3)\" loc("
                            : "Location: loc(\\22a b.mlir\\22:7:9)\" loc(";
    assert_int_equal(count_of(fc_text_str(&out), place), checks);
    // After the checks the module follows unchanged.
    assert_true(fc_str_ends(fc_text_str(&out), fc_str(row->line)));
    fc_text_deinit(&out);
  }
}

typedef struct division_row_t {
  const char *name;
  const char *line;
  const char *check;  // the call put before it; NULL: none
  const char *lane;   // the comparison of its check
} division_row_t;

static const division_row_t divisions[] = {
    {"signed",
     "    %3 = \"llvm.sdiv\"(%1, %arg0) : (i32, i32) -> i32 loc(\"m.mlir\":2:3)\n",
     "llvm.call @\"farcall.check.0\"(%1, %arg0, %farcall0) : (i32, i32, "
     "!llvm.ptr) -> ()\n    %3 = ",
     "llvm.icmp \"ule\" %next, %one : i32\n"},
    {"unsigned, exact",
     "%3 = \"llvm.udiv\"(%a, %b) <{isExact}> : (i64, i64) -> i64 loc(\"m.mlir\":2:3)\n",
     "llvm.call @\"farcall.check.0\"(%a, %b, %farcall0) : (i64, i64, "
     "!llvm.ptr) -> ()\n%3 = ",
     "%nought = llvm.icmp \"eq\" %b, %zero : i64\n"},
    {"remainder of vectors",
     "%3 = \"llvm.srem\"(%a, %b) : (vector<4xi8>, vector<4xi8>) -> "
     "vector<4xi8> loc(\"m.mlir\":2:3)\n",
     "llvm.call @\"farcall.check.0\"(%a, %b, %farcall0) : (vector<4xi8>, "
     "vector<4xi8>, !llvm.ptr) -> ()\n%3 = ",
     "%some = \"llvm.intr.vector.reduce.or\"(%near) : (vector<4xi1>) -> i1\n"},
    {"unsigned remainder of scalable vectors",
     "%3 = \"llvm.urem\"(%a, %b) : (vector<[2]xi16>, vector<[2]xi16>) -> "
     "vector<[2]xi16> loc(\"m.mlir\":2:3)\n",
     "llvm.call @\"farcall.check.0\"(%a, %b, %farcall0) : (vector<[2]xi16>, "
     "vector<[2]xi16>, !llvm.ptr) -> ()\n%3 = ",
     "%zero = llvm.mlir.constant(dense<0> : vector<[2]xi16>) : "
     "vector<[2]xi16>\n"},
    {"floats do not trap",
     "%3 = \"llvm.fdiv\"(%a, %b) : (f32, f32) -> f32 loc(\"m.mlir\":2:3)\n",
     NULL, NULL},
    {"a word in a string",
     "\"llvm.call\"(%a) <{callee = @f, note = \"llvm.sdiv(%a, %b)\"}> : (i32) "
     "-> () loc(\"m.mlir\":2:3)\n",
     NULL, NULL},
};

static const char kHead[] = "\"builtin.module\"() ({\n";

static void divisions_are_guarded(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const division_row_t, row, divisions) {
    char source[1024];
    fc_text_t out;
    fc_error_t err;
    snprintf(source, sizeof source, "%s%s}) : () -> ()\n", kHead, row->line);
    fc_text_init(&out, fc_allocator_system(), 1u << 16);
    assert_int_equal(
        fc_mlir_guard_divisions(&fc_test_arena, fc_str(source), &out, &err), 0);
    fc_str_t got = fc_text_str(&out);
    if (row->check) {
      assert_int_equal(count_of(got, row->check), 1);
      assert_int_equal(count_of(got, row->lane), 1);
      assert_int_equal(count_of(got, "Location: loc(\\22m.mlir\\22:2:3)\\00"),
                       1);
      assert_int_equal(count_of(got, "llvm.func @puts("), 1);
      assert_true(count_of(got, row->line) == 1);
    } else {
      assert_int_equal(got.size, 0);
    }
    fc_text_deinit(&out);
  }
}

// There is one check for each type and sign, and one location for each division. What
// the module declares already is not declared again.
static void checks_are_shared(void **state) {
  (void)state;
  static const char kText[] =
      "\"builtin.module\"() ({\n"
      "  \"llvm.func\"() <{function_type = !llvm.func<void (ptr)>, sym_name = "
      "\"puts\"}> ({\n  }) : () -> ()\n"
      "  %1 = \"llvm.sdiv\"(%a, %b) : (i32, i32) -> i32 loc(\"a\":1:1)\n"
      "  %2 = \"llvm.srem\"(%a, %b) : (i32, i32) -> i32 loc(unknown)\n"
      "  %3 = \"llvm.udiv\"(%a, %b) : (i32, i32) -> i32 "
      "loc(callsite(\"b\":2:1 at \"a\":1:1))\n"
      "}) : () -> ()\n";
  fc_text_t out;
  fc_error_t err;
  fc_text_init(&out, fc_allocator_system(), 1u << 16);
  assert_int_equal(
      fc_mlir_guard_divisions(&fc_test_arena, fc_str(kText), &out, &err), 0);
  fc_str_t got = fc_text_str(&out);
  assert_int_equal(count_of(got, "llvm.func internal @\"farcall.check."), 2);
  assert_int_equal(count_of(got, "call @\"farcall.check.0\"("), 2);
  assert_int_equal(count_of(got, "call @\"farcall.check.1\"("), 1);
  assert_int_equal(count_of(got, "constant @\"farcall.place."), 3);
  assert_int_equal(count_of(got, "loc(\\22a\\22:1:1)"), 1);
  assert_int_equal(count_of(got, "loc(\\22b\\22:2:1)"), 1);
  assert_int_equal(count_of(got, "Location: loc(unknown)"), 1);
  assert_int_equal(count_of(got, "llvm.func @puts("), 0);
  assert_int_equal(count_of(got, "llvm.func @abort("), 1);
  fc_text_deinit(&out);
}

static void modules_inside_the_module_are_left_alone(void **state) {
  (void)state;
  static const char kInner[] =
      "  \"builtin.module\"() ({\n"
      "    \"llvm.func\"() <{sym_name = \"puts\"}> ({\n  }) : () -> ()\n"
      "    %1 = \"llvm.sdiv\"(%a, %b) : (i8, i8) -> i8 loc(\"a\":1:1)\n"
      "  }) : () -> ()\n";
  static const char kOuter[] =
      "  %2 = \"llvm.sdiv\"(%a, %b) : (i32, i32) -> i32 loc(\"a\":2:1)\n";
  char text[1024];
  fc_text_t out;
  fc_error_t err;
  fc_text_init(&out, fc_allocator_system(), 1u << 16);
  snprintf(text, sizeof text, "%s%s}) : () -> ()\n", kHead, kInner);
  assert_int_equal(
      fc_mlir_guard_divisions(&fc_test_arena, fc_str(text), &out, &err), 0);
  assert_int_equal(fc_text_str(&out).size, 0);
  snprintf(text, sizeof text, "%s%s%s}) : () -> ()\n", kHead, kInner, kOuter);
  assert_int_equal(
      fc_mlir_guard_divisions(&fc_test_arena, fc_str(text), &out, &err), 0);
  const fc_str_t got = fc_text_str(&out);
  assert_int_equal(count_of(got, kInner), 1);
  assert_int_equal(count_of(got, "llvm.func internal @\"farcall.check."), 1);
  assert_int_equal(count_of(got, "call @\"farcall.check.0\"(%a, %b, "), 1);
  assert_int_equal(count_of(got, "constant @\"farcall.place."), 1);
  assert_int_equal(count_of(got, "llvm.func @puts("), 1);
  fc_text_deinit(&out);
}

// An allocation whose size cannot be checked is refused.
static void unknown_allocations_are_refused(void **state) {
  (void)state;
  static const char *const kLines[] = {
      "%3 = \"memref.alloc\"(%1) <{operandSegm",
      "%3 = \"memref.alloca\"(%1) : (index) -> memref<?xf32>\n",
      ("%3 = \"memref.alloc\"(%1) <{operandSegmentSizes = [1, 0]}> : "
       "(index) -> memref<?xf32>\n"),
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kLines); i++) {
    fc_text_t out;
    fc_error_t err = {0};
    fc_text_init(&out, fc_allocator_system(), 4096);
    assert_int_equal(fc_mlir_guard_sizes(fc_str(kLines[i]), &out, &err),
                     FC_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "an allocation in a form not known"));
    fc_text_deinit(&out);
  }
}

// A division that cannot be checked is refused.
static void unknown_forms_are_refused(void **state) {
  (void)state;
  static const char *const kLines[] = {
      "%3 = \"llvm.sdiv\"(%a, %b) : (!x.y, !x.y) -> !x.y\n",
      "%3 = \"llvm.sdiv\"(%a, %b) : (i32) -> i32\n",
      "%3 = \"llvm.sdiv\"(%a, %b)\n",
      "%3 = \"llvm.sdiv\"(%a, %b) : (vector<4xf32>, vector<4xf32>) -> i32\n",
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kLines); i++) {
    char text[256];
    fc_text_t out;
    fc_error_t err = {0};
    snprintf(text, sizeof text, "%s%s", kHead, kLines[i]);
    fc_text_init(&out, fc_allocator_system(), 1u << 16);
    assert_int_equal(
        fc_mlir_guard_divisions(&fc_test_arena, fc_str(text), &out, &err),
        FC_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "a division in a form not known"));
    // Without a module around the division there is no place for the checks.
    const char *alone = "%3 = \"llvm.sdiv\"(%a, %b) : (i32, i32) -> i32\n";
    assert_int_equal(
        fc_mlir_guard_divisions(&fc_test_arena, fc_str(alone), &out, &err),
        FC_INVALID_ARGUMENT);
    fc_text_deinit(&out);
  }
}

static void divisions_of_index_become_those_of_arith(void **state) {
  (void)state;
  static const char kText[] =
      "  %1 = \"index.ceildivs\"(%a, %b) : (index, index) -> index loc(unknown)\n"
      "  \"x.y\"() {note = \"index.floordivs\"} : () -> ()\n"
      "  %2 = \"index.floordivs\"(%a, %1) : (index, index) -> index\n"
      "  %3 = \"index.ceildivu\"(%a, %1) : (index, index) -> index\n"
      "  %4 = \"index.divs\"(%a, %1) : (index, index) -> index\n";
  static const char kWanted[] =
      "  %1 = \"arith.ceildivsi\"(%a, %b) : (index, index) -> index loc(unknown)\n"
      "  \"x.y\"() {note = \"index.floordivs\"} : () -> ()\n"
      "  %2 = \"arith.floordivsi\"(%a, %1) : (index, index) -> index\n"
      "  %3 = \"arith.ceildivui\"(%a, %1) : (index, index) -> index\n"
      "  %4 = \"index.divs\"(%a, %1) : (index, index) -> index\n";
  fc_text_t out;
  fc_error_t err;
  fc_text_init(&out, fc_allocator_system(), 4096);
  assert_int_equal(fc_mlir_rename_divisions(fc_str(kText), &out, &err), 0);
  assert_true(fc_str_equal(fc_text_str(&out), fc_str(kWanted)));
  fc_text_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(allocations_are_guarded),
      FC_TEST(unknown_allocations_are_refused),
      FC_TEST_WITH_ARENA(divisions_are_guarded),
      FC_TEST_WITH_ARENA(checks_are_shared),
      FC_TEST_WITH_ARENA(modules_inside_the_module_are_left_alone),
      FC_TEST_WITH_ARENA(unknown_forms_are_refused),
      FC_TEST_WITH_ARENA(divisions_of_index_become_those_of_arith),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
