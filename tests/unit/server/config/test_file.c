// SPDX-License-Identifier: Apache-2.0
//
// The configuration file: how it is read; whether the flag, the variable or the file
// counts; what is said about a mistake, and of which place; and that the options in
// force are printed as a file with the same meaning.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "config/file.h"
#include "config/listener.h"
#include "config/module.h"
#include "helpers/test.h"

#define NAME "farcalld.conf"

static fc_status_t parse(fc_server_options_t *options, const char *text,
                         fc_error_t *err) {
  fc_server_options_init(options);
  fc_error_reset(err);
  options->file.name = NAME;
  options->file.size = strlen(text);
  options->file.text = fc_alloc(fc_allocator_system(), strlen(text) + 1);
  assert_non_null(options->file.text);
  memcpy(options->file.text, text, strlen(text));
  return fc_config_file_parse(options, err);
}

static void every_kind_of_value_is_read(void **state) {
  (void)state;
  fc_server_options_t options;
  fc_error_t error;
  const char *text =
      "// of the whole file\n"
      "{ /* a comment\n"
      "     of two lines with \" in it */\n"
      "  \"listen\": \"127.0.0.1:\\u0039\", // \"workers\": 9,\n"
      "  \"workers\": 3, \"max-body\": \"2k\", \"worker-memory\": 4096,\n"
      "  \"timeout\": 2, \"drain\": \"250ms\", \"lane\": \"never\",\n"
      "  \"strict-load\": true, \"access-log\": false,\n"
      "  \"allow-host\": [\"a.example\", \"b/*no comment*/\", \"\\n\"],\n"
      "  \"paths\": [\"/srv/models\", \"//one.so\", \"three\"]\n"
      "}\n";
  assert_int_equal(parse(&options, text, &error), FC_OK);
  assert_string_equal(options.listen.texts[0], "127.0.0.1:9");
  assert_int_equal(options.workers, 3);
  assert_int_equal(options.max_body, 2048);
  assert_int_equal(options.worker_memory, 4096);
  assert_int_equal(options.timeout, 2000);
  assert_int_equal(options.drain, 250);
  assert_int_equal(options.lane, 2);
  assert_true(options.strict_load);
  assert_int_equal(options.access_log, FC_ACCESS_LOG_OFF);
  assert_string_equal(options.allow_host, "a.example,b/*no comment*/,\n");
  assert_int_equal(options.path_count, 3);
  assert_string_equal(options.paths[0], "/srv/models");
  assert_string_equal(options.paths[1], "//one.so");
  assert_string_equal(options.paths[2], "three");
  assert_int_equal(options.origins[FC_OPTION_workers].from, FC_ORIGIN_FILE);
  assert_int_equal(options.origins[FC_OPTION_workers].line, 5);
  assert_int_equal(options.origins[FC_OPTION_workers].column, 14);
  assert_int_equal(options.origins[FC_OPTION_queue].from, FC_ORIGIN_DEFAULT);
  fc_server_options_deinit(&options);
}

static void mistakes_are_named_with_their_place(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *text;
    const char *says;
  } rows[] = {
      {"nothing", "", NAME ":1:1: "},
      {"only a comment", "// {}", NAME ":1:6: "},
      {"an open comment", "{} /* ", NAME ":1:4: "},
      {"a list", "[]", NAME ":1:1: expected an object, found an array"},
      {"a slip", "{\n  \"max-bdy\": 1}",
       NAME ":2:3: unknown key 'max-bdy': did you mean 'max-body'?"},
      {"the variable's name", "{\"MAX_BODY\": 1}",
       NAME ":1:2: unknown key 'MAX_BODY': keys are the options of farcalld "
            "--help, \"paths\", \"modules\" and \"listeners\""},
      {"of paths", "{\"path\": []}",
       NAME ":1:2: unknown key 'path': did you mean 'paths'?"},
      {"twice", "{\"queue\": 1,\n\"lane\": \"auto\",\n \"queue\": 2}",
       NAME ":3:2: \"queue\" is given twice, first in line 1"},
      {"paths twice", "{\"paths\": [\"a\"], \"paths\": [\"b\"]}",
       NAME ":1:18: \"paths\" is given twice"},
      {"another file", "{\"config\": \"x\"}",
       NAME ":1:2: a file does not name another one"},
      {"no such word", "{\"lane\":\n\"fast\"}",
       NAME ":2:1: 'fast' is no value for \"lane\": auto|always|never"},
      {"another unit", "{\"drain\": \"3h\"}",
       NAME ":1:11: '3h' is no value for \"drain\": "
            "a time, as 250ms, 10s or 5m, at most 31622400s"},
      {"no integer", "{\"workers\": 1.5}",
       NAME ":1:13: '1.5' is no value for \"workers\": a whole number"},
      {"too large", "{\"workers\": 4294967296}",
       NAME ":1:13: '4294967296' is no value for \"workers\": a whole number"},
      {"beyond its range", "{\"tiles\": 65}",
       NAME
       ":1:11: '65' is no value for \"tiles\": a whole number from 1 to 64"},
      {"below its range", "{\"max-body\": 0}",
       NAME ":1:14: '0' is no value for \"max-body\": bytes, not 0"},
      {"very long",
       "{\"workers\": 11111111111111111111111111111111111111111111}",
       NAME ":1:13: \"workers\" takes N, not a number"},
      {"a number for a text", "{\"listen\": 8000}",
       NAME ":1:12: \"listen\" takes "},
      {"a text for a flag", "{\"strict-load\": \"maybe\"}",
       NAME ":1:17: 'maybe' is no value for \"strict-load\": on or off"},
      {"a number for a flag", "{\"strict-load\": 1}",
       NAME ":1:17: \"strict-load\" takes true or false, not a number"},
      {"null", "{\"lane\": null}", NAME ":1:10: \"lane\" takes "},
      {"an object", "{\"lane\": {}}", NAME ":1:10: \"lane\" takes "},
      {"a list of numbers", "{\"allow-host\": [\"a\", 1]}",
       NAME ":1:22: \"allow-host\" takes NAME,…, not a number"},
      {"a list for a number", "{\"workers\": [1]}",
       NAME ":1:13: \"workers\" takes N, not an array"},
      {"one path", "{\"paths\": \"a\"}",
       NAME ":1:11: \"paths\" takes a list of files and directories, not a "
            "string"},
      {"an empty path", "{\"paths\": [\"\"]}", NAME ":1:12: \"paths\" takes "},
      {"an empty value", "{\"listen\": \"\"}",
       NAME ":1:12: '' is no value for \"listen\": "},
      {"a zero byte", "{\"listen\": \"a\\u0000b\"}",
       NAME ":1:12: a text with a zero byte in it"},
      {"of modules", "{\"module\": {}}",
       NAME ":1:2: unknown key 'module': did you mean 'modules'?"},
      {"of listeners", "{\"listener\": []}",
       NAME ":1:2: unknown key 'listener': did you mean 'listeners'?"},
      {"listeners twice", "{\"listeners\": [],\n\"listeners\": []}",
       NAME ":2:1: \"listeners\" is given twice, first in line 1"},
      {"one listener", "{\"listeners\": {\"address\": \":1\"}}",
       NAME ":1:15: \"listeners\" takes a list of objects, not an object"},
      {"a listener's text", "{\"listeners\": [\":1\"]}",
       NAME ":1:16: \"listeners\" takes a list of objects, not a string"},
      {"a listener nowhere", "{\"listeners\": [\n {\"admin\": \"off\"}]}",
       NAME ":2:2: a listener without an \"address\""},
      {"a listener twice",
       "{\"listeners\": [{\"address\": \"systemd:a\"}, {\"address\": \":1\"},\n"
       " {\"address\": \"systemd:a\", \"admin\": \"off\"}]}",
       NAME ":2:2: listener 'systemd:a' is given twice, first in line 1"},
      {"behind a list of several lines",
       "{\"allow-host\": [\n\"a\",\n\"b\"],\n\"lane\": 1}",
       NAME ":4:9: \"lane\" takes "},
      {"a listener's slip",
       "{\"listeners\": [{\"address\": \":1\",\n\"allowhost\": \"a\"}]}",
       NAME ":2:1: unknown key 'allowhost': did you mean 'allow-host'?"},
      {"no key of listeners", "{\"listeners\": [{\"max-body\": 1}]}",
       NAME
       ":1:17: unknown key 'max-body': docs/config.md has those of listeners"},
      {"a listener's key twice",
       "{\"listeners\": [{\"address\": \":1\", \"address\": \":2\"}]}",
       NAME ":1:34: \"address\" is given twice, first in line 1"},
      {"a listener's word",
       "{\"listeners\": [{\"address\": \":1\", \"admin\": \"all\"}]}",
       NAME ":1:43: 'all' is no value for \"admin\": off|socket|loopback"},
      {"both lists of addresses",
       "{\"listeners\": [{\"address\": \":1\"}],\n\"listen\": \":2\"}",
       NAME ":2:11: \"listen\" and \"listeners\" are both given"},
      {"modules twice", "{\"modules\": {},\n\"modules\": {}}",
       NAME ":2:1: \"modules\" is given twice"},
      {"a list of modules", "{\"modules\": []}",
       NAME ":1:13: \"modules\": expected an object, found an array"},
      {"a module's text", "{\"modules\": {\"a\": \"x\"}}",
       NAME ":1:19: a module's policy: expected an object, found a string"},
      {"no module's name", "{\"modules\": {\"a/b\": {}}}",
       NAME ":1:14: 'a/b' is no name of a module, and no MODULE@VERSION"},
      {"no version's name", "{\"modules\": {\"a@stable\": {}}}",
       NAME ":1:14: 'a@stable' is no name of a module"},
      {"a name without its version", "{\"modules\": {\"a@\": {}}}",
       NAME ":1:14: 'a@' is no name of a module"},
      {"a version's versions",
       "{\"modules\": {\"a@2\": {\n\"versions\": \"1\"}}}",
       NAME ":2:13: \"versions\" is not of one version: say it of module 'a'"},
      {"a version's aliases",
       "{\"modules\": {\"a@2\": {\n\"aliases\": \"x=1\"}}}",
       NAME ":2:12: \"aliases\" is not of one version: say it of module 'a'"},
      {"a module twice", "{\"modules\": {\"a\": {},\n\"b\": {}, \"a\": {}}}",
       NAME ":2:10: module 'a' is given twice, first in line 1"},
      {"a module's slip", "{\"modules\": {\"a\": {\n \"time-out\": 1}}}",
       NAME ":2:2: unknown key 'time-out': did you mean 'timeout'?"},
      {"no key of modules", "{\"modules\": {\"a\": {\"max-body\": 1}}}",
       NAME
       ":1:20: unknown key 'max-body': docs/config.md has those of modules"},
      {"a module's key twice",
       "{\"modules\": {\"a\": {\"pin\": true, \"pin\": true}}}",
       NAME ":1:33: \"pin\" is given twice, first in line 1"},
      {"a module's value", "{\"modules\": {\"a\": {\"isolation\": \"fast\"}}}",
       NAME ":1:33: 'fast' is no value for \"isolation\": auto|process|thread"},
      {"beyond a module's range", "{\"modules\": {\"a\": {\"warm-up\": 1001}}}",
       NAME
       ":1:31: '1001' is no value for \"warm-up\": a whole number, at most "
       "1000"},
      {"a module's kind", "{\"modules\": {\"a\": {\"workers\": true}}}",
       NAME ":1:31: \"workers\" takes N, not true"},
      {"a comma too many", "{\"workers\": 1,\n}", NAME ":2:1: "},
      {"half a file", "{\"workers\": 1,\n", NAME ":2:1: "},
      {"two files", "{}\n{}", NAME ":2:1: "},
      {"a line in a string", "{\"listen\": \"a\nb\"}", NAME ":1:14: "},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_server_options_t options;
    fc_error_t error;
    const fc_status_t status = parse(&options, row->text, &error);
    fc_server_options_deinit(&options);
    assert_int_not_equal(status, FC_OK);
    const fc_str_t says = fc_str(row->says);
    if (fc_str_starts(fc_str(error.message), says)) continue;
    fail_msg("%s: '%s', not '%s'", row->name, error.message, row->says);
  }
}

// A module's options: its own entry first, then what is said for all modules.
static void modules_have_policies(void **state) {
  (void)state;
  fc_server_options_t options;
  fc_module_policies_t policies;
  fc_error_t error;
  const char *text =
      "{\"timeout\": \"7s\", \"isolation\": \"thread\",\n"
      "\"versions\": \"latest:2\", \"modules\": {\n"
      "\"a\": {\"timeout\": \"2s\", \"aliases\": [\"stable=1\", \"canary=2\"]},\n"
      "\"b\": {\"isolation\": \"auto\", \"versions\": \"1+3\",\n"
      "\"rollback\": \"on-crash\"},\n"
      "\"\\u0063\": {\"pin\": true, \"workers\": 3}}}";
  assert_int_equal(parse(&options, text, &error), FC_OK);
  static const struct {
    const char *name;
    unsigned isolation;
    uint64_t timeout;
    const char *versions, *aliases;
    bool pin, rollback;
    uint64_t workers;
    unsigned isolation_line;  // 0: of a flag
  } rows[2][4] = {
      {{"a", 2, 2000, "latest:2", "stable=1,canary=2", false, false, 0, 1},
       {"b", 0, 7000, "1+3", "", false, true, 0, 4},
       {"c", 2, 7000, "latest:2", "", true, false, 3, 1},
       {"d", 2, 7000, "latest:2", "", false, false, 0, 1}},
      {{"a", 1, 2000, "latest:2", "stable=1,canary=2", false, false, 0, 0},
       {"b", 0, 7000, "1+3", "", false, true, 0, 4},
       {"c", 1, 7000, "latest:2", "", true, false, 3, 0},
       {"d", 1, 7000, "latest:2", "", false, false, 0, 0}},
  };
  for (size_t pass = 0; pass < 2; pass++) {
    if (pass == 1) {  // as a flag would say
      options.isolation = FC_ISOLATION_PROCESS;
      options.origins[FC_OPTION_isolation] =
          (fc_origin_t){FC_ORIGIN_FLAG, 0, 0};
    }
    assert_int_equal(fc_module_policies_init(&policies, fc_allocator_system(),
                                             &options, &error),
                     FC_OK);
    FC_TEST_EACH_ROW(const __typeof__(rows[0][0]), row, rows[pass]) {
      const fc_module_policy_t *policy =
          fc_module_policies_find(&policies, fc_str(row->name));
      const fc_origin_t origin = policy->origins[FC_MODULE_KEY_isolation];
      assert_int_equal(policy->isolation, row->isolation);
      assert_int_equal(policy->timeout, row->timeout);
      assert_string_equal(policy->versions, row->versions);
      assert_string_equal(policy->aliases, row->aliases);
      assert_int_equal(policy->pin, row->pin);
      assert_int_equal(policy->rollback_on_crash, row->rollback);
      assert_int_equal(policy->workers, row->workers);
      assert_int_equal(origin.line, row->isolation_line);
    }
    fc_module_policies_deinit(&policies);
  }
  fc_server_options_deinit(&options);
}

// A version has its module's options, unless there is an entry for the version.
static void versions_have_policies(void **state) {
  (void)state;
  fc_server_options_t options;
  fc_module_policies_t policies;
  fc_error_t error;
  const char *text =
      "{\"timeout\": \"7s\",\n"
      "\"modules\": {\n"
      "\"a@2\": {\"timeout\": \"1s\", \"isolation\": \"thread\"},\n"
      "\"a\": {\"timeout\": \"2s\", \"warm-up\": 3, \"versions\": \"1+2\",\n"
      "  \"aliases\": \"x=1\", \"isolation\": \"process\"},\n"
      "\"a@4\": {\"warm-up\": 1},\n"
      "\"b@2\": {\"pin\": true, \"isolation\": \"process\"}}}";
  static const struct {
    const char *name, *version;
    uint64_t timeout, warm_up;
    const char *versions, *aliases;
    bool pin;
    unsigned isolation;
  } rows[] = {
      {"a", "2", 1000, 3, "1+2", "x=1", false, 2},
      {"a", "3", 2000, 3, "1+2", "x=1", false, 1},
      {"a", "4", 2000, 1, "1+2", "x=1", false, 1},
      {"b", "2", 7000, 0, "all", "", true, 1},
      {"b", "1", 7000, 0, "all", "", false, 0},
      {"c", "2", 7000, 0, "all", "", false, 0},
  };
  assert_int_equal(parse(&options, text, &error), FC_OK);
  assert_int_equal(fc_module_policies_init(&policies, fc_allocator_system(),
                                           &options, &error),
                   FC_OK);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_module_policy_t *policy = fc_module_policies_find_version(
        &policies, fc_str(row->name), fc_str(row->version));
    assert_int_equal(policy->timeout, row->timeout);
    assert_int_equal(policy->warm_up, row->warm_up);
    assert_string_equal(policy->versions, row->versions);
    assert_string_equal(policy->aliases, row->aliases);
    assert_int_equal(policy->pin, row->pin);
    assert_int_equal(policy->isolation, row->isolation);
  }
  fc_module_policies_deinit(&policies);
  fc_server_options_deinit(&options);
}

static fc_status_t make_policies(fc_allocator_t allocator, void *context,
                                 fc_error_t *err) {
  fc_module_policies_t policies;
  FC_TRY(fc_module_policies_init(&policies, allocator, context, err));
  fc_module_policies_deinit(&policies);
  return FC_OK;
}

static void policies_need_memory(void **state) {
  (void)state;
  fc_server_options_t options;
  fc_error_t error;
  assert_int_equal(
      parse(&options, "{\"modules\": {\"a\": {}, \"a@2\": {}}}", &error),
      FC_OK);
  assert_true(fc_test_allocation_sweep(make_policies, &options) > 1);
  fc_server_options_deinit(&options);
}

#define LISTENERS                                                               \
  "{\"admin\": \"off\", \"allow-host\": \"all\", \"listeners\": [\n"            \
  "{\"address\": \"127.0.0.1:1\"},\n"                                           \
  "{\"address\": \"unix:/s\", \"admin\": \"socket\", \"allow-host\": \"\",\n"   \
  "  \"socket-mode\": \"0600\"},\n"                                             \
  "{\"address\": \"systemd\", \"trusted-proxy\": [\"::1\", \"10.0.0.0/8\"]},\n" \
  "{\"address\": \"systemd:api\", \"allow-insecure-bind\": true}]}"

static void a_listener_has_what_is_said_of_it_and_of_all(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned key;
    const char *values[4];
  } rows[] = {
      {"admin", FC_LISTENER_KEY_admin, {"off", "socket", "off", "off"}},
      {"hosts", FC_LISTENER_KEY_allow_host, {"all", "", "all", "all"}},
      {"mode", FC_LISTENER_KEY_socket_mode, {"", "0600", "", ""}},
      {"proxies",
       FC_LISTENER_KEY_trusted_proxy,
       {"", "", "::1,10.0.0.0/8", ""}},
      {"bind",
       FC_LISTENER_KEY_allow_insecure_bind,
       {"off", "off", "off", "on"}},
      {"address",
       FC_LISTENER_KEY_address,
       {"127.0.0.1:1", "unix:/s", "systemd", "systemd:api"}},
  };
  fc_server_options_t options;
  fc_listener_policy_t policy;
  fc_str_t address;
  fc_error_t error;
  assert_int_equal(parse(&options, LISTENERS, &error), FC_OK);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    for (uint32_t i = 0; i < 4; i++) {
      fc_text_t text;
      fc_text_init(&text, fc_allocator_system(), 4096);
      assert_true(fc_listener_at(&options, i, &address, &policy));
      (void)fc_option_print(&policy, &fc_listener_keys[row->key], &text.sink,
                            &error);
      assert_true(fc_str_equal(fc_text_str(&text), fc_str(row->values[i])));
      fc_text_deinit(&text);
    }
  }
  assert_false(fc_listener_at(&options, 4, &address, &policy));
  (void)fc_listener_at(&options, 1, &address, &policy);
  assert_int_equal(policy.origins[FC_LISTENER_KEY_admin].line, 3);
  assert_int_equal(policy.origins[FC_LISTENER_KEY_trusted_proxy].from,
                   FC_ORIGIN_DEFAULT);
  // A flag sets the option for all listeners, but does not override a listener's own
  // entry.
  options.admin = FC_ADMIN_LOOPBACK;
  options.origins[FC_OPTION_admin].from = FC_ORIGIN_FLAG;
  (void)fc_listener_at(&options, 0, &address, &policy);
  assert_int_equal(policy.admin, FC_ADMIN_LOOPBACK);
  assert_int_equal(policy.origins[FC_LISTENER_KEY_admin].from, FC_ORIGIN_FLAG);
  (void)fc_listener_at(&options, 1, &address, &policy);
  assert_int_equal(policy.admin, FC_ADMIN_SOCKET);
  // A flag that says where to listen replaces all listeners of the file.
  options.origins[FC_OPTION_listen].from = FC_ORIGIN_FLAG;
  assert_true(fc_listener_at(&options, 0, &address, &policy));
  assert_true(fc_str_equal(address, FC_STR("127.0.0.1:8000")));
  assert_string_equal(policy.address, "");
  assert_false(fc_listener_at(&options, 1, &address, &policy));
  fc_server_options_deinit(&options);
}

static void a_passed_socket_has_the_policy_of_its_name(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *passed;
    const char *address;  // of the listener whose policy holds
  } rows[] = {
      {"one by name", "api", "systemd:api"},
      {"any other", "web", "systemd"},
      {"one without a name", "", "systemd"},
  };
  fc_server_options_t options;
  fc_listener_policy_t policy;
  fc_error_t error;
  assert_int_equal(parse(&options, LISTENERS, &error), FC_OK);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_listener_of_passed(&options, fc_str(row->passed), &policy);
    assert_string_equal(policy.address, row->address);
  }
  options.file.listener_count = 2;  // none is of a service manager
  fc_listener_of_passed(&options, FC_STR("api"), &policy);
  assert_string_equal(policy.address, "");
  assert_int_equal(policy.admin, FC_ADMIN_OFF);
  // The flag --listen says nothing about sockets that a service manager passes.
  options.file.listener_count = 4;
  options.origins[FC_OPTION_listen].from = FC_ORIGIN_FLAG;
  fc_listener_of_passed(&options, FC_STR("api"), &policy);
  assert_string_equal(policy.address, "systemd:api");
  fc_server_options_deinit(&options);
}

static void printed_listeners_say_the_same(void **state) {
  (void)state;
  fc_server_options_t options, again;
  fc_text_t printed;
  fc_error_t error;
  fc_text_init(&printed, fc_allocator_system(), 1u << 20);
  assert_int_equal(parse(&options, LISTENERS, &error), FC_OK);
  assert_int_equal(fc_config_file_print(&options, &printed.sink, &error),
                   FC_OK);
  assert_int_equal(fc_sink_put(&printed.sink, fc_str_make("", 1), &error),
                   FC_OK);
  assert_null(strstr(printed.data, "\"listen\""));
  assert_non_null(
      strstr(printed.data, "// " NAME ":3:33\n      \"admin\": \"socket\","));
  assert_non_null(
      strstr(printed.data, "// " NAME ":1:11\n      \"admin\": \"off\","));
  assert_int_equal(parse(&again, printed.data, &error), FC_OK);
  assert_int_equal(again.file.listener_count, 4);
  assert_int_equal(fc_options_check(&again, &error), FC_OK);
  assert_string_equal(again.file.listeners[1].socket_mode, "0600");
  assert_string_equal(again.file.listeners[2].trusted_proxy, "::1,10.0.0.0/8");
  assert_true(again.file.listeners[3].allow_insecure_bind);
  fc_text_deinit(&printed);
  fc_server_options_deinit(&again);
  fc_server_options_deinit(&options);
}

// The printed options, read again as a file, are the same options.
static void what_is_printed_says_the_same(void **state) {
  (void)state;
  fc_server_options_t options, again;
  fc_error_t error;
  const char *text =
      "{\"listen\": \"[::1]:1\", \"workers\": 3, \"max-body\": \"3k\",\n"
      "\"max-memory\": \"5G\", \"worker-memory\": 1025, \"timeout\": \"1500ms\",\n"
      "\"drain\": \"2m\", \"lane\": \"always\", \"strict-load\": true,\n"
      "\"allow-host\": \"a\\\"b\", \"paths\": [\"/a\", \"b\\\\c\"],\n"
      "\"modules\": {\"m\": {\"workers\": 2, \"functions\": \"f,g\"}, \"n\": {},\n"
      "\"m@2\": {\"workers\": 5}}}";
  assert_int_equal(parse(&options, text, &error), FC_OK);
  fc_text_t printed;
  fc_text_init(&printed, fc_allocator_system(), 1u << 20);
  assert_int_equal(fc_config_file_print(&options, &printed.sink, &error),
                   FC_OK);
  assert_int_equal(fc_sink_put(&printed.sink, fc_str_make("", 1), &error),
                   FC_OK);
  assert_non_null(strstr(printed.data, "// " NAME ":1:34\n  \"workers\": 3,"));
  assert_non_null(strstr(printed.data, "// default\n  \"queue\": 0,"));
  assert_non_null(strstr(printed.data, "\"drain\": \"120s\","));
  assert_int_equal(parse(&again, printed.data, &error), FC_OK);
  for (size_t i = 0; i < FC_OPTIONS; i++) {
    fc_text_t one, two;
    fc_text_init(&one, fc_allocator_system(), 4096);
    fc_text_init(&two, fc_allocator_system(), 4096);
    (void)fc_option_print(&options, &fc_options[i], &one.sink, &error);
    (void)fc_option_print(&again, &fc_options[i], &two.sink, &error);
    assert_true(fc_str_equal(fc_text_str(&one), fc_text_str(&two)));
    fc_text_deinit(&one);
    fc_text_deinit(&two);
  }
  assert_non_null(
      strstr(printed.data, "// " NAME ":5:30\n      \"workers\": 2,"));
  assert_non_null(
      strstr(printed.data, "// " NAME ":1:34\n      \"workers\": 3,"));
  assert_non_null(strstr(printed.data, "// default\n      \"pin\": false,"));
  assert_int_equal(again.file.module_count, 3);
  assert_int_equal(again.file.modules[0].workers, 2);
  assert_string_equal(again.file.modules[0].functions, "f,g");
  assert_int_equal(again.file.modules[1].workers, 3);
  assert_int_equal(again.file.modules[2].workers, 5);
  assert_string_equal(again.file.modules[2].functions, "f,g");
  assert_int_equal(again.path_count, 2);
  assert_string_equal(again.paths[1], "b\\c");
  fc_text_deinit(&printed);
  fc_server_options_deinit(&again);
  fc_server_options_deinit(&options);
}

static void flags_come_before_variables_and_both_before_the_file(void **state) {
  (void)state;
  char name[] = "/tmp/farcall-config-XXXXXX", flag[64];
  const char text[] =
      "{\"workers\": 1, \"queue\": 1, \"drain\": \"1s\", \"paths\": [\"file\"]}";
  const int fd = mkstemp(name);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
  close(fd);
  snprintf(flag, sizeof flag, "--config=%s", name);
  const char *argv[] = {"farcalld", "--workers=3", flag, "a.so"};
  const char *variables[] = {"FARCALL_WORKERS=2", "FARCALL_QUEUE=2", NULL};
  const char *paths[4];
  fc_server_options_t options;
  fc_error_t error;
  assert_int_equal(
      fc_server_options_parse(&options, 4, argv, paths, variables, &error),
      FC_OK);
  assert_int_equal(options.workers, 3);
  assert_int_equal(options.queue, 2);
  assert_int_equal(options.drain, 1000);
  assert_int_equal(options.path_count, 1);
  assert_string_equal(options.paths[0], "a.so");
  assert_int_equal(options.origins[FC_OPTION_workers].from, FC_ORIGIN_FLAG);
  assert_int_equal(options.origins[FC_OPTION_queue].from, FC_ORIGIN_VARIABLE);
  assert_int_equal(options.origins[FC_OPTION_drain].from, FC_ORIGIN_FILE);
  fc_server_options_deinit(&options);
  // A PATH in the file alone is enough.
  assert_int_equal(
      fc_server_options_parse(&options, 3, argv, paths, variables, &error),
      FC_OK);
  assert_string_equal(options.paths[0], "file");
  fc_server_options_deinit(&options);
  unlink(name);
  assert_int_not_equal(
      fc_server_options_parse(&options, 3, argv, paths, variables, &error),
      FC_OK);
  assert_non_null(strstr(error.message, "No such file or directory"));
  fc_server_options_deinit(&options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_kind_of_value_is_read),
      FC_TEST(mistakes_are_named_with_their_place),
      FC_TEST(modules_have_policies),
      FC_TEST(versions_have_policies),
      FC_TEST(policies_need_memory),
      FC_TEST(a_listener_has_what_is_said_of_it_and_of_all),
      FC_TEST(a_passed_socket_has_the_policy_of_its_name),
      FC_TEST(printed_listeners_say_the_same),
      FC_TEST(what_is_printed_says_the_same),
      FC_TEST(flags_come_before_variables_and_both_before_the_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
