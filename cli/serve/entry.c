// SPDX-License-Identifier: Apache-2.0
//
// A process that uses an entry locks a byte of the file IN_USE; the entry's name gives
// the position of the byte. One descriptor serves all entries. farcalld inherits it, but
// not the processes that farcalld starts.
//
// The list has the form of sha256sum, a line for each file. It need not be flushed to the
// disk: after a crash of the machine the digests do not match.
#include "serve/entry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/sha256.h"
#include "file.h"

#define LIST "SHA256SUMS"
#define IN_USE "in-use"
#define HEX 64
#define DAY_S (24 * 3600)
#define MONTH_S (30 * DAY_S)
#define ENTRIES_MAX 64
#define READ_SIZE (64u << 10)

// ---------------------------------------------------------------------------
// Digests

static bool hash_open(int file, fc_sha256_t *hash) {
  static char block[READ_SIZE];
  for (;;) {
    const ssize_t size = read(file, block, sizeof block);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return size == 0;
    fc_sha256_update(hash, block, (size_t)size);
  }
}

// Is it certain that only this user and root have written to the file? A file of this
// user is trusted as it is. A file of root, for example in an image, must not be writable
// for others.
static bool is_safe(const struct stat *info) {
  return info->st_uid == geteuid() ||
         (info->st_uid == 0 && !(info->st_mode & (S_IWGRP | S_IWOTH)));
}

// Hashes a file of this user or root that is not a link. False: see errno.
static bool hash_file(const char *path, char out_hex[HEX + 1]) {
  struct stat info;
  fc_sha256_t hash;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  errno = EINVAL;
  fc_sha256_init(&hash);
  const bool good = !fstat(file, &info) && S_ISREG(info.st_mode) &&
                    is_safe(&info) && hash_open(file, &hash);
  const int reason = errno;
  close(file);
  if (good) fc_sha256_finish(&hash, out_hex);
  errno = reason;
  return good;
}

static fc_status_t fail(fc_error_t *err, const char *path) {
  return fc_fail(err, FC_CODE_MODULE_PATH, "cannot read %s: %s", path,
                 strerror(errno));
}

static fc_status_t add_line(fc_arena_t *arena, const char *folder,
                            const char *name, fc_text_t *list,
                            fc_error_t *err) {
  char hex[HEX + 1];
  const char *path = fc_print(arena, "%s/%s", folder, name);
  if (!path) return fc_fail_memory(err);
  if (!hash_file(path, hex)) return fail(err, path);
  const char *line = fc_print(arena, "%s  %s\n", hex, name);
  if (!line) return fc_fail_memory(err);
  return fc_sink_put(&list->sink, fc_str(line), err);
}

static fc_status_t add_lines(fc_arena_t *arena, const char *folder,
                             fc_text_t *list, fc_error_t *err) {
  DIR *files = opendir(folder);
  fc_status_t status = FC_OK;
  if (!files) return fail(err, folder);
  for (const struct dirent *file; status == FC_OK && (file = readdir(files));) {
    if (file->d_name[0] == '.') continue;
    status = add_line(arena, folder, file->d_name, list, err);
  }
  closedir(files);
  return status;
}

fc_status_t fc_entry_seal(fc_arena_t *arena, const char *folder,
                          fc_error_t *err) {
  fc_text_t list;
  const char *path = fc_print(arena, "%s/" LIST, folder);
  if (!path) return fc_fail_memory(err);
  fc_text_init(&list, fc_allocator_system(), 1u << 20);
  fc_status_t status = add_lines(arena, folder, &list, err);
  if (status == FC_OK) {
    status = fc_file_write(arena, path, fc_text_str(&list), err);
  }
  fc_text_deinit(&list);
  return status;
}

// ---------------------------------------------------------------------------
// Use

// The descriptor of IN_USE, open from the first entry on that this process finds; -1: not
// open.
static int uses = -1;

static int open_uses(fc_arena_t *arena, const char *cache) {
  static const int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const char *path = fc_print(arena, "%s/" IN_USE, cache);
  if (!path) return -1;
  const int file = open(path, O_RDWR | O_CREAT | kFlags, 0600);
  return file < 0 ? open(path, O_RDONLY | kFlags) : file;
}

// Locks the entry's byte of IN_USE. False: see errno; EAGAIN if another process has the
// lock. These locks belong to the open file, not to the process.
static bool lock_entry(int file, const char *entry, short kind) {
  char place[16];
  snprintf(place, sizeof place, "%s", fc_file_base(entry));
  struct flock range = {.l_type = kind,
                        .l_whence = SEEK_SET,
                        .l_start = (off_t)strtoll(place, NULL, 16),
                        .l_len = 1};
  return !fcntl(file, F_OFD_SETLK, &range);
}

// Marks the entry as used. False: the entry is being removed. If the file system has no
// locks, or the cache belongs to root and nobody prunes it, the entry is used without a
// lock.
static bool use(fc_arena_t *arena, const char *entry) {
  const int size = (int)(fc_file_base(entry) - entry);
  const char *cache = fc_print(arena, "%.*s", size, entry);
  if (cache && uses < 0) uses = open_uses(arena, cache);
  return uses < 0 || lock_entry(uses, entry, F_RDLCK) ||
         (errno != EAGAIN && errno != EACCES);
}

void fc_entry_keep_used(void) {
  if (uses >= 0) (void)fcntl(uses, F_SETFD, 0);
}

// ---------------------------------------------------------------------------
// Finding

// Is the file in a line of the list unchanged?
static bool is_same(fc_arena_t *arena, const char *entry, fc_str_t line) {
  char hex[HEX + 1];
  if (line.size < HEX + 3 || memchr(line.data, '/', line.size)) return false;
  const char *path = fc_print(arena, "%s/%.*s", entry,
                              (int)(line.size - HEX - 2), line.data + HEX + 2);
  return path && hash_file(path, hex) && !memcmp(hex, line.data, HEX);
}

// Returns the name of the module's file, if all listed files are unchanged.
static const char *verify(fc_arena_t *arena, const char *entry, fc_str_t stem,
                          fc_str_t list) {
  static const char *const kSuffixes[] = {".vmfb", ".so", ".farcall.json"};
  const size_t last = FC_ARRAY_COUNT(kSuffixes) - 1;
  const char *module = NULL;
  bool described = false;
  while (list.size) {
    const fc_str_t line = fc_str_take(&list, '\n');
    if (!is_same(arena, entry, line)) return NULL;
    fc_str_t name = fc_str_make(line.data + HEX + 2, line.size - HEX - 2);
    if (!fc_str_starts(name, stem)) continue;
    name = fc_str_make(name.data + stem.size, name.size - stem.size);
    for (size_t i = 0; i < last; i++) {
      if (fc_str_equal(name, fc_str(kSuffixes[i]))) module = kSuffixes[i];
    }
    described |= fc_str_equal(name, fc_str(kSuffixes[last]));
  }
  return described && module
             ? fc_print(arena, "%s/%.*s%s", entry, FC_STR_ARG(stem), module)
             : NULL;
}

const char *fc_entry_find(fc_arena_t *arena, const char *entry,
                          const char *source) {
  struct stat info;
  fc_str_t list;
  fc_error_t err;
  const char *base = fc_file_base(source), *dot = strrchr(base, '.');
  const fc_str_t stem = {
      base, dot && dot != base ? (size_t)(dot - base) : strlen(base)};
  const char *path = fc_print(arena, "%s/" LIST, entry);
  if (!path || lstat(entry, &info) || !S_ISDIR(info.st_mode) ||
      !is_safe(&info) || info.st_mode & (S_IWGRP | S_IWOTH)) {
    return NULL;
  }
  // Locked first, so that no process removes it while it is verified or used.
  if (!use(arena, entry)) return NULL;
  // The entry's time is the time of its last use.
  (void)utimensat(AT_FDCWD, entry, NULL, AT_SYMLINK_NOFOLLOW);
  if (fc_file_read(arena, path, &list, &err)) return NULL;
  return verify(arena, entry, stem, list);
}

// ---------------------------------------------------------------------------
// Pruning

typedef struct old_t {
  const char *path;
  time_t used;
} old_t;

static bool is_entry(const char *name) {
  return strlen(name) == FC_ENTRY_NAME &&
         strspn(name, "0123456789abcdef") == FC_ENTRY_NAME;
}

// Collects the entries into `out`; removes the remains of killed compilations.
static size_t gather(fc_arena_t *arena, const char *cache, time_t now,
                     old_t *out, size_t capacity) {
  DIR *all = opendir(cache);
  size_t count = 0;
  if (!all) return 0;
  for (const struct dirent *each; count < capacity && (each = readdir(all));) {
    struct stat info;
    const bool left =
        !strncmp(each->d_name, FC_ENTRY_NEW, sizeof FC_ENTRY_NEW - 1);
    if (!left && !is_entry(each->d_name)) continue;
    const char *path = fc_print(arena, "%s/%s", cache, each->d_name);
    if (!path || lstat(path, &info)) continue;
    if (!left) out[count++] = (old_t){path, info.st_mtime};
    else if (info.st_mtime < now - DAY_S) fc_workdir_remove(path);
  }
  closedir(all);
  return count;
}

static int newest_first(const void *a, const void *b) {
  const old_t *left = a, *right = b;
  return left->used == right->used  ? strcmp(left->path, right->path)
         : left->used > right->used ? -1
                                    : 1;
}

// With the lock, no process can begin to use the entry until `locks` is closed.
static void remove_unused(int locks, const char *entry) {
  if (lock_entry(locks, entry, F_WRLCK)) fc_workdir_remove(entry);
}

void fc_entry_prune(fc_arena_t *arena, const char *cache) {
  static const size_t kCapacity = 4096;
  const time_t now = time(NULL);
  const int locks = open_uses(arena, cache);
  if (locks < 0) return;
  old_t *entries = fc_arena_alloc_array(arena, kCapacity, sizeof *entries);
  const size_t count =
      entries ? gather(arena, cache, now, entries, kCapacity) : 0;
  if (count) qsort(entries, count, sizeof *entries, newest_first);
  for (size_t i = 0; i < count; i++) {
    const time_t age_s = now - entries[i].used;
    if (age_s > MONTH_S || (i >= ENTRIES_MAX && age_s > DAY_S)) {
      remove_unused(locks, entries[i].path);
    }
  }
  close(locks);
}
