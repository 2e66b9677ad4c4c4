// SPDX-License-Identifier: Apache-2.0
//
// A PATH that is a directory is watched itself. Every PATH is also watched by its name in
// its parent directory, because it can be a file, and because a directory can be replaced
// as a whole. In Kubernetes the files of a volume are links into ..data, which is
// replaced by another link.
#include "modules/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "module/files.h"

#define MASK                                                              \
  (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | \
   IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
#define VOLUME "..data"
// The most files that are remembered as being written; beyond this the oldest counts as
// closed.
#define WRITING_MAX 1024

// Returns the beginning of a file's name, up to and including its last dot: the names of
// the file and its sidecar begin with it. Returns the whole name if it has no dot after
// its first byte.
static fc_str_t stem_of(fc_str_t file) {
  const char *dot = file.size ? memrchr(file.data, '.', file.size) : NULL;
  if (!dot || dot == file.data) return file;
  return fc_str_make(file.data, (size_t)(dot - file.data) + 1);
}

// Copies `path` to *at without slashes at its end, and adds a NUL.
static char *put_path(char **at, fc_str_t path) {
  char *text = *at;
  while (path.size > 1 && path.data[path.size - 1] == '/') path.size--;
  if (path.size) memcpy(text, path.data, path.size);
  text[path.size] = '\0';
  *at += path.size + 1;
  return text;
}

static void add(fc_watch_t *watch, char **at, fc_str_t path) {
  const char *whole = put_path(at, path);
  const fc_str_t file = fc_path_file(fc_str(whole));
  const size_t lead = (size_t)(file.data - whole);
  const fc_str_t folder = lead ? fc_str_make(whole, lead) : FC_STR(".");
  const char *parent = put_path(at, folder);
  watch->watched[watch->count++] = (fc_watched_t){.mark = -1, .path = whole};
  watch->watched[watch->count++] =
      (fc_watched_t){.mark = -1, .path = parent, .prefix = stem_of(file)};
  watch->watched[watch->count++] = (fc_watched_t){
      .mark = -1, .path = parent, .prefix = file, .exactly = true};
}

fc_status_t fc_watch_open(fc_watch_t *watch, fc_allocator_t allocator,
                          const char *const *paths, size_t count,
                          fc_error_t *err) {
  size_t size = 1;
  *watch = (fc_watch_t){.allocator = allocator, .file = -1};
  for (size_t i = 0; i < count; i++) size += 2 * strlen(paths[i]) + 4;
  watch->text = fc_alloc(allocator, size);
  watch->watched =
      fc_alloc_array(allocator, 3 * count + 1, sizeof *watch->watched);
  if (!watch->text || !watch->watched) {
    fc_watch_close(watch);
    return fc_fail_memory(err);
  }
  char *at = watch->text;
  for (size_t i = 0; i < count; i++) add(watch, &at, fc_str(paths[i]));
  watch->file = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (watch->file >= 0) return FC_OK;
  const int reason = errno;
  fc_watch_close(watch);
  return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot watch files: %s",
                 strerror(reason));
}

static void forget(fc_watch_t *watch, fc_writing_t **at) {
  fc_writing_t *gone = *at;
  *at = gone->next;
  watch->writing_count--;
  fc_free(watch->allocator, gone);
}

void fc_watch_close(fc_watch_t *watch) {
  if (!watch->text && !watch->watched) return;
  while (watch->writing) forget(watch, &watch->writing);
  if (watch->file >= 0) close(watch->file);
  fc_free(watch->allocator, watch->watched);
  fc_free(watch->allocator, watch->text);
  *watch = (fc_watch_t){.file = -1};
}

// Ends the watch of a directory that no longer has its path, unless another entry uses
// the watch. The directory may exist under another name, and would still report changes.
static void drop_mark(const fc_watch_t *watch, int mark) {
  for (uint32_t i = 0; i < watch->count; i++) {
    if (watch->watched[i].mark == mark) return;
  }
  if (mark >= 0) (void)inotify_rm_watch(watch->file, mark);
}

const char *fc_watch_arm(fc_watch_t *watch, int *out_errno) {
  for (uint32_t i = 0; i < watch->count; i++) {
    fc_watched_t *one = &watch->watched[i];
    // inotify_add_watch returns the same mark for the same directory, so calling it again
    // is harmless.
    const int before = one->mark;
    one->mark = inotify_add_watch(watch->file, one->path, MASK);
    if (before != one->mark) drop_mark(watch, before);
    if (one->mark >= 0) one->told = false;
    // If the PATH is a file or does not exist, the watch of its parent reports a change.
    // If the parent does not exist either, only --watch-interval finds the PATH.
    if (one->mark >= 0 || errno == ENOTDIR || errno == ENOENT || one->told) {
      continue;
    }
    one->told = true;
    *out_errno = errno;
    return one->path;
  }
  return NULL;
}

// ---------------------------------------------------------------------------
// Events

int fc_watch_folder(int file, const char *path) {
  return inotify_add_watch(file, path, MASK);
}

static int compare_marks(const void *a, const void *b) {
  const int one = *(const int *)a, other = *(const int *)b;
  return (one > other) - (one < other);
}

static bool has_mark(const fc_folders_t *folders, int mark) {
  return folders->count && bsearch(&mark, folders->marks, folders->count,
                                   sizeof mark, compare_marks);
}

void fc_folders_replace(fc_folders_t *all, size_t count, size_t position,
                        fc_folders_t take_found, int file,
                        fc_allocator_t allocator) {
  const fc_folders_t before = all[position];
  if (take_found.count) {
    qsort(take_found.marks, take_found.count, sizeof(int), compare_marks);
  }
  all[position] = take_found;
  for (size_t i = 0; i < before.count; i++) {
    bool wanted = false;
    for (size_t k = 0; k < count && !wanted; k++) {
      wanted = has_mark(&all[k], before.marks[i]);
    }
    if (!wanted) (void)inotify_rm_watch(file, before.marks[i]);
  }
  fc_free(allocator, before.marks);
}

static fc_writing_t **find_writing(fc_watch_t *watch, int mark, fc_str_t name) {
  fc_writing_t **at = &watch->writing;
  while (*at && ((*at)->mark != mark || !fc_str_equal((*at)->name, name))) {
    at = &(*at)->next;
  }
  return at;
}

// If there is no memory, the file counts as closed. The server may then load it half
// written, which fails like any broken file.
static void note_writing(fc_watch_t *watch, int mark, fc_str_t name) {
  fc_writing_t **at = find_writing(watch, mark, name);
  if (*at) return;
  if (watch->writing_count == WRITING_MAX) forget(watch, &watch->writing);
  for (at = &watch->writing; *at;) at = &(*at)->next;
  fc_writing_t *made = fc_alloc(watch->allocator, sizeof *made + name.size + 1);
  if (!made) return;
  memcpy(made->text, name.data, name.size);
  made->name = fc_str_make(made->text, name.size);
  made->mark = mark;
  *at = made;
  watch->writing_count++;
}

static bool is_own(const fc_watch_t *watch, int mark) {
  uint32_t i = 0;
  while (i < watch->count && watch->watched[i].mark != mark) i++;
  return i < watch->count;
}

static bool matters(const fc_watch_t *watch, int mark, fc_str_t name) {
  if (fc_str_equal(name, FC_STR(VOLUME))) return true;
  for (uint32_t i = 0; i < watch->count; i++) {
    const fc_watched_t *one = &watch->watched[i];
    if (one->mark != mark) continue;
    if (one->exactly ? fc_str_equal(name, one->prefix)
                     : fc_str_starts(name, one->prefix)) {
      return one->prefix.size || name.size == 0 || name.data[0] != '.';
    }
  }
  // The mark may be of a directory of fc_watch_folder that the loop does not know yet.
  return !is_own(watch, mark) && (name.size == 0 || name.data[0] != '.');
}

static bool take_one(fc_watch_t *watch, const struct inotify_event *event) {
  const fc_str_t name = event->len ? fc_str(event->name) : FC_STR("");
  if (event->mask & IN_Q_OVERFLOW) {
    while (watch->writing) forget(watch, &watch->writing);
    return true;
  }
  // A watch has ended: its directory is gone, or fc_folders_replace has ended the watch,
  // without knowing whether fc_watch_arm uses it, too. A watch of fc_watch_arm must begin
  // again: returning true causes that.
  if (event->mask & IN_IGNORED) return is_own(watch, event->wd);
  if (!matters(watch, event->wd, name)) return false;
  if (event->mask & IN_MODIFY) {
    note_writing(watch, event->wd, name);
    return false;
  }
  fc_writing_t **at = find_writing(watch, event->wd, name);
  if (*at && !(event->mask & IN_CREATE)) forget(watch, at);
  return true;
}

bool fc_watch_take(fc_watch_t *watch) {
  _Alignas(struct inotify_event) char bytes[16384];
  bool changed = false;
  // Reads only once: further events make the descriptor readable again, and other work of
  // the loop comes in between.
  const ssize_t size = read(watch->file, bytes, sizeof bytes);
  for (ssize_t at = 0; at < size;) {
    const struct inotify_event *event =
        (const struct inotify_event *)(const void *)(bytes + at);
    if (take_one(watch, event)) changed = true;
    at += (ssize_t)(sizeof *event + event->len);
  }
  return changed;
}

bool fc_watch_is_written_in(const fc_watch_t *watch, int mark, fc_str_t name) {
  const fc_writing_t *one = watch->writing;
  while (one && (one->mark != mark || !fc_str_equal(one->name, name))) {
    one = one->next;
  }
  return one;
}

bool fc_watch_is_written(const fc_watch_t *watch, fc_str_t path) {
  if (!watch->writing) return false;
  const fc_str_t file = fc_path_file(path);
  size_t lead = (size_t)(file.data - path.data);
  while (lead > 1 && path.data[lead - 1] == '/') lead--;
  const fc_str_t folder = lead ? fc_str_make(path.data, lead) : FC_STR(".");
  for (const fc_writing_t *one = watch->writing; one; one = one->next) {
    if (!fc_str_equal(one->name, file)) continue;
    for (uint32_t i = 0; i < watch->count; i++) {
      if (watch->watched[i].mark == one->mark &&
          fc_str_equal(fc_str(watch->watched[i].path), folder)) {
        return true;
      }
    }
  }
  return false;
}
