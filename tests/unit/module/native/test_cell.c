// SPDX-License-Identifier: Apache-2.0
//
// Compares layouts with those of the C compiler.
#include "helpers/test.h"

#include <string.h>

#include "module/native/cell.h"

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
    assert_int_equal(fc_layout_add(&layout, NULL, &types[i]), offsets[i]);
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

// Compiled code compares whole bytes, so a copied i4 must have nothing but its four
// bits.
static void narrow_elements_are_cut_in_a_copy(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_dtype_t dtype;
    uint8_t bytes[3];
    uint8_t expected[3];
    bool copied;
  } rows[] = {
      {"negative", FC_DTYPE_I4, {0xfd, 7, 0xf8}, {0x0d, 7, 8}, true},
      {"cut already", FC_DTYPE_I4, {0x0d, 7, 8}, {0x0d, 7, 8}, false},
      {"the last", FC_DTYPE_I4, {1, 2, 0x10}, {1, 2, 0}, true},
      {"any byte but 0 is true", FC_DTYPE_I1, {2, 0, 0xff}, {1, 0, 1}, true},
      {"booleans", FC_DTYPE_I1, {1, 0, 1}, {1, 0, 1}, false},
  };
  const int64_t dims[] = {3};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    fc_signature_t *signature;
    fc_builder_name(builder, FC_STR("f"));
    fc_builder_argument(builder, FC_STR("x"),
                        fc_builder_tensor(builder, row->dtype, 1, dims),
                        FC_ROLE_IN, true, FC_RAW_NEXT);
    assert_int_equal(fc_signature_build(builder, &signature, NULL), FC_OK);
    fc_arena_t arena;
    fc_arena_init(&arena, fc_allocator_system(), 4096, 1 << 20);
    _Alignas(64) uint8_t bytes[3];
    memcpy(bytes, row->bytes, sizeof bytes);
    const fc_value_t value = {.kind = FC_VALUE_TENSOR,
                              .tensor = {row->dtype, 1, dims, NULL, bytes}};
    fc_memref_cell_t cell = {0};
    assert_int_equal(
        fc_memref_argument(signature, 0, &value, false, &arena, &cell, NULL),
        FC_OK);
    assert_memory_equal(bytes, row->bytes, sizeof bytes);
    assert_memory_equal(cell.descriptor->aligned, row->expected, sizeof bytes);
    assert_int_equal(cell.descriptor->aligned != bytes, row->copied);
    assert_int_equal((uintptr_t)cell.descriptor->aligned % 64, 0);
    assert_ptr_equal(cell.block.data, cell.descriptor->aligned);
    assert_int_equal(
        fc_memref_argument(signature, 0, &value, true, &arena, &cell, NULL),
        FC_OK);
    assert_ptr_equal(cell.descriptor->aligned, bytes);
    assert_memory_equal(bytes, row->expected, sizeof bytes);
    fc_arena_deinit(&arena);
    fc_signature_destroy(signature);
    fc_builder_destroy(builder);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(structures_have_the_padding_of_c),
      FC_TEST(narrow_results_are_cut_to_their_width),
      FC_TEST(narrow_elements_are_cut_in_a_copy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
