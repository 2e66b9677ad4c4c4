// SPDX-License-Identifier: Apache-2.0
//
// Modules that sources were compiled to, kept in the user's cache: FOLDER/DIGEST/NAME.vmfb
// with its sidecar. The digest is of all that the module depends on: the source and the
// files of its weights, the options, the compiler and this program. An entry appears
// whole or not at all, so several of us may use one cache, and it may be removed at any
// time.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "compile/compile.h"
#include "file.h"
#include "module/kinds.h"
#include "serve/serve.h"
#include "tool.h"

// Hex digits of a digest in an entry's name: 128 bits.
#define DIGEST_SHOWN 32

// ---------------------------------------------------------------------------
// What a module depends on

// Texts are hashed with their ends, so that no two lists of them are one.
static void add_text(fc_sha256_t *hash, const char *text) {
  fc_sha256_update(hash, text, strlen(text) + 1);
}

// A file as it is now, without reading it.
static void add_file(fc_sha256_t *hash, const char *path) {
  char text[128] = "";
  struct stat info;
  add_text(hash, path);
  if (!stat(path, &info)) {
    snprintf(text, sizeof text, "%" PRIu64 " %" PRId64 ".%ld",
             (uint64_t)info.st_size, (int64_t)info.st_mtim.tv_sec,
             info.st_mtim.tv_nsec);
  }
  add_text(hash, text);
}

static void add_program(fc_sha256_t *hash, const fc_args_t *args,
                        const char *name) {
  char real[PATH_MAX];
  const char *path =
      fc_tool_find(args->arena, name, fc_args_get(args, FC_OPTION_TOOLS, NULL));
  add_file(hash, path && realpath(path, real) ? real : name);
}

// Weights of ONNX may be in other files, which it names: key 1 of an entry is
// "location", its value 2 the path. A name beyond 127 bytes has a longer length, and such
// a file is not noticed.
static void add_outside(fc_sha256_t *hash, fc_arena_t *arena, const char *path,
                        fc_str_t bytes) {
  static const char kMark[] = "\x0A\x08location\x12";
  const size_t mark = sizeof kMark - 1;
  const int folder = (int)(fc_file_base(path) - path);
  const char *at = bytes.data, *end = bytes.data + bytes.size;
  while ((at = memmem(at, (size_t)(end - at), kMark, mark)) != NULL) {
    at += mark;
    const size_t size = at < end ? (unsigned char)*at : 0;
    if (size > 127 || (size_t)(end - at) <= size) return;
    const char *outside =
        fc_print(arena, "%.*s%.*s", folder, path, (int)size, at + 1);
    if (outside) add_file(hash, outside);
  }
}

static void make_digest(const fc_args_t *args, const char *path, fc_str_t bytes,
                        char out_hex[65]) {
  static const char *const kTools[] = {"iree-compile", "mlir-opt"};
  fc_sha256_t hash;
  fc_sha256_init(&hash);
  add_file(&hash, "/proc/self/exe");
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTools); i++) {
    add_program(&hash, args, kTools[i]);
  }
  for (size_t i = 0; i < args->flag_count; i++) {
    const fc_flag_t *flag = &args->flags[i];
    if (!fc_option_belongs(flag->option, FC_VERB_COMPILE)) continue;
    add_text(&hash, fc_cli_options[flag->option].name);
    add_text(&hash, flag->value ? flag->value : "");
  }
  add_text(&hash, fc_file_base(path));
  add_outside(&hash, args->arena, path, bytes);
  fc_sha256_update(&hash, bytes.data, bytes.size);
  fc_sha256_finish(&hash, out_hex);
}

// ---------------------------------------------------------------------------
// The folder

// Makes the folder and those it is in. False: errno says why.
static bool make_folders(char *path) {
  for (char *at = path + 1; *at; at++) {
    if (*at != '/') continue;
    *at = '\0';
    const bool made = !mkdir(path, 0700) || errno == EEXIST;
    *at = '/';
    if (!made) return false;
  }
  return !mkdir(path, 0700) || errno == EEXIST;
}

static char *cache_folder(const fc_args_t *args) {
  const char *given = fc_args_get(args, FC_OPTION_CACHE, NULL);
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (given) {
    char *real = fc_arena_alloc(args->arena, PATH_MAX, 1);
    (void)mkdir(given, 0700);
    return real ? realpath(given, real) : NULL;
  }
  if (cache && *cache == '/')
    return fc_print(args->arena, "%s/farcall/modules", cache);
  if (home && *home == '/')
    return fc_print(args->arena, "%s/.cache/farcall/modules", home);
  return NULL;
}

// The name of the module in an entry. NULL: no such entry.
static const char *find_module(const fc_args_t *args, const char *entry,
                               const char *source) {
  static const char *const kSuffixes[] = {".vmfb", ".so"};
  const char *base = fc_file_base(source), *dot = strrchr(base, '.');
  const size_t size = dot && dot != base ? (size_t)(dot - base) : strlen(base);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSuffixes); i++) {
    const char *path = fc_print(args->arena, "%s/%.*s%s", entry, (int)size,
                                base, kSuffixes[i]);
    const char *sidecar =
        fc_print(args->arena, "%s/%.*s.farcall.json", entry, (int)size, base);
    if (path && sidecar && !access(path, R_OK) && !access(sidecar, R_OK)) {
      return path;
    }
  }
  return NULL;
}

// ---------------------------------------------------------------------------

// Compiles into a folder of its own, which then gets the entry's name.
static int fill(const fc_args_t *args, const char *path, const char *folder,
                const char *entry) {
  char *made = fc_print(args->arena, "%s/new-XXXXXX", folder);
  const uint64_t began_ns = fc_clock_ns();
  if (!made || !mkdtemp(made)) {
    return fc_complain(FC_EXIT_FAILED, "cannot make a directory in %s: %s",
                       folder, strerror(errno));
  }
  fc_complain(0, "note: compiling %s", path);
  int exit_code = fc_compile_into(args, path, made);
  // Of an entry, who cleans the cache may have left a part.
  if (!exit_code && !access(entry, F_OK) && !find_module(args, entry, path)) {
    fc_workdir_remove(entry);
  }
  // Another of us may have made the entry since.
  if (!exit_code && rename(made, entry) && errno != EEXIST &&
      errno != ENOTEMPTY) {
    exit_code = fc_complain(FC_EXIT_FAILED, "cannot make %s: %s", entry,
                            strerror(errno));
  }
  if (!access(made, F_OK)) fc_workdir_remove(made);
  if (!exit_code) {
    fc_complain(0, "note: compiled %s in %.1f s", path,
                (double)(fc_clock_ns() - began_ns) / 1e9);
  }
  return exit_code;
}

int fc_serve_module(const fc_args_t *args, const char *path,
                    const char **out_module) {
  char hex[65];
  fc_error_t err;
  fc_str_t bytes;
  fc_error_reset(&err);
  if (fc_file_read(args->arena, path, &bytes, &err)) {
    return fc_complain(FC_EXIT_DATA, "%s", err.message);
  }
  char *folder = cache_folder(args);
  if (!folder || !make_folders(folder)) {
    return fc_complain(FC_EXIT_FAILED,
                       "no place for compiled modules%s%s: give --cache=DIR",
                       folder ? ", " : "", folder ? folder : "");
  }
  make_digest(args, path, bytes, hex);
  const char *entry =
      fc_print(args->arena, "%s/%.*s", folder, DIGEST_SHOWN, hex);
  if (!entry) return fc_complain(FC_EXIT_FAILED, "out of memory");
  if ((*out_module = find_module(args, entry, path))) {
    fc_complain(0, "note: %s was compiled before: %s", path, *out_module);
    return FC_EXIT_OK;
  }
  const int exit_code = fill(args, path, folder, entry);
  if (exit_code) return exit_code;
  *out_module = find_module(args, entry, path);
  return *out_module ? FC_EXIT_OK
                     : fc_complain(FC_EXIT_FAILED, "%s is gone", entry);
}
