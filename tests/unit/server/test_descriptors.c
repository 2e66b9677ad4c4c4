// SPDX-License-Identifier: Apache-2.0
//
// libuv's table of descriptors has its final size from the beginning.
#include "descriptors.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "helpers/test.h"

static size_t
    refused;  // allocations of so many bytes and more fail; 0: none do

void *__wrap_malloc(size_t size);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  return refused && size >= refused ? NULL : __real_malloc(size);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
  assert_int_equal(status, 0);
  assert_int_equal(events, UV_READABLE);
  uv_close((uv_handle_t *)poll, NULL);
}

// Watches a copy of the descriptor that has this number.
static void watch(fc_loop_t *loop, int descriptor, int number) {
  uv_poll_t poll;
  const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, number);
  assert_int_equal(high, number);
  assert_int_equal(uv_poll_init(&loop->uv, &poll, high), 0);
  assert_int_equal(uv_poll_start(&poll, UV_READABLE, on_readable), 0);
  assert_int_equal(uv_run(&loop->uv, UV_RUN_DEFAULT), 0);
  close(high);
}

static fc_loop_t *make_loop(void) {
  fc_loop_t *loop = calloc(1, sizeof *loop);
  assert_non_null(loop);
  loop->live.connections = 500;
  loop->options = &loop->live;
  return loop;
}

static void the_table_does_not_grow(void **state) {
  (void)state;
  fc_error_t error;
  int ends[2];
  fc_loop_t *loop = make_loop();
  assert_int_equal(fc_descriptors_open_loop(loop, &error), FC_OK);
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], "x", 1), 1);
  const unsigned size = loop->uv.nwatchers;
  watch(loop, ends[0], 300);
  watch(loop, ends[0],
        627);  // the last of 500 connections and what is kept besides
  assert_int_equal(loop->uv.nwatchers, size);
  assert_int_equal(uv_loop_close(&loop->uv), 0);
  close(ends[0]);
  close(ends[1]);
  free(loop);
}

static void without_memory_a_loop_does_not_begin(void **state) {
  (void)state;
  fc_error_t error;
  fc_loop_t *loop = make_loop();
  refused = 2048;
  assert_int_not_equal(fc_descriptors_open_loop(loop, &error), FC_OK);
  assert_int_equal(error.code, FC_CODE_OUT_OF_MEMORY);
  refused = 0;
  free(loop);
}

// A sanitizer finds what is not freed.
static void loops_of_one_program_leave_nothing(void **state) {
  (void)state;
  fc_error_t error;
  fc_loop_t *loops[] = {make_loop(), make_loop()};
  for (size_t i = 0; i < FC_ARRAY_COUNT(loops); i++) {
    assert_int_equal(fc_descriptors_open_loop(loops[i], &error), FC_OK);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(loops); i++) {
    assert_int_equal(uv_loop_close(&loops[i]->uv), 0);
    free(loops[i]);
  }
}

static void what_the_kernel_may_watch_is_read(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    uint64_t watches;
  } rows[] = {{"a number", "5491511\n", 5491511},
              {"a text", "many\n", 0},
              {"nothing", "", 0}};
  char path[] = "/tmp/farcall-watches-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const size_t size = strlen(row->text);
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(pwrite(file, row->text, size, 0), size);
    assert_int_equal(fc_descriptors_watches(path), row->watches);
  }
  close(file);
  unlink(path);
  assert_int_equal(fc_descriptors_watches(path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_table_does_not_grow),
      cmocka_unit_test(without_memory_a_loop_does_not_begin),
      cmocka_unit_test(loops_of_one_program_leave_nothing),
      cmocka_unit_test(what_the_kernel_may_watch_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
