// SPDX-License-Identifier: Apache-2.0
//
// farcall serve: makes modules from its arguments, and becomes the farcalld that serves
// them. So signals, exit status and log are farcalld's own.
#include "serve/serve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "module/kinds.h"
#include "serve/entry.h"
#include "tool.h"

typedef struct serve_t {
  const fc_args_t *args;
  const char **paths;  // files and folders for farcalld
  size_t path_count, capacity;
} serve_t;

static int out_of_memory(void) {
  return fc_complain(FC_EXIT_FAILED, "out of memory");
}

static int add_path(serve_t *serve, const char *path) {
  if (!path) return out_of_memory();
  if (serve->path_count == serve->capacity) {
    const size_t capacity = 2 * serve->capacity + 16;
    const char **paths =
        fc_arena_alloc_array(serve->args->arena, capacity, sizeof *paths);
    if (!paths) return out_of_memory();
    if (serve->path_count) {
      memcpy(paths, serve->paths, serve->path_count * sizeof *paths);
    }
    serve->paths = paths;
    serve->capacity = capacity;
  }
  serve->paths[serve->path_count++] = path;
  return FC_EXIT_OK;
}

static int add_source(serve_t *serve, const char *path) {
  const char *module;
  const int exit_code = fc_serve_module(serve->args, path, &module);
  if (fc_tool_interrupted()) return 128 + fc_tool_interrupted();
  return exit_code ? exit_code : add_path(serve, module);
}

// ---------------------------------------------------------------------------
// Files and folders

static const fc_file_kind_t *kind_of(const char *path) {
  char head[FC_FILE_HEAD];
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const ssize_t size = file < 0 ? -1 : read(file, head, sizeof head);
  if (file >= 0) close(file);
  const fc_file_kind_t *kind =
      size > 0 ? fc_file_kind(fc_str_make(head, (size_t)size), fc_str(path))
               : NULL;
  return kind ? kind : fc_file_kind_named(fc_str(path));
}

static int add_file(serve_t *serve, const char *path) {
  char text[FC_FILE_TEXT];
  const fc_file_kind_t *kind = kind_of(path);
  if (!kind) {
    return fc_complain(FC_EXIT_DATA,
                       "%s: neither a module (.so, .vmfb) nor a model that can "
                       "be compiled (.onnx, .mlir, what jax.export writes)",
                       path);
  }
  if (kind->use == FC_FILE_MODULE) return add_path(serve, path);
  if (kind->use == FC_FILE_SOURCE) return add_source(serve, path);
  fc_file_kind_tell(kind, fc_str(path), text);
  return fc_complain(FC_EXIT_DATA, "%s: this is %s", path, text);
}

// Returns the use of a file. Only its name counts, as when farcalld chooses files in a
// folder.
static fc_file_use_t use_of(const char *path) {
  const fc_file_kind_t *kind = fc_file_kind_named(fc_str(path));
  return kind ? kind->use : FC_FILE_DATA;
}

// Is the module that the source would be compiled to already in its folder?
static bool has_module(fc_arena_t *arena, const char *path) {
  static const char *const kSuffixes[] = {"vmfb", "so"};
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSuffixes); i++) {
    const char *module =
        fc_print(arena, "%.*s%s", (int)(dot + 1 - path), path, kSuffixes[i]);
    if (module && !access(module, F_OK)) return true;
  }
  return false;
}

// The content of a folder.
typedef struct found_t {
  bool others;  // modules, or folders that may have modules
  bool sources;
  int failure;  // exit code of a source that could not be compiled
} found_t;

// Notes a file that farcalld will ignore.
static void note_foreign(const char *path) {
  char text[FC_FILE_TEXT];
  const fc_file_kind_t *kind = kind_of(path);
  if (!kind || kind->use != FC_FILE_FOREIGN) return;
  fc_file_kind_tell(kind, fc_str(path), text);
  fc_complain(0, "note: %s: this is %s", path, text);
}

static int add_entry(serve_t *serve, const char *path, found_t *found) {
  struct stat info;
  if (!path) return out_of_memory();
  if (stat(path, &info)) return FC_EXIT_OK;
  const fc_file_use_t use = use_of(path);
  if (S_ISDIR(info.st_mode) || use == FC_FILE_MODULE) found->others = true;
  if (use == FC_FILE_FOREIGN && S_ISREG(info.st_mode)) note_foreign(path);
  if (S_ISDIR(info.st_mode) || use != FC_FILE_SOURCE ||
      has_module(serve->args->arena, path)) {
    return FC_EXIT_OK;
  }
  if (!S_ISREG(info.st_mode)) {
    fc_complain(0, "note: %s is no regular file: left out", path);
    return FC_EXIT_OK;
  }
  found->sources = true;
  const int exit_code = add_source(serve, path);
  if (exit_code >= 128) return exit_code;  // a signal
  if (exit_code) found->failure = exit_code;
  return FC_EXIT_OK;
}

// Compiles the sources of a folder. farcalld also gets the folder if it has anything else
// to serve. If a source cannot be compiled, only that source is left out.
static int add_folder(serve_t *serve, const char *folder) {
  const size_t before = serve->path_count;
  found_t found = {0};
  int exit_code = FC_EXIT_OK;
  DIR *entries = opendir(folder);
  if (!entries) {
    return fc_complain(FC_EXIT_DATA, "%s: %s", folder, strerror(errno));
  }
  for (const struct dirent *entry; !exit_code && (entry = readdir(entries));) {
    if (entry->d_name[0] == '.') continue;
    exit_code = add_entry(
        serve, fc_print(serve->args->arena, "%s/%s", folder, entry->d_name),
        &found);
  }
  closedir(entries);
  if (exit_code) return exit_code;
  if (!found.others && !found.sources) {
    fc_complain(0, "note: %s: no model that can be compiled (.onnx, .mlir)",
                folder);
  }
  if (found.others) return add_path(serve, folder);
  if (serve->path_count > before) return FC_EXIT_OK;
  return found.failure ? found.failure : add_path(serve, folder);
}

static int add_word(serve_t *serve, const char *word) {
  struct stat info;
  if (stat(word, &info)) {
    return fc_complain(FC_EXIT_DATA, "%s: %s", word, strerror(errno));
  }
  return S_ISDIR(info.st_mode) ? add_folder(serve, word)
                               : add_file(serve, word);
}

// ---------------------------------------------------------------------------
// farcalld

// farcalld is beside this program, or on PATH.
static const char *find_server(fc_arena_t *arena) {
  char own[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
  if (size > 0) {
    own[size] = '\0';
    const char *beside =
        fc_print(arena, "%.*sfarcalld", (int)(fc_file_base(own) - own), own);
    if (beside && !access(beside, X_OK)) return beside;
  }
  return fc_tool_find(arena, "farcalld", NULL);
}

static int become_server(const serve_t *serve) {
  const fc_args_t *args = serve->args;
  const char *program = find_server(args->arena);
  const size_t room = args->passed_count + serve->path_count + 3;
  const char **argv = fc_arena_alloc_array(args->arena, room, sizeof *argv);
  size_t count = 0;
  if (!argv) return out_of_memory();
  if (!program) {
    return fc_complain(FC_EXIT_UNAVAILABLE,
                       "no farcalld beside farcall or on PATH");
  }
  argv[count++] = program;
  for (size_t i = 0; i < args->passed_count; i++) {
    argv[count++] = args->passed[i];
  }
  argv[count++] = "--";
  for (size_t i = 0; i < serve->path_count; i++) {
    argv[count++] = serve->paths[i];
  }
  argv[count] = NULL;
  if (!fc_serve_announce(args->arena, fc_args_has(args, FC_OPTION_OPEN))) {
    fc_complain(0, "note: the page's address is in the log");
  }
  fflush(stdout);
  fc_entry_keep_used();
  // exec takes char *const[] but does not write to it.
  execv(program, (char *const *)(uintptr_t)argv);
  return fc_complain(FC_EXIT_UNAVAILABLE, "cannot run %s: %s", program,
                     strerror(errno));
}

int fc_verb_serve(const fc_args_t *args) {
  serve_t serve = {.args = args};
  if (!args->word_count && !args->passed_count) {
    return fc_complain(FC_EXIT_USAGE,
                       "serve takes models, modules or folders of them");
  }
  for (size_t i = 0; i < args->word_count; i++) {
    const int exit_code = add_word(&serve, args->words[i]);
    if (exit_code) return exit_code;
  }
  fc_tool_hide_progress();
  fc_tool_release_signals();
  if (fc_tool_interrupted()) return 128 + fc_tool_interrupted();
  return become_server(&serve);
}
