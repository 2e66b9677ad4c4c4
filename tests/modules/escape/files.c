// SPDX-License-Identifier: Apache-2.0
//
// Attempts at files that are not the module's: reading, changing and creating them.
#define _FILE_OFFSET_BITS 64
#include <dirent.h>
#include <linux/openat2.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/xattr.h>

#include "escape.h"

KIND(open_secret) { return opens(SECRET); }
KIND(openat2_secret) {
  struct open_how how = {.flags = O_RDONLY};
  return reads((int)syscall(SYS_openat2, AT_FDCWD, SECRET, &how, sizeof how));
}
KIND(map_secret) {
  int fd = open(SECRET, O_RDONLY);
  if (fd < 0) return errno;
  void *text = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  return text == MAP_FAILED ? errno : is_secret(text, 64);
}
// The test has put a link beside the modules.
KIND(follow_link) { return opens(MODULES "link"); }
KIND(make_link) {
  if (symlink(SECRET, MODULES "soft")) return errno;
  return opens(MODULES "soft");
}
KIND(make_hard_link) {
  if (link(SECRET, MODULES "hard")) return errno;
  return opens(MODULES "hard");
}
KIND(by_proc_root) { return opens("/proc/self/root" SECRET); }
KIND(by_proc_of) {  // of another process
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/root" SECRET, (int)a);
  return opens(path);
}
KIND(by_dots) { return opens(MODULES "../secret"); }
KIND(by_path_descriptor) {
  char path[64];
  int fd = open(SECRET, O_PATH);
  if (fd < 0) return errno;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return opens(path);
}
KIND(by_handle) {
  struct {
    struct file_handle head;
    char rest[MAX_HANDLE_SZ];
  } handle = {.head.handle_bytes = MAX_HANDLE_SZ};
  int mount, folder = open("/mnt", O_RDONLY | O_DIRECTORY);
  if (name_to_handle_at(AT_FDCWD, SECRET, &handle.head, &mount, 0)) {
    return errno;
  }
  return reads(open_by_handle_at(folder, &handle.head, O_RDONLY));
}
KIND(key_file) {
  char text[4096] = "";
  int fd = open(PLACE "key.pem", O_RDONLY);
  if (fd < 0) return errno;
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  return size < 0 ? errno : strstr(text, "PRIVATE KEY") ? 0 : NOTHING;
}
KIND(token_file) { return gets(open(PLACE "tokens", O_RDONLY)); }
KIND(list_folder) {
  DIR *folder = opendir("/mnt");
  if (!folder) return errno;
  int32_t result = readdir(folder) ? 0 : NOTHING;
  closedir(folder);
  return result;
}
KIND(server_command) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/cmdline", (int)a);
  return gets(open(path, O_RDONLY));
}
KIND(look_at_secret) {
  struct stat info;
  return error_of(stat(SECRET, &info));
}

static int32_t makes(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return errno;
  int32_t result = error_of(write(fd, "escaped", 7));
  close(fd);
  return result;
}
KIND(write_temporary) { return makes(TEMPORARY "/escaped"); }
KIND(write_beside) { return makes(MODULES "escaped"); }
KIND(write_victim) { return makes(VICTIM); }
KIND(write_module) { return gets(open(MODULES "add.so", O_WRONLY)); }
KIND(unnamed_file) { return gets(open(TEMPORARY, O_TMPFILE | O_WRONLY, 0600)); }
KIND(truncate_victim) { return error_of(truncate(VICTIM, 0)); }
KIND(remove_file) { return error_of(unlink(PLACE "removed")); }
KIND(rename_file) {
  return error_of(rename(PLACE "renamed", PLACE "escaped-name"));
}
KIND(make_folder) { return error_of(mkdir(PLACE "escaped-folder", 0700)); }
KIND(make_fifo) { return error_of(mkfifo(PLACE "escaped-fifo", 0600)); }
KIND(make_device) {
  return error_of(mknod(PLACE "escaped-null", S_IFCHR | 0666, makedev(1, 3)));
}
KIND(change_mode) { return error_of(chmod(VICTIM, 0666)); }
KIND(change_owner) { return error_of(chown(VICTIM, geteuid(), getegid())); }
KIND(change_times) {
  struct timeval times[2] = {{1, 0}, {1, 0}};
  return error_of(utimes(VICTIM, times));
}
KIND(set_attribute) {
  return error_of(setxattr(VICTIM, "user.escaped", "1", 1, 0));
}
KIND(open_device) { return gets(open("/dev/full", O_RDWR)); }
KIND(open_terminal) { return gets(open("/dev/ptmx", O_RDWR | O_NOCTTY)); }
KIND(watch_file) {
  int fd = inotify_init1(IN_CLOEXEC);
  if (fd < 0) return errno;
  int32_t result = error_of(inotify_add_watch(fd, SECRET, IN_OPEN));
  close(fd);
  return result;
}
KIND(watch_all) {
  return gets(fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY));
}
KIND(read_kernel_log) { return gets(open("/dev/kmsg", O_RDONLY)); }
