// SPDX-License-Identifier: Apache-2.0
#include "farcall/value.h"

#include "helpers/test.h"

typedef struct count_row_t {
  const char *name;
  int32_t rank;
  int64_t shape[4];
  fc_dtype_t dtype;
  bool fits;
  size_t count;
  size_t size;
} count_row_t;

static const count_row_t counts[] = {
    {"rank 0", 0, {0}, FC_DTYPE_F32, true, 1, 4},
    {"matrix", 2, {2, 3}, FC_DTYPE_F64, true, 6, 48},
    {"no elements", 2, {0, 3}, FC_DTYPE_F64, true, 0, 0},
    {"negative", 2, {2, -1}, FC_DTYPE_I8, false, 0, 0},
    {"negative beside 0", 2, {0, -1}, FC_DTYPE_I8, false, 0, 0},
    {"2^64 elements", 2, {1LL << 32, 1LL << 32}, FC_DTYPE_I8, false, 0, 0},
    {"2^64 bytes", 1, {1LL << 61}, FC_DTYPE_F64, false, 0, 0},
    {"2^63 bytes", 1, {1LL << 60}, FC_DTYPE_F64, true, 1ULL << 60, 1ULL << 63},
    {"huge beside 0", 3, {1LL << 62, 1LL << 62, 0}, FC_DTYPE_I8, true, 0, 0},
};

static void a_shape_has_a_count_and_a_size(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const count_row_t, row, counts) {
    size_t count = 77, size = 77;
    bool fits =
        fc_shape_count(row->shape, row->rank, row->dtype, &count, &size);
    assert_int_equal(fits, row->fits);
    assert_int_equal(count, row->fits ? row->count : 77);
    assert_int_equal(size, row->fits ? row->size : 77);
  }
}

typedef struct view_row_t {
  const char *name;
  int32_t rank;
  int64_t shape[3];
  int64_t strides[3];
  int offset;  // of element (0,…,0) in 0 1 2 … 11
  bool dense;
  int expected[12];
} view_row_t;

static const view_row_t views[] = {
    {"dense",
     2,
     {3, 4},
     {4, 1},
     0,
     true,
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {"transposed",
     2,
     {4, 3},
     {1, 4},
     0,
     false,
     {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
    {"every other", 2, {3, 2}, {4, 2}, 0, false, {0, 2, 4, 6, 8, 10}},
    {"inner block", 2, {2, 2}, {4, 1}, 5, false, {5, 6, 9, 10}},
    {"reversed", 1, {4}, {-1}, 11, false, {11, 10, 9, 8}},
    {"reversed rows", 2, {3, 2}, {-4, 1}, 8, false, {8, 9, 4, 5, 0, 1}},
    {"broadcast", 2, {2, 3}, {0, 1}, 3, false, {3, 4, 5, 3, 4, 5}},
    {"one row", 2, {1, 3}, {99, 1}, 2, true, {2, 3, 4}},
    {"one column", 2, {3, 1}, {1, 99}, 2, true, {2, 3, 4}},
    {"three dims",
     3,
     {2, 3, 2},
     {6, 2, 1},
     0,
     true,
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {"three dims, swapped",
     3,
     {3, 2, 2},
     {2, 6, 1},
     0,
     false,
     {0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}},
    {"rank 0", 0, {0}, {0}, 7, true, {7}},
    {"empty", 2, {0, 3}, {9, 9}, 0, true, {0}},
};

static void a_view_gathers_to_row_major(void **state) {
  (void)state;
  int32_t source[12];
  for (int i = 0; i < 12; i++) source[i] = i;
  FC_TEST_EACH_ROW(const view_row_t, row, views) {
    fc_tensor_t tensor = {.dtype = FC_DTYPE_I32,
                          .rank = row->rank,
                          .shape = row->shape,
                          .strides = row->strides,
                          .data = source + row->offset};
    assert_int_equal(fc_tensor_is_dense(&tensor), row->dense);
    int32_t dest[12];
    size_t count, size;
    assert_true(
        fc_shape_count(row->shape, row->rank, FC_DTYPE_I32, &count, &size));
    fc_tensor_gather(&tensor, dest);
    for (size_t i = 0; i < count; i++) {
      assert_int_equal(dest[i], row->expected[i]);
    }
  }
}

static void no_strides_means_dense(void **state) {
  (void)state;
  int64_t shape[] = {2, 2};
  int8_t source[] = {1, 2, 3, 4}, dest[4] = {0};
  fc_tensor_t tensor = {
      .dtype = FC_DTYPE_I8, .rank = 2, .shape = shape, .data = source};
  assert_true(fc_tensor_is_dense(&tensor));
  fc_tensor_gather(&tensor, dest);
  assert_memory_equal(dest, source, sizeof source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_shape_has_a_count_and_a_size),
      FC_TEST(a_view_gathers_to_row_major),
      FC_TEST(no_strides_means_dense),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
