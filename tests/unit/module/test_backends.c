// SPDX-License-Identifier: Apache-2.0
//
// Kinds of modules: known by their bytes, with options of their own. mirror.h is
// one that nothing else of the project knows.
#include "helpers/test.h"

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

static char folder[] = "/tmp/farcall-backends-XXXXXX";

static const char *in_folder(const char *name) {
  static char path[80];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void put(const char *name, const char *text) {
  FILE *file = fopen(in_folder(name), "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  fclose(file);
}

static int make_folder(void **state) {
  (void)state;
  memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command) ? -1 : fc_test_report_row(state);
}
#define IN_FOLDER(function) \
  { #function, function, make_folder, remove_folder, NULL }

// ---------------------------------------------------------------------------

static void a_kind_of_module_is_a_row(void **state) {
  (void)state;
  put("pair.mirror", "mirror\n" PAIR);
  put("other.mirror", "something else");
  fc_module_t *module;
  fc_error_t err = {0};
  assert_int_equal(fc_module_load(kinds, fc_str(in_folder("pair.mirror")), NULL,
                                  fc_allocator_system(), &module, &err),
                   FC_OK);
  assert_string_equal(fc_module_get_kind(module), "mirror");
  assert_non_null(fc_module_find(module, FC_STR("pair")));
  fc_module_release(module);
  assert_int_not_equal(
      fc_module_load(kinds, fc_str(in_folder("other.mirror")), NULL,
                     fc_allocator_system(), &module, &err),
      FC_OK);
  assert_string_equal(err.message,
                      "other.mirror: its first line is not 'mirror'");
}

// Calls pair(1, 2) with these settings and tells what came first.
static int32_t first_of_pair(const fc_setting_t *settings, size_t count) {
  const fc_module_options_t options = {.settings = settings,
                                       .setting_count = count};
  static const int32_t one = 1, two = 2;
  const fc_tensor_t a = {FC_DTYPE_I32, 0, NULL, NULL, (void *)(uintptr_t)&one};
  const fc_tensor_t b = {FC_DTYPE_I32, 0, NULL, NULL, (void *)(uintptr_t)&two};
  fc_tensor_t result;
  fc_module_t *module;
  fc_instance_t *instance;
  fc_call_t *call;
  fc_error_t err = {0};
  if (fc_module_load(kinds, fc_str(in_folder("pair")), &options,
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
  put("pair", "mirror\n" PAIR);
  assert_int_equal(first_of_pair(NULL, 0), 1);
  const fc_setting_t both[] = {
      {FC_STR("vm.state"), FC_STR("private")},  // not for this module
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

// Every allocation is some pages of its own, so that it can be taken away.
static size_t pages_of(size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (size + 2 * page - 1) / page * page;
}

static void *take_pages(void *context, size_t size, size_t alignment) {
  (void)context;
  (void)alignment;
  void *memory = mmap(NULL, pages_of(size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static void keep_pages(void *context, void *memory) {
  (void)context;
  (void)memory;
}

static void protect(const void *in_page, int how) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  assert_int_equal(
      mprotect((void *)((uintptr_t)in_page & ~(page - 1)), page, how), 0);
}

// The others cannot even be looked at.
static void a_function_is_found_without_looking_at_others(void **state) {
  (void)state;
  char text[2048] = "mirror\n";
  for (int i = 0; i < MIRROR_FUNCTIONS; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "{\"name\":\"f%d\",\"source\":\"inferred\",\"arguments\":[],"
             "\"results\":[]}\n",
             i);
  }
  put("many", text);
  const fc_allocator_t pages = {NULL, take_pages, keep_pages};
  fc_module_t *module;
  assert_int_equal(fc_module_load(kinds, fc_str(in_folder("many")), NULL, pages,
                                  &module, NULL),
                   FC_OK);
  assert_int_equal(fc_module_function_count(module), MIRROR_FUNCTIONS);
  for (size_t wanted = 0; wanted < MIRROR_FUNCTIONS; wanted++) {
    for (size_t i = 0; i < MIRROR_FUNCTIONS; i++) {
      protect(fc_module_function(module, i)->signature,
              i == wanted ? PROT_READ : PROT_NONE);
    }
    snprintf(text, sizeof text, "f%zu", wanted);
    assert_ptr_equal(fc_module_find(module, fc_str(text)),
                     fc_module_function(module, wanted));
    assert_null(fc_module_find(module, FC_STR("g")));
    for (size_t i = 0; i < MIRROR_FUNCTIONS; i++) {
      protect(fc_module_function(module, i)->signature, PROT_READ | PROT_WRITE);
    }
  }
  fc_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(a_kind_of_module_is_a_row),
      IN_FOLDER(a_kind_has_options_of_its_own),
      FC_TEST(options_that_are_none_are_refused),
      IN_FOLDER(a_function_is_found_without_looking_at_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
