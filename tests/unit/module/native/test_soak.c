// SPDX-License-Identifier: Apache-2.0
//
// Calls functions at random, rightly and wrongly, so often that a leak is noticed: all
// blocks are freed, and the heap does not grow. The argument is the number of calls;
// the default is 10^5.
#include "module/native/caller.h"

#include <malloc.h>

#include "module/native/native.h"

// The C library counts the memory that it caches for each thread as in use.
#define SLACK ((size_t)64 << 10)

static long calls = 100000;

typedef struct mix_t {
  const char *function;
  const char *arguments;
  const char *expected;  // how the answer begins
} mix_t;

static const mix_t owners[] = {
    {"fresh", "5", "5: 5 5"},
    {"fresh_aligned", "3", "3: 6 6 6"},
    {"two_same", "2", "2: 7 7; 2: 7 7"},
    {"two_halves", "", "4: 0 1 2 3"},
    {"transposed", "2x3: 1 2 3 4 5 6", "3x2: 1 4 2"},
    {"empty", "", "0x3:"},
    {"unranked_fresh", "2", "2: 8 8"},
    {"unranked_twice", "2: 1 2", "2: 1 2; 2: 1 2"},
    {"maybe_alias", "2: 1 2; 1", "2: 1 2"},
    {"maybe_alias", "2: 1 2; 0", "2: 9 9"},
    {"reversed", "3: 1 2 3", "3: 3 2 1"},
    {"temporaries", "40", "780"},
    {"leak", "3", "3"},
    {"grown", "20", "20: 0 1 2"},
    {"other_heaps", "", "4: 0 0 0 0"},
    {"axpy", "2; 2: 1 2; 2: 10 20", "2: 12 24"},
    {"alias_arg", "2x2: 1 2 3 4", "shape_mismatch"},
};

static const mix_t hostiles[] = {
    {"negative_size", "", "bad_result"},
    {"wrong_dim", "", "bad_result"},
    {"beyond_end", "", "bad_result"},
    {"strides_beyond", "", "bad_result"},
    {"unranked_small", "", "bad_result"},
    {"free_argument", "3: 1 2 3", "bad_result"},
    {"free_twice", "", "bad_result"},
    {"assert_fail", "0", "call_failed"},
    {"assert_fail", "1", "1"},
    {"verify_fail", "1", "call_failed"},
    {"greedy", "4611686018427387904", "call_failed"},
};

static void run(caller_t *caller, const mix_t *mix) {
  const char *text = caller_run(caller, mix->function, mix->arguments);
  if (!fc_str_starts(fc_str(text), fc_str(mix->expected))) {
    fail_msg("%s(%s) = %s", mix->function, mix->arguments, text);
  }
}

static void nothing_is_left_behind(void **state) {
  (void)state;
  caller_t owner, hostile;
  caller_open(&owner, "owner");
  caller_open(&hostile, "hostile");
  size_t in_use = 0;
  uint32_t seed = 1;
  for (long i = 0; i < calls; i++) {
    seed = seed * 1664525 + 1013904223;
    const size_t pick = (seed >> 8) % 28;
    if (pick < FC_ARRAY_COUNT(owners)) run(&owner, &owners[pick]);
    else run(&hostile, &hostiles[pick - FC_ARRAY_COUNT(owners)]);
    if (i == 1000) in_use = mallinfo2().uordblks;  // warm
  }
  const size_t after = mallinfo2().uordblks;
  assert_in_range(after, 0, in_use + SLACK);
  const caller_t *both[] = {&owner, &hostile};
  for (size_t i = 0; i < FC_ARRAY_COUNT(both); i++) {
    fc_native_counts_t counts = fc_native_get_counts(both[i]->module);
    assert_true(counts.allocated > (uint64_t)calls / 4);
    assert_int_equal(counts.allocated - counts.freed, 0);
  }
  caller_close(&owner);
  caller_close(&hostile);
}

static void loading_again_and_again_leaves_nothing(void **state) {
  (void)state;
  size_t in_use = 0;
  const long loads = calls / 500;
  for (long i = 0; i < loads; i++) {
    caller_t caller;
    caller_open(&caller, "scalars");
    assert_string_equal(caller_run(&caller, "s_i32", "21"), "42");
    caller_close(&caller);
    if (i == 20) in_use = mallinfo2().uordblks;
  }
  assert_in_range(mallinfo2().uordblks, 0, in_use + SLACK);
}

int main(int argc, char **argv) {
  if (argc > 1) calls = strtol(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {
      FC_TEST(nothing_is_left_behind),
      FC_TEST(loading_again_and_again_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
