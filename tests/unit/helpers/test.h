// SPDX-License-Identifier: Apache-2.0
//
// Every unit test includes this first: cmocka with the headers it wants, loops
// over tables of rows that name the row that failed, and an allocator whose
// n-th allocation fails.
#ifndef FARCALL_TESTS_HELPERS_TEST_H_
#define FARCALL_TESTS_HELPERS_TEST_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "farcall/base.h"

// The folder of IREE's modules that have machine code for this processor.
#if defined(__aarch64__)
#define FC_TEST_NATIVE FARCALL_SOURCE_DIR "/tests/corpus/iree/arm64"
#else
#define FC_TEST_NATIVE FARCALL_SOURCE_DIR "/tests/corpus/iree"
#endif

// An entry of the CMUnitTest table. When `function` fails inside
// FC_TEST_EACH_ROW, the row's name is printed below cmocka's message.
#define FC_TEST(function) \
  { #function, function, NULL, fc_test_report_row, NULL }

// for (each `row` of the array `rows`), whose elements have a member `name`:
//   FC_TEST_EACH_ROW(const number_row_t, row, numbers) { … }
// Leave it by its end or by a failing assertion. After break or return the row would
// still be noted, and "in row" would be printed for a row that did not fail.
#define FC_TEST_EACH_ROW(type, row, rows)                           \
  for (type *row = (rows);                                          \
       row < (rows) + FC_ARRAY_COUNT(rows) ? fc_test_row(row->name) \
                                           : fc_test_row(NULL);     \
       row++)

// Notes the row under test, NULL when the table is done. Returns name != NULL.
bool fc_test_row(const char *name);
int fc_test_report_row(void **state);

// Ends the running test; CTest shows it as skipped, and the reason is printed.
// cmocka's own skip() would count as passed, so it is not to be used.
#define fc_test_skip(reason) \
  (fc_test_note_skip(reason), _skip(__FILE__, __LINE__))
#undef skip
void fc_test_note_skip(const char *reason);

// The same where programs run in an emulator of another processor, which does not do
// all that a kernel does: scripts/arm64 sets this variable.
#define fc_test_skip_emulated(reason)                     \
  do {                                                    \
    if (getenv("FARCALL_EMULATED")) fc_test_skip(reason); \
  } while (0)

// The exit status of a test program: 0 when all tests passed, FC_TEST_SKIPPED
// when none failed but some were skipped, else 1.
#define FC_TEST_SKIPPED 77  // SKIP_RETURN_CODE
int fc_test_status(int failed, size_t skipped);
int fc_test_exit(int failed);
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, setup, teardown) \
  cmocka_run_group_tests_name(#tests, tests, setup, teardown)
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests_name(name, tests, setup, teardown)          \
  fc_test_exit(_cmocka_run_group_tests(name, tests, FC_ARRAY_COUNT(tests), \
                                       setup, teardown))

// An allocator that counts and fails on demand. Memory comes filled with 0xA5,
// so that reading it unwritten shows. May be used from several threads.
typedef struct fc_test_allocator_t {
  size_t fail_at;             // number of the allocation to fail, 0 for none
  _Atomic(size_t) allocated;  // allocations asked for so far
  _Atomic(size_t) live;       // given out and not yet released
} fc_test_allocator_t;

// The result points at `state`, which must outlive everything allocated.
fc_allocator_t fc_test_allocator_init(fc_test_allocator_t *state,
                                      size_t fail_at);

// Builds something with `allocator`, uses it and destroys it again. Returns the
// first failure and leaves nothing allocated either way.
typedef fc_status_t (*fc_test_attempt_t)(fc_allocator_t allocator,
                                         void *context, fc_error_t *err);

// The allocation sweep: runs `attempt` with the first allocation failing, then
// the second, … until it succeeds. Every failure must be FC_CODE_OUT_OF_MEMORY
// and leave nothing allocated. Returns how many allocations success takes.
size_t fc_test_allocation_sweep(fc_test_attempt_t attempt, void *context);

#endif  // FARCALL_TESTS_HELPERS_TEST_H_
