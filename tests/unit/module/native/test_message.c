// SPDX-License-Identifier: Apache-2.0
//
// Messages as MLIR 22's checks and cf.assert print them, and as hand-written modules
// might.
#include "helpers/test.h"

#include <string.h>

#include "module/native/message.h"

typedef struct message_row_t {
  const char *name;
  const char *text;
  fc_status_t status;
  const char *message;
} message_row_t;

static const message_row_t rows[] = {
    {"verification",
     "ERROR: Runtime op verification failed\n"
     "%0 = memref.load %arg0[%arg1] : memref<?xf32>\n"
     "^ out-of-bounds access\n"
     "Location: loc(\"/tmp/tmp.uKEixcARsh/0.mlir\":3:95)\n",
     FC_OUT_OF_RANGE,
     "'f': out-of-bounds access at 0.mlir:3:95: %0 = memref.load "
     "%arg0[%arg1] : memref<?xf32>"},
    {"verification with locations",
     "ERROR: Runtime op verification failed\n"
     "%1 = memref.load %a[%i] : memref<?xf32> loc(\"model.mlir\":12:10)\n"
     "^ out-of-bounds access\n"
     "Location: loc(\"model.mlir\":12:10)\n",
     FC_OUT_OF_RANGE,
     "'f': out-of-bounds access at model.mlir:12:10: %1 = memref.load %a[%i] "
     ": memref<?xf32>"},
    {"other location",
     "ERROR: Runtime op verification failed\nx.y\n^ wrong\n"
     "Location: loc(unknown)\n",
     FC_FAILED_PRECONDITION, "'f': wrong at unknown: x.y"},
    {"nothing but the headline", "ERROR: Runtime op verification failed\n",
     FC_FAILED_PRECONDITION, "'f': runtime check failed"},
    {"assert", "rank must be 2\n", FC_FAILED_PRECONDITION,
     "'f': rank must be 2"},
    {"lines", "one\ntwo\n", FC_FAILED_PRECONDITION, "'f': one two"},
    {"bounds in words", "index out of bounds: 7\n", FC_OUT_OF_RANGE,
     "'f': index out of bounds: 7"},
    {"a division",
     "ERROR: Runtime op verification failed\n^ integer division by zero\n"
     "Location: loc(\"m.mlir\":2:8)\n",
     FC_OUT_OF_RANGE, "'f': integer division by zero at m.mlir:2:8"},
    {"silence", "", FC_FAILED_PRECONDITION, "'f': it called abort"},
    {"paths", "see /home/a/b.c:3 and \"/tmp/x y\" or a/b, 1/2, /",
     FC_FAILED_PRECONDITION, "'f': see b.c:3 and \"x y\" or a/b, 1/2, /"},
    {"paths of folders", "/home/a/b/ (/srv//m//) // /x/",
     FC_FAILED_PRECONDITION, "'f': b/ (m//) // x/"},
    {"control bytes",
     "a\tb\x01"
     "c\x7f",
     FC_FAILED_PRECONDITION, "'f': a b c "},
    {"not UTF-8", "\xff", FC_FAILED_PRECONDITION, "'f': \\xff"},
};

static void messages_are_one_line_without_directories(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const message_row_t, row, rows) {
    fc_error_t err;
    assert_int_equal(fc_native_aborted(FC_STR("f"), fc_str(row->text), &err),
                     row->status);
    assert_int_equal(err.code, FC_CODE_CALL_FAILED);
    assert_string_equal(err.message, row->message);
  }
}

static void any_length_fits(void **state) {
  (void)state;
  static char text[3000];
  for (size_t size = 0; size < sizeof text; size += 7) {
    memset(text, 'x', size);
    for (size_t i = 0; i < size; i += 11) text[i] = "\n/ ^\"\xc3"[i % 6];
    fc_error_t err;
    fc_native_aborted(FC_STR("f"), fc_str_make(text, size), &err);
    assert_true(strlen(err.message) < sizeof err.message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(messages_are_one_line_without_directories),
      FC_TEST(any_length_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
