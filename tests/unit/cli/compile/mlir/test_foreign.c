// SPDX-License-Identifier: Apache-2.0
//
// Which texts use dialects that only other compilers can lower.
#include "compile/mlir/text.h"

#include "helpers/test.h"

typedef struct foreign_row_t {
  const char *name;
  const char *source;
  fc_foreign_t foreign;
} foreign_row_t;

static const foreign_row_t foreigners[] = {
    {"an operation", "%0 = tosa.add %a, %b : tensor<4xf32>", FC_FOREIGN_TOSA},
    {"an operation in quotes", "\"stablehlo.add\"(%a)", FC_FOREIGN_STABLEHLO},
    {"a type", "func.func @f(%a: !torch.vtensor<[4],f32>)", FC_FOREIGN_TORCH},
    {"onnx within torch", "%0 = torch.operator \"onnx.Add\"(%a)",
     FC_FOREIGN_ONNX},
    {"a GPU", "gpu.launch blocks(", FC_FOREIGN_GPU},
    {"a comment", "// tosa.add\n arith.addf", FC_FOREIGN_NONE},
    {"behind a comment", "// x\ntosa.add", FC_FOREIGN_TOSA},
    {"a symbol", "call @gpu.go()", FC_FOREIGN_NONE},
    {"a value", "%gpu.go", FC_FOREIGN_NONE},
    {"the end of a word", "mytosa.add, my_gpu.launch", FC_FOREIGN_NONE},
    {"no operation", "tosa. tosa.1", FC_FOREIGN_NONE},
    {"nothing", "", FC_FOREIGN_NONE},
};

static void foreign_dialects_are_found(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const foreign_row_t, row, foreigners) {
    assert_int_equal(fc_mlir_foreign(fc_str(row->source)), row->foreign);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(foreign_dialects_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
