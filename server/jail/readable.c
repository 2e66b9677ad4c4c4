// SPDX-License-Identifier: Apache-2.0
//
// A module can be hostile, and while it is loaded it may read the files that are visited
// here. So a file that a module names is visited only if its first bytes are those of a
// library: a module that names /etc/shadow gets nothing. The folders that the system's
// linker searches are visited as they are.
#include "jail/readable.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module/native/so_file.h"

// The most libraries that are given by path or lie in a folder that an object names, and
// the most such folders.
#define LIBRARIES_MAX 64
#define FOLDERS_MAX 32

static void visit_path(const char *path, fc_readable_visit_t visit,
                       void *context) {
  const int file = open(path, O_PATH | O_CLOEXEC);
  visit(context, path, file);
  if (file >= 0) close(file);
}

void fc_readable_archives(fc_str_t parameters, fc_readable_visit_t visit,
                          void *context) {
  while (parameters.size) {
    fc_str_t file = fc_str_take(&parameters, ','), behind = file;
    (void)fc_str_take(&behind, '=');
    if (behind.size) file = behind;
    char path[PATH_MAX];
    const int size = snprintf(path, sizeof path, "%.*s", FC_STR_ARG(file));
    if (size > 0 && (size_t)size < sizeof path) {
      visit_path(path, visit, context);
    }
  }
}

// ---------------------------------------------------------------------------
// Folders of the system's linker

static void visit_line(char *line, fc_readable_visit_t visit, void *context) {
  line[strcspn(line, " \t\r\n#")] = '\0';
  if (*line == '/') visit_path(line, visit, context);
}

static void visit_lines(const char *path, fc_readable_visit_t visit,
                        void *context) {
  char line[PATH_MAX];
  FILE *file = fopen(path, "re");
  while (file && fgets(line, sizeof line, file)) {
    visit_line(line, visit, context);
  }
  if (file) fclose(file);
}

static void visit_system(fc_readable_visit_t visit, void *context) {
  static const char *const kFolders[] = {
      "/lib",           "/lib64",           "/usr/lib",        "/usr/lib64",
      "/usr/local/lib", "/usr/local/lib64", "/etc/ld.so.cache"};
  static const char kConfigured[] = "/etc/ld.so.conf.d";
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFolders); i++) {
    visit_path(kFolders[i], visit, context);
  }
  visit_lines("/etc/ld.so.conf", visit, context);
  DIR *folder = opendir(kConfigured);
  for (const struct dirent *entry; folder && (entry = readdir(folder));) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", kConfigured, entry->d_name);
    if (entry->d_name[0] != '.') visit_lines(path, visit, context);
  }
  if (folder) closedir(folder);
}

// ---------------------------------------------------------------------------
// Libraries that the module names

typedef struct path_t {
  char text[PATH_MAX];
} path_t;

// The folders that the objects read so far name, and the objects that are read next.
typedef struct search_t {
  path_t folders[FOLDERS_MAX];
  path_t objects[LIBRARIES_MAX];
  size_t folder_count, object_count;
  const char *origin;  // the folder of the object that is read now
  bool missing;        // a library may not be in the process yet
  fc_readable_visit_t visit;
  void *context;
} search_t;

// Opens a regular file to read it; -1: there is none. Opening a device may have effects,
// so the type is checked first, and then exactly that file is opened.
static int open_file(const char *path) {
  char again[32];
  struct stat info;
  int file = -1;
  const int found = open(path, O_PATH | O_CLOEXEC);
  if (found < 0) return -1;
  snprintf(again, sizeof again, "/proc/self/fd/%d", found);
  if (fstat(found, &info) == 0 && S_ISREG(info.st_mode)) {
    file = open(again, O_RDONLY | O_CLOEXEC);
  }
  close(found);
  return file;
}

// Opens a library; -1: there is none. Core files are ELF files too, for example
// /proc/kcore, which is the memory of the machine.
static int open_library(const char *path) {
  Elf64_Ehdr head;
  const int file = open_file(path);
  if (file < 0) return -1;
  if (pread(file, &head, sizeof head, 0) == (ssize_t)sizeof head &&
      fc_so_is(fc_str_make((const char *)&head, sizeof head)) &&
      head.e_type == ET_DYN) {
    return file;
  }
  close(file);
  return -1;
}

static void add_object(search_t *search, const char *path) {
  if (search->object_count == LIBRARIES_MAX) return;
  for (size_t i = 0; i < search->object_count; i++) {
    if (!strcmp(search->objects[i].text, path)) return;
  }
  const int file = open_library(path);
  if (file < 0) return;
  snprintf(search->objects[search->object_count++].text, PATH_MAX, "%s", path);
  search->visit(search->context, path, file);
  close(file);
}

// Replaces $ORIGIN at the beginning of the text. False: the text is too long.
static bool expand(const search_t *search, fc_str_t text, char out[PATH_MAX]) {
  static const char *const kOrigins[] = {"$ORIGIN", "${ORIGIN}"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOrigins); i++) {
    const fc_str_t origin = fc_str(kOrigins[i]);
    if (!fc_str_starts(text, origin)) continue;
    return snprintf(out, PATH_MAX, "%s%.*s", search->origin,
                    (int)(text.size - origin.size),
                    text.data + origin.size) < PATH_MAX;
  }
  return snprintf(out, PATH_MAX, "%.*s", FC_STR_ARG(text)) < PATH_MAX;
}

static void note_folders(void *context, fc_str_t text) {
  search_t *search = context;
  while (text.size && search->folder_count < FOLDERS_MAX) {
    const fc_str_t one = fc_str_take(&text, ':');
    path_t *folder = &search->folders[search->folder_count];
    if (one.size && expand(search, one, folder->text)) search->folder_count++;
  }
}

static bool is_loaded(const char *name) {
  void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != NULL;
}

static void note_library(void *context, fc_str_t text) {
  search_t *search = context;
  char name[PATH_MAX], path[PATH_MAX];
  if (!expand(search, text, name)) return;
  // dlopen with a path opens the file even if it is only asked whether the library is
  // loaded. So it is not called for paths.
  const bool is_path = strchr(name, '/') != NULL;
  if (!is_path && is_loaded(name)) return;
  search->missing = true;
  if (is_path) add_object(search, name);
  for (size_t i = 0; i < search->folder_count && !is_path; i++) {
    const int size =
        snprintf(path, sizeof path, "%s/%s", search->folders[i].text, name);
    if (size > 0 && (size_t)size < sizeof path) add_object(search, path);
  }
}

// Reads one object; `path` gives the value of $ORIGIN.
static void look_at(search_t *search, int file, const char *path) {
  struct stat info;
  char real[PATH_MAX];
  fc_so_t elf;
  if (fstat(file, &info) || info.st_size <= 0) return;
  const size_t size = (size_t)info.st_size;
  void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) return;
  if (fc_so_parse(fc_str_make(bytes, size), &elf, NULL) == FC_OK) {
    if (!realpath(path, real)) snprintf(real, sizeof real, "%s", path);
    char *slash = strrchr(real, '/');
    if (slash) *slash = '\0';
    search->origin = slash ? real : ".";
    fc_so_each_named(&elf, DT_RPATH, note_folders, search);
    fc_so_each_named(&elf, DT_RUNPATH, note_folders, search);
    fc_so_each_named(&elf, DT_NEEDED, note_library, search);
    // Such an object is loaded by its path and not from the snapshot (dylib.c).
    if (fc_so_uses_origin(&elf)) add_object(search, path);
  }
  munmap(bytes, size);
}

void fc_readable_libraries(int file, const char *path,
                           fc_readable_visit_t visit, void *context) {
  search_t *search = fc_alloc(fc_allocator_system(), sizeof *search);
  if (!search) return;
  search->visit = visit;
  search->context = context;
  look_at(search, file, path);
  for (size_t i = 0; i < search->object_count; i++) {
    const int one = open_library(search->objects[i].text);
    if (one < 0) continue;
    look_at(search, one, search->objects[i].text);
    close(one);
  }
  if (search->missing) visit_system(visit, context);
  fc_free(fc_allocator_system(), search);
}
