// SPDX-License-Identifier: Apache-2.0
//
// Zip files with one entry, in which one byte is changed. Python's zipfile accepts and
// refuses the same files. tests/e2e/test_faces.py reads files that NumPy wrote.
#include "value/zip.h"

#include "helpers/test.h"

#define NAME "x.npy"
// The offsets of the entry's own header and of its header in the directory. The latter
// follows the name and four bytes of data.
#define LOCAL 0
#define CENTRAL (30 + sizeof NAME - 1 + 4)

typedef struct row_t {
  const char *name;
  size_t at;
  uint8_t flip;         // bits of that byte that change
  const char *message;  // NULL: it is read
} row_t;

static const row_t rows[] = {
    {"unchanged", 0, 0, NULL},
    {"another version in its own head", LOCAL + 4, 1, NULL},
    {"another checksum in its own head", LOCAL + 14, 1, NULL},
    {"another flag in its own head", LOCAL + 6, 1 << 3, NULL},
    {"UTF-8 in one head", LOCAL + 7, 1 << 3, NULL},  // the name is ASCII
    {"another name in its own head", LOCAL + 30, 1, "an entry has two names"},
    {"another name in the directory", CENTRAL + 46, 1,
     "an entry has two names"},
    {"letters beyond ASCII in one", CENTRAL + 46, 0x80,
     "an entry has two names"},
    {"a shorter name in its own head", LOCAL + 26, 1, "an entry has two names"},
    {"encrypted", CENTRAL + 8, 1 << 0, "an entry is encrypted"},
    {"a patch", CENTRAL + 8, 1 << 5, "an entry is a patch"},
    {"strongly encrypted", CENTRAL + 8, 1 << 6, "an entry is encrypted"},
    {"another checksum", CENTRAL + 16, 1, "the bytes of an entry are damaged"},
    {"another method", CENTRAL + 10, 1, "an entry is neither stored"},
};

static fc_status_t read_all(fc_str_t file, fc_error_t *err) {
  fc_zip_t zip;
  fc_zip_entry_t entry;
  fc_str_t bytes;
  bool more = false;
  FC_TRY(fc_zip_open(file, &zip, err));
  FC_TRY(fc_zip_next(&zip, &entry, &more, err));
  assert_true(more);
  FC_TRY(fc_zip_read(&entry, SIZE_MAX, NULL, NULL, &bytes, err));
  assert_true(fc_str_equal(bytes, FC_STR("abcd")));
  return fc_zip_next(&zip, &entry, &more, err);
}

static void a_changed_byte_is_taken_or_not_as_by_python(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    fc_text_t file;
    fc_error_t err;
    fc_zip_part_t part = {.name = FC_STR(NAME), .data = FC_STR("abcd")};
    fc_text_init(&file, fc_allocator_system(), SIZE_MAX);
    assert_int_equal(fc_zip_print(&part, 1, &file.sink, NULL), FC_OK);
    file.data[row->at] = (char)(file.data[row->at] ^ row->flip);
    const fc_status_t status = read_all(fc_text_str(&file), &err);
    if (!row->message) {
      assert_int_equal(status, FC_OK);
    } else {
      assert_int_equal(err.code, FC_CODE_BINARY_FRAMING);
      assert_non_null(strstr(err.message, row->message));
    }
    fc_text_deinit(&file);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_changed_byte_is_taken_or_not_as_by_python),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
