// SPDX-License-Identifier: Apache-2.0
#include "helpers/test.h"

#include <string.h>

#include "memref/descriptor.h"

typedef struct typed_t {
  fc_builder_t *builder;
  fc_signature_t *signature;
  const fc_type_t *type;
} typed_t;

// A signature with one f32 argument. If `strides` is NULL it has the identity layout.
static typed_t type_of(int32_t rank, const int64_t *dims,
                       const int64_t *strides, int64_t offset) {
  typed_t typed = {.builder = fc_builder_create(fc_allocator_system())};
  fc_error_t err;
  fc_builder_name(typed.builder, FC_STR("f"));
  uint32_t node =
      strides ? fc_builder_strided(typed.builder, FC_DTYPE_F32, rank, dims,
                                   strides, offset)
              : fc_builder_tensor(typed.builder, FC_DTYPE_F32, rank, dims);
  fc_builder_argument(typed.builder, FC_STR(""), node, FC_ROLE_IN, false,
                      FC_RAW_NEXT);
  assert_int_equal(fc_signature_build(typed.builder, &typed.signature, &err),
                   FC_OK);
  typed.type =
      fc_signature_node(typed.signature, typed.signature->arguments[0].type);
  return typed;
}

static void forget(typed_t *typed) {
  fc_signature_destroy(typed->signature);
  fc_builder_destroy(typed->builder);
}

static void the_descriptor_is_what_mlir_lays_out(void **state) {
  (void)state;
  // { ptr allocated, ptr aligned, i64 offset, [2 x i64] sizes, [2 x i64] strides }
  struct {
    void *allocated, *aligned;
    int64_t offset, sizes[2], strides[2];
  } expected;
  float data[6];
  const int64_t shape[] = {2, 3};
  _Alignas(8) uint8_t bytes[sizeof expected];
  const fc_tensor_t tensor = {FC_DTYPE_F32, 2, shape, NULL, data};
  assert_int_equal(fc_memref_size(2), sizeof expected);
  assert_int_equal(fc_memref_size(0), 24);
  fc_memref_build(&tensor, (fc_memref_t *)bytes);
  memcpy(&expected, bytes, sizeof expected);
  assert_ptr_equal(expected.allocated, data);
  assert_ptr_equal(expected.aligned, data);
  assert_int_equal(expected.offset, 0);
  assert_int_equal(expected.sizes[0], 2);
  assert_int_equal(expected.sizes[1], 3);
  assert_int_equal(expected.strides[0], 3);
  assert_int_equal(expected.strides[1], 1);
}

static void an_empty_tensor_still_has_an_address(void **state) {
  (void)state;
  const int64_t shape[] = {0};
  _Alignas(8) uint8_t bytes[64];
  fc_memref_t *out = (fc_memref_t *)bytes;
  fc_memref_build(&(fc_tensor_t){FC_DTYPE_F32, 1, shape, NULL, NULL}, out);
  assert_non_null(out->aligned);
  assert_int_equal((uintptr_t)out->aligned % 64, 0);
}

#define DYNAMIC FC_STRIDE_DYNAMIC

// Elements 1, 2, … must be where the layout puts them, for any layout.
typedef struct layout_row_t {
  const char *name;
  int32_t rank;
  int64_t dims[3], shape[3], strides[3];
  int64_t offset;
  int64_t wanted[3];  // strides
  bool copied;
} layout_row_t;

static const layout_row_t layouts[] = {
    {"dynamic",
     2,
     {-1, -1},
     {2, 3},
     {DYNAMIC, DYNAMIC},
     DYNAMIC,
     {3, 1},
     false},
    {"dense", 2, {2, 3}, {2, 3}, {3, 1}, 0, {3, 1}, false},
    {"last stride 1", 2, {-1, 4}, {2, 4}, {DYNAMIC, 1}, DYNAMIC, {4, 1}, false},
    {"columns", 2, {2, 3}, {2, 3}, {1, 2}, 0, {1, 2}, true},
    {"open columns", 2, {-1, -1}, {2, 3}, {1, DYNAMIC}, DYNAMIC, {1, 2}, true},
    {"spread", 2, {2, 2}, {2, 2}, {16, 2}, 25, {16, 2}, true},
    {"offset", 1, {-1}, {3}, {1}, 7, {1}, true},
    {"backwards", 1, {-1}, {3}, {-1}, DYNAMIC, {-1}, true},
    {"backwards from 2", 1, {-1}, {3}, {-1}, 2, {-1}, true},
    {"below the offset", 1, {-1}, {3}, {-2}, 1, {-2}, true},
    {"rows backwards",
     2,
     {-1, -1},
     {3, 2},
     {-10, DYNAMIC},
     DYNAMIC,
     {-10, 21},
     true},
    {"columns backwards",
     2,
     {-1, -1},
     {3, 2},
     {DYNAMIC, -10},
     DYNAMIC,
     {11, -10},
     true},
    {"one element", 2, {1, 1}, {1, 1}, {5, 0}, 0, {5, 0}, true},
    {"three", 3, {2, 2, 2}, {2, 2, 2}, {1, DYNAMIC, 2}, 0, {1, 4, 2}, true},
};

static void arguments_get_the_layout_their_type_demands(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const layout_row_t, row, layouts) {
    typed_t typed = type_of(row->rank, row->dims, row->strides, row->offset);
    fc_arena_t arena;
    fc_error_t err = {0};
    fc_arena_init(&arena, fc_allocator_system(), 4096, 1 << 20);
    float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    _Alignas(8) uint8_t bytes[24 + 16 * 3];
    fc_memref_t *out = (fc_memref_t *)bytes;
    fc_span_t block;
    const fc_tensor_t tensor = {FC_DTYPE_F32, row->rank, row->shape, NULL,
                                data};
    size_t count_all, size;
    assert_true(
        fc_shape_count(row->shape, row->rank, FC_DTYPE_F32, &count_all, &size));
    fc_status_t status =
        fc_memref_build_as(typed.signature, typed.type, &tensor, size, 0,
                           &arena, out, &block, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, FC_OK);
    assert_int_equal(out->aligned != data, row->copied);
    if (row->offset != DYNAMIC) assert_int_equal(out->offset, row->offset);
    for (int32_t i = 0; i < row->rank; i++) {
      assert_int_equal(out->words[i], row->shape[i]);
      assert_int_equal(out->words[row->rank + i], row->wanted[i]);
    }
    int64_t count = 1;
    for (int32_t i = 0; i < row->rank; i++) count *= row->shape[i];
    for (int64_t k = 0; k < count; k++) {
      int64_t rest = k, at = out->offset;
      for (int32_t i = row->rank; i-- > 0;) {
        at += rest % row->shape[i] * row->wanted[i];
        rest /= row->shape[i];
      }
      const float *element = (float *)out->aligned + at;
      assert_true((const uint8_t *)element >= block.data);
      assert_true((const uint8_t *)(element + 1) <= block.data + block.size);
      assert_true(*element == data[k]);
    }
    fc_arena_deinit(&arena);
    forget(&typed);
  }
}

typedef struct bad_layout_row_t {
  const char *name;
  int64_t shape[2], strides[2];
  int64_t offset;
  fc_code_t code;
} bad_layout_row_t;

static const bad_layout_row_t bad_layouts[] = {
    {"broadcast", {2, 2}, {0, 1}, 0, FC_CODE_UNSUPPORTED_TYPE},
    {"overlap", {3, 3}, {1, 2}, 0, FC_CODE_UNSUPPORTED_TYPE},
    {"too far", {2, 2}, {1, INT64_C(1) << 40}, 0, FC_CODE_TENSOR_TOO_LARGE},
    {"overflow", {3, 3}, {INT64_MAX, 1}, 0, FC_CODE_TENSOR_TOO_LARGE},
    {"offset overflow", {2, 2}, {3, 1}, INT64_MAX, FC_CODE_TENSOR_TOO_LARGE},
    {"lowest", {2, 2}, {INT64_MIN + 1, 1}, -2, FC_CODE_TENSOR_TOO_LARGE},
};

static void layouts_that_cannot_be_are_refused(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const bad_layout_row_t, row, bad_layouts) {
    typed_t typed = type_of(2, row->shape, row->strides, row->offset);
    fc_arena_t arena;
    fc_error_t err = {0};
    fc_arena_init(&arena, fc_allocator_system(), 4096, 1 << 20);
    float data[9] = {0};
    _Alignas(8) uint8_t bytes[24 + 16 * 2];
    fc_span_t block;
    const fc_tensor_t tensor = {FC_DTYPE_F32, 2, row->shape, NULL, data};
    assert_int_not_equal(
        fc_memref_build_as(typed.signature, typed.type, &tensor, sizeof data, 0,
                           &arena, (fc_memref_t *)bytes, &block, &err),
        FC_OK);
    assert_int_equal(err.code, row->code);
    fc_arena_deinit(&arena);
    forget(&typed);
  }
}

typedef struct extent_row_t {
  const char *name;
  int64_t offset, sizes[2], strides[2];
  int64_t first, low, size;  // bytes from `aligned`
} extent_row_t;

static const extent_row_t extents[] = {
    {"dense", 0, {2, 3}, {3, 1}, 0, 0, 24},
    {"offset", 5, {2, 3}, {3, 1}, 20, 20, 24},
    {"gaps", 0, {2, 2}, {16, 2}, 0, 0, 76},
    {"backwards", 5, {2, 3}, {3, -1}, 20, 12, 24},
    {"broadcast", 1, {7, 1}, {0, 9}, 4, 4, 4},
    {"empty", 9, {0, 3}, {INT64_MAX, INT64_MAX}, 0, 0, 0},
};

static void the_bytes_a_result_spans_are_exact(void **state) {
  (void)state;
  const int64_t dims[] = {-1, -1};
  typed_t typed = type_of(2, dims, NULL, 0);
  FC_TEST_EACH_ROW(const extent_row_t, row, extents) {
    float data[64];
    struct {
      void *allocated, *aligned;
      int64_t offset, sizes[2], strides[2];
    } result = {data,
                data,
                row->offset,
                {row->sizes[0], row->sizes[1]},
                {row->strides[0], row->strides[1]}};
    fc_tensor_t tensor;
    fc_span_t extent;
    fc_error_t err;
    assert_int_equal(
        fc_memref_read((const fc_memref_t *)(const void *)&result, 2,
                       typed.signature, typed.type, 0, &tensor, &extent, &err),
        FC_OK);
    assert_int_equal(extent.size, row->size);
    if (!row->size) continue;
    assert_ptr_equal(tensor.data, (uint8_t *)data + row->first);
    assert_ptr_equal(extent.data, (uint8_t *)data + row->low);
  }
  forget(&typed);
}

// A result must have the layout that its type states. Where the type leaves it open,
// any layout is accepted.
typedef struct layout_said_t {
  int64_t offset, sizes[2], strides[2];
} layout_said_t;

static const struct {
  const char *name;
  layout_said_t declared, result;
  const char *message;  // NULL: the result is accepted
} agreements[] = {
    {"as declared", {4, {2, 3}, {3, 1}}, {4, {2, 3}, {3, 1}}, NULL},
    {"any", {DYNAMIC, {-1, -1}, {DYNAMIC, DYNAMIC}}, {7, {1, 2}, {9, 2}}, NULL},
    {"no offset",
     {4, {2, 3}, {3, 1}},
     {0, {2, 3}, {3, 1}},
     "result 0: its offset is 0, its type says 4"},
    {"an offset that is not declared",
     {0, {2, 3}, {3, 1}},
     {1, {2, 3}, {3, 1}},
     "result 0: its offset is 1, its type says 0"},
    {"another stride",
     {4, {2, 3}, {3, 1}},
     {4, {2, 3}, {4, 1}},
     "result 0: stride 0 is 4, its type says 3"},
    {"the last stride",
     {4, {2, 3}, {DYNAMIC, 1}},
     {4, {2, 3}, {4, 2}},
     "result 0: stride 1 is 2, its type says 1"},
    {"another dim",
     {4, {2, 3}, {3, 1}},
     {4, {2, 2}, {3, 1}},
     "result 0: dim 1 is 2, its type says 3"},
};

static void a_result_has_the_layout_of_its_type(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(agreements[0]), row, agreements) {
    typed_t typed = type_of(2, row->declared.sizes, row->declared.strides,
                            row->declared.offset);
    float data[64];
    struct {
      void *allocated, *aligned;
      layout_said_t said;
    } result = {data, data, row->result};
    fc_tensor_t tensor;
    fc_span_t extent;
    fc_error_t err;
    fc_status_t status =
        fc_memref_read((const fc_memref_t *)(const void *)&result, 2,
                       typed.signature, typed.type, 0, &tensor, &extent, &err);
    if (row->message) {
      assert_int_equal(err.code, FC_CODE_BAD_RESULT);
      assert_string_equal(err.message, row->message);
    }
    assert_int_equal(status == FC_OK, !row->message);
    forget(&typed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(the_descriptor_is_what_mlir_lays_out),
      FC_TEST(an_empty_tensor_still_has_an_address),
      FC_TEST(arguments_get_the_layout_their_type_demands),
      FC_TEST(layouts_that_cannot_be_are_refused),
      FC_TEST(the_bytes_a_result_spans_are_exact),
      FC_TEST(a_result_has_the_layout_of_its_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
