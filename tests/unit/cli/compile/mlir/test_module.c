// SPDX-License-Identifier: Apache-2.0
//
// What farcall compile reads from MLIR text. The generic texts are what mlir-opt 22
// prints, shortened, for the source in the comment above each.
#include "helpers/arena.h"

#include <stdio.h>

#include "compile/mlir/text.h"

static void assert_text(fc_str_t got, const char *wanted) {
  if (!fc_str_equal(got, fc_str(wanted))) {
    fail_msg("got '%.*s', wanted '%s'", FC_STR_ARG(got), wanted);
  }
}

// func.func @f(%a: memref<?x4xf32, strided<[?, 1], offset: ?>>
//   {farcall.name = "x"}, %o: memref<?xf32> {bufferize.result}) -> (i32 {…})
static const char kAttributes[] =
    "\"builtin.module\"() ({\n"
    "  \"func.func\"() <{arg_attrs = [{farcall.name = \"x, \\22}\"}, "
    "{bufferize.result}], function_type = (memref<?x4xf32, strided<[?, 1], "
    "offset: ?>>, memref<?xf32>) -> i32, res_attrs = [{farcall.name = "
    "\"r\"}], sym_name = \"f\"}> ({\n"
    "  ^bb0(%arg0: memref<?x4xf32, strided<[?, 1], offset: ?>>, %arg1: "
    "memref<?xf32>):\n"
    "    %0 = \"arith.constant\"() <{value = 7 : i32}> : () -> i32\n"
    "    \"func.return\"(%0) : (i32) -> ()\n"
    "  }) {iree.abi = \"a > b\", passthrough = [[\"k\", \"v\"]]} : () -> ()\n"
    "}) : () -> ()\n";

static void attributes_come_with_their_values(void **state) {
  (void)state;
  fc_mlir_module_t module;
  fc_error_t err;
  assert_int_equal(
      fc_mlir_read(&fc_test_arena, fc_str(kAttributes), &module, &err), 0);
  assert_int_equal(module.function_count, 1);
  const fc_mlir_function_t *f = &module.functions[0];
  assert_text(f->name, "f");
  assert_true(f->is_public && f->has_body && f->attrs.data);
  assert_int_equal(f->argument_count, 2);
  assert_text(f->arguments[0].type,
              "memref<?x4xf32, strided<[?, 1], offset: ?>>");
  assert_text(f->arguments[0].name, "x, \"}");
  assert_false(f->arguments[0].result_buffer);
  assert_true(f->arguments[1].result_buffer);
  assert_int_equal(f->result_count, 1);
  assert_text(f->results[0].type, "i32");
  assert_text(f->results[0].name, "r");
  assert_false(module.has_tensors);
  assert_false(module.has_state);
}

static void dims_come_with_their_names(void **state) {
  (void)state;
  static const struct {
    const char *attrs;
    const char *dims;  // each with a blank; NULL: refused
  } rows[] = {
      {"{}", ""},
      {"{farcall.dims = []}", ""},
      {"{farcall.dims = [\"m\"]}", "m "},
      {"{farcall.dims = [\"m\", \"?\", \"a, \\22]b\"], farcall.name = \"x\"}",
       "m ? a, \"]b "},
      {"{farcall.dims = [\"m\", 4 : i64]}", NULL},
      {"{farcall.dims = [m]}", NULL},
      {"{farcall.dims = \"m\"}", NULL},
      {"{farcall.dims = {m = \"m\"}}", NULL},
      {"{farcall.dims = [\"\"]}", NULL},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    char text[512], dims[64] = "";
    snprintf(text, sizeof text,
             "\"builtin.module\"() ({\n"
             "  \"func.func\"() <{arg_attrs = [%s], function_type = "
             "(memref<?x?x?xf32>) -> (), sym_name = \"f\"}> ({\n"
             "  }) : () -> ()\n}) : () -> ()\n",
             rows[i].attrs);
    fc_mlir_module_t module;
    fc_error_t err = {0};
    fc_status_t status =
        fc_mlir_read(&fc_test_arena, fc_str(text), &module, &err);
    if ((status == FC_OK) != (rows[i].dims != NULL)) {
      fail_msg("%s: %s", rows[i].attrs, err.message);
    }
    if (status != FC_OK) {
      assert_non_null(strstr(err.message, "array of strings"));
      continue;
    }
    const fc_mlir_value_t *value = &module.functions[0].arguments[0];
    for (size_t k = 0, at = 0; k < value->dim_count; k++) {
      at += (size_t)snprintf(dims + at, sizeof dims - at, "%.*s ",
                             FC_STR_ARG(value->dims[k]));
    }
    assert_string_equal(dims, rows[i].dims);
  }
}

// A function with a layout and an operation with regions; a declaration; a nested
// module.
static const char kNested[] =
    "\"builtin.module\"() ({\n"
    "  \"func.func\"() <{function_type = (memref<4x4xf32, affine_map<(d0, d1) "
    "-> (d1 floordiv 2, d0)>>) -> (index, memref<*xf16>), sym_name = \"g\"}> "
    "({\n"
    "  ^bb0(%a: memref<4x4xf32> loc(\"a.mlir\":2:3)):\n"
    "    \"affine.if\"(%a) <{condition = affine_set<(d0) : (d0 - 1 >= 0)>}> "
    "({\n    }, {\n    }) : (index) -> () loc(\"a.mlir\":3:3)\n"
    "  }) : () -> () loc(\"a.mlir\":2:1)\n"
    "  \"func.func\"() <{function_type = () -> (), sym_name = \"d\", "
    "sym_visibility = \"private\"}> ({\n  }) : () -> () loc(\"a.mlir\":7:1)\n"
    "  \"builtin.module\"() ({\n"
    "    \"func.func\"() <{function_type = () -> (), sym_name = \"inner\"}> "
    "({\n    ^bb0:\n      \"func.return\"() : () -> ()\n    }) : () -> ()\n"
    "  }) : () -> () loc(\"a.mlir\":9:1)\n"
    "}) : () -> () loc(unknown)\n";

static void functions_of_the_top_level_are_read(void **state) {
  (void)state;
  fc_mlir_module_t module;
  fc_error_t err;
  assert_int_equal(fc_mlir_read(&fc_test_arena, fc_str(kNested), &module, &err),
                   0);
  assert_int_equal(module.function_count, 2);
  const fc_mlir_function_t *g = &module.functions[0];
  assert_text(g->arguments[0].type,
              "memref<4x4xf32, affine_map<(d0, d1) -> (d1 floordiv 2, d0)>>");
  assert_int_equal(g->result_count, 2);
  assert_text(g->results[1].type, "memref<*xf16>");
  assert_int_equal(g->line, 2);
  const fc_mlir_function_t *d = &module.functions[1];
  assert_false(d->is_public);
  assert_false(d->has_body);
  assert_int_equal(d->argument_count + d->result_count, 0);
  assert_int_equal(d->begin, g->end);
}

typedef struct kind_row_t {
  const char *name;
  const char *operation;
  bool tensors;
  bool state;
} kind_row_t;

static const kind_row_t kinds[] = {
    {"tensor literal of a constant global",
     "\"memref.global\"() <{constant, initial_value = dense<[1.0]> : "
     "tensor<1xf32>, sym_name = \"ro\", type = memref<1xf32>}> : () -> ()",
     false, false},
    {"mutable global",
     "\"memref.global\"() <{initial_value = dense<0.0> : tensor<1xf32>, "
     "sym_name = \"rw\", type = memref<1xf32>}> : () -> ()",
     false, true},
    {"function type",
     "\"func.func\"() <{function_type = (tensor<?xf32>) -> (), sym_name = "
     "\"f\"}> ({\n}) : () -> ()",
     true, false},
    {"inside a body only",
     "\"func.func\"() <{function_type = () -> (), sym_name = \"f\"}> ({\n"
     "  %0 = \"tensor.empty\"() : () -> tensor<4xf32>\n}) : () -> ()",
     true, false},
    {"a word in a string",
     "\"func.func\"() <{function_type = () -> (), sym_name = \"f\"}> ({\n"
     "  \"cf.assert\"(%0) <{msg = \"tensor<4xf32>\"}> : (i1) -> ()\n}) "
     "{doc = \"tensor<1xf32>\"} : () -> ()",
     false, false},
    {"another dialect's type",
     "\"func.func\"() <{function_type = () -> (), sym_name = \"f\"}> ({\n"
     "  %0 = \"x.y\"() : () -> !my.tensor<4xf32>\n}) : () -> ()",
     false, false},
};

static void tensors_and_state_are_noticed(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const kind_row_t, row, kinds) {
    char text[1024];
    fc_mlir_module_t module;
    fc_error_t err;
    snprintf(text, sizeof text, "\"builtin.module\"() ({\n%s\n}) : () -> ()\n",
             row->operation);
    assert_int_equal(fc_mlir_read(&fc_test_arena, fc_str(text), &module, &err),
                     0);
    assert_int_equal(module.has_tensors, row->tensors);
    assert_int_equal(module.has_state, row->state);
  }
}

static void every_prefix_is_survived(void **state) {
  (void)state;
  const char *texts[] = {kAttributes, kNested};
  for (size_t t = 0; t < FC_ARRAY_COUNT(texts); t++) {
    for (size_t size = 0; size < strlen(texts[t]); size++) {
      // The copy has the exact size, so ASan reports a read past its end.
      char *copy = fc_alloc(fc_allocator_system(), size);
      memcpy(copy, texts[t], size);
      fc_str_t text = {copy, size};
      fc_mlir_argument_t arguments[2];
      fc_mlir_module_t module = {0};
      fc_error_t err;
      (void)fc_mlir_read(&fc_test_arena, text, &module, &err);
      fc_str_t operation, place;
      (void)fc_mlir_leftover(text, &operation, &place);
      (void)fc_mlir_function_at(&module, FC_MLIR_SPOT(7, 1));
      assert_int_equal(fc_mlir_arguments(&fc_test_arena, text, FC_STR("f"), 2,
                                         arguments, &err),
                       0);
      fc_free(fc_allocator_system(), copy);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_WITH_ARENA(attributes_come_with_their_values),
      FC_TEST_WITH_ARENA(dims_come_with_their_names),
      FC_TEST_WITH_ARENA(functions_of_the_top_level_are_read),
      FC_TEST_WITH_ARENA(tensors_and_state_are_noticed),
      FC_TEST_WITH_ARENA(every_prefix_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
