// SPDX-License-Identifier: Apache-2.0
//
// Which arguments of a command line are for farcalld, and how serve divides them.
#include "serve/flags.h"

#include "cli.h"
#include "helpers/test.h"

static void a_flag_takes_its_value(void **state) {
  static const struct {
    const char *name;
    size_t words;
  } rows[] = {
      {"--listen", 2},  {"--listen=a", 1}, {"-l", 2},
      {"-la", 1},       {"--watch", 1},    {"--watch=on", 1},
      {"-t", 1},        {"--print", 1},    {"--allow-empty", 1},
      {"--timeout", 2}, {"--timeout=", 1}, {"--open", 0},
      {"--liste", 0},   {"--listens", 0},  {"-Z", 0},
      {"--", 0},        {"-", 0},          {"--=", 0},
      {"-=", 0},
  };
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(fc_serve_flag_words(row->name), row->words);
  }
}

// Paths, serve's own options and those of farcalld may come in any order.
static void a_command_line_is_taken_apart(void **state) {
  const char *argv[] = {"m.onnx",  "-l",    "a:1",  "--open",
                        "--watch", "--cpu", "host", "--queue=1",
                        "models",  "--",    "--x"};
  fc_arena_t arena;
  fc_args_t args;
  (void)state;
  fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
  assert_true(fc_args_parse(&arena, FC_VERB_SERVE, FC_ARRAY_COUNT(argv),
                            (char **)(uintptr_t)argv, &args));
  static const char *const kPassed[] = {"-l", "a:1", "--watch", "--queue=1"};
  static const char *const kWords[] = {"m.onnx", "models", "--x"};
  assert_int_equal(args.passed_count, FC_ARRAY_COUNT(kPassed));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kPassed); i++) {
    assert_string_equal(args.passed[i], kPassed[i]);
  }
  assert_int_equal(args.word_count, FC_ARRAY_COUNT(kWords));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kWords); i++) {
    assert_string_equal(args.words[i], kWords[i]);
  }
  assert_true(fc_args_has(&args, FC_OPTION_OPEN));
  assert_string_equal(fc_args_get(&args, FC_OPTION_CPU, ""), "host");
  const char *cut[] = {"m.onnx", "--listen"};
  assert_false(
      fc_args_parse(&arena, FC_VERB_SERVE, 2, (char **)(uintptr_t)cut, &args));
  // Other verbs accept none of these.
  assert_false(
      fc_args_parse(&arena, FC_VERB_RUN, 2, (char **)(uintptr_t)cut, &args));
  fc_arena_deinit(&arena);
}

static void the_names_are_known(void **state) {
  const char *names[256];
  (void)state;
  const size_t count = fc_serve_flag_names(names, FC_ARRAY_COUNT(names));
  assert_in_range(count, 50, FC_ARRAY_COUNT(names) - 32);
  assert_string_equal(names[0], "config");
  assert_int_equal(fc_serve_flag_names(names, 1), 1);
}

static void flags_of_other_servers_are_known(void **state) {
  (void)state;
  const char *here = fc_serve_flag_foreign(FC_STR("grpc-port"));
  assert_string_equal(here, "--listen=ADDR:PORT, which HTTP and gRPC share");
  assert_null(fc_serve_flag_foreign(FC_STR("grpc-por")));
  assert_null(fc_serve_flag_foreign(FC_STR("listen")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_flag_takes_its_value),
      FC_TEST(a_command_line_is_taken_apart),
      FC_TEST(the_names_are_known),
      FC_TEST(flags_of_other_servers_are_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
