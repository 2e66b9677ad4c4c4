// SPDX-License-Identifier: Apache-2.0
//
// What a worker prints goes through a pipe into a log, which is another pipe: which
// lines are logged, how many, what is kept of the last one, and how much is read.
#include "pool/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <yyjson.h>

#include "helpers/test.h"

#define PIPE_SIZE (1 << 20)

typedef struct house_t {
  int said[2];    // the worker's output
  int logged[2];  // the server's log
  fc_log_t log;
  fc_output_t output;
  fc_output_rate_t rate;
  uint64_t due_ns;  // of the last read
} house_t;

static void make_pipe(int ends[2]) {
  assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  assert_true(fcntl(ends[0], F_SETPIPE_SZ, PIPE_SIZE) >= PIPE_SIZE);
}

static void enter(house_t *house) {
  make_pipe(house->said);
  make_pipe(house->logged);
  assert_int_equal(fc_log_init(&house->log, fc_allocator_system(),
                               house->logged[1], true, NULL),
                   FC_OK);
  house->output = (fc_output_t){0};
  house->rate = (fc_output_rate_t){0};
}

// Reads once, and logs the complete lines.
static bool read_said(house_t *house) {
  const bool more = fc_output_read(&house->output, house->said[0], &house->rate,
                                   &house->due_ns);
  fc_output_log(&house->output, &house->log, FC_STR("m"), 42);
  return more;
}

static void finish(house_t *house) {
  fc_output_finish(&house->output, house->said[0]);
  fc_output_log(&house->output, &house->log, FC_STR("m"), 42);
}

static void leave(house_t *house) {
  fc_log_deinit(&house->log);
  for (int i = 0; i < 2; i++) {
    if (house->said[i] >= 0) close(house->said[i]);
    close(house->logged[i]);
  }
}

static void say(house_t *house, const char *text) {
  ssize_t size = (ssize_t)strlen(text);
  assert_int_equal(write(house->said[1], text, (size_t)size), size);
}

// The log: the texts of its lines, each ended by '|', and the number of lines of each
// kind.
typedef struct logged_t {
  char texts[1 << 16];
  unsigned lines;
  unsigned dropped;
} logged_t;

static void note_line(logged_t *logged, const char *line, size_t size) {
  yyjson_doc *doc = yyjson_read(line, size, 0);
  assert_non_null(doc);
  yyjson_val *root = yyjson_doc_get_root(doc);
  assert_string_equal(yyjson_get_str(yyjson_obj_get(root, "module")), "m");
  assert_int_equal(yyjson_get_uint(yyjson_obj_get(root, "pid")), 42);
  const char *text = yyjson_get_str(yyjson_obj_get(root, "text"));
  logged->dropped += (unsigned)yyjson_get_uint(yyjson_obj_get(root, "lines"));
  if (text) {
    logged->lines++;
    size_t used = strlen(logged->texts);
    snprintf(logged->texts + used, sizeof logged->texts - used, "%s|", text);
  }
  yyjson_doc_free(doc);
}

static void read_logged(house_t *house, logged_t *logged) {
  static char bytes[PIPE_SIZE];
  memset(logged, 0, sizeof *logged);
  fc_log_flush(&house->log);
  ssize_t size = read(house->logged[0], bytes, sizeof bytes);
  for (ssize_t i = 0, begin = 0; i < size; i++) {
    if (bytes[i] != '\n') continue;
    note_line(logged, bytes + begin, (size_t)(i - begin));
    begin = i + 1;
  }
}

static void lines_are_what_newlines_end(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *parts[4];  // written, and read, one after the other
    const char *logged;    // before the end
    const char *in_all;
    const char *last;
  } rows[] = {
      {"nothing", {""}, "", "", ""},
      {"a line", {"a line\n"}, "a line|", "a line|", "a line"},
      {"two", {"one\ntwo\n"}, "one|two|", "one|two|", "two"},
      {"in pieces", {"o", "ne\ntw", "o\n"}, "one|two|", "one|two|", "two"},
      {"without an end", {"one\ntw", "o"}, "one|", "one|two|", "two"},
      {"empty lines", {"\n\n", "one\n\n\n"}, "one|", "one|", "one"},
      // More escapes of the log are tested in test_log.c.
      {"bytes of a terminal",
       {"\x1b[1mred\r\x01\n"},
       "\\x1b[1mred\\x0d\\x01|",
       "\\x1b[1mred\\x0d\\x01|",
       "\x1b[1mred\r\x01"},
  };
  static house_t house;
  static logged_t logged;
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    enter(&house);
    for (int i = 0; i < 4 && row->parts[i]; i++) {
      say(&house, row->parts[i]);
      assert_true(read_said(&house));
    }
    read_logged(&house, &logged);
    assert_string_equal(logged.texts, row->logged);
    finish(&house);
    static logged_t rest;
    read_logged(&house, &rest);
    strncat(logged.texts, rest.texts, sizeof logged.texts / 2);
    assert_string_equal(logged.texts, row->in_all);
    assert_int_equal(house.output.last_size, strlen(row->last));
    assert_memory_equal(house.output.last, row->last, strlen(row->last));
    assert_int_equal(logged.dropped + rest.dropped, 0);
    leave(&house);
  }
}

static void a_long_line_is_cut(void **state) {
  (void)state;
  static const size_t sizes[] = {FC_OUTPUT_LINE - 1, FC_OUTPUT_LINE,
                                 FC_OUTPUT_LINE + 1, 20000};
  static house_t house;
  static logged_t logged;
  for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
    static char line[20002];
    memset(line, 'x', sizes[i]);
    line[sizes[i]] = '\n';
    line[sizes[i] + 1] = '\0';
    enter(&house);
    say(&house, line);
    assert_true(read_said(&house));
    size_t kept = sizes[i] < FC_OUTPUT_LINE ? sizes[i] : FC_OUTPUT_LINE;
    assert_int_equal(house.output.last_size, kept);
    say(&house, "next\n");
    assert_true(read_said(&house));
    read_logged(&house, &logged);
    assert_int_equal(logged.lines, 2);
    assert_int_equal(logged.texts[0], 'x');
    assert_non_null(strstr(logged.texts, "|next|"));
    leave(&house);
  }
}

// The clock goes on, so the lines of two seconds may be logged. All others must be
// counted.
static void too_many_lines_are_counted(void **state) {
  (void)state;
  enum { SAID = 3000 };
  static house_t house;
  static logged_t logged;
  enter(&house);
  for (int i = 0; i < SAID; i++) {
    char line[16];
    snprintf(line, sizeof line, "%d\n", i);
    say(&house, line);
  }
  assert_true(read_said(&house));
  finish(&house);
  read_logged(&house, &logged);
  assert_true(logged.lines >= FC_OUTPUT_LINES);
  assert_true(logged.lines <= 5 * FC_OUTPUT_LINES);
  assert_int_equal(logged.lines + logged.dropped, SAID);
  // The last line is kept although it was not logged.
  assert_int_equal(house.output.last_size, strlen("2999"));
  assert_memory_equal(house.output.last, "2999", 4);
  // The number of dropped lines is logged once.
  finish(&house);
  read_logged(&house, &logged);
  assert_int_equal(logged.dropped, 0);
  leave(&house);
}

// Two lines are printed, but only one more is allowed in this second.
static void one_line_too_many_is_dropped(void **state) {
  (void)state;
  static house_t house;
  static logged_t logged;
  uint64_t second;
  do {
    enter(&house);
    second = fc_clock_ns() / 1000000000u;
    house.output.second = second;
    house.output.lines = FC_OUTPUT_LINES - 1;
    say(&house, "kept\ndropped\n");
    assert_true(read_said(&house));
    finish(&house);
    read_logged(&house, &logged);
    leave(&house);
  } while (fc_clock_ns() / 1000000000u != second);
  assert_string_equal(logged.texts, "kept|");
  assert_int_equal(logged.dropped, 1);
}

static void the_next_second_has_lines_of_its_own(void **state) {
  (void)state;
  static house_t house;
  static logged_t logged;
  enter(&house);
  // The lines before were printed in another second, long ago.
  house.output.second = 1;
  house.output.lines = FC_OUTPUT_LINES;
  house.output.dropped = 7;
  say(&house, "again\n");
  assert_true(read_said(&house));
  read_logged(&house, &logged);
  assert_string_equal(logged.texts, "again|");
  assert_int_equal(logged.dropped, 7);
  leave(&house);
}

static unsigned left_in(int descriptor) {
  int size = 0;
  assert_int_equal(ioctl(descriptor, FIONREAD, &size), 0);
  return (unsigned)size;
}

static void a_turn_reads_so_much_and_no_more(void **state) {
  (void)state;
  static char bytes[200000];
  static house_t house;
  memset(bytes, 'x', sizeof bytes);
  enter(&house);
  assert_int_equal(write(house.said[1], bytes, sizeof bytes), sizeof bytes);
  assert_true(read_said(&house));
  assert_int_equal(left_in(house.said[0]), sizeof bytes - 65536);
  leave(&house);
}

// Two processes of one module print without end.
static void a_module_has_a_rate(void **state) {
  (void)state;
  static char bytes[PIPE_SIZE];
  static house_t houses[2];
  uint64_t second, size;
  memset(bytes, 'x', sizeof bytes);
  for (int i = 0; i < 2; i++) enter(&houses[i]);
  do {
    fc_output_rate_t rate = {0};
    uint64_t due_ns = 0;
    size = 0;
    second = fc_clock_ns() / 1000000000u;
    for (unsigned i = 0; !due_ns; i++) {
      house_t *house = &houses[i % 2];
      const ssize_t said = write(house->said[1], bytes, sizeof bytes);
      assert_true(said > 0 || errno == EAGAIN);
      const unsigned before = left_in(house->said[0]);
      assert_true(
          fc_output_read(&house->output, house->said[0], &rate, &due_ns));
      size += before - left_in(house->said[0]);
      if (due_ns) assert_int_equal(due_ns, (rate.second + 1) * 1000000000u);
    }
  } while (fc_clock_ns() / 1000000000u != second);
  assert_int_equal(size, FC_OUTPUT_RATE);
  for (int i = 0; i < 2; i++) leave(&houses[i]);
}

static void the_end_is_told(void **state) {
  (void)state;
  static house_t house;
  enter(&house);
  assert_true(read_said(&house));  // nothing yet
  say(&house, "bye");
  close(house.said[1]);
  house.said[1] = -1;
  assert_false(read_said(&house));
  finish(&house);
  assert_memory_equal(house.output.last, "bye", 3);
  // An output that cannot be read counts as ended, too.
  assert_false(fc_output_read(&house.output, -1, &house.rate, &house.due_ns));
  leave(&house);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(lines_are_what_newlines_end),
      FC_TEST(a_long_line_is_cut),
      FC_TEST(too_many_lines_are_counted),
      FC_TEST(one_line_too_many_is_dropped),
      FC_TEST(the_next_second_has_lines_of_its_own),
      FC_TEST(a_turn_reads_so_much_and_no_more),
      FC_TEST(a_module_has_a_rate),
      FC_TEST(the_end_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
