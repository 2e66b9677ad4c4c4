// SPDX-License-Identifier: Apache-2.0
#include "pool/cgroup.h"

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

// Finds the group's path in lines like "4:cpu,cpuacct:/path" of version 1,
// "0::/path" of version 2.
static bool find_group(const char *root, const char *controller,
                       char out_group[FC_CGROUP_PATH]) {
  FILE *file = open_file(root, "/proc/self/cgroup");
  if (!file) return false;
  bool found = false;
  char line[FC_CGROUP_PATH];
  while (!found && fgets(line, sizeof line, file)) {
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) continue;
    *controllers++ = *path++ = '\0';
    found = controller ? fc_cgroup_has_word(controllers, ",", controller)
                       : *controllers == '\0';
    path[strcspn(path, "\n")] = '\0';
    if (found) memcpy(out_group, path, strlen(path) + 1);
  }
  fclose(file);
  return found;
}

typedef struct mount_t {
  char root[FC_CGROUP_PATH];   // the group that is mounted
  char point[FC_CGROUP_PATH];  // the folder where it is mounted
} mount_t;

// Lines are "36 35 98:0 ROOT POINT options fields - TYPE SOURCE SUPER-OPTIONS".
static bool find_mount(const char *root, const char *controller,
                       mount_t *out_mount) {
  FILE *file = open_file(root, "/proc/self/mountinfo");
  if (!file) return false;
  bool found = false;
  char line[2 * FC_CGROUP_PATH], type[32], options[FC_CGROUP_PATH];
  while (!found && fgets(line, sizeof line, file)) {
    const char *rest = strstr(line, " - ");
    if (!rest ||
        sscanf(line, "%*s %*s %*s %4095s %4095s", out_mount->root,
               out_mount->point) != 2 ||
        sscanf(rest, " - %31s %*s %4095s", type, options) != 2) {
      continue;
    }
    found = !strcmp(type, controller ? "cgroup" : "cgroup2") &&
            (!controller || fc_cgroup_has_word(options, ",", controller));
  }
  fclose(file);
  return found;
}

// The folder of a group. In a container the mount's top is the group of the container,
// whatever that is called outside; a group that is not below it counts as the top.
static bool find_folder(const mount_t *mount, const char *group,
                        char out_folder[FC_CGROUP_PATH]) {
  const size_t top = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
  const char *below = group;
  if (top && !strncmp(group, mount->root, top)) below = group + top;
  else if (top) below = "";
  if (strstr(below, "/..") || !strcmp(below, "/")) below = "";
  const int size =
      snprintf(out_folder, FC_CGROUP_PATH, "%s%s", mount->point, below);
  return size > 0 && size < FC_CGROUP_PATH;
}

bool fc_cgroup_find(const char *root, const char *controller,
                    fc_cgroup_t *out_group) {
  char group[FC_CGROUP_PATH];
  mount_t mount;
  if (!find_group(root, controller, group) ||
      !find_mount(root, controller, &mount) ||
      !find_folder(&mount, group, out_group->folder)) {
    return false;
  }
  out_group->top = strlen(mount.point);
  return true;
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
