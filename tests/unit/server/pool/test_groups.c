// SPDX-License-Identifier: Apache-2.0
//
// Control groups in trees of files that are laid out as by the kernel and systemd: what
// is written to which file, and what is said of limits that cannot be set.
#include "pool/groups.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/test.h"
#include "helpers/tree.h"
#include "jail/jail.h"

#define OWN "/cg/system.slice/farcalld.service"
#define MODULE OWN "/module-digits.3"

static char tree[] = "/tmp/farcall-groups-XXXXXX";

static void print_path(const char *path, char out[256]) {
  snprintf(out, 256, "%s%s", tree, path);
}

static void put(const char *path, const char *text) {
  fc_test_tree_put(tree, path, text);
}

static void expect(const char *path, const char *wanted) {
  char name[256], text[64];
  print_path(path, name);
  FILE *file = fopen(name, "re");
  assert_non_null(file);
  const size_t size = fread(text, 1, sizeof text - 1, file);
  assert_int_equal(fclose(file), 0);
  text[size] = '\0';
  assert_string_equal(text, wanted);
}

static void expect_part(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("'%s' is not in '%s'", part, text);
}

static bool is_there(const char *path) {
  char name[256];
  print_path(path, name);
  return access(name, F_OK) == 0;
}

static const char *const kModuleFiles[] = {
    MODULE "/memory.max", MODULE "/memory.swap.max", MODULE "/pids.max",
    MODULE "/cpu.max", MODULE "/cgroup.procs"};

static void put_module_files(void) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kModuleFiles); i++) {
    put(kModuleFiles[i], "");
  }
}

static void drop_module_files(void) {
  char name[256];
  for (size_t i = 0; i < FC_ARRAY_COUNT(kModuleFiles); i++) {
    print_path(kModuleFiles[i], name);
    assert_int_equal(unlink(name), 0);
  }
}

// If set, the folder of a module's group is made and removed together with its files,
// as the kernel does. (The program is linked with --wrap.)
static bool as_kernel;

static bool is_module(const char *path) {
  char name[256];
  print_path(MODULE, name);
  return as_kernel && strcmp(path, name) == 0;
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode) {
  const int result = __real_mkdir(path, mode);
  if (result || !is_module(path)) return result;
  as_kernel = false;  // put() makes folders
  put_module_files();
  as_kernel = true;
  return 0;
}

int __real_rmdir(const char *path);
int __wrap_rmdir(const char *path);
int __wrap_rmdir(const char *path) {
  if (is_module(path) && access(path, F_OK) == 0) drop_module_files();
  return __real_rmdir(path);
}

// Makes the files of a service to which systemd has delegated these controllers. The
// kernel makes the files of a group together with its folder; here the files of later
// groups are made beforehand.
static void make_tree(const char *controllers) {
  fc_test_tree_make(tree);
  put("/proc/self/cgroup", "0::/system.slice/farcalld.service\n");
  put("/proc/self/mountinfo",
      "30 23 0:26 / /cg rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
  put(OWN "/cgroup.controllers", controllers);
  put(OWN "/cgroup.subtree_control", "");
  put(OWN "/cgroup.procs", "");
  put(OWN "/server/cgroup.procs", "");
  put_module_files();
}

static const fc_group_limits_t kAll = {
    {[FC_GROUP_MEMORY] = 1u << 20, [FC_GROUP_TASKS] = 7, [FC_GROUP_CPU] = 250}};
static const fc_group_limits_t kTasks = {{[FC_GROUP_TASKS] = 7}};

static fc_groups_t groups;
static fc_error_t error;
static int procs;

static void enter(const char *controllers) {
  make_tree(controllers);
  procs = -1;
  fc_groups_open(&groups, tree);
}

static fc_status_t add(const fc_group_limits_t *limits,
                       fc_group_lacks_t *lacks) {
  return fc_groups_add(&groups, FC_STR("digits"), 3, limits, lacks, &procs,
                       &error);
}

static void add_and_close(const fc_group_limits_t *limits) {
  assert_int_equal(add(limits, NULL), FC_OK);
  close(procs);
}

static void a_module_gets_a_group_with_its_limits(void **state) {
  (void)state;
  enter("cpuset cpu io memory hugetlb pids\n");
  char pid[16];
  for (unsigned i = 0; i < FC_GROUP_LIMITS; i++) {
    assert_string_equal(groups.reasons[i], "");
  }
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  expect(OWN "/server/cgroup.procs", pid);
  // The file got +memory, +pids and +cpu, each written over the one before.
  expect(OWN "/cgroup.subtree_control", "+cpusry");
  assert_int_equal(add(&kAll, NULL), FC_OK);
  expect(MODULE "/memory.max", "1048576");
  expect(MODULE "/memory.swap.max", "0");
  expect(MODULE "/pids.max", "7");
  expect(MODULE "/cpu.max", "250000 100000");
  close(procs);
  char command[128];
  snprintf(command, sizeof command, "rm %s" MODULE "/*", tree);
  assert_int_equal(system(command), 0);  // the kernel does that itself
  fc_groups_remove(&groups, FC_STR("digits"), 3);
  assert_false(is_there(MODULE));
  assert_true(is_there(OWN "/server"));
  fc_test_tree_remove(tree);
}

static void what_is_not_limited_is_not_written(void **state) {
  (void)state;
  enter("pids\n");
  add_and_close(&kTasks);
  expect(MODULE "/memory.max", "");
  expect(MODULE "/pids.max", "7");
  expect(MODULE "/cpu.max", "");
  // The other controllers were not delegated.
  assert_int_equal(add(&kAll, NULL), FC_UNAVAILABLE);
  expect_part(error.message,
              "cannot limit memory: the server's control group has no "
              "controller 'memory'");
  fc_test_tree_remove(tree);
}

static void the_limits_that_can_be_set_are(void **state) {
  (void)state;
  enter("pids cpu\n");
  fc_group_lacks_t lacks = {0};
  // The kernel does not accept a share of a processor.
  char name[256];
  print_path(MODULE "/cpu.max", name);
  assert_int_equal(unlink(name), 0);
  assert_int_equal(add(&kAll, &lacks), FC_OK);
  close(procs);
  expect(MODULE "/memory.max", "");
  expect(MODULE "/pids.max", "7");
  expect_part(lacks.reasons[FC_GROUP_MEMORY], "no controller 'memory'");
  assert_string_equal(lacks.reasons[FC_GROUP_TASKS], "");
  assert_string_equal(lacks.reasons[FC_GROUP_CPU],
                      "cpu.max: No such file or directory");
  // Neither limit can be set.
  static const fc_group_limits_t others = {
      {[FC_GROUP_MEMORY] = 1u << 20, [FC_GROUP_CPU] = 250}};
  assert_int_equal(add(&others, &lacks), FC_UNAVAILABLE);
  expect_part(error.message, "cannot limit cpu: cpu.max: No such file");
  fc_test_tree_remove(tree);
}

// A server that was killed left the group behind.
static void an_old_group_does_not_keep_its_limits(void **state) {
  (void)state;
  enter("memory pids cpu\n");
  put(MODULE "/memory.max", "4096");
  as_kernel = true;
  assert_int_equal(add(&kTasks, NULL), FC_OK);
  as_kernel = false;
  close(procs);
  expect(MODULE "/pids.max", "7");
  expect(MODULE "/memory.max", "");
  fc_test_tree_remove(tree);
}

// The old group has files, as if a process were in it, so it cannot be removed.
static void nor_does_one_that_cannot_be_made_anew(void **state) {
  (void)state;
  enter("memory pids cpu\n");
  put(MODULE "/memory.max", "9");
  put(MODULE "/memory.swap.max", "0");
  put(MODULE "/cpu.max", "1 2");
  put(MODULE "/pids.max", "1");
  add_and_close(&kTasks);
  expect(MODULE "/pids.max", "7");
  expect(MODULE "/memory.max", "max");
  expect(MODULE "/memory.swap.max", "max");
  expect(MODULE "/cpu.max", "max");
  fc_test_tree_remove(tree);
}

static void a_worker_enters_the_group(void **state) {
  (void)state;
  enter("memory pids cpu\n");
  assert_int_equal(add(&kAll, NULL), FC_OK);
  const fc_jail_t jail = {
      .sandbox = FC_SANDBOX_OFF, .parent = getpid(), .procs = procs};
  const pid_t child = fork();
  if (child == 0) {
    const bool in = fc_jail_enter(&jail, &error) == FC_OK;
    _exit(in && fcntl(procs, F_GETFD) < 0 ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  expect(MODULE "/cgroup.procs", "0");
  close(procs);
  fc_test_tree_remove(tree);
}

// Without control groups, nothing is left behind.
static void what_cannot_be_had_is_said(void **state) {
  (void)state;
  groups = (fc_groups_t){0};
  assert_int_equal(add(&kAll, NULL), FC_UNAVAILABLE);
  expect_part(error.message, "when the server starts");

  enter("");
  expect_part(groups.reasons[FC_GROUP_CPU], "no controller 'cpu'");
  char pid[16];
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  expect(OWN "/cgroup.procs", pid);  // it has gone back
  assert_int_equal(add(&kAll, NULL), FC_UNAVAILABLE);
  expect_part(error.message, "no controller 'memory'");
  fc_test_tree_remove(tree);

  make_tree("memory pids cpu\n");
  put("/proc/self/mountinfo", "");
  fc_groups_open(&groups, tree);
  assert_string_equal(groups.reasons[FC_GROUP_MEMORY],
                      "there are no control groups of version 2");
  fc_test_tree_remove(tree);

  make_tree("memory pids cpu\n");
  put("/proc/self/cgroup", "0::/elsewhere\n");
  fc_groups_open(&groups, tree);
  assert_string_equal(groups.reasons[FC_GROUP_TASKS],
                      "a group below the server's cannot be made: No such "
                      "file or directory");
  fc_test_tree_remove(tree);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_module_gets_a_group_with_its_limits),
      FC_TEST(what_is_not_limited_is_not_written),
      FC_TEST(the_limits_that_can_be_set_are),
      FC_TEST(an_old_group_does_not_keep_its_limits),
      FC_TEST(nor_does_one_that_cannot_be_made_anew),
      FC_TEST(a_worker_enters_the_group),
      FC_TEST(what_cannot_be_had_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
