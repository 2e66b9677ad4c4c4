// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files, and makes and removes work directories.
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

char *fc_print(fc_arena_t *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int size = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = size < 0 ? NULL : fc_arena_alloc(arena, (size_t)size + 1, 1);
  if (text) vsnprintf(text, (size_t)size + 1, format, again);
  va_end(again);
  return text;
}

fc_status_t fc_print_to(fc_sink_t *sink, fc_error_t *err, const char *format,
                        ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  const int size = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  FC_ASSERT(size >= 0 && (size_t)size < sizeof text);
  return fc_sink_put(sink, fc_str_make(text, (size_t)size), err);
}

size_t fc_hex_escape(char out[3], char mark, unsigned char byte) {
  static const char kDigits[] = "0123456789ABCDEF";
  out[0] = mark;
  out[1] = kDigits[byte >> 4];
  out[2] = kDigits[byte & 15];
  return 3;
}

static fc_status_t fail_file(fc_error_t *err, const char *verb,
                             const char *path) {
  return fc_fail(err, FC_CODE_MODULE_PATH, "cannot %s %s: %s", verb, path,
                 strerror(errno));
}

// Refuses a file that is too large, and a device, which may have no end. A terminal is
// allowed: there the user ends the input.
static fc_status_t check_kind(int file, const struct stat *info,
                              const char *path, fc_error_t *err) {
  bool device = S_ISCHR(info->st_mode) || S_ISBLK(info->st_mode);
  if (device && !isatty(file)) {
    return fc_fail(err, FC_CODE_MODULE_PATH, "cannot read %s: it is a device",
                   path);
  }
  if (S_ISREG(info->st_mode) && info->st_size > (off_t)FC_FILE_MAX) {
    return fc_fail(err, FC_CODE_MODULE_PATH,
                   "cannot read %s: it has %jd MiB, at most %zu are read", path,
                   (intmax_t)(info->st_size >> 20), FC_FILE_MAX >> 20);
  }
  return FC_OK;
}

// Called after read() failed. True: read again. If a pipe had no bytes yet, waits for
// them first. False: a real error.
static bool may_go_on(int file) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  struct pollfd wait = {.fd = file, .events = POLLIN};
  return poll(&wait, 1, -1) > 0 || errno == EINTR;
}

// Reads to the end: the size of a pipe, or of a file that grows, is not known before.
static fc_status_t read_all(fc_arena_t *arena, int file, size_t size_hint,
                            size_t limit, const char *path, fc_str_t *out_data,
                            fc_error_t *err) {
  size_t capacity = size_hint + 4096, used = 0;
  char *data = fc_arena_alloc(arena, capacity, 64);
  for (;;) {
    if (!data) return fc_fail_memory(err);
    ssize_t got = read(file, data + used, capacity - used - 1);
    if (got < 0 && may_go_on(file)) continue;
    if (got < 0) return fail_file(err, "read", path);
    if (got == 0) break;
    used += (size_t)got;
    if (used > limit) {
      return fc_fail(err, FC_CODE_MODULE_PATH,
                     "cannot read %s: more than %zu MiB come out of it", path,
                     limit >> 20);
    }
    if (used + 1 < capacity) continue;
    char *bigger = fc_arena_alloc(arena, capacity * 2, 64);
    if (bigger) memcpy(bigger, data, used);
    data = bigger;
    capacity *= 2;
  }
  data[used] = '\0';
  fc_arena_trim(arena, data, capacity, used + 1);
  *out_data = (fc_str_t){data, used};
  return FC_OK;
}

static fc_status_t read_open(fc_arena_t *arena, int file, const char *path,
                             fc_str_t *out_data, fc_error_t *err) {
  struct stat info;
  if (fstat(file, &info)) return fail_file(err, "read", path);
  FC_TRY(check_kind(file, &info, path, err));
  bool regular = S_ISREG(info.st_mode);
  FC_TRY(read_all(arena, file, regular ? (size_t)info.st_size : 0,
                  regular ? FC_FILE_MAX : FC_STREAM_MAX, path, out_data, err));
  if (!out_data->size && S_ISFIFO(info.st_mode)) {
    return fc_fail(err, FC_CODE_MODULE_PATH,
                   "cannot read %s: it is a pipe that nobody writes to", path);
  }
  return FC_OK;
}

fc_status_t fc_file_read(fc_arena_t *arena, const char *path,
                         fc_str_t *out_data, fc_error_t *err) {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return fail_file(err, "read", path);
  fc_status_t status = read_open(arena, file, path, out_data, err);
  close(file);
  return status;
}

static bool write_all(int file, fc_str_t data) {
  while (data.size) {
    ssize_t done = write(file, data.data, data.size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    data.data += done;
    data.size -= (size_t)done;
  }
  return true;
}

fc_status_t fc_file_write(fc_arena_t *arena, const char *path, fc_str_t data,
                          fc_error_t *err) {
  char *draft = fc_print(arena, "%s.XXXXXX", path);
  if (!draft) return fc_fail_memory(err);
  int file = mkostemp(draft, O_CLOEXEC);
  if (file < 0) return fail_file(err, "write", path);
  mode_t mask = umask(0);
  umask(mask);
  bool done = write_all(file, data) && !fchmod(file, 0666 & ~mask);
  if (close(file)) done = false;
  if (done && !rename(draft, path)) return FC_OK;
  fc_status_t status = fail_file(err, "write", path);
  unlink(draft);
  return status;
}

const char *fc_file_base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

fc_status_t fc_workdir_create(fc_arena_t *arena, const char **out_path,
                              fc_error_t *err) {
  const char *parent = getenv("TMPDIR");
  if (!parent || parent[0] != '/') parent = "/tmp";
  char *path = fc_print(arena, "%s/farcall-XXXXXX", parent);
  if (!path) return fc_fail_memory(err);
  if (!mkdtemp(path)) return fail_file(err, "make a directory in", parent);
  *out_path = path;
  return FC_OK;
}

static int remove_entry(const char *path, const struct stat *info, int kind,
                        struct FTW *place) {
  (void)info, (void)kind, (void)place;
  remove(path);
  return 0;  // an entry that cannot be removed stays, others are removed
}

void fc_workdir_remove(const char *path) {
  int reason = 0;
  if (!path) return;
  // Listing needs descriptors. If there were too few at the first try, there may be
  // enough at the second.
  for (int i = 0; i < 2; i++) {
    errno = 0;
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    reason = errno;
    if (access(path, F_OK)) return;
  }
  (void)fc_complain(0, "cannot remove '%s': %s", path, strerror(reason));
}
