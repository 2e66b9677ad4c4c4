// SPDX-License-Identifier: Apache-2.0
//
// The framing validator alone: verdicts and offsets, which must be the same however the
// bytes are cut. tests/http tests it through sockets.
#include "http1/framing.h"

#include <stdio.h>

#include "helpers/test.h"
#include "config/limits.h"

typedef struct row_t {
  const char *name;
  const char *bytes;
  fc_code_t code;   // NONE: a good head
  uint64_t offset;  // of the error; of a good head, its size
} row_t;

static const row_t kHeads[] = {
    {"least", "GET / HTTP/1.1\r\n\r\n", FC_CODE_NONE, 18},
    {"1.0", "GET / HTTP/1.0\r\n\r\n", FC_CODE_NONE, 18},
    {"1.2", "GET / HTTP/1.2\r\n\r\n", FC_CODE_HTTP_SYNTAX, 13},
    {"1.10", "GET / HTTP/1.10\r\n\r\n", FC_CODE_HTTP_SYNTAX, 14},
    {"fields", "GET / HTTP/1.1\r\na:b\r\nc: d\r\n\r\n", FC_CODE_NONE, 29},
    {"rest stays", "GET / HTTP/1.1\r\n\r\nGET", FC_CODE_NONE, 18},
    {"CRLF first", "\r\n\r\nGET / HTTP/1.1\r\n\r\n", FC_CODE_NONE, 22},
    {"three CRLFs", "\r\n\r\n\r\nGET", FC_CODE_HTTP_SYNTAX, 4},
    {"CR CR", "\r\rGET", FC_CODE_HTTP_SYNTAX, 1},
    {"space first", " GET / HTTP/1.1\r\n", FC_CODE_HTTP_SYNTAX, 0},
    {"digit in method", "G3T /", FC_CODE_HTTP_SYNTAX, 1},
    {"no target", "GET  HTTP/1.1", FC_CODE_HTTP_SYNTAX, 4},
    {"DEL in target", "GET /\x7f", FC_CODE_HTTP_SYNTAX, 5},
    {"third part", "GET / x HTTP/1.1", FC_CODE_HTTP_SYNTAX, 6},
    {"space after version", "GET / HTTP/1.1 \r\n", FC_CODE_HTTP_SYNTAX, 14},
    {"LF after version", "GET / HTTP/1.1\n", FC_CODE_HTTP_SYNTAX, 14},
    {"lower case http", "GET / http/1.1\r\n", FC_CODE_HTTP_SYNTAX, 6},
    {"NUL in name", "GET / HTTP/1.1\r\na\x01:b", FC_CODE_HTTP_SYNTAX, 17},
    {"CR in value", "GET / HTTP/1.1\r\na:b\rc", FC_CODE_HTTP_SYNTAX, 20},
    {"CR before end", "GET / HTTP/1.1\r\n\r\r", FC_CODE_HTTP_SYNTAX, 17},
};

// Feeds `bytes` in two pieces, cut at `split`. 0: in one piece.
static fc_status_t scan(const char *bytes, size_t split, uint64_t *out_offset,
                        bool *out_done, fc_error_t *err) {
  fc_framing_t framing = {0};
  size_t size = strlen(bytes), used;
  fc_status_t status = FC_OK;
  *out_done = false;
  if (split) {
    status = fc_framing_head(&framing, fc_str_make(bytes, split), &used,
                             out_done, err);
  }
  if (status == FC_OK && !*out_done) {
    status = fc_framing_head(&framing, fc_str_make(bytes + split, size - split),
                             &used, out_done, err);
  }
  *out_offset = framing.offset;
  return status;
}

static void heads_are_judged_the_same_however_they_are_cut(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, kHeads) {
    for (size_t split = 0; split < strlen(row->bytes); split++) {
      fc_error_t error;
      fc_error_reset(&error);
      uint64_t offset;
      bool done;
      scan(row->bytes, split, &offset, &done, &error);
      assert_int_equal(error.code, row->code);
      assert_int_equal(offset, row->offset);
      assert_int_equal(done, row->code == FC_CODE_NONE);
      if (row->code == FC_CODE_HTTP_SYNTAX) {
        assert_int_equal(error.byte_offset, row->offset);
      }
    }
  }
}

static void every_byte_has_its_place(void **state) {
  (void)state;
  static const char kToken[] =
      "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (int c = 1; c < 256; c++) {
    char head[64] = "GET / HTTP/1.1\r\n?: v\r\n\r\n";
    fc_error_t error;
    uint64_t offset;
    bool done;
    head[16] = (char)c;
    fc_status_t status = scan(head, 0, &offset, &done, &error);
    assert_int_equal(status == FC_OK, strchr(kToken, c) != NULL);
    strcpy(head, "GET / HTTP/1.1\r\nn: ?\r\n\r\n");
    head[19] = (char)c;
    status = scan(head, 0, &offset, &done, &error);
    // Valid in a field (RFC 9110, 5.5): HTAB, SP, VCHAR, obs-text.
    assert_int_equal(status == FC_OK, c == '\t' || (c >= 32 && c != 127));
    strcpy(head, "GET /? HTTP/1.1\r\n\r\n");
    head[5] = (char)c;
    status = scan(head, 0, &offset, &done, &error);
    // ' ' ends the target, and then no version follows.
    assert_int_equal(status == FC_OK, c > 32 && c < 127);
  }
}

// Every byte of a field line counts, except its line feed.
static void the_limit_of_fields_is_exact(void **state) {
  (void)state;
  static char head[FC_LIMIT_HEADERS + 64];
  for (size_t more = 0; more < 2; more++) {
    const size_t value = FC_LIMIT_HEADERS - strlen("n:\r") + more;
    size_t size = (size_t)sprintf(head, "GET / HTTP/1.1\r\nn:");
    memset(head + size, 'v', value);
    strcpy(head + size + value, "\r\n\r\n");
    for (size_t split = 0; split < 2; split++) {
      fc_error_t error;
      fc_error_reset(&error);
      uint64_t offset;
      bool done;
      (void)scan(head, split * (size + value - 1), &offset, &done, &error);
      assert_int_equal(error.code,
                       more ? FC_CODE_HEADERS_TOO_LARGE : FC_CODE_NONE);
      assert_int_equal(done, !more);
    }
  }
}

typedef struct chunk_row_t {
  const char *name;
  const char *bytes;
  fc_code_t code;
  uint64_t offset;  // after the head
  uint64_t body;
} chunk_row_t;

static const chunk_row_t kBodies[] = {
    {"empty", "0\r\n\r\n", FC_CODE_NONE, 5, 0},
    {"one", "3\r\nabc\r\n0\r\n\r\n", FC_CODE_NONE, 13, 3},
    {"hex", "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n", FC_CODE_NONE,
     36, 21},
    {"extension", "1;a=b;c=\"d\"\r\nx\r\n0\r\n\r\n", FC_CODE_NONE, 21, 1},
    {"trailers", "0\r\nA: b\r\nC: d\r\n\r\n", FC_CODE_NONE, 17, 0},
    {"rest stays", "0\r\n\r\nGET", FC_CODE_NONE, 5, 0},
    {"no digits", "\r\n", FC_CODE_HTTP_SYNTAX, 0, 0},
    {"no digits in the second", "1\r\na\r\n\r\n", FC_CODE_HTTP_SYNTAX, 6, 1},
    {"only an extension", ";a\r\n", FC_CODE_HTTP_SYNTAX, 0, 0},
    {"sign", "-1\r\n", FC_CODE_HTTP_SYNTAX, 0, 0},
    {"space after size", "1 \r\n", FC_CODE_HTTP_SYNTAX, 1, 0},
    {"short data", "3\r\nab\r\n0\r\n\r\n", FC_CODE_HTTP_SYNTAX, 6, 3},
    {"long data", "1\r\nab\r\n", FC_CODE_HTTP_SYNTAX, 4, 1},
    {"LF ends a chunk", "1\r\na\n", FC_CODE_HTTP_SYNTAX, 4, 1},
    {"NUL in extension", "1;\x01\r\n", FC_CODE_HTTP_SYNTAX, 2, 1},
    {"Host in trailers", "0\r\nHOST: a\r\n", FC_CODE_HTTP_SYNTAX, 7, 0},
    {"coding in trailers", "0\r\nTransfer-Encoding: a\r\n", FC_CODE_HTTP_SYNTAX,
     20, 0},
    {"a name that only begins so", "0\r\nHostess: a\r\n\r\n", FC_CODE_NONE, 17,
     0},
    {"too large", "65\r\n", FC_CODE_BODY_TOO_LARGE, 2, 0},
    {"too large together",
     "64\r\n"
     "0123456789012345678901234567890123456789"
     "012345678901234567890123456789012345678901234567890123456789\r\n1\r\n",
     FC_CODE_BODY_TOO_LARGE, 107, 100},
};

static void chunks_are_judged_the_same_however_they_are_cut(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const chunk_row_t, row, kBodies) {
    size_t size = strlen(row->bytes);
    for (size_t split = 0; split < size; split++) {
      fc_framing_t framing = {0};
      fc_error_t error;
      size_t used;
      bool done;
      fc_error_reset(&error);
      fc_str_t head = FC_STR("GET / HTTP/1.1\r\n\r\n");
      assert_int_equal(fc_framing_head(&framing, head, &used, &done, &error),
                       FC_OK);
      framing.offset = 0;
      fc_status_t status = fc_framing_chunked(
          &framing, fc_str_make(row->bytes, split), 100, &used, &done, &error);
      if (status == FC_OK && !done) {
        status = fc_framing_chunked(
            &framing, fc_str_make(row->bytes + split, size - split), 100, &used,
            &done, &error);
      }
      assert_int_equal(status != FC_OK, row->code != FC_CODE_NONE);
      assert_int_equal(error.code, row->code);
      assert_int_equal(framing.offset, row->offset);
      assert_int_equal(framing.body, row->body);
      assert_int_equal(done, row->code == FC_CODE_NONE);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(heads_are_judged_the_same_however_they_are_cut),
      FC_TEST(every_byte_has_its_place),
      FC_TEST(the_limit_of_fields_is_exact),
      FC_TEST(chunks_are_judged_the_same_however_they_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
