// SPDX-License-Identifier: Apache-2.0
//
// Parses command lines, and suggests a name for one that is nearly right.
#include "helpers/test.h"

#include "cli.h"

typedef struct line_row_t {
  const char *name;
  fc_verb_t verb;
  const char *argv[6];
  bool fine;
  const char *output;  // the last --output
  size_t flags;
  size_t words;
} line_row_t;

static const line_row_t lines[] = {
    {"equals", FC_VERB_CALL, {"m/f", "--output=@x"}, true, "@x", 1, 1},
    {"next word", FC_VERB_CALL, {"--output", "@x", "m/f"}, true, "@x", 1, 1},
    {"letter", FC_VERB_CALL, {"-o", "a", "-ob"}, true, "b", 2, 0},
    {"empty value", FC_VERB_CALL, {"--output="}, true, "", 1, 0},
    {"value with a dash", FC_VERB_CALL, {"--output", "-"}, true, "-", 1, 0},
    {"a dash is a word", FC_VERB_ABI, {"parse", "v1", "-"}, true, NULL, 0, 3},
    {"after two dashes", FC_VERB_CALL, {"--", "--output=x"}, true, NULL, 0, 1},
    {"negative input", FC_VERB_CALL, {"--input", "-3"}, true, NULL, 1, 0},
    {"value missing", FC_VERB_CALL, {"--output"}, false, NULL, 0, 0},
    {"value too many", FC_VERB_CALL, {"--curl=yes"}, false, NULL, 0, 0},
    {"another verb's", FC_VERB_RUN, {"--curl"}, false, NULL, 0, 0},
    {"unknown letter", FC_VERB_RUN, {"-z"}, false, NULL, 0, 0},
    {"unknown", FC_VERB_RUN, {"--outpt=x"}, false, NULL, 0, 0},
};

static void lines_are_taken_apart(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const line_row_t, row, lines) {
    fc_arena_t arena;
    fc_args_t args;
    char *argv[6];
    int argc = 0;
    for (; argc < 6 && row->argv[argc]; argc++) {
      argv[argc] = (char *)(uintptr_t)row->argv[argc];
    }
    fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
    bool fine = fc_args_parse(&arena, row->verb, argc, argv, &args);
    assert_int_equal(fine, row->fine);
    if (fine) {
      const char *output = fc_args_get(&args, FC_OPTION_OUTPUT, NULL);
      assert_int_equal(args.flag_count, row->flags);
      assert_int_equal(args.word_count, row->words);
      assert_int_equal(output == NULL, row->output == NULL);
      if (output) assert_string_equal(output, row->output);
    }
    fc_arena_deinit(&arena);
  }
}

typedef struct near_row_t {
  const char *name;
  const char *text;
  const char *near;
} near_row_t;

static const near_row_t nears[] = {
    {"a letter missing", "matmu", "matmul"},
    {"two letters swapped", "mtamul", "matmul"},
    {"exact", "conv", "conv"},
    {"the nearer of two", "con", "conv"},
    {"a beginning", "soft", "softmax"},
    {"another word", "transpose", NULL},
    {"nothing", "", NULL},
};

static void near_names_are_found(void **state) {
  (void)state;
  static const char *const names[] = {"matmul", "softmax", "conv", "cone3"};
  FC_TEST_EACH_ROW(const near_row_t, row, nears) {
    const char *near = fc_nearest(row->text, names, FC_ARRAY_COUNT(names));
    assert_int_equal(near == NULL, row->near == NULL);
    if (near) assert_string_equal(near, row->near);
  }
}

typedef struct shown_row_t {
  const char *name;
  const char *text;
  const char *shown;
} shown_row_t;

static const shown_row_t showns[] = {
    {"plain", "{\"results\":[1]}\n\t", "{\"results\":[1]}\n\t"},
    {"letters", "caf\xc3\xa9 \xc2\xa9", "caf\xc3\xa9 \xc2\xa9"},
    {"escape", "a\x1b[31mb", "a\\u001b[31mb"},
    {"bell and delete", "\a\x7f", "\\u0007\\u007f"},
    {"carriage return", "ok\rfailed", "ok\\u000dfailed"},
    {"C1, in UTF-8", "\xc2\x9b[31m", "\\u009b[31m"},
    {"half a character", "\xc2", "\xc2"},
    {"nothing", "", ""},
};

static void terminals_are_not_commanded(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const shown_row_t, row, showns) {
    char text[64] = "";
    FILE *file = tmpfile();
    assert_non_null(file);
    fc_show(file, fc_str(row->text));
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, row->shown);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(lines_are_taken_apart),
      FC_TEST(near_names_are_found),
      FC_TEST(terminals_are_not_commanded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
