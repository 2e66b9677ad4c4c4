// SPDX-License-Identifier: Apache-2.0
#include "jail/landlock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Rights, each with the version of Landlock that added it. They are defined here because
// the headers may be older than the kernel.
#define ACCESS_FIRST ((1ull << 13) - 1)
#define ACCESS_REFER (1ull << 13)      // 2
#define ACCESS_TRUNCATE (1ull << 14)   // 3
#define ACCESS_NET 3ull                // 4
#define ACCESS_IOCTL_DEV (1ull << 15)  // 5
#define SCOPES 3ull                    // 6: abstract sockets, signals

typedef struct ruleset_t {
  uint64_t files;
  uint64_t net;
  uint64_t scopes;
} ruleset_t;

int fc_landlock_version(void) {
  const long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
                               LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? (int)version : 0;
}

static fc_status_t fail(fc_error_t *err) {
  return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                 "a worker cannot set a Landlock ruleset: %s", strerror(errno));
}

static int create(const ruleset_t *ruleset) {
  // The kernel accepts a struct longer than it knows if the rest is 0.
  return (int)syscall(SYS_landlock_create_ruleset, ruleset, sizeof *ruleset, 0);
}

int fc_landlock_create(void) {
  const int version = fc_landlock_version();
  ruleset_t ruleset = {.files = ACCESS_FIRST};
  if (version < 1) return -1;
  if (version >= 2) ruleset.files |= ACCESS_REFER;
  if (version >= 3) ruleset.files |= ACCESS_TRUNCATE;
  if (version >= 4) ruleset.net = ACCESS_NET;
  if (version >= 5) ruleset.files |= ACCESS_IOCTL_DEV;
  if (version >= 6) ruleset.scopes = SCOPES;
  return create(&ruleset);
}

static void allow(int ruleset, int fd, uint64_t access) {
  const struct landlock_path_beneath_attr rule = {.allowed_access = access,
                                                  .parent_fd = fd};
  (void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
                &rule, 0);
}

void fc_landlock_allow(int ruleset, int file) {
  struct stat info;
  if (file < 0 || fstat(file, &info)) return;
  allow(ruleset, file,
        S_ISDIR(info.st_mode)
            ? LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR
            : LANDLOCK_ACCESS_FS_READ_FILE);
}

fc_status_t fc_landlock_enter(int take_ruleset, fc_error_t *err) {
  if (take_ruleset < 0) return fail(err);
  const long failed = syscall(SYS_landlock_restrict_self, take_ruleset, 0);
  const int error = errno;
  close(take_ruleset);
  errno = error;
  return failed ? fail(err) : FC_OK;
}

// ---------------------------------------------------------------------------
// --sandbox=basic

// Allows `access` to an entry of the root folder, and to all files below the entry.
static void allow_entry(int ruleset, int root, const char *name,
                        uint64_t access) {
  struct stat info;
  const int fd = openat(root, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  if (fstat(fd, &info) == 0 && !S_ISLNK(info.st_mode)) {
    if (!S_ISDIR(info.st_mode)) access &= ~ACCESS_REFER;
    allow(ruleset, fd, access);
  }
  close(fd);
}

// A process that writes to /proc can make the kernel kill the server first when memory
// runs out. One that writes to /sys/fs/cgroup can move the worker out of its group.
// Landlock has no rules that forbid, so every entry of the root folder except these two
// is allowed.
fc_status_t fc_landlock_enter_basic(fc_error_t *err) {
  static const char *const kLeftOut[] = {".", "..", "proc", "sys"};
  const int version = fc_landlock_version();
  ruleset_t handled = {.files = LANDLOCK_ACCESS_FS_WRITE_FILE};
  if (version < 1) return FC_OK;
  if (version >= 2) handled.files |= ACCESS_REFER;
  if (version >= 3) handled.files |= ACCESS_TRUNCATE;
  DIR *root = opendir("/");
  if (!root) return FC_OK;
  const int ruleset = create(&handled);
  for (const struct dirent *entry; (entry = readdir(root));) {
    bool left_out = false;
    for (size_t i = 0; i < FC_ARRAY_COUNT(kLeftOut); i++) {
      left_out = left_out || !strcmp(entry->d_name, kLeftOut[i]);
    }
    if (!left_out) {
      allow_entry(ruleset, dirfd(root), entry->d_name, handled.files);
    }
  }
  closedir(root);
  return fc_landlock_enter(ruleset, err);
}
