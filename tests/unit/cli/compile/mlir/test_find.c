// SPDX-License-Identifier: Apache-2.0
//
// Finds operations that no pass has lowered, and those whose indices nothing checks.
#include "helpers/arena.h"

#include <stdio.h>

#include "compile/mlir/text.h"

static void leftovers_are_found(void **state) {
  (void)state;
  static const char kText[] =
      "\"builtin.module\"() ({\n"
      "  \"llvm.func\"() <{sym_name = \"f\"}> ({\n"
      "    %%6 = \"builtin.unrealized_conversion_cast\"(%%5) : (i32) -> index "
      "loc(\"m.mlir\":1:1)\n"
      "    \"llvm.call\"() <{callee = @f, note = \"gpu.x\"}> : () -> ()\n"
      "    %s\n"
      "  }) : () -> () loc(\"m.mlir\":1:1)\n"
      "}) : () -> () loc(unknown)\n";
  char text[1024];
  fc_str_t operation, location;
  snprintf(text, sizeof text, kText, "");
  assert_false(fc_mlir_leftover(fc_str(text), &operation, &location));
  snprintf(
      text, sizeof text, kText,
      "\"gpu.memcpy\"(%6, %6) : (f32, f32) -> () loc(fused[unknown, \"m.mlir\":2:3])");
  assert_true(fc_mlir_leftover(fc_str(text), &operation, &location));
  assert_true(fc_str_equal(operation, fc_str("gpu.memcpy")));
  assert_true(fc_str_equal(location, fc_str("\"m.mlir\":2:3")));
  snprintf(text, sizeof text, kText,
           "%7:2 = \"a.b\"(%6) : (f32) -> (i1, i1) loc(\"x\":4:5)");
  assert_true(fc_mlir_leftover(fc_str(text), &operation, &location));
  assert_true(fc_str_equal(operation, fc_str("a.b")));
  assert_true(fc_str_equal(location, fc_str("\"x\":4:5")));
}

static void unverified_accesses_are_found(void **state) {
  (void)state;
  static const struct {
    const char *name;  // of the operation
    bool unverified;
  } rows[] = {
      {"memref.load", false},
      {"memref.subview", false},
      {"memref.extract_aligned_pointer_as_index", false},
      {"memref.reshape", true},
      {"builtin.unrealized_conversion_cast", true},
      {"memref.view", true},
      {"memref.reinterpret_cast", true},
      {"affine.load", false},
      {"affine.vector_load", true},
      {"vector.extract", false},
      {"vector.load", true},
      {"vector.store", true},
      {"vector.gather", true},
      {"vector.scatter", true},
      {"vector.maskedload", true},
      {"vector.maskedstore", true},
      {"vector.transfer_read", true},
      {"vector.transfer_write", true},
      {"vector.expandload", true},
      {"vector.compressstore", true},
      {"vector.print", false},
      {"linalg.matmul", false},
      {"llvm.load", true},
      {"x86vector.avx.rsqrt", true},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char text[256];
    fc_str_t operation, location;
    snprintf(text, sizeof text,
             "\"builtin.module\"() ({\n"
             "  %%1 = \"%s\"(%%0) : (i32) -> i32 loc(\"m.mlir\":2:3)\n"
             "}) : () -> ()\n",
             row->name);
    assert_int_equal(fc_mlir_unverified(fc_str(text), &operation, &location),
                     row->unverified);
    if (!row->unverified) continue;
    assert_true(fc_str_equal(operation, fc_str(row->name)));
    assert_true(fc_str_equal(location, fc_str("\"m.mlir\":2:3")));
  }
}

static void functions_are_found_by_lines(void **state) {
  (void)state;
  static const char kText[] =
      "\"builtin.module\"() ({\n"
      "  \"func.func\"() <{function_type = () -> (), sym_name = \"f\"}> ({\n"
      "    \"func.call\"() <{callee = @\"g 1\"}> : () -> () "
      "loc(\"m.mlir\":9:1)\n"
      "    \"func.call\"() <{callee = @h}> {note = \"@i\"} : () -> ()\n"
      "  }) : () -> () loc(\"m.mlir\":2:1)\n"
      "  \"memref.global\"() <{sym_name = \"x\"}> : () -> () "
      "loc(\"m.mlir\":5:1)\n"
      "  \"func.func\"() <{function_type = () -> (), sym_name = \"g 1\"}> ({\n"
      "  }) : () -> () loc(\"m.mlir\":7:1)\n"
      "  \"func.func\"() <{function_type = () -> (), sym_name = \"j\"}> ({\n"
      "  }) : () -> () loc(\"m.mlir\":7:40)\n"
      "}) : () -> () loc(unknown)\n";
  static const struct {
    const char *spot;
    const char *name;
  } rows[] = {{"", ""},       {"0:1", ""},      {"1", ""},     {"2", "f"},
              {"2:1: ", "f"}, {"4:99", "f"},    {"5:1", ""},   {"6", ""},
              {"7:1", "g 1"}, {"7:39:", "g 1"}, {"7:40", "j"}, {"7", "j"},
              {"7:", "j"},    {"99:1", "j"}};
  fc_mlir_module_t module;
  fc_error_t err;
  assert_int_equal(fc_mlir_read(&fc_test_arena, fc_str(kText), &module, &err),
                   0);
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    const fc_mlir_function_t *found =
        fc_mlir_function_at(&module, fc_mlir_spot(fc_str(rows[i].spot)));
    assert_true(
        fc_str_equal(found ? found->name : FC_STR(""), fc_str(rows[i].name)));
  }
  const fc_str_t body = module.functions[0].body;
  assert_true(fc_mlir_names(body, FC_STR("g 1")));
  assert_true(fc_mlir_names(body, FC_STR("h")));
  assert_false(fc_mlir_names(body, FC_STR("g")));
  assert_false(fc_mlir_names(body, FC_STR("i")));
  assert_false(fc_mlir_names(FC_STR("@"), FC_STR("h")));
}

static void functions_that_polynomials_make_worse_are_found(void **state) {
  (void)state;
  assert_true(fc_mlir_approximates_well((fc_str_t){0}));
  assert_true(fc_mlir_approximates_well(
      FC_STR("%1 = \"math.exp\"(%0)\n%2 = \"math.sinh\"(%1)")));
  assert_false(fc_mlir_approximates_well(
      FC_STR("%1 = \"math.exp\"(%0)\n%2 = \"math.sin\"(%1)")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(leftovers_are_found),
      FC_TEST(unverified_accesses_are_found),
      FC_TEST_WITH_ARENA(functions_are_found_by_lines),
      FC_TEST(functions_that_polynomials_make_worse_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
