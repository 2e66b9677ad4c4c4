// SPDX-License-Identifier: Apache-2.0
//
// What --batch makes of MLIR source text. e2e/compile_mlir tests that IREE's compiler
// accepts the result, and what it computes.
#include "helpers/arena.h"

#include "compile/mlir/text.h"

typedef struct batch_row_t {
  const char *name;
  const char *source;
  const char *sizes;
  const char *batched;  // NULL: the source is unchanged
} batch_row_t;

#define IN(n) "tensor<" n "xf32>"
#define BUCKET(name, n, more)                        \
  "func.func @" name "(%a: " IN(n) more ") -> (" IN( \
      n) ") { "                                      \
         "%farcall.in0 = tensor.cast %a : " IN(n) " to " IN("?") " "
#define CALLED(name, n)                                                                               \
  "%farcall.all:1 = func.call @" name                                                                 \
  "(%farcall.in0) : (" IN("?") ") -> (" IN("?") ") %farcall.out0 = tensor.cast %farcall.all#0 : " IN( \
      "?") " to " IN(n) " return %farcall.out0 : " IN(n) " } "

static const batch_row_t kRows[] = {
    {"one size", "func.func @f(%a: " IN("?") ") -> " IN("?") " {", "4",
     BUCKET("f_bs4", "4", "") CALLED(
         "f", "4") "func.func private @f(%a: " IN("?") ") -> " IN("?") " {"},
    {"sizes in their order, once",
     "module { func.func public\n @f(%a: " IN("?") ") -> " IN("?") " { } }",
     "8,2,,8",
     "module { " BUCKET("f_bs2", "2", "") CALLED("f", "2")
         BUCKET("f_bs8", "8", "")
             CALLED("f", "8") "func.func private\n @f(%a: " IN("?") ") -> " IN(
                 "?") " { } }"},
    {"quotes, attributes, comments",
     "func.func @\"a b\"(%a // )\n : " IN("?") " {x = \"//\"}) -> (" IN(
         "?") ")",
     "3",
     BUCKET("\"a b_bs3\"", "3", " {x = \"//\"}")
         CALLED("\"a b\"", "3") "func.func private @\"a b\"(%a // )\n : " IN(
             "?") " {x = \"//\"}) -> (" IN("?") ")"},
    {"other arguments and results",
     "func.func @f(%s: i32, %a: tensor<?x2xi8, #e<1>>) -> (f32, tensor<?xi1> "
     "{k}) {",
     "1",
     "func.func @f_bs1(%s: i32, %a: tensor<1x2xi8, #e<1>>) -> (f32, "
     "tensor<1xi1> {k}) { %farcall.in1 = tensor.cast %a : tensor<1x2xi8, "
     "#e<1>> to tensor<?x2xi8, #e<1>> %farcall.all:2 = func.call @f(%s, "
     "%farcall.in1) : (i32, tensor<?x2xi8, #e<1>>) -> (f32, tensor<?xi1>) "
     "%farcall.out1 = tensor.cast %farcall.all#1 : tensor<?xi1> to "
     "tensor<1xi1> return %farcall.all#0, %farcall.out1 : f32, tensor<1xi1> } "
     "func.func private @f(%s: i32, %a: tensor<?x2xi8, #e<1>>) -> (f32, "
     "tensor<?xi1> {k}) {"},
    {"private", "func.func private @f(%a: " IN("?") ") -> " IN("?"), "4", NULL},
    {"nested", "func.func nested @f(%a: " IN("?") ") -> " IN("?"), "4", NULL},
    {"a size", "func.func @f(%a: " IN("4") ") -> " IN("4"), "4", NULL},
    {"no rows in", "func.func @f(%a: i32) -> " IN("?"), "4", NULL},
    {"no rows out", "func.func @f(%a: " IN("?") ") -> i32", "4", NULL},
    {"no results", "func.func @f(%a: " IN("?") ") {", "4", NULL},
    {"a declaration", "func.func @f(" IN("?") ") -> " IN("?"), "4", NULL},
    {"another dim is free", "func.func @f(%a: tensor<2x?xf32>) -> " IN("?"),
     "4", NULL},
    {"a type of another form",
     "func.func @f(%g: (i32) -> f32, %a: " IN("?") ") -> " IN("?"), "4", NULL},
    {"torch",
     "func.func @f(%a: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>",
     "4", NULL},
    {"a comment", "// func.func @f(%a: " IN("?") ") -> " IN("?"), "4", NULL},
    {"a string", "\"func.func @f(%a: " IN("?") ") -> " IN("?") " {\"", "4",
     NULL},
    {"cut off", "func.func @f(%a: tensor<?x", "4", NULL},
    {"cut off behind the arguments", "func.func @f(%a: " IN("?") ")", "4",
     NULL},
    {"cut off behind the arrow", "func.func @f(%a: " IN("?") ") -> (", "4",
     NULL},
    {"nothing", "", "4", NULL},
};

static void functions_get_sizes(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const batch_row_t, row, kRows) {
    fc_text_t out;
    size_t count = 99;
    fc_text_init(&out, fc_allocator_system(), 1u << 20);
    const fc_status_t status =
        fc_mlir_batch(&fc_test_arena, fc_str(row->source), fc_str(row->sizes),
                      &out, &count, NULL);
    assert_int_equal(status, FC_OK);
    const char *wanted = row->batched ? row->batched : row->source;
    assert_string_equal(fc_arena_copy(&fc_test_arena, fc_text_str(&out)).data,
                        wanted);
    assert_int_equal(count, row->batched ? 1 : 0);
    fc_text_deinit(&out);
  }
}

static void sizes_have_limits(void **state) {
  (void)state;
  static const char *const kRefused[] = {"0", "1,0", "2147483648",
                                         "99999999999999999999"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRefused); i++) {
    fc_text_t out;
    size_t count;
    fc_error_t err;
    fc_text_init(&out, fc_allocator_system(), 1u << 20);
    assert_int_not_equal(fc_mlir_batch(&fc_test_arena, FC_STR(""),
                                       fc_str(kRefused[i]), &out, &count, &err),
                         FC_OK);
    assert_non_null(strstr(err.message, "up to 256 sizes of 1 to 2147483647"));
    fc_text_deinit(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_WITH_ARENA(functions_get_sizes),
      FC_TEST_WITH_ARENA(sizes_have_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
