// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of `farcall compile`: one compilation, and the two roads from a
// source to a module. One thread.
#ifndef FARCALL_CLI_COMPILE_COMPILE_H_
#define FARCALL_CLI_COMPILE_COMPILE_H_

#include "cli.h"
#include "compile/format.h"

#define FC_COMPILE_CPUS_MAX 16
#define FC_COMPILE_SIZES_MAX 16

// Names of work files begin with this. A source whose name also does is copied under
// another name.
#define FC_WORK_FILE "farcall-"

typedef struct fc_compile_t {
  fc_arena_t *arena;
  const char *input;   // as the user wrote it, "standard input" for -
  const char *path;    // of the file; NULL for standard input
  const char *folder;  // where the module goes without -o; NULL: this directory
  const char *output;  // the module to write
  const char *source;  // the copy of the input in the work directory
  const char *work;    // the work directory
  const char *tools;   // the directory of the tools; NULL: PATH
  const fc_format_t *format;
  char level;  // of -O, '0' to '3'; 0: not given, the road sets it
  bool checked;
  bool lines;  // a .so gets the lines of the source
  bool verbose;
  bool quiet;  // the made module is not printed
  // From --cpu. The first is the processor of the module itself. The others are those of
  // the variants, the best first.
  const char *cpus[FC_COMPILE_CPUS_MAX];
  size_t cpu_count;
  bool any_cpu;  // no --cpu was given: "host" may become "generic"
  const char *sizes[FC_COMPILE_SIZES_MAX];  // the values of --batch
  size_t size_count;
  fc_str_t text;     // of the source
  fc_str_t context;  // source lines to show above the message
  size_t blamed;     // where the message points to (fc_mlir_spot); 0: nowhere
  const char *hint;  // put after the message: what to try; NULL: nothing
  fc_error_t *err;
} fc_compile_t;

typedef struct fc_road_t {
  const char *name;    // the value of --road
  const char *suffix;  // of its modules: ".so" or ".vmfb"
  // Does the road accept sources of this format?
  bool (*takes)(const fc_format_t *format);
  // Is its compiler installed?
  bool (*is_there)(fc_compile_t *compile);
  // Writes the module and its sidecar. FC_CODE_NOT_FOUND: a tool is missing; the message
  // says how to install it.
  fc_status_t (*make)(fc_compile_t *compile);
} fc_road_t;

extern const fc_road_t fc_road_iree;
extern const fc_road_t fc_road_mlir;

// Imports the source, and lets IREE's compiler convert the result into its own
// operations, but makes no module. The source's format must have an importer; `work`,
// `source` and `text` must be set. FC_CODE_NOT_FOUND: something is not installed.
fc_status_t fc_compile_try(fc_compile_t *compile);

// Compiles the source like fc_verb_compile, with the options of `args`, and writes the
// module and its sidecar into `folder`. Without --cpu the module is for this machine's
// processor. Prints nothing on standard output. Returns an exit code, after a complaint
// if it isn't 0.
int fc_compile_into(const fc_args_t *args, const char *path,
                    const char *folder);

// Returns the path of the module's file for the processor `cpus[index]`. For a variant it
// has the processor's name: "dir/m-x86-64-v4.so" instead of "dir/m.so". NULL: no memory.
const char *fc_compile_output(fc_compile_t *compile, size_t index);
// Makes "dir/m.farcall.json" from "dir/m.so". NULL: no memory.
const char *fc_compile_sidecar(fc_compile_t *compile, const char *output);
// Returns LLVM's name of the processor: on x86-64 "x86-64" for "generic"; otherwise
// `name`.
const char *fc_compile_cpu(const char *name);

#endif  // FARCALL_CLI_COMPILE_COMPILE_H_
