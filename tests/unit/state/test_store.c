// SPDX-License-Identifier: Apache-2.0
//
// Rows that lie, places that are used only once, and views of places.
#include "state/store.h"

#include <stdio.h>
#include <unistd.h>

#include "helpers/pages.h"
#include "helpers/test.h"

#define PAGE FC_STORE_PAGE

// A valid row of 12 bytes, in page number `page`.
static fc_store_row_t good_row(uint64_t page) {
  return (fc_store_row_t){.name = "kv.0",
                          .name_size = 4,
                          .kind = FC_VALUE_TENSOR,
                          .dtype = FC_DTYPE_F32,
                          .rank = 1,
                          .dims = {3},
                          .offset = page + PAGE - 64,
                          .size = 12};
}

typedef struct row_row_t {
  const char *name;
  void (*spoil)(fc_store_row_t *row);
  bool fine;
} row_row_t;

#define SPOIL(name, change) \
  static void name(fc_store_row_t *row) { change; }
SPOIL(nothing, (void)row)
SPOIL(no_name, row->name_size = 0)
SPOIL(long_name, row->name_size = 64)
SPOIL(longest_name, memset(row->name, 'x', 63); row->name_size = 63)
SPOIL(open_name, memset(row->name, 'x', 64); row->name_size = 63)
SPOIL(slash, row->name[1] = '/')
SPOIL(zero_byte, row->name[1] = 0)
SPOIL(dot_first, row->name[0] = '.')
SPOIL(list, row->kind = FC_VALUE_LIST)
SPOIL(no_kind, row->kind = 77)
SPOIL(no_dtype, row->dtype = FC_DTYPE_NONE)
SPOIL(odd_dtype, row->dtype = 255)
SPOIL(other_dtype, row->dtype = FC_DTYPE_F64)
SPOIL(deep, row->rank = FC_RANK_MAX + 1)
SPOIL(negative_dim, row->dims[0] = -3)
SPOIL(huge, row->rank = 2; row->dims[0] = INT64_MAX; row->dims[1] = INT64_MAX)
SPOIL(short_, row->size = 8)
SPOIL(scalar_of_three, row->kind = FC_VALUE_SCALAR)
SPOIL(scalar, row->kind = FC_VALUE_SCALAR; row->rank = 0; row->size = 4)
SPOIL(bytes, row->kind = FC_VALUE_BYTES; row->rank = 0; row->dtype = 0)
SPOIL(typed_bytes, row->kind = FC_VALUE_BYTES; row->rank = 0)
SPOIL(unaligned, row->offset++)
SPOIL(page_begin, row->offset -= PAGE - 64)
SPOIL(wraps, row->offset = UINT64_MAX - 63)
SPOIL(behind, row->offset = FC_STORE_SIZE_MAX + PAGE - 64)
SPOIL(last, row->offset = FC_STORE_SIZE_MAX - 64)
SPOIL(empty, row->dims[0] = 0; row->size = row->offset = 0)
SPOIL(empty_somewhere, row->dims[0] = 0; row->size = 0)
SPOIL(opaque, row->kind = FC_VALUE_OPAQUE; row->rank = row->dtype = 0;
      row->size = 0; memcpy(row->type, "!vm.list", 9))
SPOIL(opaque_of_no_type, row->kind = FC_VALUE_OPAQUE;
      row->rank = row->dtype = 0; row->size = 0; row->type[0] = 0)
SPOIL(too_large_bytes, row->kind = FC_VALUE_BYTES; row->rank = 0;
      row->dtype = 0; row->size = UINT64_MAX)

static const row_row_t kRows[] = {
    {"as it is", nothing, true},
    {"no name", no_name, false},
    {"a name of 64 bytes", long_name, false},
    {"a name of 63 bytes", longest_name, true},
    {"a name without end", open_name, false},
    {"a slash", slash, false},
    {"a NUL in the name", zero_byte, false},
    {"a dot first", dot_first, false},
    {"a list", list, false},
    {"no such kind", no_kind, false},
    {"no dtype", no_dtype, false},
    {"no such dtype", odd_dtype, false},
    {"a dtype of another size", other_dtype, false},
    {"33 dims", deep, false},
    {"a negative dim", negative_dim, false},
    {"dims that overflow", huge, false},
    {"too few bytes", short_, false},
    {"a scalar with dims", scalar_of_three, false},
    {"a scalar", scalar, true},
    {"bytes", bytes, true},
    {"bytes of a dtype", typed_bytes, false},
    {"not aligned", unaligned, false},
    {"not at the page's end", page_begin, false},
    {"an offset that wraps", wraps, false},
    {"behind the slab", behind, false},
    {"at the end of the slab", last, true},
    {"empty", empty, true},
    {"empty, and yet somewhere", empty_somewhere, false},
    {"an opaque reference", opaque, true},
    {"an opaque reference of no type", opaque_of_no_type, false},
    {"bytes without end", too_large_bytes, false},
};

static void a_row_is_checked_by_itself(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_row_t, row, kRows) {
    fc_store_row_t it = good_row(7 * PAGE);
    fc_error_t err = {0};
    row->spoil(&it);
    assert_int_equal(fc_store_verify(&it, &err) == FC_OK, row->fine);
    if (!row->fine) assert_int_equal(err.code, FC_CODE_INTERNAL);
  }
}

// ---------------------------------------------------------------------------

typedef struct bench_t {
  int file;
  fc_store_t store;
  fc_store_desk_t desk;
} bench_t;

static void open_bench(bench_t *bench) {
  *bench = (bench_t){0};
  fc_error_t err = {0};
  assert_int_equal(fc_store_make_slab(&bench->file, &err), FC_OK);
  fc_store_init(&bench->store);
  fc_store_open(&bench->store, bench->file);
  bench->desk = (fc_store_desk_t){.end = FC_STORE_SIZE_MAX, .budget = 1 << 30};
  fc_store_begin(&bench->store, &bench->desk);
}

static void close_bench(bench_t *bench) {
  fc_store_end(&bench->store);
  fc_store_deinit(&bench->store);
  close(bench->file);
}

// Adds a value of `count` bytes.
static fc_status_t add(bench_t *bench, const char *name, int64_t count,
                       void **out_data, fc_error_t *err) {
  const fc_value_t value = {
      .kind = FC_VALUE_TENSOR,
      .tensor = {.dtype = FC_DTYPE_UI8, .rank = 1, .shape = &count}};
  fc_store_row_t row;
  FC_TRY(fc_store_describe(fc_str(name), &value, &row, err));
  FC_TRY(fc_store_place(&bench->store, &row, out_data, err));
  FC_TRY(fc_store_put(&bench->store, &row, err));
  return fc_store_verify(fc_store_find(&bench->desk, fc_str(name)), err);
}

static void a_place_is_of_zeros_and_ends_at_an_unmapped_page(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 63, 64, 65, 4095, 4096, 4097, 100000};
  bench_t bench;
  open_bench(&bench);
  for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
    const uint64_t size = (uint64_t)sizes[i];
    char name[8];
    void *data;
    fc_error_t err = {0};
    snprintf(name, sizeof name, "v%zu", i);
    assert_int_equal(add(&bench, name, sizes[i], &data, &err), FC_OK);
    assert_int_equal((uintptr_t)data % FC_STORE_ALIGNMENT, 0);
    const uint8_t *bytes = data;
    for (uint64_t k = 0; k < size; k++) assert_int_equal(bytes[k], 0);
    memset(data, 0xEE, size);
    const uint8_t *end = bytes + (size + 63) / 64 * 64;
    assert_int_equal((uintptr_t)end % PAGE, 0);
    // The page after it exists, but cannot be read.
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], end, 1), -1);
    assert_int_equal(write(pipes[1], end - 1, 1), 1);
    close(pipes[0]);
    close(pipes[1]);
  }
  close_bench(&bench);
}

static void what_was_punched_is_zeros_and_what_lies_beside_stays(void **state) {
  (void)state;
  bench_t bench;
  fc_error_t err = {0};
  void *a, *b;
  open_bench(&bench);
  assert_int_equal(add(&bench, "a", 5000, &a, &err), FC_OK);
  assert_int_equal(add(&bench, "b", 5000, &b, &err), FC_OK);
  memset(a, 1, 5000);
  memset(b, 2, 5000);
  const fc_store_row_t *row = fc_store_find(&bench.desk, FC_STR("a"));
  fc_store_punch(bench.file, fc_store_page_of(row->offset),
                 fc_store_pages(row->size));
  for (size_t i = 0; i < 5000; i++) {
    assert_int_equal(((uint8_t *)a)[i], 0);
    assert_int_equal(((uint8_t *)b)[i], 2);
  }
  assert_null(fc_store_find(&bench.desk, FC_STR("c")));
  close_bench(&bench);
}

static void more_values_than_views_are_found_again(void **state) {
  (void)state;
  enum { COUNT = FC_STORE_VIEWS + 40 };
  static fc_store_row_t rows[COUNT];
  bench_t bench;
  fc_error_t err = {0};
  open_bench(&bench);
  for (int i = 0; i < COUNT; i++) {
    void *data;
    fc_store_begin(&bench.store, &bench.desk);
    bench.desk.count = 0;
    assert_int_equal(add(&bench, "v", 100 + i, &data, &err), FC_OK);
    memset(data, i, 100);
    rows[i] = bench.desk.rows[0];
  }
  size_t views = 0;
  for (int i = 0; i < COUNT; i++) {
    void *data;
    fc_store_begin(&bench.store, &bench.desk);
    assert_int_equal(fc_store_map(&bench.store, &rows[i], &data, &err), FC_OK);
    assert_int_equal(((uint8_t *)data)[99], i & 0xFF);
    assert_true(fc_store_holds(&bench.store, data));
  }
  for (int i = 0; i < FC_STORE_VIEWS; i++)
    views += bench.store.views[i].size > 0;
  assert_int_equal(views, FC_STORE_VIEWS);
  // A single call cannot use more.
  fc_store_begin(&bench.store, &bench.desk);
  for (int i = 0; i < COUNT; i++) {
    void *data;
    const fc_status_t status =
        fc_store_map(&bench.store, &rows[i], &data, &err);
    assert_int_equal(status == FC_OK, i < FC_STORE_VIEWS);
  }
  close_bench(&bench);
}

static void a_shared_value_is_copied_before_it_is_written(void **state) {
  (void)state;
  bench_t bench;
  fc_error_t err = {0};
  void *first, *own, *again;
  open_bench(&bench);
  assert_int_equal(add(&bench, "kv", 9000, &first, &err), FC_OK);
  memset(first, 7, 9000);
  fc_store_row_t *row = fc_store_find(&bench.desk, FC_STR("kv"));
  const fc_store_row_t before = *row;
  row->change = 0;
  row->flags = FC_STORE_SHARED;
  assert_int_equal(fc_store_own(&bench.store, row, NULL, &own, &err), FC_OK);
  assert_ptr_not_equal(own, first);
  assert_memory_equal(own, first, 9000);
  assert_int_equal(row->change, FC_STORE_NEW);
  assert_int_equal(row->flags, 0);
  assert_true(row->offset > before.offset);
  assert_int_equal(bench.store.copied, 9000);
  // The store writes its own copy in place.
  assert_int_equal(fc_store_own(&bench.store, row, NULL, &again, &err), FC_OK);
  assert_ptr_equal(again, own);
  assert_int_equal(row->change, FC_STORE_NEW | FC_STORE_WRITTEN);
  assert_int_equal(bench.store.copied, 9000);
  close_bench(&bench);
}

typedef struct limit_row_t {
  const char *name;
  uint64_t budget;
  uint64_t room;  // of the grant
  uint32_t code;
  fc_code_t wanted;
  const char *text;
} limit_row_t;

static const limit_row_t kLimits[] = {
    {"all suffices", 2 * PAGE, 3 * PAGE, 0, FC_CODE_NONE, ""},
    {"the budget is short", 2 * PAGE - 1, 9 * PAGE, FC_CODE_OVERLOADED,
     FC_CODE_OVERLOADED, "takes 8192 bytes, 8191 are left"},
    {"no code", PAGE, 9 * PAGE, 0, FC_CODE_TOO_MANY_REQUESTS,
     "takes 8192 bytes, 4096 are left"},
    {"no page behind it", 9 * PAGE, 2 * PAGE, FC_CODE_OVERLOADED,
     FC_CODE_OVERLOADED, "no addresses are left"},
    {"no room", 9 * PAGE, 0, FC_CODE_OVERLOADED, FC_CODE_OVERLOADED,
     "no addresses are left"},
};

static void a_place_needs_budget_and_grant(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const limit_row_t, row, kLimits) {
    bench_t bench;
    fc_error_t err = {0};
    void *data;
    open_bench(&bench);
    bench.desk.budget = row->budget;
    bench.desk.code = row->code;
    bench.desk.end = row->room;
    (void)add(&bench, "kv", 5000, &data, &err);
    assert_int_equal(err.code, row->wanted);
    assert_non_null(strstr(err.message, row->text));
    const bool placed = row->wanted == FC_CODE_NONE;
    assert_int_equal(bench.desk.next, placed ? 3 * PAGE : 0);
    assert_int_equal(bench.desk.budget, placed ? 0 : row->budget);
    assert_int_equal(bench.desk.count, placed);
    close_bench(&bench);
  }
}

static void a_desk_has_so_many_rows(void **state) {
  (void)state;
  bench_t bench;
  fc_error_t err = {0};
  void *data;
  char name[16];
  open_bench(&bench);
  for (int i = 0; i < FC_STORE_ROWS; i++) {
    snprintf(name, sizeof name, "v%d", i);
    assert_int_equal(add(&bench, name, 1, &data, &err), FC_OK);
  }
  assert_int_not_equal(add(&bench, "more", 1, &data, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_TOO_MANY_REQUESTS);
  assert_int_equal(add(&bench, "v5", 1, &data, &err), FC_OK);  // another v5
  assert_int_equal(bench.desk.count, FC_STORE_ROWS);
  close_bench(&bench);
}

// ---------------------------------------------------------------------------

typedef struct type_row_t {
  const char *name;
  fc_value_t value;
  const char *text;  // NULL: it cannot be kept
  uint64_t size;
} type_row_t;

static const int64_t kDims[] = {2, 3};
static const type_row_t kTypes[] = {
    {"tensor",
     {.kind = FC_VALUE_TENSOR,
      .tensor = {.dtype = FC_DTYPE_F16, .rank = 2, .shape = kDims}},
     "{\"kind\":\"tensor\",\"dtype\":\"f16\",\"shape\":[2,3]}",
     12},
    {"rank 0",
     {.kind = FC_VALUE_TENSOR, .tensor = {.dtype = FC_DTYPE_I64}},
     "{\"kind\":\"tensor\",\"dtype\":\"i64\",\"shape\":[]}",
     8},
    {"scalar",
     {.kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_F64},
     "{\"kind\":\"scalar\",\"dtype\":\"f64\"}",
     8},
    {"bytes",
     {.kind = FC_VALUE_BYTES, .bytes = {"abc", 3}},
     "{\"kind\":\"bytes\"}",
     3},
    {"list", {.kind = FC_VALUE_LIST}, NULL, 0},
    {"null", {.kind = FC_VALUE_NULL}, NULL, 0},
    {"opaque", {.kind = FC_VALUE_OPAQUE}, NULL, 0},
};

static void a_row_says_its_type(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const type_row_t, row, kTypes) {
    fc_store_row_t it;
    fc_error_t err = {0};
    const fc_status_t status =
        fc_store_describe(FC_STR("x"), &row->value, &it, &err);
    assert_int_equal(status == FC_OK, row->text != NULL);
    if (!row->text) assert_int_equal(err.code, FC_CODE_UNSUPPORTED_TYPE);
    if (!row->text) continue;
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 4096);
    assert_int_equal(fc_store_print_type(&it, &text.sink, &err), FC_OK);
    const fc_str_t printed = fc_text_str(&text);
    assert_int_equal(printed.size, strlen(row->text));
    assert_memory_equal(printed.data, row->text, printed.size);
    assert_int_equal(it.size, row->size);
    fc_text_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_row_is_checked_by_itself),
      FC_TEST(a_place_is_of_zeros_and_ends_at_an_unmapped_page),
      FC_TEST(what_was_punched_is_zeros_and_what_lies_beside_stays),
      FC_TEST(more_values_than_views_are_found_again),
      FC_TEST(a_shared_value_is_copied_before_it_is_written),
      FC_TEST(a_place_needs_budget_and_grant),
      FC_TEST(a_desk_has_so_many_rows),
      FC_TEST(a_row_says_its_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
