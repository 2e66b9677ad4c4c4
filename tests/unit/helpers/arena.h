// SPDX-License-Identifier: Apache-2.0
//
// An arena, created anew for each test that is listed with FC_TEST_WITH_ARENA.
#ifndef FARCALL_TESTS_HELPERS_ARENA_H_
#define FARCALL_TESTS_HELPERS_ARENA_H_

#include "farcall/base.h"
#include "helpers/test.h"

static fc_arena_t fc_test_arena;

static int fc_test_begin_arena(void **state) {
  (void)state;
  fc_arena_init(&fc_test_arena, fc_allocator_system(), 4096, 1u << 26);
  return 0;
}

static int fc_test_end_arena(void **state) {
  fc_arena_deinit(&fc_test_arena);
  return fc_test_report_row(state);
}

#define FC_TEST_WITH_ARENA(function) \
  { #function, function, fc_test_begin_arena, fc_test_end_arena, NULL }

#endif  // FARCALL_TESTS_HELPERS_ARENA_H_
