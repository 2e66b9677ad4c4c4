// SPDX-License-Identifier: Apache-2.0
//
// The texts that are made of cli/options.def: the manual page and what shells
// complete. The files in the tree are what the tables say.
#include "helpers/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli.h"

// A hyphen of a flag must stay a hyphen when it is copied from the page.
static void put_roff(FILE *stream, const char *line) {
  for (; *line; line++) {
    if (*line == '-') fputs("\\-", stream);
    else if (*line == '\\') fputs("\\e", stream);
    else fputc(*line, stream);
  }
}

static void print_option(FILE *stream, const fc_option_info_t *option) {
  fputs(".TP\n", stream);
  if (option->letter) fprintf(stream, "\\fB\\-%c\\fR, ", option->letter);
  fputs("\\fB\\-\\-", stream);
  put_roff(stream, option->name);
  fputs("\\fR", stream);
  if (option->value) {
    fputs("=\\fI", stream);
    put_roff(stream, option->value);
    fputs("\\fR", stream);
  }
  fputc('\n', stream);
  put_roff(stream, option->help);
  fputc('\n', stream);
}

static void print_verb(FILE *stream, fc_verb_t verb) {
  fprintf(stream, ".SS farcall %s ", fc_verbs[verb].name);
  put_roff(stream, fc_verbs[verb].words);
  fputc('\n', stream);
  put_roff(stream, fc_verbs[verb].summary);
  fputc('\n', stream);
  for (size_t i = 0; i < FC_OPTION_COUNT; i++) {
    if (i == FC_OPTION_HELP || !fc_option_belongs((fc_cli_option_t)i, verb)) {
      continue;
    }
    print_option(stream, &fc_cli_options[i]);
  }
}

static void print_manual(FILE *stream) {
  fputs(
      ".\\\" SPDX-License-Identifier: Apache-2.0\n"
      ".TH FARCALL 1\n"
      ".SH NAME\nfarcall \\- compile, call and measure compiled MLIR and IREE "
      "functions\n"
      ".SH SYNOPSIS\n.B farcall\nVERB [options] ...\n"
      ".SH DESCRIPTION\nMakes modules, calls their functions with or without a "
      "server, and shows what a\nserver of farcalld offers. farcall VERB "
      "\\-\\-help prints the options of one verb.\n"
      ".SH VERBS\n",
      stream);
  for (size_t i = 0; i < FC_VERB_COUNT; i++) print_verb(stream, (fc_verb_t)i);
  fputs(
      ".SH ENVIRONMENT\n"
      ".TP\n.B FARCALL_SERVER\nthe server of verbs that ask one, unless "
      "\\-\\-server says another\n"
      ".TP\n.B FARCALL_TOKEN\nthe secret that the server wants, unless "
      "\\-\\-token names a file with one\n"
      ".TP\n.B NO_COLOR\nno colours, also on a terminal\n"
      ".SH EXIT STATUS\n0: it worked. 1: the module or the server answered an "
      "error, or a goal was missed.\n64: the command line is wrong. 65: a local "
      "file or an input is wrong. 69: the server,\nor a tool that is needed, is "
      "not there. 2: diff met trouble.\n"
      ".SH SEE ALSO\n.BR farcalld (8)\n",
      stream);
}

static void print_bash(FILE *stream) { fc_completion_print("bash", stream); }
static void print_zsh(FILE *stream) { fc_completion_print("zsh", stream); }
static void print_fish(FILE *stream) { fc_completion_print("fish", stream); }

static size_t read_file(const char *path, char *text, size_t room) {
  FILE *file = fopen(path, "re");
  const size_t size = file ? fread(text, 1, room, file) : 0;
  if (file) fclose(file);
  return size;
}

static void texts_are_what_the_tables_say(void **state) {
  (void)state;
  static const struct {
    const char *name;
    void (*print)(FILE *stream);
    const char *copy;
  } rows[] = {
      {"docs/farcall.1", print_manual, "farcall.1"},
      {"config/completion/farcall.bash", print_bash, "farcall.bash"},
      {"config/completion/_farcall", print_zsh, "_farcall"},
      {"config/completion/farcall.fish", print_fish, "farcall.fish"},
  };
  bool differs = false;
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static char expected[1u << 16], found[1u << 16];
    char copy[512], path[512];
    snprintf(copy, sizeof copy, "%s/%s", FARCALL_BUILD_DIR, row->copy);
    snprintf(path, sizeof path, "%s/%s", FARCALL_SOURCE_DIR, row->name);
    FILE *file = fopen(copy, "we");
    assert_non_null(file);
    row->print(file);
    fclose(file);
    const size_t size = read_file(copy, expected, sizeof expected);
    assert_in_range(size, 1000, sizeof expected - 1);
    if (read_file(path, found, sizeof found) == size &&
        !memcmp(found, expected, size)) {
      continue;
    }
    differs = true;
    print_error("%s is not what the tables say: copy %s there\n", row->name,
                copy);
  }
  assert_false(differs);
}

int main(void) {
  const struct CMUnitTest tests[] = {FC_TEST(texts_are_what_the_tables_say)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
