// SPDX-License-Identifier: Apache-2.0
//
// Which arguments a function's body writes into, in text as mlir-opt prints it. Real
// kernels are tested by e2e/compile.
#include "helpers/arena.h"

#include <stdio.h>

#include "compile/mlir/text.h"

typedef struct body_row_t {
  const char *name;
  const char *body;    // of a function of %a, %b: memref<4xf32> and %i: index
  const char *stored;  // the names of those written into
} body_row_t;

#define MEMREF "memref<4xf32>"
static const body_row_t bodies[] = {
    {"nothing", "    \"func.return\"() : () -> ()\n", ""},
    {"a store",
     "    \"memref.store\"(%v, %b, %i) : (f32, " MEMREF ", index) -> ()\n",
     "b"},
    {"the stored value is not written into",
     "    \"memref.store\"(%a, %c, %i) : (" MEMREF ", memref<4x" MEMREF
     ">, index) -> ()\n",
     ""},
    {"one of several results",
     "    %0:2 = \"memref.split\"(%a) : (" MEMREF ") -> (" MEMREF ", index)\n"
     "    \"memref.store\"(%v, %0#0, %i) : (f32, " MEMREF ", index) -> ()\n",
     "a"},
    {"results with names of their own",
     "    %base, %sizes:2 = \"memref.extract_strided_metadata\"(%a) : (" MEMREF
     ") -> (memref<f32>, index, index)\n"
     "    \"memref.store\"(%v, %base) : (f32, memref<f32>) -> ()\n",
     "a"},
    {"a number is no view",
     "    %0 = \"memref.dim\"(%a, %i) : (" MEMREF ", index) -> index\n"
     "    \"memref.store\"(%v, %0) : (f32, " MEMREF ") -> ()\n",
     ""},
    {"a name used again",
     "    %0 = \"memref.cast\"(%a) : (" MEMREF ") -> memref<?xf32>\n"
     "    %0 = \"memref.alloc\"() : () -> " MEMREF "\n"
     "    \"memref.store\"(%v, %0, %i) : (f32, " MEMREF ", index) -> ()\n",
     ""},
    {"outs",
     "    \"linalg.generic\"(%a, %b) <{operandSegmentSizes = array<i32: 1, 1>}> "
     "({\n    ^bb0(%x: f32, %y: f32):\n      \"linalg.yield\"(%x) : (f32) -> "
     "()\n    }) : (" MEMREF ", " MEMREF ") -> ()\n",
     "b"},
    {"outs without segments",
     "    \"linalg.transpose\"(%b, %a) <{permutation = array<i64: 0>}> : "
     "(" MEMREF ", " MEMREF ") -> ()\n",
     "a"},
    {"a value of a region",
     "    %0 = \"scf.if\"(%p) ({\n      \"scf.yield\"(%a) : (" MEMREF
     ") -> ()\n    }, {\n      \"scf.yield\"(%b) : (" MEMREF
     ") -> ()\n    }) : (i1) -> " MEMREF "\n"
     "    \"memref.store\"(%v, %0, %i) : (f32, " MEMREF ", index) -> ()\n",
     "ab"},
    {"what a loop hands itself comes in its next turn",
     "    %0 = \"scf.for\"(%i, %i, %i, %a) ({\n"
     "    ^bb0(%k: index loc(\"x\":1:1), %m: " MEMREF "):\n"
     "      \"memref.store\"(%v, %m, %k) : (f32, " MEMREF ", index) -> ()\n"
     "      \"scf.yield\"(%b) : (" MEMREF ") -> ()\n"
     "    }) : (index, index, index, " MEMREF ") -> " MEMREF "\n",
     "ab"},
    {"a block above",
     "    \"cf.br\"(%a)[^bb1] : (" MEMREF ") -> ()\n"
     "  ^bb1(%m: " MEMREF "):  // 2 preds: ^bb0, ^bb2\n"
     "    \"memref.store\"(%v, %m, %i) : (f32, " MEMREF ", index) -> ()\n"
     "    \"cf.cond_br\"(%p)[^bb2, ^bb3] <{operandSegmentSizes = array<i32: 1, "
     "0, 0>}> : (i1) -> ()\n"
     "  ^bb2:  // pred: ^bb1\n"
     "    \"cf.br\"(%b)[^bb1] : (" MEMREF ") -> ()\n"
     "  ^bb3:  // pred: ^bb1\n",
     "ab"},
    {"somebody else's function",
     "    \"func.call\"(%b) <{callee = @other}> : (" MEMREF ") -> ()\n", "b"},
    {"a word in a string",
     "    \"x.y\"(%b) {note = \"memref.store(%v, %b)\"} : (" MEMREF ") -> ()\n",
     ""},
};

static void bodies_are_read(void **state) {
  (void)state;
  static const char kForm[] =
      "\"builtin.module\"() ({\n"
      "  \"func.func\"() <{function_type = (" MEMREF ", " MEMREF
      ", index) -> (), sym_name = \"f\"}> ({\n"
      "  ^bb0(%%a: " MEMREF " loc(\"m\":1:1), %%b: " MEMREF ", %%i: index):\n"
      "%s  }) : () -> ()\n}) : () -> ()\n";
  FC_TEST_EACH_ROW(const body_row_t, row, bodies) {
    char text[2048], got[4] = "";
    fc_mlir_module_t module;
    fc_error_t err;
    snprintf(text, sizeof text, kForm, row->body);
    assert_int_equal(fc_mlir_read(&fc_test_arena, fc_str(text), &module, &err),
                     0);
    assert_int_equal(fc_mlir_find_stores(&fc_test_arena, &module, &err), 0);
    const fc_mlir_value_t *arguments = module.functions[0].arguments;
    for (size_t i = 0, at = 0; i < 3; i++) {
      if (arguments[i].stored) got[at++] = "abi"[i];
    }
    assert_string_equal(got, row->stored);
  }
}

// Stores are found through two private functions, whose callers come first in the text.
// It matters which argument is passed at which position.
static void callees_are_read(void **state) {
  (void)state;
  static const char kText[] =
      "\"builtin.module\"() ({\n"
      "  \"func.func\"() <{function_type = (" MEMREF ", " MEMREF
      ") -> (), sym_name = \"f\"}> ({\n  ^bb0(%0: " MEMREF ", %1: " MEMREF
      "):\n    \"func.call\"(%1, %0) <{callee = @g}> : (" MEMREF ", " MEMREF
      ") -> ()\n  }) : () -> ()\n"
      "  \"func.func\"() <{function_type = (" MEMREF ", " MEMREF
      ") -> (), sym_name = \"g\"}> ({\n  ^bb0(%0: " MEMREF ", %1: " MEMREF
      "):\n    \"func.call\"(%0) <{callee = @\"h 1\"}> : (" MEMREF
      ") -> ()\n  }) : () -> ()\n"
      "  \"func.func\"() <{function_type = (" MEMREF
      ") -> (), sym_name = \"h 1\"}> ({\n  ^bb0(%0: " MEMREF
      "):\n    \"memref.store\"(%2, %0) : (f32, " MEMREF
      ") -> ()\n  }) : () -> ()\n"
      "}) : () -> ()\n";
  fc_mlir_module_t module;
  fc_error_t err;
  assert_int_equal(fc_mlir_read(&fc_test_arena, fc_str(kText), &module, &err),
                   0);
  assert_int_equal(fc_mlir_find_stores(&fc_test_arena, &module, &err), 0);
  assert_false(module.functions[0].arguments[0].stored);
  assert_true(module.functions[0].arguments[1].stored);
  assert_true(module.functions[1].arguments[0].stored);
  assert_false(module.functions[1].arguments[1].stored);
  assert_true(module.functions[2].arguments[0].stored);
}

// There are more arguments than a set has bits. The last bit stands for all the
// remaining arguments, so no written argument is missed.
static void many_arguments_share_a_bit(void **state) {
  (void)state;
  char text[16384];
  size_t at = 0;
#define PUT(...) \
  at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__)
  PUT("\"func.func\"() <{function_type = (");
  for (int i = 0; i < 70; i++) PUT("%s" MEMREF, i ? ", " : "");
  PUT(") -> (), sym_name = \"f\"}> ({\n  ^bb0(");
  for (int i = 0; i < 70; i++) PUT("%s%%%d: " MEMREF, i ? ", " : "", i);
  PUT("):\n    \"memref.store\"(%%v, %%68) : (f32, " MEMREF
      ") -> ()\n  }) : ()");
#undef PUT
  char whole[17000];
  snprintf(whole, sizeof whole,
           "\"builtin.module\"() ({\n%s -> ()\n}) : () -> ()\n", text);
  fc_mlir_module_t module;
  fc_error_t err;
  assert_int_equal(fc_mlir_read(&fc_test_arena, fc_str(whole), &module, &err),
                   0);
  assert_int_equal(fc_mlir_find_stores(&fc_test_arena, &module, &err), 0);
  for (int i = 0; i < 70; i++) {
    assert_int_equal(module.functions[0].arguments[i].stored, i >= 63);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_WITH_ARENA(bodies_are_read),
      FC_TEST_WITH_ARENA(callees_are_read),
      FC_TEST_WITH_ARENA(many_arguments_share_a_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
