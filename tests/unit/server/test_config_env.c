// SPDX-License-Identifier: Apache-2.0
//
// config/systemd/farcalld.env shows every option with its default. Its text is
// made here from options.def, so that a new option cannot be forgotten.
#include <ctype.h>
#include <stdio.h>

#include "helpers/test.h"
#include "config/options.h"

#define PATH FARCALL_SOURCE_DIR "/config/systemd/farcalld.env"
#define WIDTH 80

static const struct {
  const char *flag;
  const char *value;
  const char *argument;
  const char *help;
} kOptions[] = {
#define FC_OPTION(field, flag, letter, kind, value, argument, help) \
  {flag, value, argument, help},
#include "config/options.def"
#undef FC_OPTION
};

static const char kTop[] =
    "# SPDX-License-Identifier: Apache-2.0\n"
    "#\n"
    "# Options of farcalld, for farcalld.service: each with its default. A flag of the\n"
    "# command line comes before a variable. `farcalld --help` explains the forms.\n";

static void put(fc_text_t *text, fc_str_t part) {
  fc_error_t error;
  assert_int_equal(fc_sink_put(&text->sink, part, &error), FC_OK);
}

// "# word word …", lines of at most WIDTH bytes.
static void put_comment(fc_text_t *text, const char *help) {
  size_t column = 0;
  for (const char *word = help; *word;) {
    const size_t size = strcspn(word, " ");
    if (column + 1 + size > WIDTH || !column) {
      const char *lead = column ? "\n#" : "#";
      put(text, fc_str(lead));
      column = 1;
    }
    put(text, FC_STR(" "));
    put(text, fc_str_make(word, size));
    column += 1 + size;
    word += size;
    while (*word == ' ') word++;
  }
}

static void put_variable(fc_text_t *text, const char *flag, const char *value) {
  char line[160];
  int size = snprintf(line, sizeof line, "\n#FARCALL_%s=%s\n", flag, value);
  for (char *at = line + 2; *at != '='; at++) {
    *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
  }
  assert_true(size > 0 && (size_t)size < sizeof line);
  put(text, fc_str_make(line, (size_t)size));
}

static void every_option_is_in_the_environment_file(void **state) {
  (void)state;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  put(&text, fc_str(kTop));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOptions); i++) {
    char help[512];
    put(&text, FC_STR("\n"));
    if (kOptions[i].argument[0]) {
      snprintf(help, sizeof help, "%s: %s", kOptions[i].argument,
               kOptions[i].help);
    } else {
      snprintf(help, sizeof help, "on|off: %s", kOptions[i].help);
    }
    put_comment(&text, help);
    put_variable(&text, kOptions[i].flag, kOptions[i].value);
  }
  const fc_str_t expected = fc_text_str(&text);
  static char found[1u << 16];
  FILE *file = fopen(PATH, "re");
  const size_t size = file ? fread(found, 1, sizeof found, file) : 0;
  if (file) fclose(file);
  if (!fc_str_equal(fc_str_make(found, size), expected)) {
    const char *copy = FARCALL_BUILD_DIR "/farcalld.env";
    file = fopen(copy, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(expected.data, 1, expected.size, file),
                     expected.size);
    fclose(file);
    fail_msg("%s is not what options.def says: copy %s there", PATH, copy);
  }
  fc_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_option_is_in_the_environment_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
