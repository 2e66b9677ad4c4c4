// SPDX-License-Identifier: Apache-2.0
#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>

bool fc_cgroup_has_word(const char *list, const char *ends, const char *word) {
  const size_t size = strlen(word);
  for (const char *at = list; *at;) {
    const size_t part = strcspn(at, ends);
    if (part == size && !memcmp(at, word, size)) return true;
    at += part;
    at += strspn(at, ends);
  }
  return false;
}

static FILE *open_file(const char *root, const char *path) {
  char name[2 * FC_CGROUP_PATH];
  const int size = snprintf(name, sizeof name, "%s%s", root, path);
  return size > 0 && (size_t)size < sizeof name ? fopen(name, "re") : NULL;
}

// Finds the groups' paths in lines like "4:cpu,cpuacct:/path" (version 1) or "0::/path"
// (version 2). False: no line has a path.
static bool find_paths(const char *root, const char *const *controllers,
                       size_t count, fc_cgroup_t *out_groups) {
  FILE *file = open_file(root, "/proc/self/cgroup");
  if (!file) return false;
  bool any = false;
  char line[FC_CGROUP_PATH];
  while (fgets(line, sizeof line, file)) {
    char *listed = strchr(line, ':');
    char *path = listed ? strchr(listed + 1, ':') : NULL;
    if (!path) continue;
    *listed++ = *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    for (size_t i = 0; i < count; i++) {
      const bool found = controllers[i]
                             ? fc_cgroup_has_word(listed, ",", controllers[i])
                             : *listed == '\0';
      if (!found || out_groups[i].folder[0]) continue;
      memcpy(out_groups[i].folder, path, strlen(path) + 1);
      any = true;
    }
  }
  fclose(file);
  return any;
}

typedef struct mount_t {
  char *root;   // the group that is mounted
  char *point;  // the folder where it is mounted
  char *options;
  bool version2;
} mount_t;

// Cuts the next word off `*rest` and returns it, or "" if there is none.
static char *take_word(char **rest) {
  char *word = *rest;
  *rest += strcspn(word, " \n");
  if (**rest) *(*rest)++ = '\0';
  return word;
}

// Reads a line of the form "36 35 98:0 ROOT POINT options fields - TYPE SOURCE
// SUPER-OPTIONS".
static bool read_mount(char *line, mount_t *out_mount) {
  char *rest = strstr(line, " - cgroup");
  if (!rest) return false;
  *rest = '\0';
  rest += strlen(" - ");
  const char *type = take_word(&rest);
  out_mount->version2 = !strcmp(type, "cgroup2");
  if (!out_mount->version2 && strcmp(type, "cgroup")) return false;
  (void)take_word(&rest);
  out_mount->options = take_word(&rest);
  for (int i = 0; i < 3; i++) (void)take_word(&line);
  out_mount->root = take_word(&line);
  out_mount->point = take_word(&line);
  return *out_mount->point;
}

static bool is_mount_of(const mount_t *mount, const char *controller) {
  if (!controller) return mount->version2;
  return !mount->version2 &&
         fc_cgroup_has_word(mount->options, ",", controller);
}

// Changes `group->folder` from the group's path to the folder where the group is found.
// In a container the top of the mount is the container's group, whatever its name is
// outside. A group that is not below the top counts as the top.
static void place(const mount_t *mount, fc_cgroup_t *group) {
  char path[FC_CGROUP_PATH];
  const size_t top = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
  const char *below = group->folder;
  if (top && !strncmp(below, mount->root, top)) below += top;
  else if (top) below = "";
  if (strstr(below, "/..") || !strcmp(below, "/")) below = "";
  const int size = snprintf(path, sizeof path, "%s%s", mount->point, below);
  const bool fits = size > 0 && size < FC_CGROUP_PATH;
  group->top = strlen(mount->point);
  memcpy(group->folder, path, fits ? (size_t)size + 1 : 0);
  if (!fits) group->folder[0] = '\0';
}

void fc_cgroup_find_each(const char *root, const char *const *controllers,
                         size_t count, fc_cgroup_t *out_groups) {
  char line[2 * FC_CGROUP_PATH];
  mount_t mount;
  for (size_t i = 0; i < count; i++) {
    out_groups[i].folder[0] = '\0';
    out_groups[i].top = 0;
  }
  if (!find_paths(root, controllers, count, out_groups)) return;
  FILE *file = open_file(root, "/proc/self/mountinfo");
  while (file && fgets(line, sizeof line, file)) {
    if (!read_mount(line, &mount)) continue;
    for (size_t i = 0; i < count; i++) {
      fc_cgroup_t *group = &out_groups[i];
      if (group->folder[0] && !group->top &&
          is_mount_of(&mount, controllers[i])) {
        place(&mount, group);
      }
    }
  }
  if (file) fclose(file);
  for (size_t i = 0; i < count; i++) {
    if (!out_groups[i].top) out_groups[i].folder[0] = '\0';
  }
}

bool fc_cgroup_find(const char *root, const char *controller,
                    fc_cgroup_t *out_group) {
  fc_cgroup_find_each(root, &controller, 1, out_group);
  return out_group->folder[0];
}

bool fc_cgroup_read(const char *root, const char *folder, const char *name,
                    char *out_text, size_t size) {
  char path[FC_CGROUP_PATH + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = open_file(root, path);
  if (!file) return false;
  const bool got = fgets(out_text, (int)size, file) != NULL;
  fclose(file);
  return got;
}
