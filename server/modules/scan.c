// SPDX-License-Identifier: Apache-2.0
//
// See scan.h.
#include "modules/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/name_table.h"
#include "module/backends.h"
#include "module/files.h"
#include "module/variant.h"
#include "modules/watch.h"

// The most times that a PATH is listed while its directories are moved or replaced.
#define TRIES_MAX 8

// Mixes facts that show whether a file has changed into `mark`, which is 0 at first, and
// stays the same if there is no such file. FNV-1a is good enough: nobody gains by making
// two marks equal. `path` is relative to the directory `at`, as in openat.
static uint64_t mark_file(int at, const char *path, uint64_t mark,
                          uint64_t *out_size) {
  struct stat info;
  if (fstatat(at, path, &info, 0)) return mark;
  *out_size = (uint64_t)info.st_size;
  const uint64_t facts[] = {
      (uint64_t)info.st_dev,          (uint64_t)info.st_ino,
      (uint64_t)info.st_size,         (uint64_t)info.st_mtim.tv_sec,
      (uint64_t)info.st_mtim.tv_nsec, (uint64_t)info.st_ctim.tv_sec,
      (uint64_t)info.st_ctim.tv_nsec};
  if (!mark) mark = 0xcbf29ce484222325u;
  for (size_t i = 0; i < FC_ARRAY_COUNT(facts); i++) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      mark = (mark ^ (facts[i] >> shift & 0xff)) * 0x100000001b3u;
    }
  }
  return mark;
}

static uint64_t mix_beside(int at, fc_str_t stem, const char *suffix,
                           uint64_t mark) {
  char path[FC_PATH_SIZE_MAX + 32];
  uint64_t ignored;
  snprintf(path, sizeof path, "%.*s%s", FC_STR_ARG(stem), suffix);
  return mark_file(at, path, mark, &ignored);
}

// `path` must end with a NUL. The file of test calls is included, so that a module which
// failed a test is tried again when the tests are corrected.
static uint64_t make_mark(int at, fc_str_t path,
                          const fc_backend_t *const *backends,
                          uint64_t *out_size) {
  const fc_backend_t *backend = fc_backends_by_suffix(backends, path);
  uint64_t mark = mark_file(at, path.data, 0, out_size);
  if (!mark || !backend) return mark;
  const fc_str_t stem =
      fc_str_make(path.data, path.size - strlen(backend->suffix));
  if (backend->sidecar_suffix) {
    mark = mix_beside(at, stem, backend->sidecar_suffix, mark);
  }
  return mix_beside(at, stem, ".tests.jsonl", mark);
}

// Lists `file` of the `folder` that is open as `at`. Facts are read relative to `at`: if
// the folder is moved away for a moment, its path leads to nothing or to another folder.
static fc_status_t add_path(fc_listing_t *listing, int at, fc_str_t folder,
                            fc_str_t file, const fc_backend_t *const *backends,
                            fc_error_t *err) {
  if (listing->count == listing->capacity) {
    size_t capacity = listing->capacity ? listing->capacity * 2 : 16;
    fc_listed_t *moved =
        fc_arena_alloc_array(&listing->arena, capacity, sizeof *moved);
    if (!moved) return fc_fail_memory(err);
    if (listing->count) {
      memcpy(moved, listing->files, listing->count * sizeof *moved);
    }
    listing->files = moved;
    listing->capacity = capacity;
  }
  const size_t lead = folder.size ? folder.size + 1 : 0;
  char *text = fc_arena_alloc(&listing->arena, lead + file.size + 1, 1);
  if (!text) return fc_fail_memory(err);
  if (lead) {
    memcpy(text, folder.data, folder.size);
    text[folder.size] = '/';
  }
  if (file.size) memcpy(text + lead, file.data, file.size);
  text[lead + file.size] = '\0';
  fc_listed_t *listed = &listing->files[listing->count++];
  *listed =
      (fc_listed_t){.path = fc_str_make(text, lead + file.size), .folder = -1};
  listed->mark = make_mark(at, fc_str_make(text + lead, file.size), backends,
                           &listed->size);
  return FC_OK;
}

static int compare_paths(const void *a, const void *b) {
  return fc_str_compare(((const fc_listed_t *)a)->path,
                        ((const fc_listed_t *)b)->path);
}

static fc_status_t fail_empty(const fc_backend_t *const *backends,
                              fc_str_t folder, fc_error_t *err) {
  char kinds[120] = "";
  size_t size = 0;
  for (size_t i = 0; backends[i] && size < sizeof kinds; i++) {
    size += (size_t)snprintf(kinds + size, sizeof kinds - size, "%sno *%s",
                             i ? " and " : "", backends[i]->suffix);
  }
  return fc_fail(
      err, FC_CODE_MODULE_PATH,
      "%s in directory '%.*s' (farcall serve compiles ONNX and MLIR)", kinds,
      FC_STR_ARG(folder));
}

static int open_folder(const char *path, int flags) {
  int fd;
  do {
    fd = open(path, flags | O_DIRECTORY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// Does what opendir does. The thread sanitizer does not see open inside opendir, and
// would mistake the new descriptor for an older one with the same number.
static DIR *open_directory(const char *path) {
  const int fd = open_folder(path, O_RDONLY | O_NONBLOCK);
  DIR *directory = fd < 0 ? NULL : fdopendir(fd);
  if (fd >= 0 && !directory) close(fd);
  return directory;
}

// Does `path` still lead to `directory`? If not, the names of subdirectories were read
// from `directory`, but their paths led into the directory that replaced it. So existing
// subdirectories seemed to be missing.
static bool is_still_at(DIR *directory, const char *path) {
  struct stat opened, named;
  return !fstat(dirfd(directory), &opened) && !stat(path, &named) &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Does the errno say that nothing more can be opened at present?
static bool is_short(int reason) {
  return reason == EMFILE || reason == ENFILE || reason == ENOMEM;
}

static bool is_directory(const char *path) {
  struct stat info;
  return !stat(path, &info) && S_ISDIR(info.st_mode);
}

// Does the errno say that the file or directory does not exist? With any other errno it
// may exist.
static bool is_gone(int reason) {
  return reason == ENOENT || reason == ENOTDIR;
}

static fc_status_t fail_unread(fc_str_t path, int reason, fc_error_t *err) {
  const fc_code_t code =
      is_short(reason) ? FC_CODE_OUT_OF_MEMORY : FC_CODE_MODULE_PATH;
  return fc_fail(err, code, "cannot read '%.*s': %s", FC_STR_ARG(path),
                 strerror(reason));
}

// Notes an unreadable directory of the module `name`, once, however many of its entries
// are unreadable.
static fc_status_t note_unread(fc_listing_t *listing, const char *path,
                               fc_str_t name, int reason, fc_error_t *err) {
  const fc_str_t folder = fc_str(path);
  const fc_unread_t *last = listing->unread;
  if (last && fc_str_equal(last->folder, folder)) return FC_OK;
  fc_unread_t *unread =
      fc_arena_alloc_array(&listing->arena, 1, sizeof *unread);
  char *text = fc_arena_alloc(&listing->arena, folder.size + name.size, 1);
  if (!unread || !text) return fc_fail_memory(err);
  memcpy(text, folder.data, folder.size);
  memcpy(text + folder.size, name.data, name.size);
  *unread = (fc_unread_t){.next = listing->unread,
                          .folder = fc_str_make(text, folder.size),
                          .name = fc_str_make(text + folder.size, name.size),
                          .reason = reason};
  listing->unread = unread;
  return FC_OK;
}

// Reads the next entry. NULL: there is none, or *out_reason says why it cannot be read.
static const struct dirent *next_entry(DIR *directory, int *out_reason) {
  errno = 0;
  const struct dirent *entry = readdir(directory);
  *out_reason = entry ? 0 : errno;
  return entry;
}

static fc_status_t note_mark(fc_listing_t *listing, int mark, fc_error_t *err) {
  if (listing->mark_count == listing->mark_capacity) {
    size_t capacity = listing->mark_capacity ? listing->mark_capacity * 2 : 16;
    int *moved = fc_arena_alloc_array(&listing->arena, capacity, sizeof *moved);
    if (!moved) return fc_fail_memory(err);
    if (listing->mark_count) {
      memcpy(moved, listing->marks, listing->mark_count * sizeof *moved);
    }
    listing->marks = moved;
    listing->mark_capacity = capacity;
  }
  listing->marks[listing->mark_count++] = mark;
  return FC_OK;
}

// Begins to watch a directory. Call it before the directory is read, so that no later
// change is missed. *out_mark is -1 if it is not watched.
static fc_status_t watch_folder(int watch, const char *path,
                                fc_listing_t *listing, int *out_mark,
                                fc_error_t *err) {
  *out_mark = watch < 0 ? -1 : fc_watch_folder(watch, path);
  if (*out_mark >= 0) return note_mark(listing, *out_mark, err);
  // Something that does not exist, or is a file, need not be watched.
  if (watch >= 0 && !is_gone(errno)) listing->unwatched = errno;
  return FC_OK;
}

// Notes a model in the folder NAME/VERSION that can be served after it is compiled.
static fc_status_t note_uncompiled(fc_listing_t *listing, int at,
                                   fc_str_t folder, fc_error_t *err) {
  static const char *const kFiles[] = {"model.onnx", "model.mlir"};
  struct stat info;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFiles); i++) {
    if (fstatat(at, kFiles[i], &info, 0) || !S_ISREG(info.st_mode)) continue;
    const size_t size = folder.size + 1 + strlen(kFiles[i]);
    fc_uncompiled_t *made =
        fc_arena_alloc_array(&listing->arena, 1, sizeof *made);
    char *path = fc_arena_alloc(&listing->arena, size + 1, 1);
    if (!made || !path) return fc_fail_memory(err);
    snprintf(path, size + 1, "%.*s/%s", FC_STR_ARG(folder), kFiles[i]);
    *made = (fc_uncompiled_t){listing->uncompiled, fc_str_make(path, size)};
    listing->uncompiled = made;
  }
  return FC_OK;
}

// Lists only the regular files model.SUFFIX of a folder NAME/VERSION that is open as
// `at`. `mark` is inotify's number for the folder.
static fc_status_t list_models(int at, fc_str_t folder, fc_str_t name, int mark,
                               const fc_backend_t *const *backends,
                               fc_listing_t *listing, fc_error_t *err) {
  struct stat info;
  char file[64];
  const size_t before = listing->count;
  for (size_t i = 0; backends[i]; i++) {
    const int size =
        snprintf(file, sizeof file, "model%s", backends[i]->suffix);
    if (folder.size + 1 + (size_t)size >= FC_PATH_SIZE_MAX) continue;
    const bool is_there = fstatat(at, file, &info, 0) == 0;
    if (!is_there && !is_gone(errno)) {
      FC_TRY(note_unread(listing, folder.data, name, errno, err));
    }
    if (!is_there || !S_ISREG(info.st_mode)) continue;
    FC_TRY(add_path(listing, at, folder, fc_str(file), backends, err));
    listing->files[listing->count - 1].folder = mark;
  }
  return listing->count > before ? FC_OK
                                 : note_uncompiled(listing, at, folder, err);
}

// Is the path a link that leads to nothing? Then it is not a folder that was moved away.
static bool is_dangling(const char *path) {
  struct stat info;
  return !lstat(path, &info) && S_ISLNK(info.st_mode) && stat(path, &info);
}

// Lists a folder NAME/VERSION whose name was just read. If it does not exist any more, it
// may soon be replaced, so everything is listed again.
static fc_status_t list_version(fc_str_t folder, fc_str_t name,
                                const fc_backend_t *const *backends, int watch,
                                fc_listing_t *listing, fc_error_t *err) {
  int mark;
  FC_TRY(watch_folder(watch, folder.data, listing, &mark, err));
  const int at = open_folder(folder.data, O_PATH);
  if (at < 0 && is_short(errno)) return fail_unread(folder, errno, err);
  if (at < 0 && !is_gone(errno)) {
    return note_unread(listing, folder.data, name, errno, err);
  }
  if (at < 0) {
    if (errno == ENOENT && !is_dangling(folder.data)) listing->moved = true;
    return FC_OK;
  }
  const fc_status_t status =
      list_models(at, folder, name, mark, backends, listing, err);
  close(at);
  return status;
}

// Lists the model files in those subdirectories of NAME that are named like a version: 1
// to 18 digits, the first not 0.
static fc_status_t list_versions(fc_str_t folder, fc_str_t name,
                                 const fc_backend_t *const *backends, int watch,
                                 fc_listing_t *listing, fc_error_t *err) {
  char path[FC_PATH_SIZE_MAX];
  fc_status_t status = FC_OK;
  int reason = 0, mark;
  const int size = snprintf(path, sizeof path, "%.*s/%.*s", FC_STR_ARG(folder),
                            FC_STR_ARG(name));
  if ((size_t)size >= sizeof path) return FC_OK;
  FC_TRY(watch_folder(watch, path, listing, &mark, err));
  DIR *directory = open_directory(path);
  if (!directory && is_short(errno)) {  // its versions are not gone
    return fail_unread(fc_str(path), errno, err);
  }
  if (!directory && is_gone(errno)) return FC_OK;
  if (!directory) return note_unread(listing, path, name, errno, err);
  const struct dirent *entry;
  while (status == FC_OK && (entry = next_entry(directory, &reason))) {
    const fc_str_t version = fc_str(entry->d_name);
    char versioned[FC_PATH_SIZE_MAX + 32];
    if (!fc_is_version(version)) continue;
    const int lead = snprintf(versioned, sizeof versioned, "%s/%.*s", path,
                              FC_STR_ARG(version));
    status = list_version(fc_str_make(versioned, (size_t)lead), name, backends,
                          watch, listing, err);
  }
  if (!is_still_at(directory, path)) listing->moved = true;
  closedir(directory);
  if (status != FC_OK || !reason) return status;
  return note_unread(listing, path, name, reason, err);
}

static bool may_have_versions(const struct dirent *entry) {
  fc_str_t name;
  return (entry->d_type == DT_DIR || entry->d_type == DT_LNK ||
          entry->d_type == DT_UNKNOWN) &&
         fc_module_name(fc_str(entry->d_name), &name, NULL) == FC_OK;
}

static fc_status_t list_directory(DIR *directory, fc_str_t folder,
                                  const fc_backend_t *const *backends,
                                  int watch, fc_listing_t *listing,
                                  fc_error_t *err) {
  while (folder.size > 1 && folder.data[folder.size - 1] == '/') folder.size--;
  const struct dirent *file;
  int reason;
  while ((file = next_entry(directory, &reason))) {
    const fc_str_t name = fc_str(file->d_name);
    if (name.data[0] == '.') continue;
    if (fc_backends_by_suffix(backends, name)) {
      FC_TRY(add_path(listing, dirfd(directory), folder, name, backends, err));
    } else if (may_have_versions(file)) {
      FC_TRY(list_versions(folder, name, backends, watch, listing, err));
    }
  }
  if (reason) return fail_unread(folder, reason, err);
  const fc_unread_t *unread = listing->unread;
  if (listing->count == 0 && unread) {
    return fail_unread(unread->folder, unread->reason, err);
  }
  if (listing->count == 0) return fail_empty(backends, folder, err);
  qsort(listing->files, listing->count, sizeof *listing->files, compare_paths);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Variants

// Fails only with FC_CODE_OUT_OF_MEMORY: other errors in the sidecar are reported when
// the module is loaded. Variants before such an error still count: as separate modules
// they would be served without this module's policy.
static fc_status_t read_variants(fc_str_t path, const char *suffix,
                                 fc_cpu_t *cpu, fc_allocator_t allocator,
                                 fc_variants_t *out, fc_error_t *err) {
  fc_error_t why;
  int sidecar;
  out->count = 0;
  fc_error_reset(&why);
  fc_status_t status = fc_files_open_sidecar(path, suffix, &sidecar, &why);
  if (status == FC_OK && sidecar < 0) return FC_OK;
  if (status == FC_OK) {
    status = fc_variants_read(sidecar, path, cpu, allocator, out, &why);
    close(sidecar);
  }
  if (status == FC_OK) return FC_OK;
  out->chosen = FC_VARIANTS_MAX;
  return why.code == FC_CODE_OUT_OF_MEMORY ? fc_fail_memory(err) : FC_OK;
}

static void mark_variant(fc_listed_t *file, fc_str_t variant,
                         const fc_backend_t *const *backends) {
  const fc_backend_t *backend = fc_backends_by_suffix(backends, variant);
  file->variant = variant;
  file->mark = mark_file(AT_FDCWD, variant.data, file->mark, &file->size);
  if (!backend || !backend->sidecar_suffix) return;
  const fc_str_t stem =
      fc_str_make(variant.data, variant.size - strlen(backend->suffix));
  file->mark = mix_beside(AT_FDCWD, stem, backend->sidecar_suffix, file->mark);
}

// Does `other` declare the file at `path` as a variant, directly or through other
// variants?
static bool comes_from(const fc_listing_t *listing,
                       const fc_name_table_t *declared, fc_str_t path,
                       fc_str_t other) {
  uint32_t by;
  while ((by = fc_name_table_find(declared, path)) != FC_NAME_NONE) {
    path = listing->files[by].path;
    if (fc_str_equal(path, other)) return true;
  }
  return false;
}

// Puts the file's variants into `declared`, from paths to the file's position, and mixes
// the chosen variant into its mark. If files declare each other, the first in the listing
// stays: a file from which this one comes is not its variant.
static fc_status_t note_variants(fc_listing_t *listing, fc_listed_t *file,
                                 const fc_backend_t *const *backends,
                                 fc_cpu_t *cpu, fc_name_table_t *declared,
                                 fc_error_t *err) {
  const uint32_t position = (uint32_t)(file - listing->files);
  const fc_backend_t *backend = fc_backends_by_suffix(backends, file->path);
  fc_variants_t variants;
  char path[FC_PATH_SIZE_MAX];
  if (!file->mark || !backend) return FC_OK;
  FC_TRY(read_variants(file->path, backend->sidecar_suffix, cpu,
                       declared->allocator, &variants, err));
  for (uint32_t i = 0; i < variants.count; i++) {
    if (!fc_variant_path(file->path, variants.files[i], path, sizeof path) ||
        fc_str_equal(fc_str(path), file->path) ||
        comes_from(listing, declared, file->path, fc_str(path))) {
      continue;
    }
    const size_t size = strlen(path);
    char *kept = fc_arena_alloc(&listing->arena, size + 1, 1);
    if (!kept) return fc_fail_memory(err);
    memcpy(kept, path, size + 1);
    FC_TRY(fc_name_table_put(declared, fc_str_make(kept, size), position, err));
    if (i == variants.chosen) {
      mark_variant(file, fc_str_make(kept, size), backends);
    }
  }
  return FC_OK;
}

static fc_status_t note_declared(fc_listing_t *listing, fc_str_t path,
                                 fc_str_t by, fc_error_t *err) {
  fc_declared_t *made = fc_arena_alloc_array(&listing->arena, 1, sizeof *made);
  if (!made) return fc_fail_memory(err);
  *made = (fc_declared_t){.next = listing->declared, .path = path, .by = by};
  listing->declared = made;
  return FC_OK;
}

// Removes files that others declare as variants from the listing. This includes variants
// of variants, in any order of the listing.
static fc_status_t take_variants(fc_listing_t *listing,
                                 const fc_backend_t *const *backends,
                                 fc_allocator_t allocator, fc_error_t *err) {
  fc_name_table_t declared = {.allocator = allocator};
  fc_cpu_t cpu = {{0}};
  fc_status_t status = FC_OK;
  size_t kept = 0;
  for (size_t i = 0; i < listing->count && status == FC_OK; i++) {
    status = note_variants(listing, &listing->files[i], backends, &cpu,
                           &declared, err);
  }
  for (size_t i = 0; i < listing->count && status == FC_OK; i++) {
    const fc_str_t path = listing->files[i].path;
    const uint32_t by = fc_name_table_find(&declared, path);
    if (by == FC_NAME_NONE) continue;
    status = note_declared(listing, path, listing->files[by].path, err);
  }
  for (size_t i = 0; i < listing->count; i++) {
    const fc_listed_t *file = &listing->files[i];
    if (fc_name_table_find(&declared, file->path) != FC_NAME_NONE) continue;
    listing->files[kept++] = *file;
  }
  listing->count = kept;
  fc_name_table_deinit(&declared);
  return status;
}

// Lists the PATH, `text`, once. Directories may be moved meanwhile.
static fc_status_t scan_once(const char *text, fc_str_t path,
                             const fc_backend_t *const *backends, int watch,
                             fc_listing_t *listing, fc_error_t *err) {
  DIR *directory = open_directory(text);
  const int reason = directory ? 0 : errno;
  // A directory is never a module file, even if it cannot be opened.
  if (is_short(reason) || (reason && is_directory(text))) {
    return fail_unread(path, reason, err);
  }
  listing->is_directory = directory != NULL;
  if (!directory) {
    return add_path(listing, AT_FDCWD, FC_STR(""), path, backends, err);
  }
  fc_status_t status =
      list_directory(directory, path, backends, watch, listing, err);
  if (!is_still_at(directory, text)) listing->moved = true;
  closedir(directory);
  return status;
}

// Drops the listing, but keeps the directories that are watched already.
static void begin_anew(fc_listing_t *listing) {
  listing->moved = false;
  listing->count = 0;
  listing->unwatched = 0;
  listing->unread = NULL;
  listing->uncompiled = NULL;
}

fc_status_t fc_scan(fc_str_t path, const fc_backend_t *const *backends,
                    int watch, fc_allocator_t allocator,
                    fc_listing_t *out_listing, fc_error_t *err) {
  char text[FC_PATH_SIZE_MAX] = "";
  fc_listing_t listing = {0};
  fc_status_t status;
  fc_arena_init(&listing.arena, allocator, 4096, SIZE_MAX);
  if (path.size < sizeof text) memcpy(text, path.data, path.size);
  for (unsigned tries = 1;; tries++) {
    status = scan_once(text, path, backends, watch, &listing, err);
    if (!listing.moved || tries == TRIES_MAX) break;
    begin_anew(&listing);
  }
  if (listing.moved) {
    status = fc_fail(err, FC_CODE_MODULE_PATH,
                     "cannot read '%.*s': what is in it was moved or replaced "
                     "all %d times that it was read",
                     FC_STR_ARG(path), TRIES_MAX);
  }
  if (status == FC_OK) {
    status = take_variants(&listing, backends, allocator, err);
  }
  if (status == FC_OK) *out_listing = listing;
  else fc_listing_deinit(&listing);
  return status;
}

// Finds the entry for the file's version, else the one for its module; FC_NAME_NONE:
// there is none.
static uint32_t find_tests(const fc_name_table_t *names, fc_str_t path) {
  fc_str_t name, version;
  char key[192];
  fc_path_identify(path, &name, &version);
  if (name.size + version.size < sizeof key - 1) {
    const int size = snprintf(key, sizeof key, "%.*s@%.*s", FC_STR_ARG(name),
                              FC_STR_ARG(version));
    const uint32_t at =
        fc_name_table_find(names, fc_str_make(key, (size_t)size));
    if (at != FC_NAME_NONE) return at;
  }
  return fc_name_table_find(names, name);
}

fc_status_t fc_scan_mark_tests(fc_listing_t *listing, fc_str_t tests,
                               fc_allocator_t allocator, fc_error_t *err) {
  fc_name_table_t names = {.allocator = allocator};  // to places in `tests`
  fc_status_t status = FC_OK;
  for (fc_str_t rest = tests; rest.size && status == FC_OK;) {
    const fc_str_t name = fc_str_take(&rest, '\0');
    status = fc_name_table_put(&names, name, (uint32_t)(rest.data - tests.data),
                               err);
    (void)fc_str_take(&rest, '\0');
  }
  for (size_t i = 0; i < listing->count && status == FC_OK; i++) {
    fc_listed_t *file = &listing->files[i];
    const uint32_t at = find_tests(&names, file->path);
    uint64_t ignored;
    if (!file->mark || at == FC_NAME_NONE) continue;
    const fc_str_t path = fc_str(tests.data + at);
    if (fc_str_equal(path, FC_STR("auto")) || fc_str_equal(path, FC_STR("off")))
      continue;
    file->mark = mark_file(AT_FDCWD, path.data, file->mark, &ignored);
  }
  fc_name_table_deinit(&names);
  return status;
}

void fc_listing_deinit(fc_listing_t *listing) {
  fc_arena_deinit(&listing->arena);
  *listing = (fc_listing_t){0};
}
