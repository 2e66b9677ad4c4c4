// SPDX-License-Identifier: Apache-2.0
//
// An act on many modules must not make a turn of the loop long. The test counts how
// many files and modules each turn looks at.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/limits.h"
#include "helpers/test.h"
#include "modules/act.h"
#include "server.h"

#define FILES 1200u
#define FEW 400u

static fc_loop_t loop;
static char folder[] = "/tmp/farcall-decide-XXXXXX";
static char beside[] =
    "/tmp/farcall-decide-XXXXXX";  // has files of the same names
static const char *const kPaths[] = {folder, beside};
static unsigned paths = 1, files = FILES;  // files of each path

// How many comparisons of two names this thread made. (The program is linked with
// --wrap.)
static _Thread_local size_t compared;

int __real_memcmp(const void *a, const void *b, size_t size);
int __wrap_memcmp(const void *a, const void *b, size_t size);
int __wrap_memcmp(const void *a, const void *b, size_t size) {
  compared++;
  return __real_memcmp(a, b, size);
}

static void name_file(char name[64], unsigned path, unsigned i) {
  snprintf(name, 64, "%s/m%u.vmfb", kPaths[path], i);
}

// Makes empty files: with --load=demand they are never opened.
static void make_files(unsigned path, char *at) {
  char name[64];
  memcpy(at + sizeof folder - 7, "XXXXXX", 6);
  assert_non_null(mkdtemp(at));
  for (unsigned i = 0; i < files; i++) {
    name_file(name, path, i);
    const int file = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
  }
}

static void remove_files(unsigned path, unsigned from, unsigned to) {
  char name[64];
  for (unsigned i = from; i < to; i++) {
    name_file(name, path, i);
    assert_int_equal(unlink(name), 0);
  }
}

static void begin(void) {
  static const fc_backend_t *const kBackends[] = {&fc_backend_vm, NULL};
  fc_server_options_t options;
  fc_error_t error;
  fc_server_options_init(&options);
  options.listen.texts[0] = "127.0.0.1:0";
  options.workers = 1;
  options.load = FC_LOAD_ON_DEMAND;
  options.paths = kPaths;
  options.path_count = paths;
  make_files(0, folder);
  if (paths > 1) make_files(1, beside);
  assert_int_equal(fc_loop_init(&loop, fc_allocator_system(), &options,
                                kBackends, &fc_routes, 2, &error),
                   FC_OK);
  loop.log.silent[FC_LOG_ERROR] = true;  // of each file that is refused
}

static void end(unsigned left) {
  fc_loop_deinit(&loop);
  remove_files(0, files - left, files);
  assert_int_equal(rmdir(folder), 0);
}

// Runs one turn; returns how many looks it had.
static uint64_t turn(void) {
  const uint64_t before = loop.modules.looks;
  uv_run(&loop.uv, UV_RUN_ONCE);
  const uint64_t looks = loop.modules.looks - before;
  assert_true(looks <= FC_LIMIT_DECIDES);
  return looks;
}

static unsigned count_served(void) {
  unsigned count = 0;
  for (uint32_t i = 0; i < loop.modules.generations.count; i++) {
    const fc_generation_t *generation = loop.modules.generations.places[i];
    if (generation &&
        fc_generation_state(generation) == FC_GENERATION_DESCRIBED)
      count++;
  }
  return count;
}

static uint64_t reload(void) {
  uint64_t looks = 0;
  fc_modules_reload(&loop.modules, "the test");
  while (fc_modules_is_acting(&loop.modules)) looks += turn();
  return looks;
}

static void no_turn_looks_at_all_modules(void **state) {
  (void)state;
  begin();
  while (!loop.modules.started) (void)turn();
  assert_int_equal(count_served(), FILES);
  // Each file is looked at three times, each entry of a module once, and each of the
  // four steps counts one for its end.
  assert_int_equal(reload(), 3 * FILES + loop.modules.generations.count + 4);
  assert_int_equal(count_served(), FILES);
  remove_files(0, 0, 1000);
  (void)reload();
  assert_int_equal(count_served(), FILES - 1000);
  end(FILES - 1000);
}

// Each name has two files, one of which is refused.
static void files_of_one_name_cost_what_others_do(void **state) {
  (void)state;
  paths = 2;
  files = FEW;
  compared = 0;
  begin();
  while (!loop.modules.started) (void)turn();
  assert_int_equal(count_served(), FEW);
  assert_int_equal(loop.modules.generations.used, 2 * FEW);
  // Listings are sorted and hashes are looked up, so nothing is searched from end to
  // end.
  assert_in_range(compared, 2 * FEW, 150 * FEW);
  compared = 0;
  (void)reload();
  assert_in_range(compared, 2 * FEW, 150 * FEW);
  assert_int_equal(loop.modules.generations.used, 2 * FEW);
  // When the first files of the names are gone, the second ones are served.
  remove_files(0, 0, 300);
  (void)reload();
  (void)reload();
  assert_int_equal(count_served(), FEW);
  assert_int_equal(loop.modules.generations.used, 2 * FEW - 300);
  end(FEW - 300);
  remove_files(1, 0, FEW);
  assert_int_equal(rmdir(beside), 0);
  paths = 1;
  files = FILES;
}

// The server ends in the middle of an act. A sanitizer finds memory that is leaked, or
// used after it was freed.
static void a_server_may_end_in_between(void **state) {
  (void)state;
  begin();
  while (!loop.modules.started) (void)turn();
  fc_modules_reload(&loop.modules, "the test");
  while (!loop.modules.deciding) (void)turn();
  end(FILES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(no_turn_looks_at_all_modules),
      FC_TEST(files_of_one_name_cost_what_others_do),
      FC_TEST(a_server_may_end_in_between),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
