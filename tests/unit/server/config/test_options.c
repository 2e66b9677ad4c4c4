// SPDX-License-Identifier: Apache-2.0
//
// How farcalld reads its arguments and variables, and what it says of mistakes.
#include "config/table.h"

#include <stdlib.h>

#include "helpers/test.h"

static const char *const kNoVariables[] = {"HOME=/", NULL};

#define ARGUMENTS_MAX 12

static fc_status_t parse(fc_server_options_t *options,
                         const char *const *arguments, const char **paths,
                         const char *const *variables, fc_error_t *err) {
  const char *argv[ARGUMENTS_MAX + 1] = {"farcalld"};
  int argc = 1;
  while (argc <= ARGUMENTS_MAX && arguments[argc - 1]) {
    argv[argc] = arguments[argc - 1];
    argc++;
  }
  fc_error_reset(err);
  return fc_server_options_parse(options, argc, argv, paths, variables, err);
}

static void defaults_are_those_of_the_table(void **state) {
  (void)state;
  fc_server_options_t options;
  fc_server_options_init(&options);
  assert_string_equal(options.listen.texts[0], "127.0.0.1:8000");
  assert_int_equal(options.max_body, 64u << 20);
  assert_int_equal(options.timeout, 30000);
  assert_int_equal(options.access_log, FC_ACCESS_LOG_ON);
  assert_int_equal(options.log_format, FC_LOG_FORMAT_AUTO);
  assert_false(options.strict_load);
  assert_false(options.no_native_kernels);
  assert_false(options.allow_insecure_bind);
}

static void every_spelling_of_a_flag_is_read(void **state) {
  (void)state;
  fc_server_options_t options;
  fc_error_t error;
  const char *paths[ARGUMENTS_MAX + 1];
  const char *one[] = {"--workers=3",      "-q",   "7", "--max-body", "2k",
                       "--access-log=off", "a.so", NULL};
  assert_int_equal(parse(&options, one, paths, kNoVariables, &error), FC_OK);
  assert_int_equal(options.workers, 3);
  assert_int_equal(options.queue, 7);
  assert_int_equal(options.max_body, 2048);
  assert_int_equal(options.access_log, FC_ACCESS_LOG_OFF);
  assert_int_equal(options.path_count, 1);
  assert_string_equal(options.paths[0], "a.so");
  const char *two[] = {"-w2",
                       "--strict-load",
                       "--no-native-kernels",
                       "--drain=250ms",
                       "b",
                       "--",
                       "--c.so",
                       NULL};
  assert_int_equal(parse(&options, two, paths, kNoVariables, &error), FC_OK);
  assert_int_equal(options.workers, 2);
  assert_true(options.strict_load);
  assert_true(options.no_native_kernels);
  assert_int_equal(options.drain, 250);
  assert_int_equal(options.path_count, 2);
  assert_string_equal(options.paths[1], "--c.so");
  const char *help[] = {"-h", NULL}, *version[] = {"--version", NULL};
  assert_int_equal(parse(&options, help, paths, kNoVariables, &error), FC_OK);
  assert_true(options.help);
  assert_int_equal(parse(&options, version, paths, kNoVariables, &error),
                   FC_OK);
  assert_true(options.version);
}

static const char *const kSomeVariables[] = {
    "PATH=/bin",
    "FARCALL_LISTEN=127.0.0.1:9",
    "FARCALL_MAX_BODY=1M",
    "FARCALL_ALLOW_INSECURE_BIND=1",
    "FARCALL_WORKERS=",  // as if it were not set
    NULL};

static void variables_come_after_flags(void **state) {
  (void)state;
  fc_server_options_t options;
  fc_error_t error;
  const char *paths[ARGUMENTS_MAX + 1];
  const char *arguments[] = {"--max-body=2M", "a", NULL};
  assert_int_equal(parse(&options, arguments, paths, kSomeVariables, &error),
                   FC_OK);
  assert_string_equal(options.listen.texts[0], "127.0.0.1:9");
  assert_int_equal(options.max_body, 2u << 20);
  assert_true(options.allow_insecure_bind);
  assert_int_equal(options.workers, 0);
}

static void variables_that_are_none_are_named(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *says;  // NULL: fine
  } rows[] = {
      {"FARCALL_LSTEN=127.0.0.1:9",
       "unknown variable FARCALL_LSTEN: did you mean FARCALL_LISTEN?"},
      {"FARCALL_LSTEN=",
       "unknown variable FARCALL_LSTEN: did you mean FARCALL_LISTEN?"},
      {"FARCALL_MAXBODY=1M",
       "unknown variable FARCALL_MAXBODY: did you mean FARCALL_MAX_BODY?"},
      {"FARCALL_COLOUR=1",
       "unknown variable FARCALL_COLOUR: see farcalld --help"},
      {"FARCALL_=1", "unknown variable FARCALL_: see farcalld --help"},
      {"FARCALL_HELP=1",
       "unknown variable FARCALL_HELP: did you mean FARCALL_OTLP?"},
      {"FARCALL_X\n=1", "unknown variable FARCALL_X\\x0a: see farcalld --help"},
      {"FARCALL_WORKERS=two",
       "'two' is no value for FARCALL_WORKERS: a whole number, at most 1024"},
      // These variables are read by the program farcall.
      {"FARCALL_SERVER=http://127.0.0.1:8000", NULL},
      {"FARCALL_TOKEN=secret", NULL},
      {"FARCALL_CA=ca.pem", NULL},
      {"FARCALLD=/usr/bin/farcalld", NULL},
      // Kubernetes sets these in every container when there is a Service named
      // "farcall".
      {"FARCALL_SERVICE_HOST=10.96.3.7", NULL},
      {"FARCALL_SERVICE_PORT=8000", NULL},
      {"FARCALL_SERVICE_PORT_HTTP=8000", NULL},
      {"FARCALL_PORT=tcp://10.96.3.7:8000", NULL},
      {"FARCALL_PORT_8000_TCP=tcp://10.96.3.7:8000", NULL},
      {"FARCALL_PORT_8000_TCP_PROTO=tcp", NULL},
      {"FARCALL_PORT_8000_TCP_PORT=8000", NULL},
      {"FARCALL_PORT_8000_TCP_ADDR=10.96.3.7", NULL},
      {"FARCALL_BIG_SERVICE_HOST=10.96.3.8", NULL},
      {"FARCALL_BIG_PORT_53_UDP_ADDR=10.96.3.8", NULL},
      {"FARCALL_PORT=9000",
       "unknown variable FARCALL_PORT: did you mean FARCALL_LOAD?"},
      {"FARCALL_PORT_NUMBER=9000",
       "unknown variable FARCALL_PORT_NUMBER: see farcalld --help"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_server_options_t options;
    fc_error_t error;
    const char *paths[ARGUMENTS_MAX + 1];
    const char *variables[] = {"HOME=/", row->name, NULL};
    const char *arguments[] = {"a", NULL}, *help[] = {"--help", NULL};
    const fc_status_t status =
        parse(&options, arguments, paths, variables, &error);
    if (row->says) assert_string_equal(error.message, row->says);
    assert_int_equal(status == FC_OK, row->says == NULL);
    // --help works even if other options are wrong.
    assert_int_equal(parse(&options, help, paths, variables, &error), FC_OK);
  }
}

static void mistakes_are_named(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *arguments[4];
    const char *message;
  } rows[] = {
      {"nothing", {NULL}, "no module given: farcalld [options] PATH..."},
      {"a slip",
       {"--lisen=x", "a"},
       "unknown option --lisen: did you mean --listen?"},
      {"an other slip",
       {"--versoin"},
       "unknown option --versoin: did you mean --version?"},
      {"far away",
       {"--quietly-now", "a"},
       "unknown option --quietly-now: see farcalld --help"},
      {"a flag of tritonserver",
       {"--model-repository=/models"},
       "unknown option --model-repository: folders are words, without a flag"},
      {"a flag of tensorflow_model_server",
       {"--port=8500"},
       "unknown option --port: --listen=ADDR:PORT, which HTTP and gRPC share"},
      {"a letter", {"-z", "a"}, "unknown option --z: see farcalld --help"},
      {"no value", {"--listen"}, "--listen needs a value"},
      {"an empty value",
       {"--listen=", "a"},
       "'' is no value for --listen: [http[s]://]ADDR:PORT|unix:PATH,…"},
      {"a second list",
       {"--allow-host=a", "--allow-host=b", "a"},
       "--allow-host is given twice: it takes one value"},
      {"no number",
       {"-w", "two", "a"},
       "'two' is no value for -w: a whole number, at most 1024"},
      {"negative",
       {"--workers=-1", "a"},
       "'-1' is no value for --workers: a whole number, at most 1024"},
      {"far too many",
       {"--workers=4294967296", "a"},
       "'4294967296' is no value for --workers: a whole number, at most 1024"},
      {"for ever",
       {"--timeout=99999999999s", "a"},
       "'99999999999s' is no value for --timeout: "
       "a time, as 250ms, 10s or 5m, at most 31622400s"},
      {"too large",
       {"--max-body=99999999999999999999", "a"},
       "'99999999999999999999' is no value for --max-body: bytes, not 0, as 65536, 64k, 2M or 1G"},
      {"too large with unit",
       {"--max-body=99999999999G", "a"},
       "'99999999999G' is no value for --max-body: bytes, not 0, as 65536, 64k, 2M or 1G"},
      {"another unit",
       {"--drain=3h", "a"},
       "'3h' is no value for --drain: a time, as 250ms, 10s or 5m, at most 31622400s"},
      {"no such word",
       {"--lane=fast", "a"},
       "'fast' is no value for --lane: auto|always|never"},
      {"a half word",
       {"--lane=auto|always", "a"},
       "'auto|always' is no value for --lane: auto|always|never"},
      {"a flag's value",
       {"--strict-load=maybe", "a"},
       "'maybe' is no value for --strict-load: on or off"},
      {"client text",
       {"--x\n\x1b=1"},
       "unknown option --x\\x0a\\x1b: see "
       "farcalld --help"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_server_options_t options;
    fc_error_t error;
    const char *paths[ARGUMENTS_MAX + 1];
    assert_int_not_equal(
        parse(&options, row->arguments, paths, kNoVariables, &error), FC_OK);
    assert_string_equal(error.message, row->message);
  }
}

static void help_lists_every_option(void **state) {
  (void)state;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1u << 16);
  assert_int_equal(fc_server_options_help(&text.sink, NULL), FC_OK);
  assert_int_equal(fc_sink_put(&text.sink, fc_str_make("", 1), NULL), FC_OK);
  static const char *const kFlags[] = {
#define FC_OPTION(field, flag, ...) "--" flag,
#include "config/options.def"
#undef FC_OPTION
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFlags); i++) {
    assert_non_null(strstr(text.data, kFlags[i]));
  }
  assert_non_null(strstr(text.data, "-l, --listen=[http[s]://]ADDR:PORT"));
  fc_text_deinit(&text);
}

static void a_list_may_be_given_more_than_once(void **state) {
  (void)state;
  const char *const argv[] = {"farcalld", "-lunix:/a,[::1]:1",
                              "--listen=127.0.0.1:2", "m.so"};
  const char *const variables[] = {"FARCALL_LISTEN=127.0.0.1:9", NULL};
  static const char *const kItems[] = {"unix:/a", "[::1]:1", "127.0.0.1:2"};
  const char *paths[FC_ARRAY_COUNT(argv)];
  fc_server_options_t options;
  fc_error_t error;
  assert_int_equal(fc_server_options_parse(&options, FC_ARRAY_COUNT(argv), argv,
                                           paths, variables, &error),
                   FC_OK);
  fc_str_t item;
  uint32_t count = 0;
  for (; fc_texts_at(&options.listen, count, &item); count++) {
    assert_true(count < FC_ARRAY_COUNT(kItems));
    assert_true(fc_str_equal(item, fc_str(kItems[count])));
  }
  assert_int_equal(count, FC_ARRAY_COUNT(kItems));
  const char *many[FC_TEXTS_MAX + 2] = {"farcalld"};
  for (size_t i = 1; i < FC_ARRAY_COUNT(many); i++) many[i] = "-l:1";
  assert_int_not_equal(fc_server_options_parse(&options, FC_ARRAY_COUNT(many),
                                               many, paths, variables, &error),
                       FC_OK);
  assert_string_equal(error.message, "-l is given more than 8 times");
}

static void expect_same(const fc_server_options_t *a,
                        const fc_server_options_t *b,
                        const fc_option_t *option) {
  fc_text_t one, two;
  fc_text_init(&one, fc_allocator_system(), 4096);
  fc_text_init(&two, fc_allocator_system(), 4096);
  assert_int_equal(fc_option_print(a, option, &one.sink, NULL), FC_OK);
  assert_int_equal(fc_option_print(b, option, &two.sink, NULL), FC_OK);
  if (!fc_str_equal(fc_text_str(&one), fc_text_str(&two))) {
    fail_msg("%s is %.*s, not %.*s", option->flag,
             FC_STR_ARG(fc_text_str(&one)), FC_STR_ARG(fc_text_str(&two)));
  }
  fc_text_deinit(&one);
  fc_text_deinit(&two);
}

// The options that SIGHUP changes are copied one by one: each wholly, and no other.
static void a_copied_value_is_whole_and_alone(void **state) {
  (void)state;
  fc_server_options_t from, defaults;
  fc_error_t error;
  const char *paths[ARGUMENTS_MAX + 1];
  const char *const kOfEachKind[] = {"--state-dir=/s",
                                     "--listen=:1,:2",
                                     "--listen=unix:/u",
                                     "--workers=3",
                                     "--max-body=2k",
                                     "--timeout=5ms",
                                     "--watch",
                                     "--lane=never",
                                     "a.so",
                                     NULL};
  if (parse(&from, kOfEachKind, paths, kNoVariables, &error) != FC_OK) {
    fail_msg("%s", error.message);
  }
  fc_server_options_init(&defaults);
  for (size_t i = 0; i < FC_OPTIONS; i++) {
    fc_server_options_t to = defaults;
    fc_test_row(fc_options[i].flag);
    fc_option_copy(&to, &fc_options[i], &from, &fc_options[i]);
    for (size_t k = 0; k < FC_OPTIONS; k++) {
      expect_same(&to, k == i ? &from : &defaults, &fc_options[k]);
    }
  }
  fc_test_row(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(defaults_are_those_of_the_table),
      FC_TEST(every_spelling_of_a_flag_is_read),
      FC_TEST(variables_come_after_flags),
      FC_TEST(a_list_may_be_given_more_than_once),
      FC_TEST(variables_that_are_none_are_named),
      FC_TEST(mistakes_are_named),
      FC_TEST(help_lists_every_option),
      FC_TEST(a_copied_value_is_whole_and_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
