// SPDX-License-Identifier: Apache-2.0
//
// Kinds of modules: recognized by their bytes, with options of their own. The kind of
// mirror.h is unknown to the rest of the project.
#include "helpers/folder.h"
#include "helpers/pages.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "farcall/farcall.h"
#include "module/mirror.h"

#define VMVX FARCALL_SOURCE_DIR "/tests/corpus/iree/async/async-vmvx.vmfb"

static const fc_backend_t *const kinds[] = {&mirror_backend, &fc_backend_native,
                                            &fc_backend_vm, NULL};

#define I32 "{\"kind\":\"scalar\",\"dtype\":\"i32\"}"
#define PAIR                                                             \
  "{\"name\":\"pair\",\"source\":\"inferred\",\"arguments\":[{\"name\":" \
  "\"a\",\"type\":" I32 "},{\"name\":\"b\",\"type\":" I32 "}],"          \
  "\"results\":[{\"type\":" I32 "},{\"type\":" I32 "}]}\n"

// ---------------------------------------------------------------------------

static void a_kind_of_module_is_a_row(void **state) {
  (void)state;
  fc_test_put("pair.mirror", "mirror\n" PAIR);
  fc_test_put("other.mirror", "something else");
  fc_module_t *module;
  fc_error_t err = {0};
  assert_int_equal(
      fc_module_load(kinds, fc_str(fc_test_in_folder("pair.mirror")), NULL,
                     fc_allocator_system(), &module, &err),
      FC_OK);
  assert_string_equal(fc_module_get_kind(module), "mirror");
  assert_non_null(fc_module_find(module, FC_STR("pair")));
  fc_module_release(module);
  assert_int_not_equal(
      fc_module_load(kinds, fc_str(fc_test_in_folder("other.mirror")), NULL,
                     fc_allocator_system(), &module, &err),
      FC_OK);
  assert_string_equal(err.message,
                      "other.mirror: its first line is not 'mirror'");
}

// Calls pair(1, 2) with these settings. Returns the first result.
static int32_t first_of_pair(const fc_setting_t *settings, size_t count) {
  const fc_module_options_t options = {.settings = settings,
                                       .setting_count = count};
  static const int32_t one = 1, two = 2;
  const fc_tensor_t a = {FC_DTYPE_I32, 0, NULL, NULL, (void *)(uintptr_t)&one};
  const fc_tensor_t b = {FC_DTYPE_I32, 0, NULL, NULL, (void *)(uintptr_t)&two};
  fc_tensor_t result;
  fc_module_t *module;
  fc_instance_t *instance = NULL;
  fc_call_t *call = NULL;
  fc_error_t err = {0};
  if (fc_module_load(kinds, fc_str(fc_test_in_folder("pair")), &options,
                     fc_allocator_system(), &module, &err) ||
      fc_instance_create(module, NULL, &instance, &err) ||
      fc_call_create(instance, "pair", &call, &err) ||
      fc_call_set(call, "a", &a, &err) || fc_call_set(call, "b", &b, &err) ||
      fc_call_run(call, NULL, &err) || fc_call_get(call, "0", &result, &err)) {
    fail_msg("%s", err.message);
  }
  const int32_t value = *(const int32_t *)result.data;
  fc_call_destroy(call);
  fc_instance_destroy(instance);
  fc_module_release(module);
  return value;
}

static void a_kind_has_options_of_its_own(void **state) {
  (void)state;
  fc_test_put("pair", "mirror\n" PAIR);
  assert_int_equal(first_of_pair(NULL, 0), 1);
  const fc_setting_t both[] = {
      {FC_STR("vm.state"), FC_STR("private")},  // for kind vm: ignored here
      {FC_STR("mirror.backwards"), FC_STR("yes")}};
  assert_int_equal(first_of_pair(both, 1), 1);
  assert_int_equal(first_of_pair(both, 2), 2);
}

static void options_that_are_none_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *value;
    const char *message;
  } rows[] = {
      {"vm.stat", "private",
       "async-vmvx.vmfb: no option 'vm.stat' of any kind of module; did you "
       "mean 'vm.state'?"},
      {"state", "private",
       "async-vmvx.vmfb: no option 'state' of any kind of module"},
      {"mirror.upwards", "yes",
       "async-vmvx.vmfb: no option 'mirror.upwards' of any kind of module"},
      {"vm.state", "privat",
       "async-vmvx.vmfb: 'vm.state' is 'privat': auto, shared or private"},
      {"vm.heap", "1T",
       "async-vmvx.vmfb: 'vm.heap' is '1T': bytes, as 65536, 64k, 2M or 1G"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_setting_t setting = {fc_str(row->name), fc_str(row->value)};
    const fc_module_options_t options = {.settings = &setting,
                                         .setting_count = 1};
    fc_module_t *module;
    fc_error_t err = {0};
    assert_int_equal(fc_module_load(kinds, FC_STR(VMVX), &options,
                                    fc_allocator_system(), &module, &err),
                     FC_INVALID_ARGUMENT);
    assert_string_equal(err.message, row->message);
  }
}

// ---------------------------------------------------------------------------
// Names

// While one function is looked up, reading the signature of another would fault.
static void a_function_is_found_without_looking_at_others(void **state) {
  (void)state;
  char text[2048] = "mirror\n";
  for (int i = 0; i < MIRROR_FUNCTIONS; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "{\"name\":\"f%d\",\"source\":\"inferred\",\"arguments\":[],"
             "\"results\":[]}\n",
             i);
  }
  fc_test_put("many", text);
  fc_module_t *module;
  assert_int_equal(fc_module_load(kinds, fc_str(fc_test_in_folder("many")),
                                  NULL, fc_test_pages(), &module, NULL),
                   FC_OK);
  assert_int_equal(fc_module_function_count(module), MIRROR_FUNCTIONS);
  for (size_t wanted = 0; wanted < MIRROR_FUNCTIONS; wanted++) {
    for (size_t i = 0; i < MIRROR_FUNCTIONS; i++) {
      fc_test_protect(fc_module_function(module, i)->signature,
                      i == wanted ? PROT_READ : PROT_NONE);
    }
    snprintf(text, sizeof text, "f%zu", wanted);
    assert_ptr_equal(fc_module_find(module, fc_str(text)),
                     fc_module_function(module, wanted));
    assert_null(fc_module_find(module, FC_STR("g")));
    for (size_t i = 0; i < MIRROR_FUNCTIONS; i++) {
      fc_test_protect(fc_module_function(module, i)->signature,
                      PROT_READ | PROT_WRITE);
    }
  }
  fc_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_IN_FOLDER(a_kind_of_module_is_a_row),
      FC_TEST_IN_FOLDER(a_kind_has_options_of_its_own),
      FC_TEST(options_that_are_none_are_refused),
      FC_TEST_IN_FOLDER(a_function_is_found_without_looking_at_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
