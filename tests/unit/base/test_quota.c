// SPDX-License-Identifier: Apache-2.0
//
// Quotas of control groups, read from trees of files as kernels and container engines
// make them, and from a real group of this machine if one can be made.
#include "base/quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/test.h"
#include "helpers/tree.h"

#define V2 "30 23 0:26 / /cg rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
#define V1_MEMORY "33 31 0:30 / /cg/memory rw - cgroup cgroup rw,memory\n"
#define V1 "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"

typedef struct file_row_t {
  const char *path;
  const char *text;
} file_row_t;

#define FILES_MAX 5

typedef struct tree_row_t {
  const char *name;
  const char *group;   // /proc/self/cgroup
  const char *mounts;  // /proc/self/mountinfo
  file_row_t files[FILES_MAX];
  uint64_t expected;  // of 8 processors, or of 8000 bytes
} tree_row_t;

static const tree_row_t kProcessors[] = {
    {"nothing is mounted", "0::/\n", "", {{0}}, 8},
    {"no quota", "0::/a\n", V2, {{"/cg/a/cpu.max", "max 100000\n"}}, 8},
    {"whole", "0::/a\n", V2, {{"/cg/a/cpu.max", "200000 100000\n"}}, 2},
    {"a part of one more",
     "0::/a\n",
     V2,
     {{"/cg/a/cpu.max", "150000 100000\n"}},
     2},
    {"less than one", "0::/a\n", V2, {{"/cg/a/cpu.max", "1000 100000\n"}}, 1},
    {"more than there are",
     "0::/a\n",
     V2,
     {{"/cg/a/cpu.max", "6400000 100000\n"}},
     8},
    {"of a group above",
     "0::/a/b/c\n",
     V2,
     {{"/cg/a/b/c/cpu.max", "max 100000\n"},
      {"/cg/a/cpu.max", "300000 100000\n"}},
     3},
    {"the least of all",
     "0::/a/b\n",
     V2,
     {{"/cg/a/b/cpu.max", "200000 100000\n"},
      {"/cg/a/cpu.max", "100000 100000\n"}},
     1},
    {"of a namespace: its own top",
     "0::/\n",
     V2,
     {{"/cg/cpu.max", "400000 100000\n"}},
     4},
    {"outside of its namespace",
     "0::/../../x\n",
     V2,
     {{"/cg/cpu.max", "400000 100000\n"}},
     4},
    {"a container that sees its group as the top",
     "0::/docker/12ab\n",
     "30 23 0:26 /docker/12ab /cg rw - cgroup2 cgroup rw\n",
     {{"/cg/cpu.max", "250000 100000\n"}},
     3},
    {"a mount of another group",
     "0::/docker/12ab\n",
     "30 23 0:26 /other /cg rw - cgroup2 cgroup rw\n",
     {{"/cg/cpu.max", "250000 100000\n"}},
     3},
    {"not a number", "0::/a\n", V2, {{"/cg/a/cpu.max", "lots\n"}}, 8},
    {"a period of zero", "0::/a\n", V2, {{"/cg/a/cpu.max", "100000 0\n"}}, 8},
    {"an empty file", "0::/a\n", V2, {{"/cg/a/cpu.max", ""}}, 8},
    {"version 1",
     "4:memory:/m\n3:cpu,cpuacct:/a\n",
     V1,
     {{"/cg/cpu/a/cpu.cfs_quota_us", "300000\n"},
      {"/cg/cpu/a/cpu.cfs_period_us", "100000\n"}},
     3},
    {"version 1 without a quota",
     "3:cpu,cpuacct:/a\n",
     V1,
     {{"/cg/cpu/a/cpu.cfs_quota_us", "-1\n"},
      {"/cg/cpu/a/cpu.cfs_period_us", "100000\n"}},
     8},
    {"version 1, another controller's mount",
     "3:cpuset:/a\n1:cpu:/a\n",
     "31 1 0:1 / /cg/set rw - cgroup cgroup rw,cpuset\n" V1,
     {{"/cg/set/a/cpu.cfs_quota_us", "100000\n"},
      {"/cg/set/a/cpu.cfs_period_us", "100000\n"},
      {"/cg/cpu/a/cpu.cfs_quota_us", "500000\n"},
      {"/cg/cpu/a/cpu.cfs_period_us", "100000\n"}},
     5},
    {"both versions",
     "1:cpu:/a\n0::/u\n",
     V2 V1,
     {{"/cg/u/cpu.max", "600000 100000\n"},
      {"/cg/cpu/a/cpu.cfs_quota_us", "500000\n"},
      {"/cg/cpu/a/cpu.cfs_period_us", "100000\n"}},
     5},
};

#define V1_NONE "9223372036854771712\n"

static const tree_row_t kMemory[] = {
    {"nothing is mounted", "0::/\n", "", {{0}}, 8000},
    {"no limit", "0::/a\n", V2, {{"/cg/a/memory.max", "max\n"}}, 8000},
    {"a limit", "0::/a\n", V2, {{"/cg/a/memory.max", "300\n"}}, 300},
    {"more than there is",
     "0::/a\n",
     V2,
     {{"/cg/a/memory.max", "9000\n"}},
     8000},
    {"of a group above",
     "0::/a/b/c\n",
     V2,
     {{"/cg/a/b/c/memory.max", "max\n"}, {"/cg/a/memory.max", "300\n"}},
     300},
    {"the least of all",
     "0::/a/b/c\n",
     V2,
     {{"/cg/a/b/c/memory.max", "500\n"},
      {"/cg/a/b/memory.max", "200\n"},
      {"/cg/a/memory.max", "300\n"}},
     200},
    {"a container that sees its group as the top",
     "0::/docker/12ab\n",
     "30 23 0:26 /docker/12ab /cg rw - cgroup2 cgroup rw\n",
     {{"/cg/memory.max", "300\n"}},
     300},
    {"not a number", "0::/a\n", V2, {{"/cg/a/memory.max", "lots\n"}}, 8000},
    {"version 1",
     "4:memory:/m\n3:cpu:/a\n",
     V1 V1_MEMORY,
     {{"/cg/memory/m/memory.limit_in_bytes", "300\n"},
      {"/cg/memory/a/memory.limit_in_bytes", "100\n"}},
     300},
    {"version 1, of a group above",
     "4:memory:/m/n\n",
     V1_MEMORY,
     {{"/cg/memory/m/n/memory.limit_in_bytes", V1_NONE},
      {"/cg/memory/m/memory.limit_in_bytes", "300\n"},
      {"/cg/memory/memory.limit_in_bytes", V1_NONE}},
     300},
    {"version 1 without a limit",
     "4:memory:/m\n",
     V1_MEMORY,
     {{"/cg/memory/m/memory.limit_in_bytes", V1_NONE}},
     8000},
    {"both versions",
     "4:memory:/m\n0::/u\n",
     V2 V1_MEMORY,
     {{"/cg/u/memory.max", "600\n"},
      {"/cg/memory/m/memory.limit_in_bytes", "500\n"}},
     500},
};

static char tree[] = "/tmp/farcall-quota-XXXXXX";

static void put(const char *path, const char *text) {
  fc_test_tree_put(tree, path, text);
}

static void plant(const tree_row_t *row) {
  fc_test_tree_make(tree);
  put("/proc/self/cgroup", row->group);
  put("/proc/self/mountinfo", row->mounts);
  for (size_t i = 0; i < FILES_MAX && row->files[i].path; i++) {
    put(row->files[i].path, row->files[i].text);
  }
}

static void quotas_bound_the_processors(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const tree_row_t, row, kProcessors) {
    plant(row);
    assert_int_equal(fc_quota_cpus(tree, 8), row->expected);
    fc_test_tree_remove(tree);
  }
}

static void limits_bound_the_memory(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const tree_row_t, row, kMemory) {
    plant(row);
    assert_int_equal(fc_quota_memory(tree, 8000), row->expected);
    fc_test_tree_remove(tree);
  }
}

static void there_is_always_one(void **state) {
  (void)state;
  assert_int_equal(fc_quota_cpus("/nonexistent", 0), 1);
  assert_int_equal(fc_quota_cpus("/nonexistent", 5), 5);
}

static bool write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "we");
  if (!file) return false;
  const bool written = fputs(text, file) >= 0;
  return fclose(file) == 0 && written;
}

static int cpus_here(void) { return (int)fc_quota_cpus("", 8); }

static int mib_here(void) {
  return (int)(fc_quota_memory("", UINT64_MAX) >> 20);
}

typedef struct live_row_t {
  const char *name;  // of the controller
  const char *file, *text;
  int (*ask)(void);
  int expected;
} live_row_t;

// A child process of this test runs in a group with a quota, inside a group without
// one.
static void the_kernel_of_this_machine_is_understood(void **state) {
  (void)state;
  static const live_row_t kRows[] = {
      {"cpu", "cpu.cfs_quota_us", "150000", cpus_here, 2},
      {"memory", "memory.limit_in_bytes", "67108864", mib_here, 64},
  };
  FC_TEST_EACH_ROW(const live_row_t, row, kRows) {
    char folder[64], path[128];
    snprintf(folder, sizeof folder, "/sys/fs/cgroup/%s/farcall-test-%d",
             row->name, (int)getpid());
    if (mkdir(folder, 0700) < 0) {
      fc_test_skip("no group can be made in /sys/fs/cgroup");
    }
    snprintf(path, sizeof path, "%s/inner", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s", folder, row->file);
    const bool limited = write_file(path, row->text);
    const pid_t child = fork();
    if (child == 0) {
      snprintf(path, sizeof path, "%s/inner/cgroup.procs", folder);
      const bool inside = limited && write_file(path, "0");
      _exit(inside ? row->ask() : 99);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    snprintf(path, sizeof path, "%s/inner", folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), row->expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(quotas_bound_the_processors),
      FC_TEST(limits_bound_the_memory),
      FC_TEST(there_is_always_one),
      FC_TEST(the_kernel_of_this_machine_is_understood),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
