// SPDX-License-Identifier: Apache-2.0
//
// Flags of other programs that users give to farcall run.
#include "helpers/test.h"

#include <stdio.h>

#include "others.h"

typedef struct line_row_t {
  const char *name;
  fc_verb_t verb;
  const char *argv[4];
  bool fine;
  const char *words[2];    // NULL: no more
  fc_cli_option_t option;  // that has `value`
  const char *value;       // NULL: there is no flag
} line_row_t;

static const line_row_t lines[] = {
    {"the module", FC_VERB_RUN, {"--module=m.vmfb"}, true, {"m.vmfb"}, 0, NULL},
    {"in two words", FC_VERB_RUN, {"--module", "m"}, true, {"m"}, 0, NULL},
    {"another name",
     FC_VERB_RUN,
     {"m", "--expected_output=f32=1"},
     true,
     {"m"},
     FC_OPTION_RUN_EXPECTED,
     "f32=1"},
    {"one dash", FC_VERB_RUN, {"-e", "f"}, true, {0}, FC_OPTION_FUNCTION, "f"},
    {"what holds anyway",
     FC_VERB_RUN,
     {"-entry-point-result=void", "m"},
     true,
     {"m"},
     0,
     NULL},
    {"its value as a word",
     FC_VERB_RUN,
     {"--entry-point-result", "void", "m"},
     true,
     {"m"},
     0,
     NULL},
    {"the processor", FC_VERB_RUN, {"--device=local-sync"}, true, {0}, 0, NULL},
    {"threads", FC_VERB_RUN, {"--device=local-task"}, true, {0}, 0, NULL},
    {"a GPU", FC_VERB_RUN, {"--device=vulkan"}, false, {0}, 0, NULL},
    {"no value", FC_VERB_RUN, {"--module"}, false, {0}, 0, NULL},
    {"refused", FC_VERB_RUN, {"--shared-libs=x.so"}, false, {0}, 0, NULL},
    {"a beginning",
     FC_VERB_RUN,
     {"--benchmark_min_time=1s"},
     false,
     {0},
     0,
     NULL},
    {"no more than it", FC_VERB_RUN, {"--modules=x"}, false, {0}, 0, NULL},
    {"another verb's", FC_VERB_CALL, {"--module=m"}, false, {0}, 0, NULL},
};

static void flags_of_others_are_taken(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const line_row_t, row, lines) {
    fc_arena_t arena;
    fc_args_t args;
    char *argv[4];
    int argc = 0;
    for (; argc < 4 && row->argv[argc]; argc++) {
      argv[argc] = (char *)(uintptr_t)row->argv[argc];
    }
    fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
    const bool fine = fc_args_parse(&arena, row->verb, argc, argv, &args);
    assert_int_equal(fine, row->fine);
    if (fine) {
      size_t words = 0;
      while (words < 2 && row->words[words]) {
        assert_string_equal(args.words[words], row->words[words]);
        words++;
      }
      assert_int_equal(args.word_count, words);
      assert_int_equal(args.flag_count, row->value != NULL);
      if (row->value) {
        assert_string_equal(fc_args_get(&args, row->option, ""), row->value);
      }
    }
    fc_arena_deinit(&arena);
  }
}

// No row is an option of ours, which would then never be reached. The flags that are
// accepted are documented in docs/cli.md.
static void rows_are_of_others_and_told(void **state) {
  (void)state;
  static char page[1u << 17];
  FILE *file = fopen(FARCALL_SOURCE_DIR "/docs/cli.md", "re");
  assert_non_null(file);
  const size_t size = fread(page, 1, sizeof page - 1, file);
  fclose(file);
  page[size] = '\0';
  for (size_t i = 0; i < fc_other_count; i++) {
    const char *flag = fc_others[i].flag;
    char shown[64];
    fc_test_row(flag);
    for (size_t k = 0; k < FC_OPTION_COUNT; k++) {
      if (!fc_option_belongs((fc_cli_option_t)k, FC_VERB_RUN)) continue;
      assert_string_not_equal(flag, fc_cli_options[k].name);
    }
    if (fc_others[i].kind == FC_OTHER_REFUSED) continue;
    snprintf(shown, sizeof shown, "%s%s", strlen(flag) > 2 ? "--" : "-", flag);
    assert_non_null(strstr(page, shown));
    assert_non_null(strstr(page, fc_others[i].program));
  }
  fc_test_row(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(flags_of_others_are_taken),
      FC_TEST(rows_are_of_others_and_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
