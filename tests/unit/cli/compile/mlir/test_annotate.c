// SPDX-License-Identifier: Apache-2.0
//
// Which attributes functions get, in text as mlir-opt prints it.
#include "helpers/arena.h"

#include <stdio.h>

#include "compile/mlir/text.h"

typedef fc_status_t (*write_t)(const fc_mlir_module_t *module, fc_text_t *out,
                               fc_error_t *err);

static void assert_becomes(write_t write, const char *before,
                           const char *after) {
  fc_mlir_module_t module;
  fc_error_t err;
  fc_text_t out;
  char got[1024];
  assert_int_equal(fc_mlir_read(&fc_test_arena, fc_str(before), &module, &err),
                   0);
  fc_text_init(&out, fc_allocator_system(), sizeof got);
  assert_int_equal(write(&module, &out, &err), 0);
  snprintf(got, sizeof got, "%.*s", FC_STR_ARG(fc_text_str(&out)));
  fc_text_deinit(&out);
  assert_string_equal(got, after);
}

typedef struct annotation_row_t {
  const char *name;
  const char *visibility;
  const char *region;
  const char *before;  // its dictionary as printed
  const char *after;
} annotation_row_t;

#define PROBE "[\"probe-stack\", \"inline-asm\"]"
static const annotation_row_t annotations[] = {
    {"public", "", "x", "",
     " {llvm.emit_c_interface, passthrough = [" PROBE "]}"},
    {"has the interface", "", "x", " {llvm.emit_c_interface}",
     " {passthrough = [" PROBE "], llvm.emit_c_interface}"},
    {"has other attributes", "", "x", " {a = 1}",
     " {llvm.emit_c_interface, passthrough = [" PROBE "], a = 1}"},
    {"has a passthrough", "", "x", " {passthrough = [[\"k\", \"v\"]]}",
     " {llvm.emit_c_interface, passthrough = [" PROBE ", [\"k\", \"v\"]]}"},
    {"has an empty passthrough", "", "x", " {a, passthrough = []}",
     " {llvm.emit_c_interface, a, passthrough = [" PROBE "]}"},
    {"has the probe", "", "x", " {passthrough = [" PROBE "]}",
     " {llvm.emit_c_interface, passthrough = [" PROBE "]}"},
    {"declaration", ", sym_visibility = \"private\"", "", "", ""},
    {"private", ", sym_visibility = \"private\"", "x", "",
     " {llvm.linkage = #llvm.linkage<internal>, passthrough = [" PROBE "]}"},
    {"private with the interface", ", sym_visibility = \"private\"", "x",
     " {llvm.emit_c_interface}",
     " {passthrough = [" PROBE "], llvm.emit_c_interface}"},
    {"private with a linkage", ", sym_visibility = \"private\"", "x",
     " {llvm.linkage = #llvm.linkage<weak>}",
     " {passthrough = [" PROBE "], llvm.linkage = #llvm.linkage<weak>}"},
};

static void bodies_are_annotated(void **state) {
  (void)state;
  static const char kForm[] =
      "\"builtin.module\"() ({\n  \"func.func\"() <{function_type = () -> (), "
      "sym_name = \"f\"%s}> ({\n%s  })%s : () -> ()\n}) : () -> ()\n";
  FC_TEST_EACH_ROW(const annotation_row_t, row, annotations) {
    char before[1024], after[1024];
    const char *region =
        row->region[0] ? "    \"func.return\"() : () -> ()\n" : "";
    snprintf(before, sizeof before, kForm, row->visibility, region,
             row->before);
    snprintf(after, sizeof after, kForm, row->visibility, region, row->after);
    assert_becomes(fc_mlir_annotate, before, after);
  }
}

typedef struct argument_row_t {
  const char *name;
  const char
      *attrs;  // the printed property with the arguments' attributes; or empty
  const char *types;
  const char *after;  // `attrs` after the change
} argument_row_t;

#define KEPT "bufferization.writable = false"
static const argument_row_t arguments[] = {
    {"no attributes", "", "tensor<4xf32>", "arg_attrs = [{" KEPT "}], "},
    {"a tensor among others", "", "index, tensor<?xf32>, memref<4xf32>",
     "arg_attrs = [{}, {" KEPT "}, {}], "},
    {"no tensor", "", "memref<4xf32>, vector<4xf32>", ""},
    {"no argument", "", "", ""},
    {"attributes", "arg_attrs = [{a = \"tensor<\"}, {}, {b}], ",
     "tensor<4xf32>, tensor<*xf32>, index",
     "arg_attrs = [{" KEPT ", a = \"tensor<\"}, {" KEPT "}, {b}], "},
    {"the source lets it be written into",
     "arg_attrs = [{bufferization.writable = true}, {farcall.role = "
     "\"inout\"}, {bufferize.result}], ",
     "tensor<4xf32>, tensor<4xf32>, tensor<4xf32>",
     "arg_attrs = [{bufferization.writable = true}, {farcall.role = "
     "\"inout\"}, {bufferize.result}], "},
    {"the source says that it is read",
     "arg_attrs = [{farcall.role = \"in\"}], ", "tensor<4xf32>",
     "arg_attrs = [{" KEPT ", farcall.role = \"in\"}], "},
    {"the source keeps it", "arg_attrs = [{" KEPT "}], ", "tensor<4xf32>",
     "arg_attrs = [{" KEPT "}], "},
};

static void tensor_arguments_are_kept(void **state) {
  (void)state;
  static const char kForm[] =
      "\"builtin.module\"() ({\n  \"func.func\"() <{%sfunction_type = (%s) -> "
      "(), sym_name = \"f\"%s}> ({\n%s  }) {c} : () -> ()\n}) : () -> ()\n";
  static const char kBody[] = "    \"func.return\"() : () -> ()\n";
  static const char kPrivate[] = ", sym_visibility = \"private\"";
  FC_TEST_EACH_ROW(const argument_row_t, row, arguments) {
    char before[1024], after[1024];
    snprintf(before, sizeof before, kForm, row->attrs, row->types, "", kBody);
    snprintf(after, sizeof after, kForm, row->after, row->types, "", kBody);
    assert_becomes(fc_mlir_keep_arguments, before, after);
    snprintf(before, sizeof before, kForm, row->attrs, row->types, kPrivate,
             kBody);
    assert_becomes(fc_mlir_keep_arguments, before, before);
    snprintf(before, sizeof before, kForm, row->attrs, row->types, "", "");
    assert_becomes(fc_mlir_keep_arguments, before, before);
  }
}

static void every_prefix_is_survived(void **state) {
  (void)state;
  static const char kText[] =
      "\"builtin.module\"() ({\n  \"func.func\"() <{arg_attrs = [{a}, {}], "
      "function_type = (tensor<4xf32>, tensor<4xf32>, index) -> (), sym_name = "
      "\"f\"}> ({\n    \"func.return\"() : () -> ()\n  }) : () -> ()\n"
      "}) : () -> ()\n";
  for (size_t size = 0; size < sizeof kText; size++) {
    // The copy has the exact size, so ASan reports a read past its end.
    char *copy = fc_alloc(fc_allocator_system(), size);
    memcpy(copy, kText, size);
    fc_mlir_module_t module;
    fc_error_t err;
    if (fc_mlir_read(&fc_test_arena, (fc_str_t){copy, size}, &module, &err) ==
        FC_OK) {
      fc_text_t out;
      fc_text_init(&out, fc_allocator_system(), 4096);
      assert_int_equal(fc_mlir_keep_arguments(&module, &out, &err), 0);
      assert_int_equal(fc_mlir_annotate(&module, &out, &err), 0);
      fc_text_deinit(&out);
    }
    fc_free(fc_allocator_system(), copy);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_WITH_ARENA(bodies_are_annotated),
      FC_TEST_WITH_ARENA(tensor_arguments_are_kept),
      FC_TEST_WITH_ARENA(every_prefix_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
