// SPDX-License-Identifier: Apache-2.0
//
// Options that are valid each by itself, but that the server refuses, and the place
// that the message names.
#include "check.h"

#include "config/file.h"
#include "helpers/test.h"

#define NAME "f"

static void values_that_nobody_could_use_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *text;
    const char *says;  // NULL: nothing is wrong
  } rows[] = {
      {"listeners of every kind",
       "{\"listeners\": [{\"address\": \"127.0.0.1:1\", \"allow-host\": \"a\"},\n"
       "{\"address\": \"unix:/s\", \"socket-mode\": \"0600\"},\n"
       "{\"address\": \"systemd:a\", \"admin\": \"loopback\"}]}",
       NULL},
      {"two free ports",
       "{\"listeners\": [{\"address\": \"127.0.0.1:0\"}, {\"address\": "
       "\"127.0.0.1:0\"}]}",
       NULL},
      {"an address", "{\"listeners\": [\n{\"address\": \"nowhere\"}]}",
       NAME ":2:13: 'nowhere' is no address to listen on"},
      {"others may reach it", "{\"listeners\": [{\"address\": \":1\"}]}",
       NAME ":1:28: :1 can be reached by others"},
      {"they are meant to",
       "{\"listeners\": [{\"address\": \":1\", \"allow-insecure-bind\": true}]}",
       NULL},
      {"one of two may be reached",
       "{\"listeners\": [{\"address\": \":1\", \"allow-insecure-bind\": true},\n"
       "{\"address\": \":2\"}]}",
       NAME ":2:13: :2 can be reached by others"},
      {"a host of one listener",
       "{\"listeners\": [{\"address\": \"unix:/s\",\n\"allow-host\": \"a:1\"}]}",
       NAME ":2:15: --allow-host: 'a:1' is no host name"},
      {"a host of all",
       "{\"trusted-proxy\": \"::1\",\n\"allow-host\": \"a:1\"}",
       NAME ":2:15: --allow-host: 'a:1' is no host name"},
      {"a proxy of one listener",
       "{\"listeners\": [{\"address\": \"unix:/s\",\n\"trusted-proxy\": \"a\"}]}",
       NAME ":2:18: --trusted-proxy: "},
      {"a mode of one listener",
       "{\"listeners\": [{\"address\": \"unix:/s\",\n\"socket-mode\": \"9\"}]}",
       NAME ":2:16: --socket-mode: '9' is no octal number"},
      {"a mode for no file",
       "{\"listeners\": [{\"address\": \"127.0.0.1:1\",\n\"socket-mode\": "
       "\"0600\"}]}",
       NAME
       ":2:16: \"socket-mode\" of listener '127.0.0.1:1': only unix:PATH has "
       "a file"},
      {"an owner of another's file",
       "{\"listeners\": [{\"address\": \"systemd\",\n\"socket-owner\": \"0\"}]}",
       NAME
       ":2:17: \"socket-owner\" of listener 'systemd': only unix:PATH has a "
       "file"},
      {"no mode for no file",
       "{\"listeners\": [{\"address\": \"127.0.0.1:1\", \"socket-mode\": "
       "\"\", \"socket-owner\": \"\"}]}",
       NULL},
      {"versions of single modules", "{\"versions\": \"m=latest:1\"}",
       NAME ":1:14: 'm=latest:1' is no value for versions: all, latest:N"},
      {"a mode for all", "{\"socket-mode\": \"0600\"}", NULL},
      {"systemd's is no address of all", "{\"listen\": \"systemd\"}",
       NAME ":1:12: 'systemd' is no address to listen on"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_server_options_t options;
    fc_error_t error;
    fc_server_options_init(&options);
    fc_error_reset(&error);
    options.file.name = NAME;
    options.file.size = strlen(row->text);
    options.file.text = fc_alloc(fc_allocator_system(), options.file.size + 1);
    assert_non_null(options.file.text);
    memcpy(options.file.text, row->text, options.file.size);
    assert_int_equal(fc_config_file_parse(&options, &error), FC_OK);
    const bool good = fc_options_check(&options, &error) == FC_OK;
    assert_int_equal(good, row->says == NULL);
    if (row->says && !strstr(error.message, row->says)) {
      fail_msg("says '%s'", error.message);
    }
    fc_server_options_deinit(&options);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(values_that_nobody_could_use_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
