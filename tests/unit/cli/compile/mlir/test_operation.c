// SPDX-License-Identifier: Apache-2.0
//
// The parts of operations, in text as mlir-opt 22 prints it, shortened.
#include "compile/mlir/operation.h"

#include "helpers/test.h"

typedef struct part_row_t {
  const char *name;
  const char *text;
  // Results, name, operands, successors, properties, regions, attributes, types of
  // operands, types of results, location. NULL: the operation has no such part.
  const char *parts[10];
} part_row_t;

static const part_row_t operations[] = {
    {"nothing but a name",
     "\"func.return\"() : () -> ()",
     {NULL, "func.return", "", NULL, NULL, NULL, NULL, "", "", NULL}},
    {"results",
     "    %0:2 = \"a.b\"(%1, %2#0) : (i32, i8) -> (i1, i1) loc(\"x y\":4:5)",
     {"%0:2", "a.b", "%1, %2#0", NULL, NULL, NULL, NULL, "i32, i8", "i1, i1",
      "\"x y\":4:5"}},
    {"results with names of their own",
     "%base, %sizes:2 = \"a.b\"(%a) : (i1) -> (i1, i2, i2)",
     {"%base, %sizes:2", "a.b", "%a", NULL, NULL, NULL, NULL, "i1",
      "i1, i2, i2", NULL}},
    {"a branch",
     "\"cf.cond_br\"(%p)[^bb2, ^bb3] <{n = array<i32: 1, 0>}> : (i1) -> () "
     "loc(unknown)",
     {NULL, "cf.cond_br", "%p", "^bb2, ^bb3", "n = array<i32: 1, 0>", NULL,
      NULL, "i1", "", "unknown"}},
    {"regions",
     "%0 = \"scf.if\"(%p) ({\n  \"scf.yield\"(%a) : (i8) -> ()\n}, {\n  "
     "\"scf.yield\"(%b) : (i8) -> ()\n}) {note = \": (i32) -> i8\"} : (i1) -> "
     "i8 loc(fused[\"m\":1:2, \"m\":3:4])",
     {"%0", "scf.if", "%p", NULL, NULL,
      "\n  \"scf.yield\"(%a) : (i8) -> ()\n}, {\n  \"scf.yield\"(%b) : (i8) "
      "-> ()\n",
      "note = \": (i32) -> i8\"", "i1", "i8", "fused[\"m\":1:2, \"m\":3:4]"}},
    {"one type with blanks",
     "%0 = \"a.b\"() : () -> memref<?xf32, strided<[1], offset: ?>> "
     "loc(callsite(\"f\":1:1 at \"g\":2:2))",
     {"%0", "a.b", "", NULL, NULL, NULL, NULL, "",
      "memref<?xf32, strided<[1], offset: ?>>",
      "callsite(\"f\":1:1 at \"g\":2:2)"}},
    {"a declaration",
     "\"func.func\"() <{sym_name = \"f\"}> ({\n}) : () -> ()",
     {NULL, "func.func", "", NULL, "sym_name = \"f\"", "\n", NULL, "", "",
      NULL}},
    {"a block", "^bb0(%arg0: i32 loc(\"x\":1:1)):", {NULL}},
    {"the end of a region", "}) {note = \"a.b\"} : () -> ()", {NULL}},
    {"another form", "%0 = arith.constant \"a\"", {NULL}},
    {"a blank before the operands", "%0 = \"a.b\" (%1)", {NULL}},
    {"an open string", "%0 = \"a.b", {NULL}},
    {"nothing", "", {NULL}},
};

static void assert_part(fc_str_t got, const char *wanted) {
  if ((got.data && (got.size || wanted)) != (wanted != NULL) ||
      (wanted && !fc_str_equal(got, fc_str(wanted)))) {
    fail_msg("got '%.*s', wanted '%s'", FC_STR_ARG(got), wanted);
  }
}

static void operations_have_parts(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const part_row_t, row, operations) {
    fc_operation_t is;
    const bool wanted = row->parts[1] != NULL;
    assert_int_equal(fc_operation_read(fc_str(row->text), 0, &is), wanted);
    if (!wanted) continue;
    const fc_str_t parts[] = {is.results,    is.name,          is.operands,
                              is.successors, is.properties,    is.regions,
                              is.attributes, is.operand_types, is.result_types,
                              is.location};
    for (size_t i = 0; i < FC_ARRAY_COUNT(parts); i++) {
      assert_part(parts[i], row->parts[i]);
    }
    assert_int_equal(is.end, strlen(row->text));
  }
}

static void operations_come_in_the_order_of_their_lines(void **state) {
  (void)state;
  static const char kText[] =
      "\"builtin.module\"() ({\n"
      "  \"a.a\"() ({\n  ^bb0(%0: i1):\n    \"a.b\"() : () -> ()\n  }) : () -> "
      "()\n"
      "  \"a.c\"() {x} : () -> ()\n"
      "}) : () -> ()\n";
  static const char *const kNames[] = {"builtin.module", "a.a", "a.b", "a.c"};
  const fc_str_t text = fc_str(kText);
  fc_operation_t operation;
  size_t at = 0, behind = 0;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNames); i++) {
    assert_true(fc_operation_next(text, &at, &operation));
    assert_true(fc_operation_is(&operation, kNames[i]));
    if (i == 1) {
      fc_operation_complete(text, &operation);
      behind = operation.end;
    }
  }
  fc_operation_complete(text, &operation);
  assert_int_equal(text.data[operation.attributes_at], 'x');
  assert_false(fc_operation_next(text, &at, &operation));
  assert_true(fc_operation_next(text, &behind, &operation));
  assert_true(fc_operation_is(&operation, "a.c"));
}

static void places_are_the_first_of_their_location(void **state) {
  (void)state;
  static const struct {
    const char *location;
    const char *place;
    size_t spot;
  } places[] = {
      {"\"m.mlir\":12:3", "\"m.mlir\":12:3", FC_MLIR_SPOT(12, 3)},
      {"fused[unknown, \"a\":1:2, \"b\":3:4]", "\"a\":1:2", FC_MLIR_SPOT(1, 2)},
      {"\"x\"(\"a b\":7:2)", "\"a b\":7:2", FC_MLIR_SPOT(7, 2)},
      {"callsite(\"f\" at \"g\":2:2)", "\"g\":2:2", FC_MLIR_SPOT(2, 2)},
      {"unknown", "", 0},
      {"\"m.mlir\":", "", 0},
      {"\"m.mlir", "", 0},
      {"", "", 0},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(places); i++) {
    const fc_operation_t operation = {.location = fc_str(places[i].location)};
    fc_test_row(places[i].location);
    assert_true(
        fc_str_equal(fc_operation_place(&operation), fc_str(places[i].place)));
    assert_int_equal(fc_operation_spot(&operation), places[i].spot);
  }
}

static void segments_are_counted(void **state) {
  (void)state;
  static const struct {
    const char *properties;
    size_t segment;
    size_t begin;
    size_t end;  // 0: none
  } rows[] = {
      {"operandSegmentSizes = array<i32: 2, 1>", 0, 0, 2},
      {"a = 1, operandSegmentSizes = array<i32: 2, 1>", 1, 2, 3},
      {"operandSegmentSizes = array<i32: 2, 1>", 2, 0, 0},
      {"operandSegmentSizes = array<i32>", 0, 0, 0},
      {"operandSegmentSizes = array<i32:", 0, 0, 0},
      {"operandSegmentSizes = [2, 1]", 0, 0, 0},
      {"", 0, 0, 0},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    size_t first = 0, last = 0;
    fc_test_row(rows[i].properties);
    const fc_operation_t operation = {.properties = fc_str(rows[i].properties)};
    assert_int_equal(
        fc_operation_segment(&operation, rows[i].segment, &first, &last),
        rows[i].end > 0);
    assert_int_equal(first, rows[i].begin);
    assert_int_equal(last, rows[i].end);
  }
}

static void every_prefix_is_survived(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const part_row_t, row, operations) {
    for (size_t size = 0; size < strlen(row->text); size++) {
      // The copy has the exact size, so ASan reports a read past its end.
      char *copy = fc_alloc(fc_allocator_system(), size);
      memcpy(copy, row->text, size);
      fc_operation_t operation;
      if (fc_operation_read((fc_str_t){copy, size}, 0, &operation)) {
        assert_true(operation.end <= size);
        (void)fc_operation_spot(&operation);
      }
      fc_free(fc_allocator_system(), copy);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(operations_have_parts),
      FC_TEST(operations_come_in_the_order_of_their_lines),
      FC_TEST(places_are_the_first_of_their_location),
      FC_TEST(segments_are_counted),
      FC_TEST(every_prefix_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
