// SPDX-License-Identifier: Apache-2.0
//
// Every unit test includes this first: cmocka and the headers it needs, loops over
// tables that name the row that failed, and an allocator whose n-th allocation fails.
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

// The folder with IREE modules that contain machine code for this processor.
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
// Do not leave the loop by break or return: the row would stay noted, and a later
// failure would be reported "in row" of a row that did not fail.
#define FC_TEST_EACH_ROW(type, row, rows)                           \
  for (type *row = (rows);                                          \
       row < (rows) + FC_ARRAY_COUNT(rows) ? fc_test_row(row->name) \
                                           : fc_test_row(NULL);     \
       row++)

// Notes the row under test; NULL: the table is done. Returns name != NULL.
bool fc_test_row(const char *name);
int fc_test_report_row(void **state);

// Ends the running test: CTest shows it as skipped, and the reason is printed. Do not
// use cmocka's own skip(): CTest would count the test as passed.
#define fc_test_skip(reason) \
  (fc_test_note_skip(reason), _skip(__FILE__, __LINE__))
#undef skip
void fc_test_note_skip(const char *reason);

// Skips the test if programs run in an emulator of another processor (scripts/arm64
// sets the variable): an emulator does not do all that a kernel does.
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

// An allocator that counts, and fails when told to. New memory is filled with 0xA5, so
// that a read of unwritten memory is noticed. May be used from several threads.
typedef struct fc_test_allocator_t {
  size_t fail_at;             // number of the allocation to fail, 0 for none
  _Atomic(size_t) allocated;  // allocations asked for so far
  _Atomic(size_t) live;       // given out and not yet released
} fc_test_allocator_t;

// The result points at `state`, which must outlive everything allocated.
fc_allocator_t fc_test_allocator_init(fc_test_allocator_t *state,
                                      size_t fail_at);

// Builds something with `allocator`, uses it and destroys it. Returns the first
// failure. Leaves nothing allocated, whether it fails or not.
typedef fc_status_t (*fc_test_attempt_t)(fc_allocator_t allocator,
                                         void *context, fc_error_t *err);

// The allocation sweep: runs `attempt` with the first allocation failing, then with the
// second, … until it succeeds. Each failure must be FC_CODE_OUT_OF_MEMORY and leave
// nothing allocated. Returns the number of allocations of the run that succeeds.
size_t fc_test_allocation_sweep(fc_test_attempt_t attempt, void *context);

#endif  // FARCALL_TESTS_HELPERS_TEST_H_
