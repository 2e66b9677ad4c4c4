// SPDX-License-Identifier: Apache-2.0
//
// Control groups are found as man 7 cgroups and man 5 proc_pid_mountinfo say:
// /proc/self/cgroup names the group, /proc/self/mountinfo the folder it is in. A
// quota of a group holds for those below it, so all on the way up are read.
#include "pool/cpus.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 4096

// One of the two versions of control groups.
typedef struct hierarchy_t {
  const char *type;        // type of the file system, in mountinfo
  const char *controller;  // controller of the mount and the group; NULL: any
} hierarchy_t;

static const hierarchy_t kHierarchies[] = {{"cgroup2", NULL},
                                           {"cgroup", "cpu"}};

// Is `word` in "a,b,c"?
static bool has_word(const char *list, const char *word) {
  const size_t size = strlen(word);
  for (const char *at = list; at; at = strchr(at, ',')) {
    if (*at == ',') at++;
    const size_t part = strcspn(at, ",\n");
    if (part == size && !memcmp(at, word, size)) return true;
  }
  return false;
}

static FILE *open_file(const char *root, const char *path) {
  char name[2 * PATH_SIZE];
  const int size = snprintf(name, sizeof name, "%s%s", root, path);
  return size > 0 && (size_t)size < sizeof name ? fopen(name, "re") : NULL;
}

// Finds the group's path in lines like "4:cpu,cpuacct:/path" of version 1,
// "0::/path" of version 2.
static bool find_group(const char *root, const hierarchy_t *hierarchy,
                       char out_group[PATH_SIZE]) {
  FILE *file = open_file(root, "/proc/self/cgroup");
  if (!file) return false;
  bool found = false;
  char line[PATH_SIZE];
  while (!found && fgets(line, sizeof line, file)) {
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) continue;
    *controllers++ = *path++ = '\0';
    found = hierarchy->controller ? has_word(controllers, hierarchy->controller)
                                  : *controllers == '\0';
    path[strcspn(path, "\n")] = '\0';
    if (found) memcpy(out_group, path, strlen(path) + 1);
  }
  fclose(file);
  return found;
}

typedef struct mount_t {
  char root[PATH_SIZE];   // the group that is mounted
  char point[PATH_SIZE];  // the folder where it is mounted
} mount_t;

// Lines are "36 35 98:0 ROOT POINT options fields - TYPE SOURCE SUPER-OPTIONS".
static bool find_mount(const char *root, const hierarchy_t *hierarchy,
                       mount_t *out_mount) {
  FILE *file = open_file(root, "/proc/self/mountinfo");
  if (!file) return false;
  bool found = false;
  char line[2 * PATH_SIZE], type[32], options[PATH_SIZE];
  while (!found && fgets(line, sizeof line, file)) {
    const char *rest = strstr(line, " - ");
    if (!rest ||
        sscanf(line, "%*s %*s %*s %4095s %4095s", out_mount->root,
               out_mount->point) != 2 ||
        sscanf(rest, " - %31s %*s %4095s", type, options) != 2) {
      continue;
    }
    found =
        !strcmp(type, hierarchy->type) &&
        (!hierarchy->controller || has_word(options, hierarchy->controller));
  }
  fclose(file);
  return found;
}

// The folder of a group. In a container the mount shows the group of the
// container as its top, whatever that is called outside.
static bool find_folder(const mount_t *mount, const char *group,
                        char out_folder[PATH_SIZE]) {
  const size_t top = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
  const char *below = group;
  if (top && !strncmp(group, mount->root, top)) below = group + top;
  else if (top) below = "";
  if (strstr(below, "/..") || !strcmp(below, "/")) below = "";
  const int size = snprintf(out_folder, PATH_SIZE, "%s%s", mount->point, below);
  return size > 0 && size < PATH_SIZE;
}

static bool read_text(const char *root, const char *folder, const char *name,
                      char out_text[64]) {
  char path[PATH_SIZE + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = open_file(root, path);
  if (!file) return false;
  const bool got = fgets(out_text, 64, file) != NULL;
  fclose(file);
  return got;
}

// Processors that the quota of one group pays for, 0: it has none.
static uint32_t quota_of(const char *root, const char *folder, bool version2) {
  char text[64];
  long long quota = 0, period = 0;
  if (version2) {
    if (!read_text(root, folder, "cpu.max", text)) return 0;
    if (sscanf(text, "%lld %lld", &quota, &period) != 2) return 0;  // "max …"
  } else {
    if (!read_text(root, folder, "cpu.cfs_quota_us", text)) return 0;
    quota = strtoll(text, NULL, 10);
    if (!read_text(root, folder, "cpu.cfs_period_us", text)) return 0;
    period = strtoll(text, NULL, 10);
  }
  if (quota <= 0 || period <= 0) return 0;
  const long long whole = quota / period + (quota % period != 0);
  return whole < UINT32_MAX ? (uint32_t)whole : UINT32_MAX;
}

static uint32_t least_quota(const char *root, const hierarchy_t *hierarchy,
                            uint32_t most) {
  char group[PATH_SIZE], folder[PATH_SIZE];
  mount_t mount;
  if (!find_group(root, hierarchy, group) ||
      !find_mount(root, hierarchy, &mount) ||
      !find_folder(&mount, group, folder)) {
    return most;
  }
  const size_t top = strlen(mount.point);
  for (;;) {
    const uint32_t quota = quota_of(root, folder, !hierarchy->controller);
    if (quota && quota < most) most = quota;
    if (strlen(folder) <= top) return most;
    *strrchr(folder, '/') = '\0';
  }
}

uint32_t fc_cpus(const char *root, uint32_t runnable) {
  uint32_t count = runnable ? runnable : 1;
  for (size_t i = 0; i < sizeof kHierarchies / sizeof *kHierarchies; i++) {
    count = least_quota(root, &kHierarchies[i], count);
  }
  return count;
}
