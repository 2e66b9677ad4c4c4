// SPDX-License-Identifier: Apache-2.0
//
// The oracle for layouts is the C compiler.
#include "helpers/test.h"

#include <string.h>

#include "memref/frame.h"

#define SCALAR(dtype_) \
  { .kind = FC_TYPE_SCALAR, .dtype = FC_DTYPE_##dtype_ }
#define MEMREF(rank_) \
  { .kind = FC_TYPE_TENSOR, .dtype = FC_DTYPE_F32, .rank = (rank_) }

static void structures_have_the_padding_of_c(void **state) {
  (void)state;
  struct r1_t {
    void *allocated, *aligned;
    int64_t offset, size, stride;
  };
  struct any_t {
    int64_t rank;
    void *descriptor;
  };
  struct result_t {
    int8_t a;
    double b;
    bool c;
    struct {
      float re, im;
    } d;
    int8_t e;
    struct r1_t f;
    uint16_t g;  // f16
    struct any_t h;
    int16_t i;
    struct {
      double re, im;
    } j;
    int32_t k;
    int64_t l;
    uint8_t m;  // f8
  };
  static const fc_type_t types[] = {
      SCALAR(I8),  SCALAR(F64),   SCALAR(I1),    SCALAR(C64), SCALAR(I4),
      MEMREF(1),   SCALAR(F16),   MEMREF(-1),    SCALAR(I16), SCALAR(C128),
      SCALAR(I32), SCALAR(INDEX), SCALAR(F8E5M2)};
#define AT(member) offsetof(struct result_t, member)
  static const size_t offsets[] = {AT(a), AT(b), AT(c), AT(d), AT(e),
                                   AT(f), AT(g), AT(h), AT(i), AT(j),
                                   AT(k), AT(l), AT(m)};
  fc_layout_t layout = {0};
  for (size_t i = 0; i < FC_ARRAY_COUNT(types); i++) {
    assert_int_equal(fc_layout_add(&layout, &types[i]), offsets[i]);
  }
  assert_int_equal(layout.alignment, _Alignof(struct result_t));
  assert_true(layout.size <= sizeof(struct result_t));
  assert_true(layout.size + 8 > sizeof(struct result_t));
}

typedef struct narrow_row_t {
  const char *name;
  fc_dtype_t dtype;
  uint8_t byte;
  int8_t expected;
} narrow_row_t;

static const narrow_row_t narrow[] = {
    {"i1 garbage above", FC_DTYPE_I1, 0xfe, 0},
    {"i1 true", FC_DTYPE_I1, 0xff, 1},
    {"i2 minus", FC_DTYPE_I2, 0x02, -2},
    {"i4 as it came back", FC_DTYPE_I4, 0xf2, 2},
    {"i4 minus", FC_DTYPE_I4, 0x0f, -1},
    {"si4 lowest", FC_DTYPE_SI4, 0x78, -8},
    {"ui4", FC_DTYPE_UI4, 0xff, 15},
    {"i8", FC_DTYPE_I8, 0x80, -128},
};

static void narrow_results_are_cut_to_their_width(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const narrow_row_t, row, narrow) {
    const uint8_t bytes[8] = {row->byte, 0xa5, 0xa5, 0xa5};
    fc_scalar_t scalar = fc_scalar_load(row->dtype, bytes);
    assert_int_equal(scalar.i8, row->expected);
    assert_int_equal(scalar.bytes[1], 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(structures_have_the_padding_of_c),
      FC_TEST(narrow_results_are_cut_to_their_width),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
