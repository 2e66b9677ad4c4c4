// SPDX-License-Identifier: Apache-2.0
//
// What --time shows and --save writes, for calls of 1 to 200 us and one of 5 ms. All
// figures differ, and were computed by hand.
#include "timing.h"

#include <unistd.h>

#include "helpers/folder.h"
#include "helpers/test.h"

#define CALLS 200u

static fc_timing_t sample(uint64_t ns[CALLS]) {
  for (uint64_t i = 0; i < CALLS; i++)
    ns[(i * 77 + 5) % CALLS] = (i + 1) * 1000;
  for (size_t i = 0; i < CALLS; i++) {
    if (ns[i] == CALLS * 1000) ns[i] = 5000000;
  }
  return (fc_timing_t){.ns = ns, .count = CALLS};
}

// The sum is 19,900 us for the first 199 calls and 5,000 us for the last.
static const char kShown[] =
    "200 calls: min 1.00 us, median 100.00 us, p99 198.00 us, max 5000.00 us, "
    "8032.1 calls/s\n";
static const char kSaved[] =
    "{\"farcall_run\":1,\"calls\":200,\"min_ns\":1000,\"median_ns\":100000,"
    "\"p99_ns\":198000,\"max_ns\":5000000,\"mean_ns\":124500.0,"
    "\"calls_per_s\":8032.13}\n";

// Writes what goes to standard error into the file "shown" of the folder.
static int report(const fc_args_t *args, fc_timing_t *timing) {
  fflush(stderr);
  const int before = dup(STDERR_FILENO);
  FILE *file = fopen(fc_test_in_folder("shown"), "w");
  assert_non_null(file);
  dup2(fileno(file), STDERR_FILENO);
  const int exit_code = fc_timing_report(args, timing);
  fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  fclose(file);
  return exit_code;
}

static void has(const char *name, const char *text) {
  char got[512];
  FILE *file = fopen(fc_test_in_folder(name), "r");
  assert_non_null(file);
  got[fread(got, 1, sizeof got - 1, file)] = '\0';
  fclose(file);
  assert_string_equal(got, text);
}

static void figures_are_of_the_calls(void **state) {
  (void)state;
  uint64_t ns[CALLS];
  fc_timing_t timing = sample(ns);
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
  const fc_flag_t flags[] = {{FC_OPTION_TIME, NULL},
                             {FC_OPTION_SAVE, fc_test_in_folder("saved.json")}};
  const fc_args_t args = {.arena = &arena,
                          .verb = FC_VERB_RUN,
                          .flags = flags,
                          .flag_count = FC_ARRAY_COUNT(flags)};
  assert_int_equal(report(&args, &timing), FC_EXIT_OK);
  has("shown", kShown);
  has("saved.json", kSaved);
  fc_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_IN_FOLDER(figures_are_of_the_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
