// SPDX-License-Identifier: Apache-2.0
#include "pool/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PERIOD_US 100000u

typedef struct row_t {
  const char *controller;
  const char *file;
} row_t;

static const row_t kRows[FC_GROUP_LIMITS] = {
    [FC_GROUP_MEMORY] = {"memory", "memory.max"},
    [FC_GROUP_TASKS] = {"pids", "pids.max"},
    [FC_GROUP_CPU] = {"cpu", "cpu.max"}};

typedef char path_t[FC_CGROUP_PATH + 256];

const char *fc_group_limit_name(fc_group_limit_t limit) {
  return kRows[limit].controller;
}

bool fc_group_limits_any(const fc_group_limits_t *limits) {
  for (unsigned i = 0; i < FC_GROUP_LIMITS; i++) {
    if (limits->values[i]) return true;
  }
  return false;
}

static int open_file(const char *folder, const char *name) {
  path_t path;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return open(path, O_WRONLY | O_CLOEXEC);
}

// False and errno: the file cannot be opened or does not accept the text.
static bool write_file(const char *folder, const char *name, const char *text) {
  const int file = open_file(folder, name);
  if (file < 0) return false;
  const ssize_t written = write(file, text, strlen(text));
  const int error = errno;
  close(file);
  errno = error;
  return written >= 0;
}

// ---------------------------------------------------------------------------
// The server's group

static void refuse(fc_groups_t *groups, const char *what, int error) {
  for (unsigned i = 0; i < FC_GROUP_LIMITS; i++) {
    snprintf(groups->reasons[i], sizeof groups->reasons[i], "%s%s%s", what,
             error ? ": " : "", error ? strerror(error) : "");
  }
  groups->folder[0] = '\0';
}

static bool move(const char *folder) {
  char pid[16];
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  return write_file(folder, "cgroup.procs", pid);
}

// Enables controllers for the groups below the server's group: each that a limit needs
// and that the server's group has. Notes why the others are not enabled. False: none was
// enabled.
static bool give(fc_groups_t *groups, const char *controllers) {
  bool any = false;
  for (unsigned i = 0; i < FC_GROUP_LIMITS; i++) {
    const char *controller = kRows[i].controller;
    char text[16], *reason = groups->reasons[i];
    snprintf(text, sizeof text, "+%s", controller);
    if (!fc_cgroup_has_word(controllers, " \n", controller)) {
      snprintf(reason, sizeof groups->reasons[i],
               "the server's control group has no controller '%s' (systemd: "
               "Delegate=)",
               controller);
    } else if (!write_file(groups->folder, "cgroup.subtree_control", text)) {
      snprintf(reason, sizeof groups->reasons[i], "cgroup.subtree_control: %s",
               errno == EBUSY ? "other processes are in the server's group"
                              : strerror(errno));
    } else {
      any = true;
    }
  }
  return any;
}

void fc_groups_open(fc_groups_t *groups, const char *root) {
  fc_cgroup_t own;
  char controllers[256];
  path_t server;
  *groups = (fc_groups_t){.asked = true};
  if (!fc_cgroup_find(root, NULL, &own)) {
    refuse(groups, "there are no control groups of version 2", 0);
    return;
  }
  const int size =
      snprintf(groups->folder, sizeof groups->folder, "%s%s", root, own.folder);
  if (size < 0 || (size_t)size >= sizeof groups->folder ||
      !fc_cgroup_read(root, own.folder, "cgroup.controllers", controllers,
                      sizeof controllers)) {
    // The file is empty if all controllers are of version 1.
    controllers[0] = '\0';
  }
  snprintf(server, sizeof server, "%s/server", groups->folder);
  if (mkdir(server, 0755) && errno != EEXIST) {
    refuse(groups, "a group below the server's cannot be made", errno);
    return;
  }
  if (!move(server)) {
    const int error = errno;
    (void)rmdir(server);
    refuse(groups, "the server cannot enter a group below its own", error);
    return;
  }
  if (give(groups, controllers)) return;
  (void)move(groups->folder);
  (void)rmdir(server);
  groups->folder[0] = '\0';
}

// ---------------------------------------------------------------------------
// The group of a module

static void print_folder(const fc_groups_t *groups, fc_str_t module,
                         uint32_t generation, path_t out) {
  snprintf(out, sizeof(path_t), "%s/module-%.*s.%u", groups->folder,
           FC_STR_ARG(module), generation);
}

static bool set_limit(const char *folder, fc_group_limit_t limit,
                      uint64_t value) {
  char text[48];
  if (limit == FC_GROUP_CPU) {
    snprintf(text, sizeof text, "%llu %u",
             (unsigned long long)(value * (PERIOD_US / 100)), PERIOD_US);
  } else {
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  }
  if (!write_file(folder, kRows[limit].file, text)) return false;
  // Swapped memory does not count for memory.max, so swap is forbidden. Kernels without
  // swap do not have the file.
  if (limit == FC_GROUP_MEMORY)
    (void)write_file(folder, "memory.swap.max", "0");
  return true;
}

// Removes the limit from an old group. A file that does not exist sets no limit.
static void lift_limit(const char *folder, fc_group_limit_t limit) {
  (void)write_file(folder, kRows[limit].file, "max");
  if (limit == FC_GROUP_MEMORY)
    (void)write_file(folder, "memory.swap.max", "max");
}

// Notes that a limit cannot be set. False: the limit is required.
static bool do_without(fc_group_lacks_t *lacks, unsigned limit,
                       const char *reason, fc_error_t *err) {
  (void)fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                "its control group cannot limit %s: %s",
                kRows[limit].controller, reason);
  if (!lacks) return false;
  snprintf(lacks->reasons[limit], sizeof lacks->reasons[limit], "%s", reason);
  return true;
}

static fc_status_t check(const fc_groups_t *groups,
                         const fc_group_limits_t *limits,
                         fc_group_lacks_t *lacks, fc_error_t *err) {
  bool any = false;
  if (!groups->asked) {
    return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                   "its control group: groups are made when the server starts, "
                   "and no module had such limits then");
  }
  for (unsigned i = 0; i < FC_GROUP_LIMITS; i++) {
    if (!limits->values[i]) continue;
    if (!groups->reasons[i][0]) any = true;
    else if (!do_without(lacks, i, groups->reasons[i], err)) return err->status;
  }
  return any ? FC_OK : err->status;
}

static fc_status_t fill(const fc_groups_t *groups, const char *folder,
                        const fc_group_limits_t *limits, bool left,
                        fc_group_lacks_t *lacks, int *out_procs,
                        fc_error_t *err) {
  bool any = false;
  for (unsigned i = 0; i < FC_GROUP_LIMITS; i++) {
    char reason[160];
    const uint64_t value = limits->values[i];
    if (groups->reasons[i][0]) continue;
    if (!value && left) lift_limit(folder, (fc_group_limit_t)i);
    if (!value) continue;
    if (set_limit(folder, (fc_group_limit_t)i, value)) {
      any = true;
      continue;
    }
    snprintf(reason, sizeof reason, "%s: %s", kRows[i].file, strerror(errno));
    if (!do_without(lacks, i, reason, err)) return err->status;
  }
  if (!any) return err->status;
  *out_procs = open_file(folder, "cgroup.procs");
  if (*out_procs >= 0) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                 "its control group: cgroup.procs: %s", strerror(errno));
}

// Makes the folder. A group that a killed server has left still has its old limits, so it
// is removed and made again. *out_left: a process is still in the old group.
static bool make_folder(const char *folder, bool *out_left) {
  *out_left = false;
  if (!mkdir(folder, 0755)) return true;
  if (errno != EEXIST) return false;
  *out_left = rmdir(folder) != 0;
  return *out_left || !mkdir(folder, 0755);
}

fc_status_t fc_groups_add(const fc_groups_t *groups, fc_str_t module,
                          uint32_t generation, const fc_group_limits_t *limits,
                          fc_group_lacks_t *lacks, int *out_procs,
                          fc_error_t *err) {
  path_t folder;
  bool left;
  FC_TRY(check(groups, limits, lacks, err));
  print_folder(groups, module, generation, folder);
  if (!make_folder(folder, &left)) {
    return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                   "its control group cannot be made: %s", strerror(errno));
  }
  const fc_status_t status =
      fill(groups, folder, limits, left, lacks, out_procs, err);
  if (status != FC_OK) (void)rmdir(folder);
  return status;
}

void fc_groups_remove(const fc_groups_t *groups, fc_str_t module,
                      uint32_t generation) {
  path_t folder;
  print_folder(groups, module, generation, folder);
  (void)rmdir(folder);
}
