// SPDX-License-Identifier: Apache-2.0
//
// The loader's thread, with module kinds that wait for the test: files are opened one
// at a time and in order, and after the end nobody is woken.
#include "modules/loader.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "helpers/test.h"
#include "pool/isolation.h"

#define VM FARCALL_SOURCE_DIR "/tests/corpus/vm/endless.vmfb"
#define NATIVE FARCALL_BUILD_DIR "/tests/modules/native/scalars.so"

static sem_t woken, opening, may_open;
static fc_backend_t slow;
static _Atomic uint32_t wakes;

static void wake(void *context) {
  (void)context;
  atomic_fetch_add(&wakes, 1);
  sem_post(&woken);
}

static fc_status_t open_late(const fc_module_source_t *source,
                             fc_allocator_t allocator, void **out_module,
                             fc_error_t *err) {
  sem_post(&opening);
  sem_wait(&may_open);
  return fc_backend_vm.open(source, allocator, out_module, err);
}

static fc_loader_t *start(fc_loader_options_t options) {
  fc_loader_t *loader;
  fc_error_t error;
  options.allocator = fc_allocator_system();
  if (!options.backends) options.backends = fc_backends;
  options.wake = wake;
  sem_init(&woken, 0, 0);
  atomic_store(&wakes, 0);
  assert_int_equal(fc_loader_create(&options, &loader, &error), FC_OK);
  return loader;
}

// The trial of modules is replaced by this one, which always passes.
fc_status_t __wrap_fc_trial_check(fc_trial_t *trial, fc_error_t *err);
fc_status_t __wrap_fc_trial_check(fc_trial_t *trial, fc_error_t *err) {
  (void)trial;
  (void)err;
  return FC_OK;
}

// Where machine code runs.
static unsigned isolation = FC_ISOLATION_PROCESS;

static void submit(fc_loader_t *loader, fc_load_kind_t kind, const char *path,
                   uint32_t generation) {
  fc_status_t status =
      kind == FC_LOAD_SCAN
          ? fc_loader_scan(loader, fc_str(path), 0, -1, FC_STR(""), NULL, NULL)
          : fc_loader_open(loader, fc_str(path), generation, isolation, 0,
                           FC_STR(""), FC_STR("auto"), NULL);
  assert_int_equal(status, FC_OK);
}

static fc_load_t *wait_for_load(fc_loader_t *loader) {
  bool more;
  fc_load_t *load;
  while (!(load = fc_loader_take(loader, &more))) sem_wait(&woken);
  return load;
}

static void what_was_asked_for_comes_back_in_order(void **state) {
  (void)state;
  fc_loader_t *loader = start((fc_loader_options_t){0});
  submit(loader, FC_LOAD_OPEN, VM, 7);
  submit(loader, FC_LOAD_OPEN, "/nonexistent/x.so", 8);
  submit(loader, FC_LOAD_SCAN, "/nonexistent/y.so", 0);
  fc_load_t *load = wait_for_load(loader);
  assert_int_equal(load->generation, 7);
  assert_int_equal(load->status, FC_OK);
  assert_true(fc_module_function_count(load->module) > 0);
  fc_load_free(loader, load);
  load = wait_for_load(loader);
  assert_int_equal(load->generation, 8);
  assert_string_equal(load->error.message, "x.so: No such file or directory");
  fc_load_free(loader, load);
  load = wait_for_load(loader);
  assert_int_equal(load->kind, FC_LOAD_SCAN);
  assert_int_equal(load->listing.count, 1);
  fc_load_free(loader, load);
  fc_loader_destroy(loader);
}

// A module that is only described cannot be called in threads, so it is opened if it
// runs there.
static void machine_code_is_opened_for_real_only_if_it_runs_here(void **state) {
  (void)state;
  for (int here = 0; here < 2; here++) {
    isolation = here ? FC_ISOLATION_THREAD : FC_ISOLATION_PROCESS;
    fc_loader_t *loader =
        start((fc_loader_options_t){.open.describe_native = true});
    submit(loader, FC_LOAD_OPEN, NATIVE, 0);
    fc_load_t *load = wait_for_load(loader);
    assert_int_equal(load->status, FC_OK);
    assert_int_equal(fc_module_get_info(load->module)->described, !here);
    fc_load_free(loader, load);
    fc_loader_destroy(loader);
  }
}

// A large file that runs in threads is served first and hashed later. One that runs in
// processes is hashed first, because its processes are told the hash.
static void a_large_file_is_hashed_last(void **state) {
  (void)state;
  for (int here = 0; here < 2; here++) {
    isolation = here ? FC_ISOLATION_THREAD : FC_ISOLATION_PROCESS;
    fc_loader_t *loader = start((fc_loader_options_t){.open.hash_max = 1});
    submit(loader, FC_LOAD_OPEN, VM, 0);
    fc_load_t *load = wait_for_load(loader);
    fc_module_t *module = load->module;
    load->module = NULL;
    fc_load_free(loader, load);
    const fc_function_t *function = fc_module_function(module, 0);
    const size_t expected = here ? 0 : FC_DIGEST_SIZE;
    assert_int_equal(fc_module_get_digest(module).size, expected);
    assert_int_equal(fc_function_get_digest(function).size, expected);
    assert_int_equal(fc_loader_hash(loader, module, NULL), FC_OK);
    load = wait_for_load(loader);
    assert_int_equal(load->status, FC_OK);
    fc_load_free(loader, load);
    assert_int_equal(strlen(fc_module_get_sha256(module)), 64);
    assert_int_equal(fc_function_get_digest(function).size, FC_DIGEST_SIZE);
    fc_module_release(module);
    fc_loader_destroy(loader);
  }
}

// The loop may end while the loader still opens a file. Then the loop's handle is
// closed, so a loader that was stopped must not call `wake`, which would use the
// handle.
static void a_loader_that_is_stopped_wakes_nobody(void **state) {
  (void)state;
  const fc_backend_t *const backends[] = {&slow, NULL};
  slow = fc_backend_vm;
  slow.open = open_late;
  sem_init(&opening, 0, 0);
  sem_init(&may_open, 0, 0);
  fc_loader_t *loader = start((fc_loader_options_t){.backends = backends});
  submit(loader, FC_LOAD_OPEN, VM, 0);
  submit(loader, FC_LOAD_OPEN, VM, 1);
  sem_wait(&opening);
  assert_true(fc_loader_is_busy(loader));
  fc_loader_stop(loader);
  sem_post(&may_open);
  fc_loader_destroy(loader);  // the second file is not begun
  assert_int_equal(atomic_load(&wakes), 0);
  assert_int_equal(sem_trywait(&opening), -1);
}

// A trial in progress goes on before files are opened: these may be many and large.
static void a_trial_in_progress_comes_first(void **state) {
  (void)state;
  static const fc_load_kind_t kOrder[] = {FC_LOAD_OPEN, FC_LOAD_CHECK,
                                          FC_LOAD_CHECK, FC_LOAD_OPEN};
  static const uint32_t kGenerations[] = {0, 2, 3, 1};
  const fc_backend_t *const backends[] = {&slow, NULL};
  slow = fc_backend_vm;
  slow.open = open_late;
  sem_init(&opening, 0, 0);
  sem_init(&may_open, 0, 0);
  fc_loader_t *loader = start((fc_loader_options_t){.backends = backends});
  submit(loader, FC_LOAD_OPEN, VM, 0);
  submit(loader, FC_LOAD_OPEN, VM, 1);
  sem_wait(&opening);
  assert_int_equal(fc_loader_check(loader, NULL, 2, NULL), FC_OK);
  assert_int_equal(fc_loader_check(loader, NULL, 3, NULL), FC_OK);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOrder); i++) sem_post(&may_open);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOrder); i++) {
    fc_load_t *load = wait_for_load(loader);
    assert_int_equal(load->kind, kOrder[i]);
    assert_int_equal(load->generation, kGenerations[i]);
    fc_load_free(loader, load);
  }
  fc_loader_destroy(loader);
}

#define MANY 20

// wake is called once for several finished files, however they are then taken.
static void many_files_are_all_taken(void **state) {
  (void)state;
  fc_loader_t *loader = start((fc_loader_options_t){0});
  for (uint32_t i = 0; i < MANY; i++) submit(loader, FC_LOAD_OPEN, VM, i);
  for (uint32_t i = 0; i < MANY; i++) {
    fc_load_t *load = wait_for_load(loader);
    assert_int_equal(load->generation, i);
    fc_load_free(loader, load);
  }
  fc_loader_destroy(loader);
}

static fc_status_t take_status(fc_loader_t *loader, fc_error_t *err) {
  fc_load_t *load = wait_for_load(loader);
  const fc_status_t status = load->status;
  if (status != FC_OK) *err = load->error;
  fc_load_free(loader, load);
  return status;
}

static fc_status_t load_two(fc_allocator_t allocator, void *context,
                            fc_error_t *err) {
  const fc_loader_options_t options = {.allocator = allocator,
                                       .backends = fc_backends,
                                       .open.describe_native = true,
                                       .wake = wake};
  fc_loader_t *loader;
  (void)context;
  fc_status_t status = fc_loader_create(&options, &loader, err);
  if (status != FC_OK) return status;
  status = fc_loader_scan(loader, FC_STR(FARCALL_SOURCE_DIR "/tests/corpus/vm"),
                          0, -1, FC_STR(""), NULL, err);
  if (status == FC_OK) status = take_status(loader, err);
  // With the thread sanitizer, some hundred loads of machine code would take minutes.
  const fc_str_t path = FC_TSAN ? FC_STR(VM) : FC_STR(NATIVE);
  if (status == FC_OK)
    status = fc_loader_open(loader, path, 0, FC_ISOLATION_AUTO, 0, FC_STR(""),
                            FC_STR("auto"), err);
  if (status == FC_OK) status = take_status(loader, err);
  fc_loader_destroy(loader);
  return status;
}

static void loading_survives_any_failed_allocation(void **state) {
  (void)state;
  sem_init(&woken, 0, 0);
  assert_true(fc_test_allocation_sweep(load_two, NULL) > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(what_was_asked_for_comes_back_in_order),
      FC_TEST(machine_code_is_opened_for_real_only_if_it_runs_here),
      FC_TEST(a_large_file_is_hashed_last),
      FC_TEST(a_loader_that_is_stopped_wakes_nobody),
      FC_TEST(a_trial_in_progress_comes_first),
      FC_TEST(many_files_are_all_taken),
      FC_TEST(loading_survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
