// SPDX-License-Identifier: Apache-2.0
//
// The texts that list farcalld's options are made here from options.def, module.def and
// listener.def, so that no option can be forgotten: the file in config/, and the tables
// of the page in docs/ (its other lines are written by hand). If a text in the tree
// differs, the right one is written into the build folder, to be copied from there.
#include <stdio.h>

#include "config/file.h"
#include "config/listener.h"
#include "config/module.h"
#include "helpers/test.h"

#define WIDTH 80

static void put(fc_text_t *text, const char *part) {
  fc_error_t error;
  assert_int_equal(fc_sink_put(&text->sink, fc_str(part), &error), FC_OK);
}

static const char *form(const fc_option_t *option) {
  return *option->argument ? option->argument : "on|off";
}

// Writes "LEAD word word …" in lines of at most WIDTH bytes.
static void put_comment(fc_text_t *text, const char *lead, const char *help) {
  size_t column = 0;
  for (const char *word = help; *word;) {
    const size_t size = strcspn(word, " ");
    if (column + 1 + size > WIDTH || !column) {
      if (column) put(text, "\n");
      put(text, lead);
      column = strlen(lead);
    }
    char copy[128];
    assert_true(size < sizeof copy);
    snprintf(copy, sizeof copy, " %.*s", (int)size, word);
    put(text, copy);
    column += 1 + size;
    word += size;
    while (*word == ' ') word++;
  }
  put(text, "\n");
}

static void put_explained(fc_text_t *text, const char *lead,
                          const fc_option_t *option) {
  char help[512];
  snprintf(help, sizeof help, "%s: %s", form(option), option->help);
  put_comment(text, lead, help);
}

// ---------------------------------------------------------------------------
// The texts

// Writes `"key": value,` as in a configuration file.
static void put_member(fc_text_t *text, const char *lead,
                       const fc_option_t *o) {
  const bool bare = o->kind == FC_OPTION_KIND_COUNT;
  const bool flag = o->kind == FC_OPTION_KIND_FLAG;
  char line[200];
  snprintf(line, sizeof line, "%s\"%s\": %s%s%s", lead, o->flag,
           bare || flag ? "" : "\"", flag ? "false" : o->value,
           bare || flag ? "" : "\"");
  put(text, line);
}

// Writes the keys of one module as comments, because there is no module named "NAME".
static void print_module(fc_text_t *text) {
  put(text,
      "  // What holds for single modules. A key that is left out is as the option "
      "in []\n  // says.\n  \"modules\": {\n    // \"NAME\": {\n");
  for (size_t i = 0; i < FC_MODULE_KEYS; i++) {
    const fc_option_t *o = &fc_module_keys[i];
    const fc_option_t *inherited = fc_option_inherited(&fc_module_keys[i]);
    char help[512];
    snprintf(help, sizeof help, "%s: %s%s%s%s", form(o), o->help,
             inherited ? " [" : "", inherited ? inherited->flag : "",
             inherited ? "]" : "");
    put_comment(text, "    //   //", help);
    put_member(text, "    //   ", o);
    put(text, i + 1 < FC_MODULE_KEYS ? ",\n    //\n" : "\n");
  }
  put(text, "    // }\n  },\n\n");
}

static void print_listener(fc_text_t *text) {
  put(text,
      "  // Where the server listens, if what holds is not the same everywhere: in "
      "the\n  // place of \"listen\". A key that is left out is as the option of its "
      "name.\n  \"listeners\": [\n    // {\n");
  // The address has no default, so an example is written.
  fc_option_t address = fc_listener_keys[FC_LISTENER_KEY_address];
  address.value = "127.0.0.1:8000";
  for (size_t i = 0; i < FC_LISTENER_KEYS; i++) {
    const fc_option_t *o = &fc_listener_keys[i];
    char help[512];
    snprintf(help, sizeof help, "%s: %s", form(o), o->help);
    put_comment(text, "    //   //", help);
    put_member(text, "    //   ", i == FC_LISTENER_KEY_address ? &address : o);
    put(text, i + 1 < FC_LISTENER_KEYS ? ",\n    //\n" : "\n");
  }
  put(text, "    // }\n  ],\n\n");
}

static void print_file(fc_text_t *text) {
  put(text,
      "// SPDX-License-Identifier: Apache-2.0\n"
      "//\n"
      "// Every key of the file of `farcalld --config=FILE`, with its default. "
      "JSON with\n"
      "// comments. A flag or a FARCALL_* variable comes before a key. `farcalld "
      "-t -c FILE`\n"
      "// checks a file, `farcalld -T -c FILE` prints what is in force, and where "
      "each\n"
      "// value comes from.\n"
      "{\n");
  for (size_t i = 0; i < FC_OPTIONS; i++) {
    const fc_option_t *o = &fc_options[i];
    if (i == FC_OPTION_config) continue;
    put_explained(text, "  //", o);
    put_member(text, "  ", o);
    put(text, ",\n\n");
  }
  print_module(text);
  print_listener(text);
  put(text,
      "  // What is served: modules (*.so, *.vmfb) and directories of modules. "
      "PATHs of the\n"
      "  // command line take the place of all of these.\n"
      "  \"paths\": []\n}\n");
}

// Writes a cell of a Markdown table.
static void put_cell(fc_text_t *text, const char *cell) {
  for (; *cell; cell++) {
    if (*cell == '|') put(text, "\\");
    const char one[] = {*cell, '\0'};
    put(text, one);
  }
}

static void put_row(fc_text_t *text, const fc_option_t *o, const char *quote,
                    const char *value) {
  const char *const cells[] = {"| `", o->flag, "` ",  form(o), " | ", quote,
                               value, quote,   " | ", o->help, " |\n"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(cells); i++) {
    const bool bar = strchr(cells[i], '|') && cells[i] != form(o) &&
                     cells[i] != o->help && cells[i] != value;
    if (bar) put(text, cells[i]);
    else put_cell(text, cells[i]);
  }
}

static void print_module_rows(fc_text_t *text) {
  for (size_t i = 0; i < FC_MODULE_KEYS; i++) {
    const fc_option_t *inherited = fc_option_inherited(&fc_module_keys[i]);
    const fc_option_t *o = &fc_module_keys[i];
    char as[64] = "";
    if (inherited) snprintf(as, sizeof as, "as `%s`", inherited->flag);
    put_row(text, o, inherited || !*o->value ? "" : "`",
            inherited ? as : o->value);
  }
}

static void print_listener_rows(fc_text_t *text) {
  for (size_t i = 0; i < FC_LISTENER_KEYS; i++) {
    const fc_option_t *o = &fc_listener_keys[i];
    put(text, "| `");
    put(text, o->flag);
    put(text, "` ");
    put_cell(text, form(o));
    put(text, " | ");
    put_cell(text, o->help);
    put(text, " |\n");
  }
}

// Writes the paragraph of options that SIGHUP changes.
static void put_changing(fc_text_t *text) {
  size_t column = 0;
  for (const fc_option_t *o = fc_options; o < fc_options + FC_OPTIONS; o++) {
    if (o->when != FC_OPTION_WHEN_SIGHUP) continue;
    const size_t size = strlen(o->flag) + 4;
    if (column) put(text, column + size > WIDTH ? ",\n" : ", ");
    if (column + size > WIDTH) column = 0;
    put(text, "`");
    put(text, o->flag);
    put(text, "`");
    column += size;
  }
  put(text, "\n");
}

static void print_option_rows(fc_text_t *text) {
  for (const fc_option_t *o = fc_options; o < fc_options + FC_OPTIONS; o++) {
    put_row(text, o, *o->value ? "`" : "", o->value);
  }
}

// Writes the page again. Replaces the rows of its tables and the lines that begin with
// a word of code; all other lines are copied.
static void print_page(fc_text_t *text) {
  static void (*const kMade[])(fc_text_t *) = {
      put_changing, print_option_rows, print_module_rows, print_listener_rows};
  char line[2048];
  size_t made = 0;
  bool inside = false;
  FILE *file = fopen(FARCALL_SOURCE_DIR "/docs/config.md", "re");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    const bool words = line[0] == '`' && made == 0;
    const bool rows = strncmp(line, "|---", 4) == 0;
    inside = words || (inside && (line[0] == '|' || line[0] == '`'));
    if (!inside || rows) put(text, line);
    if (words || rows) kMade[made++](text);
    inside |= rows;
    assert_true(made <= FC_ARRAY_COUNT(kMade));
  }
  fclose(file);
  assert_int_equal(made, FC_ARRAY_COUNT(kMade));
}

// ---------------------------------------------------------------------------

static void every_option_is_in_every_text(void **state) {
  (void)state;
  static const struct {
    const char *name;
    void (*print)(fc_text_t *text);
    const char *copy;
  } rows[] = {
      {"config/farcalld.conf", print_file, "farcalld.conf"},
      {"docs/config.md", print_page, "config.md"},
  };
  bool differs = false;
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    row->print(&text);
    const fc_str_t expected = fc_text_str(&text);
    char path[512];
    snprintf(path, sizeof path, "%s/%s", FARCALL_SOURCE_DIR, row->name);
    static char found[1u << 16];
    FILE *file = fopen(path, "re");
    const size_t size = file ? fread(found, 1, sizeof found, file) : 0;
    if (file) fclose(file);
    if (!fc_str_equal(fc_str_make(found, size), expected)) {
      differs = true;
      snprintf(path, sizeof path, "%s/%s", FARCALL_BUILD_DIR, row->copy);
      file = fopen(path, "we");
      assert_non_null(file);
      assert_int_equal(fwrite(expected.data, 1, expected.size, file),
                       expected.size);
      fclose(file);
      print_error("%s is not what the tables say: copy %s there\n", row->name,
                  path);
    }
    fc_text_deinit(&text);
  }
  assert_false(differs);
}

// The file of config/, if it is not changed, gives the same options as no file.
static void the_file_has_the_defaults(void **state) {
  (void)state;
  const char *argv[] = {"farcalld", "-c",
                        FARCALL_SOURCE_DIR "/config/farcalld.conf", "a"};
  const char *paths[4], *variables[] = {NULL};
  fc_server_options_t options, defaults;
  fc_error_t error;
  assert_int_equal(
      fc_server_options_parse(&options, 4, argv, paths, variables, &error),
      FC_OK);
  fc_server_options_init(&defaults);
  for (size_t i = 0; i < FC_OPTIONS; i++) {
    if (i == FC_OPTION_config) continue;
    fc_text_t one, two;
    fc_text_init(&one, fc_allocator_system(), 4096);
    fc_text_init(&two, fc_allocator_system(), 4096);
    (void)fc_option_print(&options, &fc_options[i], &one.sink, &error);
    (void)fc_option_print(&defaults, &fc_options[i], &two.sink, &error);
    assert_true(fc_str_equal(fc_text_str(&one), fc_text_str(&two)));
    assert_int_equal(options.origins[i].from, FC_ORIGIN_FILE);
    fc_text_deinit(&one);
    fc_text_deinit(&two);
  }
  fc_server_options_deinit(&options);
}

// Parses the comments of config/farcalld.conf below the member that begins with
// `begin`, as if they were not comments.
static void parse_comments(const char *begin, const char *end,
                           fc_server_options_t *out_options) {
  fc_text_t text;
  fc_error_t error;
  char line[256];
  bool inside = false;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  put(&text, "{");
  FILE *file = fopen(FARCALL_SOURCE_DIR "/config/farcalld.conf", "re");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    const bool is_begin = strstr(line, begin);
    if (is_begin) put(&text, line);
    inside = is_begin || (inside && strncmp(line, "    //", 6) == 0);
    if (inside && !is_begin) put(&text, line + 6);
  }
  fclose(file);
  put(&text, end);
  fc_server_options_init(out_options);
  out_options->file.name = "farcalld.conf";
  out_options->file.size = fc_text_str(&text).size;
  assert_int_equal(fc_sink_put(&text.sink, fc_str_make("", 1), &error), FC_OK);
  out_options->file.text = text.data;
  assert_int_equal(fc_config_file_parse(out_options, &error), FC_OK);
}

static void expect_alike(const void *values, const void *defaults,
                         const fc_option_t *key) {
  fc_error_t error;
  fc_text_t one, two;
  fc_text_init(&one, fc_allocator_system(), 4096);
  fc_text_init(&two, fc_allocator_system(), 4096);
  (void)fc_option_print(values, key, &one.sink, &error);
  (void)fc_option_print(defaults, key, &two.sink, &error);
  assert_true(fc_str_equal(fc_text_str(&one), fc_text_str(&two)));
  fc_text_deinit(&one);
  fc_text_deinit(&two);
}

// The comment about "NAME" is a valid policy, and it has the default values.
static void the_file_has_the_defaults_of_a_module(void **state) {
  (void)state;
  fc_server_options_t options;
  fc_module_policy_t defaults;
  parse_comments("\"modules\": {", "} }", &options);
  assert_int_equal(options.file.module_count, 1);
  const fc_module_policy_t *policy = options.file.modules;
  fc_module_policy_init(&defaults, NULL);
  assert_string_equal(policy->name, "NAME");
  for (size_t i = 0; i < FC_MODULE_KEYS; i++) {
    expect_alike(policy, &defaults, &fc_module_keys[i]);
    assert_int_equal(policy->origins[i].from, FC_ORIGIN_FILE);
  }
  fc_server_options_deinit(&options);
}

// The comment about a listener is a valid one. Only its address is not a default.
static void the_file_has_the_defaults_of_a_listener(void **state) {
  (void)state;
  fc_server_options_t options;
  fc_listener_policy_t defaults;
  parse_comments("\"listeners\": [", "] }", &options);
  assert_int_equal(options.file.listener_count, 1);
  const fc_listener_policy_t *listener = options.file.listeners;
  fc_listener_policy_init(&defaults);
  for (size_t i = 0; i < FC_LISTENER_KEYS; i++) {
    if (i != FC_LISTENER_KEY_address) {
      expect_alike(listener, &defaults, &fc_listener_keys[i]);
    }
    assert_int_equal(listener->origins[i].from, FC_ORIGIN_FILE);
  }
  fc_server_options_deinit(&options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_option_is_in_every_text),
      FC_TEST(the_file_has_the_defaults),
      FC_TEST(the_file_has_the_defaults_of_a_module),
      FC_TEST(the_file_has_the_defaults_of_a_listener),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
