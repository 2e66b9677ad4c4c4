// SPDX-License-Identifier: Apache-2.0
//
// Which texts hold dialects that other compilers lower.
#include "compile_foreign.h"

#include "helpers/test.h"

typedef struct foreign_row_t {
  const char *name;
  const char *source;
  const char *hint;  // how it begins
} foreign_row_t;

static const foreign_row_t foreigners[] = {
    {"an operation", "%0 = tosa.add %a, %b : tensor<4xf32>", "; 'tosa' "},
    {"an operation in quotes", "\"stablehlo.add\"(%a)", "; 'stablehlo' "},
    {"a type", "func.func @f(%a: !torch.vtensor<[4],f32>)", "; 'torch' "},
    {"onnx within torch", "%0 = torch.operator \"onnx.Add\"(%a)", "; 'onnx' "},
    {"a GPU", "gpu.launch blocks(", "; 'gpu' "},
    {"a comment", "// tosa.add\n arith.addf", ""},
    {"behind a comment", "// x\ntosa.add", "; 'tosa' "},
    {"a symbol", "call @gpu.go()", ""},
    {"a value", "%gpu.go", ""},
    {"the end of a word", "mytosa.add, my_gpu.launch", ""},
    {"no operation", "tosa. tosa.1", ""},
    {"nothing", "", ""},
};

static void foreign_dialects_are_found(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const foreign_row_t, row, foreigners) {
    const char *hint = fc_mlir_foreign_hint(fc_str(row->source));
    if (!*row->hint) assert_string_equal(hint, "");
    else assert_true(fc_str_starts(fc_str(hint), fc_str(row->hint)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(foreign_dialects_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
