// SPDX-License-Identifier: Apache-2.0
//
// Log lines: each record is one line, whatever a client sends, and a reader that stops
// reading cannot stop the server.
#include "obs/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <yyjson.h>

#include "helpers/test.h"

typedef struct tap_t {
  int ends[2];
  fc_log_t log;
  char text[1u << 17];
  size_t size;
} tap_t;

static void open_tap(tap_t *tap, bool json) {
  memset(tap, 0, sizeof *tap);
  assert_int_equal(pipe(tap->ends), 0);
  fcntl(tap->ends[0], F_SETFL, O_NONBLOCK);
  assert_int_equal(
      fc_log_init(&tap->log, fc_allocator_system(), tap->ends[1], json, NULL),
      FC_OK);
}

static void read_tap(tap_t *tap) {
  ssize_t size;
  while ((size = read(tap->ends[0], tap->text + tap->size,
                      sizeof tap->text - 1 - tap->size)) > 0) {
    tap->size += (size_t)size;
  }
  tap->text[tap->size] = '\0';
}

static void close_tap(tap_t *tap) {
  fc_log_deinit(&tap->log);
  close(tap->ends[0]);
  close(tap->ends[1]);
}

// Checks the time at the beginning of a line ("2026-01-02T03:04:05.678Z "). Returns the
// text after it.
static const char *after_time(const char *line) {
  static const char kForm[] = "0000-00-00T00:00:00.000Z ";
  for (size_t i = 0; kForm[i]; i++, line++) {
    const bool digit = *line >= '0' && *line <= '9';
    if (kForm[i] == '0' ? !digit : *line != kForm[i]) {
      fail_msg("at %zu of the time: %s", i, line);
    }
  }
  return line;
}

static void a_level_may_be_silent(void **state) {
  (void)state;
  static tap_t tap;
  open_tap(&tap, false);
  tap.log.silent[FC_LOG_INFO] = tap.log.silent[FC_LOG_ERROR] = true;
  fc_log(&tap.log, FC_LOG_INFO, "not");
  fc_log(&tap.log, FC_LOG_WARN, "told");
  fc_log(&tap.log, FC_LOG_ERROR, "not");
  fc_log_flush(&tap.log);
  read_tap(&tap);
  assert_string_equal(after_time(tap.text), "warn told\n");
  close_tap(&tap);
}

static void text_is_for_people(void **state) {
  (void)state;
  static tap_t tap;
  open_tap(&tap, false);
  fc_log(&tap.log, FC_LOG_INFO, "listening on %s", "x");
  fc_log(&tap.log, FC_LOG_WARN, "careful");
  fc_log_field_t fields[] = {FC_LOG_TEXT("a", FC_STR("b")),
                             FC_LOG_TEXT("gone", FC_STR("")),
                             FC_LOG_NUMBER("n", 0)};
  fc_log_fields(&tap.log, FC_LOG_ERROR, FC_STR("m"), fields, 3);
  fc_log_flush(&tap.log);
  read_tap(&tap);
  static const char *const kLines[] = {"info listening on x", "warn careful",
                                       "error m a=b n=0"};
  char *rest = tap.text;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kLines); i++) {
    const char *line = strsep(&rest, "\n");
    assert_string_equal(after_time(line), kLines[i]);
  }
  assert_string_equal(rest, "");
  close_tap(&tap);
}

static void hostile_text_stays_one_valid_line(void **state) {
  (void)state;
  static tap_t tap;
  open_tap(&tap, true);
  char all[256];
  for (int i = 0; i < 256; i++) all[i] = (char)i;
  fc_log_field_t fields[24];
  for (size_t i = 0; i < FC_ARRAY_COUNT(fields); i++) {
    fields[i] = FC_LOG_TEXT("k", fc_str_make(all, sizeof all));
  }
  fc_log_fields(&tap.log, FC_LOG_INFO, fc_str_make(all, sizeof all), fields,
                24);
  fc_log_field_t quoted =
      FC_LOG_TEXT("q", FC_STR("\"\\\n\x1b[31m\xE2\x80\xAE"));
  fc_log_fields(&tap.log, FC_LOG_INFO, FC_STR("m"), &quoted, 1);
  fc_log_flush(&tap.log);
  read_tap(&tap);
  unsigned lines = 0;
  assert_non_null(strstr(tap.text, "\\x1b[31m\\u202e\""));
  for (char *line = tap.text; *line; lines++) {
    char *end = strchr(line, '\n');
    assert_non_null(end);
    yyjson_doc *doc = yyjson_read(line, (size_t)(end - line), 0);
    assert_non_null(doc);
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(root, "level")), "info");
    if (lines == 1) {
      assert_string_equal(yyjson_get_str(yyjson_obj_get(root, "q")),
                          "\"\\\\x0a\\x1b[31m\xE2\x80\xAE");
    }
    yyjson_doc_free(doc);
    line = end + 1;
  }
  assert_int_equal(lines, 2);
  close_tap(&tap);
}

// A value that fills the line to its last byte must not leave its quote without room.
static void no_length_cuts_a_line(void **state) {
  (void)state;
  static tap_t tap;
  char quotes[256], plain[256];
  memset(quotes, '"', sizeof quotes);
  memset(plain, 'x', sizeof plain);
  for (size_t size = 0; size < 512; size++) {
    open_tap(&tap, true);
    size_t first = size < 256 ? size : 255, second = size - first;
    fc_log_field_t fields[] = {
        FC_LOG_TEXT("a", fc_str_make(plain, first)),
        FC_LOG_TEXT("b", fc_str_make(plain, second)),
        FC_LOG_TEXT("c", fc_str_make(quotes, sizeof quotes)),
        FC_LOG_TEXT("d", fc_str_make(quotes, sizeof quotes)),
        FC_LOG_TEXT("e", fc_str_make(quotes, sizeof quotes)),
        FC_LOG_TEXT("f", fc_str_make(quotes, sizeof quotes))};
    fc_log_fields(&tap.log, FC_LOG_INFO, FC_STR("m"), fields,
                  FC_ARRAY_COUNT(fields));
    fc_log_flush(&tap.log);
    read_tap(&tap);
    yyjson_doc *doc = yyjson_read(tap.text, tap.size, 0);
    if (!doc) fail_msg("%zu: %s", size, tap.text);
    yyjson_doc_free(doc);
    close_tap(&tap);
  }
}

static void a_full_pipe_drops_lines_and_says_so(void **state) {
  (void)state;
  static tap_t tap;
  open_tap(&tap, false);
  // The pipe holds only a part of the log's buffer.
  assert_true(fcntl(tap.ends[1], F_SETPIPE_SZ, 8192) >= 8192);
  // These are far more lines than pipe and buffer hold: a log that waited for its
  // reader would never return.
  for (int i = 0; i < 20000; i++) {
    fc_log(&tap.log, FC_LOG_INFO, "line %d", i);
    if (i % 100 == 0) fc_log_flush(&tap.log);
  }
  assert_true(tap.log.dropped > 0);
  while (tap.log.size) {
    read_tap(&tap);
    fc_log_flush(&tap.log);
  }
  fc_log_flush(&tap.log);
  read_tap(&tap);
  // Each line that was kept came once and in order.
  const char *line = tap.text;
  char wanted[32];
  for (int i = 0; !strstr(line, "dropped") || strchr(line, '\n')[1]; i++) {
    snprintf(wanted, sizeof wanted, "line %d\n", i);
    const char *found = strstr(line, "line ");
    assert_non_null(found);
    assert_int_equal(strncmp(found, wanted, strlen(wanted)), 0);
    line = strchr(line, '\n') + 1;
  }
  assert_non_null(strstr(line, "log lines dropped\n"));
  close_tap(&tap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_level_may_be_silent),
      FC_TEST(text_is_for_people),
      FC_TEST(hostile_text_stays_one_valid_line),
      FC_TEST(no_length_cuts_a_line),
      FC_TEST(a_full_pipe_drops_lines_and_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
