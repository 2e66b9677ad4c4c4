// SPDX-License-Identifier: Apache-2.0
//
// .npy files written by hand: valid headers in every spelling that NumPy has used, and
// headers that lie. tests/e2e/test_cli.py compares with NumPy itself.
#include "helpers/test.h"

#include <stdio.h>

#include "value/npy.h"

typedef struct npy_row_t {
  const char *name;
  unsigned version;  // and sixteen times the minor one
  const char *header;
  const char *data;  // hex
  fc_code_t code;
  fc_dtype_t dtype;
  int32_t rank;
  int64_t shape[3];
  const char *elements;  // hex, row-major little-endian
} npy_row_t;

#define HEAD(descr, fortran, shape) \
  "{'descr': '" descr "', 'fortran_order': " fortran ", 'shape': " shape ", }"

static const npy_row_t rows[] = {
    {"vector",
     1,
     HEAD("<i2", "False", "(3,)"),
     "010002000300",
     0,
     FC_DTYPE_I16,
     1,
     {3},
     "010002000300"},
    {"scalar",
     1,
     HEAD("<f4", "False", "()"),
     "0000803f",
     0,
     FC_DTYPE_F32,
     0,
     {0},
     "0000803f"},
    {"big-endian",
     1,
     HEAD(">i4", "False", "(2,)"),
     "0000000100000002",
     0,
     FC_DTYPE_I32,
     1,
     {2},
     "0100000002000000"},
    {"big-endian complex",
     1,
     HEAD(">c8", "False", "()"),
     "0102030405060708",
     0,
     FC_DTYPE_C64,
     0,
     {0},
     "0403020108070605"},
    {"bf16, as ml_dtypes has it written",
     1,
     HEAD("<V2", "False", "(2,)"),
     "803fc0ff",
     0,
     FC_DTYPE_BF16,
     1,
     {2},
     "803fc0ff"},
    {"Fortran order",
     1,
     HEAD("|u1", "True", "(2, 3)"),
     "000301040205",
     0,
     FC_DTYPE_UI8,
     2,
     {2, 3},
     "000102030405"},
    {"Fortran order of rank 3",
     1,
     HEAD("|i1", "True", "(2, 1, 2)"),
     "00020103",
     0,
     FC_DTYPE_I8,
     3,
     {2, 1, 2},
     "00010203"},
    {"native order",
     1,
     HEAD("=f8", "False", "(1,)"),
     "000000000000f03f",
     0,
     FC_DTYPE_F64,
     1,
     {1},
     "000000000000f03f"},
    {"no order",
     1,
     HEAD("|b1", "False", "(2,)"),
     "0001",
     0,
     FC_DTYPE_I1,
     1,
     {2},
     "0001"},
    {"any order of keys, double quotes, no last comma",
     2,
     "{\"shape\":(1,2),\"fortran_order\":False,\"descr\":\"<u2\"}\n",
     "01000200",
     0,
     FC_DTYPE_UI16,
     2,
     {1, 2},
     "01000200"},
    {"long integers of Python 2",
     3,
     HEAD("<i2", "False", "(2L,)"),
     "01000200",
     0,
     FC_DTYPE_I16,
     1,
     {2},
     "01000200"},
    {"empty",
     1,
     HEAD("<f4", "False", "(0, 3)"),
     "",
     0,
     FC_DTYPE_F32,
     2,
     {0, 3},
     ""},
    {"empty and huge",
     1,
     HEAD("<f4", "True", "(0, 9223372036854775807)"),
     "",
     0,
     FC_DTYPE_F32,
     2,
     {0, INT64_MAX},
     ""},

    {"too few bytes",
     1,
     HEAD("<i2", "False", "(3,)"),
     "0100020003",
     FC_CODE_DATA_LENGTH,
     0,
     0,
     {0},
     ""},
    {"too many bytes",
     1,
     HEAD("<i2", "False", "(1,)"),
     "01000200",
     FC_CODE_DATA_LENGTH,
     0,
     0,
     {0},
     ""},
    {"product overflows",
     1,
     HEAD("<i2", "False", "(4294967296, 4294967296, 4294967296)"),
     "",
     FC_CODE_TENSOR_TOO_LARGE,
     0,
     0,
     {0},
     ""},
    {"bytes overflow",
     1,
     HEAD("<c16", "False", "(2305843009213693952,)"),
     "",
     FC_CODE_TENSOR_TOO_LARGE,
     0,
     0,
     {0},
     ""},
    {"dim overflows",
     1,
     HEAD("<i2", "False", "(9223372036854775808,)"),
     "",
     FC_CODE_BINARY_FRAMING,
     0,
     0,
     {0},
     ""},
    {"negative dim",
     1,
     HEAD("<i2", "False", "(-1,)"),
     "",
     FC_CODE_BINARY_FRAMING,
     0,
     0,
     {0},
     ""},
    {"rank over the limit",
     1,
     HEAD(
         "<i2", "False",
         "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"),
     "0000",
     FC_CODE_BINARY_FRAMING,
     0,
     0,
     {0},
     ""},
    {"objects",
     1,
     HEAD("|O", "False", "(1,)"),
     "00",
     FC_CODE_DTYPE_MISMATCH,
     0,
     0,
     {0},
     ""},
    {"text",
     1,
     HEAD("<U4", "False", "(1,)"),
     "00",
     FC_CODE_DTYPE_MISMATCH,
     0,
     0,
     {0},
     ""},
    {"records",
     1,
     "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': "
     "(1,)}",
     "0000",
     FC_CODE_BINARY_FRAMING,
     0,
     0,
     {0},
     ""},
    {"key twice",
     1,
     "{'descr': '<i2', 'descr': '<i2', 'fortran_order': False, "
     "'shape': (1,)}",
     "0000",
     FC_CODE_BINARY_FRAMING,
     0,
     0,
     {0},
     ""},
    {"key missing",
     1,
     "{'descr': '<i2', 'shape': (1,)}",
     "0000",
     FC_CODE_BINARY_FRAMING,
     0,
     0,
     {0},
     ""},
    {"key unknown",
     1,
     "{'descr': '<i2', 'fortran_order': False, 'shape': (1,),"
     " 'x': 1}",
     "0000",
     FC_CODE_BINARY_FRAMING,
     0,
     0,
     {0},
     ""},
    {"code",
     1,
     "{'descr': '<i2', 'fortran_order': False, 'shape': (1+1,)}",
     "00000000",
     FC_CODE_BINARY_FRAMING,
     0,
     0,
     {0},
     ""},
    {"trailing text",
     1,
     HEAD("<i2", "False", "(1,)") " x",
     "0000",
     FC_CODE_BINARY_FRAMING,
     0,
     0,
     {0},
     ""},
    {"version 1.9",
     1 + 16 * 9,
     HEAD("<i2", "False", "(1,)"),
     "0000",
     FC_CODE_BINARY_FRAMING,
     0,
     0,
     {0},
     ""},
    {"version 4",
     4,
     HEAD("<i2", "False", "(1,)"),
     "0000",
     FC_CODE_BINARY_FRAMING,
     0,
     0,
     {0},
     ""},
};

static size_t from_hex(const char *hex, char *out) {
  static const char kDigits[] = "0123456789abcdef";
  size_t size = strlen(hex) / 2;
  for (size_t i = 0; i < size; i++) {
    size_t high = (size_t)(strchr(kDigits, hex[2 * i]) - kDigits);
    size_t low = (size_t)(strchr(kDigits, hex[2 * i + 1]) - kDigits);
    out[i] = (char)(high << 4 | low);
  }
  return size;
}

static size_t make_file(const npy_row_t *row, char *out) {
  size_t size = strlen(row->header);
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (char)(row->version % 16);
  out[7] = (char)(row->version / 16);
  out[8] = (char)(size & 0xFF);
  out[9] = (char)(size >> 8);
  size_t at = 10;
  if (row->version % 16 > 1) out[at++] = 0, out[at++] = 0;
  memcpy(out + at, row->header, size);
  at += size;
  return at + from_hex(row->data, out + at);
}

static void files_read_or_say_why(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const npy_row_t, row, rows) {
    char file[1024], wanted[64];
    fc_arena_t arena;
    fc_npy_t array;
    fc_error_t err = {0};
    fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
    fc_str_t text = {file, make_file(row, file)};
    fc_status_t status = fc_npy_parse(&arena, text, NULL, &array, &err);
    assert_int_equal(err.code, row->code);
    assert_int_equal(status == FC_OK, row->code == FC_CODE_NONE);
    if (status == FC_OK) {
      size_t size = from_hex(row->elements, wanted);
      assert_int_equal(array.dtype, row->dtype);
      assert_int_equal(array.rank, row->rank);
      for (int32_t i = 0; i < row->rank; i++) {
        assert_int_equal(array.shape[i], row->shape[i]);
      }
      assert_int_equal(array.data.size, size);
      if (size) assert_memory_equal(array.data.data, wanted, size);
    }
    fc_arena_deinit(&arena);
  }
}

static void no_prefix_of_a_file_is_one(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const npy_row_t, row, rows) {
    char file[1024];
    size_t whole = make_file(row, file);
    for (size_t size = 0; size < whole; size++) {
      char *copy = fc_alloc(fc_allocator_system(), size);
      memcpy(copy, file, size);
      fc_arena_t arena;
      fc_npy_t array;
      fc_error_t err = {0};
      fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
      fc_status_t status =
          fc_npy_parse(&arena, fc_str_make(copy, size), NULL, &array, &err);
      // Only a file that is one byte too long may have a valid prefix.
      if (row->code != FC_CODE_DATA_LENGTH) assert_int_not_equal(status, FC_OK);
      fc_arena_deinit(&arena);
      fc_free(fc_allocator_system(), copy);
    }
  }
}

static void written_files_read_back(void **state) {
  (void)state;
  static const char kData[] = "0123456789abcdef01234567";
  fc_npy_t array = {.dtype = FC_DTYPE_I32,
                    .rank = 3,
                    .shape = {1, 2, 3},
                    .data = {kData, 24}};
  fc_text_t file;
  fc_error_t err = {0};
  fc_arena_t arena;
  fc_npy_t back;
  fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
  fc_text_init(&file, fc_allocator_system(), 4096);
  assert_int_equal(fc_npy_print(&array, &file.sink, &err), FC_OK);
  fc_str_t text = fc_text_str(&file);
  assert_int_equal((text.size - 24) % 64, 0);
  assert_int_equal(text.data[text.size - 25], '\n');
  assert_int_equal(fc_npy_parse(&arena, text, NULL, &back, &err), FC_OK);
  assert_int_equal(back.dtype, FC_DTYPE_I32);
  assert_int_equal(back.rank, 3);
  assert_memory_equal(back.shape, array.shape, 3 * sizeof array.shape[0]);
  assert_memory_equal(back.data.data, kData, 24);

  array.dtype = FC_DTYPE_F8E5M2;
  assert_int_not_equal(fc_npy_print(&array, &file.sink, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_DTYPE_MISMATCH);
  fc_text_deinit(&file);
  fc_arena_deinit(&arena);
}

// What numpy.lib.format.write_array_header_2_0 writes between the brackets of a shape.
static void shapes_are_tuples_of_python(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int32_t rank;
    int64_t shape[3];
  } shapes[] = {
      {"'shape': (), }", 0, {0}},
      {"'shape': (3,), }", 1, {3}},
      {"'shape': (3, 1), }", 2, {3, 1}},
      {"'shape': (1, 3, 1), }", 3, {1, 3, 1}},
  };
  FC_TEST_EACH_ROW(const __typeof__(shapes[0]), row, shapes) {
    fc_npy_t array = {
        .dtype = FC_DTYPE_I8, .rank = row->rank, .data = {"abc", 3}};
    memcpy(array.shape, row->shape, sizeof row->shape);
    if (!row->rank) array.data.size = 1;
    fc_text_t file;
    fc_text_init(&file, fc_allocator_system(), 4096);
    assert_int_equal(fc_npy_print(&array, &file.sink, NULL), FC_OK);
    fc_str_t text = fc_text_str(&file);
    assert_non_null(memmem(text.data, text.size, row->name, strlen(row->name)));
    fc_text_deinit(&file);
  }
}

// From version 2 on, the header's size has four bytes. Small headers need only one of
// these.
static void a_header_may_be_longer_than_64_kib(void **state) {
  (void)state;
  static const char kHeader[] = HEAD("|i1", "False", "(2,)");
  const size_t size = 70000, total = 12 + size + 2;
  char *file = fc_alloc(fc_allocator_system(), total);
  memset(file, ' ', total);
  memcpy(file, "\x93NUMPY\x02\x00\x70\x11\x01\x00", 12);
  memcpy(file + 12, kHeader, sizeof kHeader - 1);
  file[12 + size - 1] = '\n';
  memcpy(file + 12 + size, "\x05\x06", 2);
  fc_arena_t arena;
  fc_npy_t array;
  fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
  assert_int_equal(
      fc_npy_parse(&arena, fc_str_make(file, total), NULL, &array, NULL),
      FC_OK);
  assert_int_equal(array.data.size, 2);
  assert_memory_equal(array.data.data, "\x05\x06", 2);
  fc_arena_deinit(&arena);
  fc_free(fc_allocator_system(), file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(files_read_or_say_why),
      FC_TEST(no_prefix_of_a_file_is_one),
      FC_TEST(written_files_read_back),
      FC_TEST(shapes_are_tuples_of_python),
      FC_TEST(a_header_may_be_longer_than_64_kib),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
