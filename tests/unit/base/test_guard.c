// SPDX-License-Identifier: Apache-2.0
//
// Guarded blocks: new, aligned, usable to the end, and inaccessible after it.
#include "base/guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/pages.h"
#include "helpers/test.h"

typedef struct size_row_t {
  const char *name;
  size_t size;
  size_t alignment;
  size_t padding;
} size_row_t;

static const size_row_t sizes[] = {
    {"nothing", 0, 64, 0},
    {"a byte", 1, 64, 63},
    {"a line", 64, 64, 0},
    {"a line and a byte", 65, 64, 63},
    {"a page", 4096, 64, 0},
    {"a page and a byte", 4097, 64, 63},
    {"a 4x3 of f32", 48, 64, 16},
    {"a 300000x3 of f32", 3600000, 64, 0},
    {"nothing, exactly", 0, 1, 0},
    {"a byte, exactly", 1, 1, 0},
    {"three of i32, exactly", 12, 1, 0},
    {"a page and a byte, exactly", 4097, 1, 0},
    {"three of i32 by sixteen", 12, 16, 4},
};

// The signal that ends a process which reads this byte. 0: none.
static int signal_of_reading(const volatile uint8_t *byte) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would exit
    _exit(*byte ? 1 : 0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void what_lies_behind_a_block_is_out_of_reach(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const size_row_t, row, sizes) {
    uint8_t *block = fc_guard_alloc(row->size, row->alignment);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % row->alignment, 0);
    for (size_t i = 0; i < row->size + row->padding; i++) {
      assert_int_equal(block[i], i < row->size ? 0 : FC_GUARD_FILL);
    }
    if (row->size) memset(block, 0xFF, row->size);
    const size_t end = row->size + row->padding;
    if (end) assert_int_equal(signal_of_reading(block + end - 1), 0);
    assert_int_equal(signal_of_reading(block + end), SIGSEGV);
    assert_int_equal(signal_of_reading(block + end + 4095), SIGSEGV);
    fc_guard_free(block, row->size, row->alignment);
  }
}

static void a_freed_block_takes_its_page_along(void **state) {
  (void)state;
  uint8_t *block = fc_guard_alloc(4096, 64);
  assert_non_null(block);
  assert_true(fc_test_is_mapped(block));
  assert_true(fc_test_is_mapped(block + 4096));
  fc_guard_free(block, 4096, 64);
  assert_false(fc_test_is_mapped(block));
  assert_false(fc_test_is_mapped(block + 4096));
}

static void a_block_that_cannot_be_is_null(void **state) {
  (void)state;
  assert_null(fc_guard_alloc(SIZE_MAX, 64));
  assert_null(fc_guard_alloc(SIZE_MAX - 4096, 1));
  assert_null(fc_guard_alloc((size_t)1 << 60, 64));
  fc_guard_free(NULL, 1, 64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(what_lies_behind_a_block_is_out_of_reach),
      FC_TEST(a_freed_block_takes_its_page_along),
      FC_TEST(a_block_that_cannot_be_is_null),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
