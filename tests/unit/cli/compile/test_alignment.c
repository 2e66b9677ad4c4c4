// SPDX-License-Identifier: Apache-2.0
//
// Which alignments LLVM IR states.
#include "helpers/test.h"

#include "compile/alignment.h"

static void alignment_is_noticed(void **state) {
  (void)state;
  static const struct {
    const char *ir;
    bool plain;
  } rows[] = {
      {"", true},
      {"define void @f() {\n  ret void\n}", true},
      {"  %1 = load float, ptr %0, align 4\n  store i64 0, ptr %0, align 8\n",
       true},
      {"@__constant_4xf32 = private constant [4 x float] zeroinitializer, align "
       "64\n",
       true},
      {"  store <4 x float> %1, ptr %0, align 4\n", true},
      {"  %1 = load <4 x float>, ptr %0, align 16\n", false},
      {"  ret void\n  %1 = load float, ptr %0, align 64", false},
      {"define void @f(ptr align 16 %0) {\n", false},
      {"define void @f(ptr align 4 %0, ptr align 32 %1) {\n", false},
      {"  call void @llvm.assume(i1 true) [ \"align\"(ptr %1, i64 64) ]\n",
       false},
      {"  %1 = load float, ptr %0, align 99999999999999999999\n", false},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    if (fc_ir_is_plainly_aligned(fc_str(rows[i].ir)) != rows[i].plain) {
      fail_msg("%s", rows[i].ir);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(alignment_is_noticed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
