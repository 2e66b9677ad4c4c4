// SPDX-License-Identifier: Apache-2.0
//
// What the files of `farcall compile` share: one compilation, and the two roads from a
// source to a module. One thread.
#ifndef FARCALL_CLI_COMPILE_COMPILE_H_
#define FARCALL_CLI_COMPILE_COMPILE_H_

#include "cli.h"
#include "compile/format.h"

#define FC_COMPILE_CPUS_MAX 16
#define FC_COMPILE_SIZES_MAX 16

// Files in the work directory. No source is copied there under a name that begins so.
#define FC_WORK_FILE "farcall-"

typedef struct fc_compile_t {
  fc_arena_t *arena;
  const char *input;   // as the user wrote it, "standard input" for -
  const char *path;    // of the file; NULL for standard input
  const char *folder;  // of a module without -o; NULL: this directory
  const char *output;  // the module to write
  const char *source;  // the copy of the input in the work directory
  const char *work;    // the work directory
  const char *tools;   // where the tools are, NULL: on PATH
  const fc_format_t *format;
  char level;  // of -O, '0' to '3'; 0: not given, `make` sets it
  bool checked;
  bool lines;  // of the source go into a .so
  bool verbose;
  bool quiet;  // what came out is not printed
  // Of --cpu, one or more: the first is that of the module itself, the others are those
  // of its variants, the best first.
  const char *cpus[FC_COMPILE_CPUS_MAX];
  size_t cpu_count;
  bool any_cpu;  // "host" is one that nobody asked for: "generic" does, too
  const char *sizes[FC_COMPILE_SIZES_MAX];  // of --batch, as they were given
  size_t size_count;
  fc_str_t text;     // of the source
  fc_str_t context;  // source lines to show above the message
  size_t blamed;     // the spot that the message names (fc_mlir_spot); 0: none
  const char *hint;  // what to try, for the end of the message; NULL: nothing
  fc_error_t *err;
} fc_compile_t;

typedef struct fc_road_t {
  const char *name;    // as --road has it
  const char *suffix;  // of its modules, with the dot
  // Whether it takes sources of this format.
  bool (*takes)(const fc_format_t *format);
  // Whether its compiler is installed.
  bool (*is_there)(fc_compile_t *compile);
  // Writes the module and its sidecar. FC_CODE_NOT_FOUND: a tool is missing, and the
  // message says where it is to be had.
  fc_status_t (*make)(fc_compile_t *compile);
} fc_road_t;

extern const fc_road_t fc_road_iree;
extern const fc_road_t fc_road_mlir;

// Has the importer of the source's format read it, and IREE's compiler turn what the
// importer writes into its own operations; no module is made. The format has an importer,
// and `work`, `source` and `text` are set. FC_CODE_NOT_FOUND: something is not installed.
fc_status_t fc_compile_try(fc_compile_t *compile);

// Compiles the source as fc_verb_compile does, by the options of `args`, but for this
// machine's processor if there is no --cpu, and writes the module and its sidecar into
// `folder`. Prints nothing on standard output. Returns an exit
// code, after a complaint if it isn't 0.
int fc_compile_into(const fc_args_t *args, const char *path,
                    const char *folder);

// The path of a module's file for the processor `cpus[index]`: "dir/m.so" is
// "dir/m-x86-64-v4.so" for a variant. NULL when out of memory.
const char *fc_compile_output(fc_compile_t *compile, size_t index);
// "dir/m.so" -> "dir/m.farcall.json". NULL when out of memory.
const char *fc_compile_sidecar(fc_compile_t *compile, const char *output);
// LLVM's name of the processor. On x86-64 "generic" is "x86-64"; other names stay.
const char *fc_compile_cpu(const char *name);

#endif  // FARCALL_CLI_COMPILE_COMPILE_H_
