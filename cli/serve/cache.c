// SPDX-License-Identifier: Apache-2.0
//
// Keeps modules compiled from sources in the user's cache: FOLDER/KEY/NAME.vmfb with its
// sidecar. The key covers everything on which the module depends. An entry appears
// atomically, and may be removed at any time. If several processes need the same module,
// one compiles it and the others wait. Only this user and root may write to the cache,
// because its files are run.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile/compile.h"
#include "file.h"
#include "serve/entry.h"
#include "serve/key.h"
#include "serve/serve.h"
#include "tool.h"

// How often a source is compiled if it changes during the compilation.
#define TRIES_MAX 3
#define ARENA_BLOCK (256u << 10)
#define ARENA_LIMIT ((size_t)4 << 30)

// ---------------------------------------------------------------------------
// The folder of the cache

// Makes the folder and its parent folders. False: see errno.
static bool make_folders(char *path) {
  struct stat info;
  for (char *at = path + 1; *at; at++) {
    if (*at != '/') continue;
    *at = '\0';
    const bool made = !mkdir(path, 0700) || errno == EEXIST;
    *at = '/';
    if (!made) return false;
  }
  if (mkdir(path, 0700) && errno != EEXIST) return false;
  if (stat(path, &info)) return false;
  errno = ENOTDIR;
  return S_ISDIR(info.st_mode);
}

static char *name_folder(const fc_args_t *args) {
  char here[PATH_MAX];
  const char *given = fc_args_get(args, FC_OPTION_CACHE, NULL);
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (given && *given == '/') return fc_print(args->arena, "%s", given);
  if (given) {
    return getcwd(here, sizeof here)
               ? fc_print(args->arena, "%s/%s", here, given)
               : NULL;
  }
  if (cache && *cache == '/')
    return fc_print(args->arena, "%s/farcall/modules", cache);
  if (home && *home == '/')
    return fc_print(args->arena, "%s/.cache/farcall/modules", home);
  return NULL;
}

static int refuse_others(const char *folder) {
  struct stat info;
  if (stat(folder, &info)) {
    return fc_complain(FC_EXIT_FAILED, "%s: %s", folder, strerror(errno));
  }
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return fc_complain(FC_EXIT_FAILED,
                       "the cache %s belongs to another user (%u): give "
                       "--cache=DIR",
                       folder, (unsigned)info.st_uid);
  }
  if (info.st_mode & (S_IWGRP | S_IWOTH)) {
    return fc_complain(FC_EXIT_FAILED,
                       "others may write to the cache %s: `chmod go-w %s`, or "
                       "give --cache=DIR",
                       folder, folder);
  }
  return FC_EXIT_OK;
}

static int open_folder(const fc_args_t *args, const char **out_folder) {
  char *folder = name_folder(args);
  if (!folder) {
    return fc_complain(FC_EXIT_FAILED,
                       "no place for compiled modules: neither XDG_CACHE_HOME "
                       "nor HOME is set: give --cache=DIR");
  }
  if (!make_folders(folder)) {
    return fc_complain(FC_EXIT_FAILED,
                       "no place for compiled modules, %s: %s: give "
                       "--cache=DIR",
                       folder, strerror(errno));
  }
  *out_folder = folder;
  return refuse_others(folder);
}

// ---------------------------------------------------------------------------
// Making an entry

// The entry that is about to be made.
typedef struct making_t {
  const fc_args_t *args;
  const char *path;    // of the source
  const char *folder;  // the cache
  fc_str_t bytes;      // of the source
  char state[FC_SERVE_STATE];
  char key[65];
  const char *entry;
} making_t;

static int read_source(making_t *making) {
  const fc_args_t *args = making->args;
  fc_error_t err;
  fc_error_reset(&err);
  fc_serve_state(making->path, making->state);
  if (fc_file_read(args->arena, making->path, &making->bytes, &err)) {
    return fc_complain(FC_EXIT_DATA, "%s", err.message);
  }
  fc_serve_key(args, making->path, making->bytes, making->key);
  making->entry = fc_print(args->arena, "%s/%.*s", making->folder,
                           FC_ENTRY_NAME, making->key);
  return making->entry ? FC_EXIT_OK
                       : fc_complain(FC_EXIT_FAILED, "out of memory");
}

// Waits until no other process makes the entry. There are sixteen locks for all entries,
// so that lock files need not be removed. The lock ends with the descriptor, even if its
// process was killed. If the file system has no locks, two processes may compile, which
// only costs time.
static int lock(const making_t *making) {
  const char *name = fc_print(making->args->arena, "%s/lock-%c", making->folder,
                              making->key[0]);
  const int file =
      name ? open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
  if (file < 0 || !flock(file, LOCK_EX | LOCK_NB)) return file;
  if (errno != EWOULDBLOCK) return file;
  fc_complain(0,
              "note: another farcall compiles %s, or a model like it: waiting "
              "for it",
              making->path);
  while (flock(file, LOCK_EX)) {
    if (errno != EINTR || fc_tool_interrupted()) break;
  }
  return file;
}

// Has the source, or anything else that its module depends on, changed since it was read?
static bool has_changed(const making_t *making) {
  char state[FC_SERVE_STATE], key[65];
  fc_serve_state(making->path, state);
  fc_serve_key(making->args, making->path, making->bytes, key);
  return strcmp(state, making->state) != 0 || strcmp(key, making->key) != 0;
}

// Renames the folder `made` to the entry. An entry that already exists is damaged, or was
// made meanwhile on a file system without locks.
static int publish(const making_t *making, const char *made) {
  fc_error_t err;
  struct stat info;
  fc_error_reset(&err);
  if (fc_entry_seal(making->args->arena, made, &err)) {
    return fc_complain(FC_EXIT_FAILED, "%s", err.message);
  }
  if (!lstat(making->entry, &info)) fc_workdir_remove(making->entry);
  if (!rename(made, making->entry) || errno == EEXIST || errno == ENOTEMPTY) {
    return FC_EXIT_OK;
  }
  return fc_complain(FC_EXIT_FAILED, "cannot make %s: %s", making->entry,
                     strerror(errno));
}

// Compiles into a separate folder, which becomes the entry unless the source has changed.
static int fill(const making_t *making, bool *out_changed) {
  const fc_args_t *args = making->args;
  char *made =
      fc_print(args->arena, "%s/" FC_ENTRY_NEW "XXXXXX", making->folder);
  const uint64_t began_ns = fc_clock_ns();
  if (!made || !mkdtemp(made)) {
    return fc_complain(FC_EXIT_FAILED, "cannot make a directory in %s: %s",
                       making->folder, strerror(errno));
  }
  fc_complain(0, "note: compiling %s", making->path);
  int exit_code = fc_compile_into(args, making->path, made);
  *out_changed = !fc_tool_interrupted() && has_changed(making);
  if (!exit_code && !*out_changed) exit_code = publish(making, made);
  if (!access(made, F_OK)) fc_workdir_remove(made);
  if (!exit_code && !*out_changed) {
    fc_complain(0, "note: compiled %s in %.1f s", making->path,
                (double)(fc_clock_ns() - began_ns) / 1e9);
  }
  return exit_code;
}

static bool find(const making_t *making, const char **out_module) {
  *out_module = fc_entry_find(making->args->arena, making->entry, making->path);
  return *out_module != NULL;
}

// Makes the entry. *out_module stays NULL if the source has changed, or after a signal.
static int make(const making_t *making, const char **out_module) {
  bool changed = false;
  if (fc_tool_interrupted()) return FC_EXIT_OK;
  const int exit_code = fill(making, &changed);
  if (changed) return FC_EXIT_OK;
  if (exit_code) return exit_code;
  fc_entry_prune(making->args->arena, making->folder);
  return find(making, out_module)
             ? FC_EXIT_OK
             : fc_complain(FC_EXIT_FAILED, "%s is gone", making->entry);
}

static int find_or_make(making_t *making, const char **out_module) {
  int exit_code = read_source(making);
  if (exit_code) return exit_code;
  bool found = find(making, out_module);
  if (!found) {
    const int held = lock(making);
    found = find(making, out_module);
    if (!found) exit_code = make(making, out_module);
    if (held >= 0) close(held);
  }
  if (found) {
    fc_complain(0, "note: %s was compiled before: %s", making->path,
                *out_module);
  }
  return exit_code;
}

static int make_module(const fc_args_t *args, const char *path,
                       const char **out_module) {
  making_t making = {.args = args, .path = path};
  int exit_code = open_folder(args, &making.folder);
  for (int i = 0; !exit_code && i < TRIES_MAX; i++) {
    exit_code = find_or_make(&making, out_module);
    if (exit_code || *out_module || fc_tool_interrupted()) return exit_code;
    fc_complain(0, "note: %s has changed meanwhile", path);
  }
  if (exit_code) return exit_code;
  return fc_complain(FC_EXIT_DATA,
                     "%s changes all the time: try again when it is whole",
                     path);
}

// A folder may have many sources, so the memory for each source is freed.
int fc_serve_module(const fc_args_t *args, const char *path,
                    const char **out_module) {
  fc_arena_t arena;
  fc_args_t own = *args;
  const char *module = NULL;
  own.arena = &arena;
  fc_arena_init(&arena, fc_allocator_system(), ARENA_BLOCK, ARENA_LIMIT);
  int exit_code = make_module(&own, path, &module);
  *out_module = module ? fc_print(args->arena, "%s", module) : NULL;
  if (module && !*out_module) {
    exit_code = fc_complain(FC_EXIT_FAILED, "out of memory");
  }
  fc_arena_deinit(&arena);
  return exit_code;
}
