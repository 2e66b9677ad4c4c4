// SPDX-License-Identifier: Apache-2.0
//
// All bytes of the source are hashed. Other files may be very large, so only their
// identity is hashed (fc_serve_state). A file cannot change without its ctime, unless the
// machine's clock is changed.
#include "serve/key.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "file.h"
#include "tool.h"

// Texts are hashed with their NULs, so that different lists have different hashes.
static void add_text(fc_sha256_t *hash, const char *text) {
  fc_sha256_update(hash, text, strlen(text) + 1);
}

void fc_serve_state(const char *path, char out[FC_SERVE_STATE]) {
  struct stat info;
  *out = '\0';
  if (stat(path, &info)) return;
  snprintf(out, FC_SERVE_STATE,
           "%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 ".%09ld %" PRId64
           ".%09ld",
           (uint64_t)info.st_dev, (uint64_t)info.st_ino, (int64_t)info.st_size,
           (int64_t)info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
           (int64_t)info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

static void add_file(fc_sha256_t *hash, const char *path) {
  char state[FC_SERVE_STATE];
  fc_serve_state(path, state);
  add_text(hash, path);
  add_text(hash, state);
}

// ---------------------------------------------------------------------------
// Compilers

// Adds the packages beside a Python tool. The tool is a script, which may stay the same
// when its compiler gets another version. The names of these folders contain the version.
static void add_packages(fc_sha256_t *hash, fc_arena_t *arena,
                         const char *tool) {
  static const char *const kNames[] = {"iree_", "onnx-", "jax"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNames); i++) {
    glob_t found;
    const char *pattern =
        fc_print(arena, "%.*s../lib/python3*/*-packages/%s*.dist-info",
                 (int)(fc_file_base(tool) - tool), tool, kNames[i]);
    if (!pattern || glob(pattern, 0, NULL, &found)) continue;
    for (size_t k = 0; k < found.gl_pathc; k++) {
      add_text(hash, found.gl_pathv[k]);
    }
    globfree(&found);
  }
}

static void add_program(fc_sha256_t *hash, const fc_args_t *args,
                        const char *name) {
  char real[PATH_MAX];
  const char *path =
      fc_tool_find(args->arena, name, fc_args_get(args, FC_OPTION_TOOLS, NULL));
  if (!path || !realpath(path, real)) {
    add_text(hash, name);
    return;
  }
  add_file(hash, real);
  add_packages(hash, args->arena, path);
}

static void add_programs(fc_sha256_t *hash, const fc_args_t *args) {
  static const char *const kTools[] = {"iree-compile", "mlir-opt",
                                       "mlir-translate", "opt", "llc"};
  add_file(hash, "/proc/self/exe");
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTools); i++) {
    add_program(hash, args, kTools[i]);
  }
}

// Adds the meaning of "host" on this machine, if the module is for it: other machines may
// share the cache.
static void add_processor(fc_sha256_t *hash, const fc_args_t *args) {
  fc_error_t err;
  fc_str_t rest;
  if (!strstr(fc_args_get(args, FC_OPTION_CPU, "host"), "host")) return;
  if (fc_file_read(args->arena, "/proc/cpuinfo", &rest, &err)) return;
  while (rest.size) {
    const fc_str_t line = fc_str_take(&rest, '\n');
    if (!fc_str_starts(line, FC_STR("flags")) &&
        !fc_str_starts(line, FC_STR("Features"))) {
      continue;
    }
    fc_sha256_update(hash, line.data, line.size);
    return;
  }
}

// ---------------------------------------------------------------------------
// Weights

// Reads a length in protobuf's form; lengths of paths have at most two bytes.
static bool read_length(fc_str_t *rest, size_t *out) {
  size_t value = 0;
  for (unsigned shift = 0; shift < 14 && rest->size; shift += 7) {
    const unsigned char byte = (unsigned char)*rest->data++;
    rest->size--;
    value |= (size_t)(byte & 0x7F) << shift;
    if (byte & 0x80) continue;
    *out = value;
    return value <= rest->size;
  }
  return false;
}

// Adds the files with weights of an ONNX model. The model contains their names: field 1
// of an entry is "location", field 2 the path, relative to the model's folder.
static void add_outside(fc_sha256_t *hash, fc_arena_t *arena, const char *path,
                        fc_str_t bytes) {
  static const char kMark[] = "\x0A\x08location\x12";
  char folder[PATH_MAX];
  const size_t mark = sizeof kMark - 1;
  const char *parent =
      fc_print(arena, "%.*s.", (int)(fc_file_base(path) - path), path);
  const char *at;
  if (!parent || !realpath(parent, folder)) return;
  while (bytes.size &&
         (at = memmem(bytes.data, bytes.size, kMark, mark)) != NULL) {
    size_t size;
    bytes.size -= (size_t)(at - bytes.data) + mark;
    bytes.data = at + mark;
    if (!read_length(&bytes, &size)) continue;
    const char *outside =
        fc_print(arena, "%s/%.*s", folder, (int)size, bytes.data);
    if (outside) add_file(hash, outside);
  }
}

// ---------------------------------------------------------------------------

void fc_serve_key(const fc_args_t *args, const char *path, fc_str_t bytes,
                  char out_hex[65]) {
  fc_sha256_t hash;
  fc_sha256_init(&hash);
  add_programs(&hash, args);
  add_processor(&hash, args);
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
