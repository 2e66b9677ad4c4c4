// SPDX-License-Identifier: Apache-2.0
//
// farcall compile: MLIR in, a shared object and its ABI description out. It drives
// MLIR's and LLVM's own tools, and reads and annotates what they print:
//
//   source -> parsed -> [buffers] -> annotated -> lowered -> ir -> object -> so
//
// All of it happens in a private directory under relative names, so that no
// path of this machine gets into the module. The copy of the source keeps its
// name where it can (copy_name), because the locations of run-time checks show it.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "abi/sidecar.h"
#include "base/sha256.h"
#include "cli.h"
#include "compile_derive.h"
#include "compile_foreign.h"
#include "compile_guard.h"
#include "compile_sidecar.h"
#include "compile_stores.h"
#include "farcall/module.h"
#include "file.h"
#include "module/native/libc.h"
#include "object.h"
#include "tool.h"

#define TEXT_LIMIT ((size_t)1 << 30)
#define TOOL_ARGUMENTS_MAX 48

#if defined(__x86_64__)
#define TRIPLE "x86_64-unknown-linux-gnu"
#elif defined(__aarch64__)
#define TRIPLE "aarch64-unknown-linux-gnu"
#endif

enum { MLIR_OPT, MLIR_TRANSLATE, OPT, LLC, CC, TOOL_COUNT };

typedef struct fc_tool_info_t {
  const char *name;
  const char *package;
} fc_tool_info_t;

static const fc_tool_info_t kTools[TOOL_COUNT] = {
    [MLIR_OPT] = {"mlir-opt", "mlir-22-tools"},
    [MLIR_TRANSLATE] = {"mlir-translate", "mlir-22-tools"},
    [OPT] = {"opt", "llvm-22"},
    [LLC] = {"llc", "llvm-22"},
    [CC] = {"cc", "gcc"},
};

// Files in the work directory. No source is copied there under one of these names.
#define OURS "farcall-"
#define PARSED OURS "1-parsed.mlir"
#define BUFFERS OURS "2-buffers.mlir"
#define ANNOTATED OURS "3-annotated.mlir"
#define LOWERED OURS "4-lowered.mlir"
#define IR OURS "5-module.ll"
#define OPTIMIZED OURS "6-module.bc"
#define OBJECT OURS "7-module.o"
#define ABI_IR OURS "8-abi.ll"
#define ABI_OBJECT OURS "8-abi.o"
#define LINKED OURS "9-module.so"
#define LOG OURS "log"

// The generic form is what compile_derive reads; locations travel along so that
// every later message can name the user's line.
static const char *const kGeneric[] = {"--mlir-print-op-generic",
                                       "--mlir-print-debuginfo", NULL};

static const char *const kBufferize[] = {
    "--mlir-print-ir-after-failure", "--mlir-print-op-generic",
    "--mlir-print-debuginfo",
    // Comparisons and arithmetic on whole tensors cannot be bufferized.
    "--convert-elementwise-to-linalg",
    // Plain layouts at the boundary: callers pass dense arrays.
    "--one-shot-bufferize=bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map",
    // Every result belongs to the caller, temporaries are freed.
    "--buffer-deallocation-pipeline", "--convert-bufferization-to-memref",
    NULL};

static const char *const kLower[] = {
    "--mlir-print-ir-after-failure",
    "--mlir-print-op-generic",
    "--mlir-print-debuginfo",
    "--convert-linalg-to-loops",
    "--lower-affine",  // before scf-to-cf, since it makes scf
    "--convert-vector-to-scf",
    "--convert-scf-to-cf",
    "--expand-realloc",
    "--memref-expand",
    "--expand-strided-metadata",
    "--lower-affine",  // again: the pass before makes affine.apply
    "--arith-expand",
    "--convert-complex-to-llvm",
    "--convert-vector-to-llvm",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--convert-arith-to-llvm",
    "--convert-index-to-llvm",
    "--convert-ub-to-llvm",
    "--convert-cf-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm",
    "--reconcile-unrealized-casts",
    NULL};

// affine.load and affine.store get no run-time checks, but the operations of
// memref that they become do.
static const char *const kVerify[] = {"--lower-affine",
                                      "--generate-runtime-verification", NULL};
static const char *const kNothing[] = {NULL};
static const char *const kTranslate[] = {"--mlir-to-llvmir", NULL};
static const char *const kOptimize[] = {"-O3", "--mtriple=" TRIPLE, NULL};
static const char *const kAssemble[] = {"-O3",
                                        "--mtriple=" TRIPLE,
                                        "-filetype=obj",
                                        "--relocation-model=pic",
                                        "--stack-size-section",
                                        NULL};
// The module exports only what callers need, so a function may have the name of
// a function of the C library and still be the one that the module itself
// calls.
#define EXPORTS OURS "9-exports"
static const char kExports[] =
    "{ global: _mlir_ciface_*; __farcall_abi; local: *; };\n";
static const char *const kLink[] = {ABI_OBJECT,
                                    "-shared",
                                    "-Wl,-z,now,-z,relro,-z,noexecstack",
                                    "-Wl,--version-script=" EXPORTS,
                                    "-lm",
                                    NULL};

typedef struct fc_compile_t {
  fc_arena_t *arena;
  const char *input;  // as the user wrote it
  const char *output;
  const char *source;  // its copy in the work directory
  const char *work;
  const char *tools;  // directory, or NULL
  const char *paths[TOOL_COUNT];
  const char *compiler;
  bool checked;
  fc_str_t text;     // of the source; empty before it was read
  fc_str_t context;  // source lines to show above the message
  fc_error_t *err;
} fc_compile_t;

// ---------------------------------------------------------------------------
// Running one tool, and saying what it did not like

static char *in_work(fc_compile_t *compile, const char *name) {
  return fc_print(compile->arena, "%s/%s", compile->work, name);
}

static fc_status_t read_work(fc_compile_t *compile, const char *name,
                             fc_str_t *out_data) {
  const char *path = in_work(compile, name);
  if (!path) return fc_fail_memory(compile->err);
  return fc_file_read(compile->arena, path, out_data, compile->err);
}

static fc_status_t write_work(fc_compile_t *compile, const char *name,
                              fc_str_t data) {
  const char *path = in_work(compile, name);
  if (!path) return fc_fail_memory(compile->err);
  return fc_file_write(compile->arena, path, data, compile->err);
}

static fc_str_t cut_line(fc_str_t *rest) {
  const char *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
  size_t size = end ? (size_t)(end - rest->data) : rest->size;
  fc_str_t line = {rest->data, size};
  rest->data += end ? size + 1 : size;
  rest->size -= end ? size + 1 : size;
  return line;
}

static const char *find_text(fc_str_t text, const char *wanted) {
  if (!text.size) return NULL;
  return memmem(text.data, text.size, wanted, strlen(wanted));
}

// Cuts "one-shot-bufferize" out of "IR Dump After OneShotBufferizePass Failed
// (one-shot-bufferize)", which mlir-opt prints when a pass fails.
static fc_str_t failing_pass(fc_str_t log) {
  const char *at = find_text(log, "IR Dump After ");
  if (!at) return (fc_str_t){0};
  fc_str_t rest = {at, log.size - (size_t)(at - log.data)};
  fc_str_t line = cut_line(&rest);
  const char *open = find_text(line, "Failed (");
  if (!open) return (fc_str_t){0};
  open += strlen("Failed (");
  const char *end = line.data + line.size;
  const char *close = open;
  while (close < end && *close != ')' && *close != '{') close++;
  return fc_str_make(open, (size_t)(close - open));
}

// The source line that mlir-opt shows at the beginning of `rest`, with the line under
// it, which has a caret. Empty when it shows none.
static fc_str_t source_context(fc_str_t rest) {
  fc_str_t begin = rest;
  cut_line(&rest);
  fc_str_t caret = cut_line(&rest);
  for (size_t i = 0; i < caret.size; i++) {
    if (caret.data[i] == '^') {
      return fc_str_make(begin.data,
                         (size_t)(caret.data + caret.size - begin.data));
    }
    if (caret.data[i] != ' ' && caret.data[i] != '\t') break;
  }
  return (fc_str_t){0};
}

// Shows the error at the place "FILE:LINE:COL: " in the user's file, not in the
// copy that the tools read.
static fc_status_t blame(fc_compile_t *compile, fc_str_t place, fc_str_t step,
                         fc_str_t message) {
  fc_str_t copy = fc_str(compile->source);
  if (fc_str_starts(place, copy)) {
    place.data += copy.size;
    place.size -= copy.size;
  } else {
    place = FC_STR(":");
  }
  while (place.size && place.data[place.size - 1] == ' ') place.size--;
  return fc_fail(compile->err, FC_CODE_MODULE_LOAD, "%s%.*s %.*s: %.*s",
                 compile->input, FC_STR_ARG(place), FC_STR_ARG(step),
                 FC_STR_ARG(message));
}

static fc_status_t explain(fc_compile_t *compile, int tool, fc_str_t log) {
  fc_str_t step = failing_pass(log);
  if (!step.size) {
    bool reading = tool == MLIR_OPT;
    step = reading ? FC_STR("not valid MLIR") : fc_str(kTools[tool].name);
  }
  static const char kError[] = "error: ";
  fc_str_t rest = log, first = {0};
  while (rest.size) {
    fc_str_t line = cut_line(&rest);
    if (!first.size) first = line;
    // The linker's reason comes before the driver's "error: ld returned 1".
    const char *at = tool == CC ? NULL : find_text(line, kError);
    if (!at) continue;
    const char *text = at + strlen(kError);
    fc_str_t message = {text, (size_t)(line.data + line.size - text)};
    compile->context = source_context(rest);
    return blame(compile, fc_str_make(line.data, (size_t)(at - line.data)),
                 step, message);
  }
  return blame(compile, (fc_str_t){0}, step,
               first.size ? first : FC_STR("failed without a word"));
}

// Runs TOOL input -o output flags…
static fc_status_t run(fc_compile_t *compile, int tool, const char *input,
                       const char *output, const char *const *first,
                       const char *const *second) {
  const char *argv[TOOL_ARGUMENTS_MAX] = {compile->paths[tool], input, "-o",
                                          output};
  size_t count = 4;
  while (*first) argv[count++] = *first++;
  while (*second) argv[count++] = *second++;
  FC_ASSERT(count < TOOL_ARGUMENTS_MAX);
  int outcome = 0;
  FC_TRY(fc_tool_run(argv, compile->work, LOG, &outcome, compile->err));
  if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0) return FC_OK;
  if (WIFSIGNALED(outcome)) {
    return fc_fail(compile->err, FC_CODE_MODULE_LOAD,
                   "%s: %s itself crashed (signal %d)", compile->input, argv[0],
                   WTERMSIG(outcome));
  }
  fc_str_t log;
  FC_TRY(read_work(compile, LOG, &log));
  return explain(compile, tool, log);
}

static fc_status_t find_tools(fc_compile_t *compile) {
  for (int i = 0; i < TOOL_COUNT; i++) {
    // The C compiler only links; it need not be LLVM's.
    const char *directory = i == CC ? NULL : compile->tools;
    compile->paths[i] = fc_tool_find(compile->arena, kTools[i].name, directory);
    if (compile->paths[i]) continue;
    return fc_fail(compile->err, FC_CODE_NOT_FOUND,
                   "no %s %s%s: Debian's package %s has it, --tools=DIR says "
                   "where it is",
                   kTools[i].name, directory ? "in " : "on PATH",
                   directory ? directory : "", kTools[i].package);
  }
  return FC_OK;
}

// Makes "mlir 22.1.8" of "… LLVM version 22.1.8".
static fc_status_t find_version(fc_compile_t *compile) {
  static const char kVersion[] = "LLVM version ";
  const char *argv[] = {compile->paths[MLIR_OPT], "--version", NULL};
  int outcome = 0;
  FC_TRY(fc_tool_run(argv, compile->work, LOG, &outcome, compile->err));
  fc_str_t log;
  FC_TRY(read_work(compile, LOG, &log));
  const char *at = find_text(log, kVersion);
  size_t size = 0;
  if (at) {
    at += strlen(kVersion);
    size = strspn(at, "0123456789.");
  }
  compile->compiler =
      size ? fc_print(compile->arena, "mlir %.*s", (int)size, at) : "mlir";
  return compile->compiler ? FC_OK : fc_fail_memory(compile->err);
}

// ---------------------------------------------------------------------------
// The journey of a module

static fc_status_t read_module(fc_compile_t *compile, const char *name,
                               fc_mlir_module_t *out_module) {
  fc_str_t text;
  FC_TRY(read_work(compile, name, &text));
  return fc_mlir_read(compile->arena, text, out_module, compile->err);
}

static size_t count_public(const fc_mlir_module_t *module) {
  size_t count = 0;
  for (size_t i = 0; i < module->function_count; i++) {
    if (module->functions[i].is_public && module->functions[i].has_body) {
      count++;
    }
  }
  return count;
}

// Names the functions declared without a body: the module loads only where
// another library provides them. True when there is any.
static bool needs_others(const fc_mlir_module_t *module) {
  bool needs = false;
  for (size_t i = 0; i < module->function_count; i++) {
    const fc_mlir_function_t *function = &module->functions[i];
    if (function->has_body) continue;
    fc_complain(0,
                "note: '%.*s' is declared without a body; the module loads "
                "only where another library provides it",
                FC_STR_ARG(function->name));
    needs = true;
  }
  return needs;
}

// Tells which arguments are also results, though the source does not say so.
static void tell_roles(const fc_mlir_module_t *module) {
  for (size_t i = 0; i < module->function_count; i++) {
    const fc_mlir_function_t *function = &module->functions[i];
    for (size_t k = 0; k < function->argument_count; k++) {
      const fc_mlir_value_t *argument = &function->arguments[k];
      if (!argument->noticed) continue;
      const char *quote = argument->name.size ? "'" : "";
      fc_complain(0,
                  "note: '%.*s' writes into argument %zu%s%s%.*s%s%s: its role "
                  "is inout, and what it holds then is a result",
                  FC_STR_ARG(function->name), k, *quote ? " (" : "", quote,
                  FC_STR_ARG(argument->name), quote, *quote ? ")" : "");
    }
  }
}

// Writes the annotated module. `steps` keep the texts that are made on the way.
static fc_status_t guard(fc_compile_t *compile, fc_str_t text,
                         fc_text_t steps[3]) {
  fc_mlir_module_t module;
  FC_TRY(fc_mlir_rename_divisions(text, &steps[0], compile->err));
  text = fc_text_str(&steps[0]);
  if (compile->checked) {
    FC_TRY(fc_mlir_guard_sizes(compile->arena, text, &steps[1], compile->err));
    text = fc_text_str(&steps[1]);
  }
  FC_TRY(fc_mlir_read(compile->arena, text, &module, compile->err));
  FC_TRY(fc_mlir_annotate(&module, &steps[2], compile->err));
  return write_work(compile, ANNOTATED, fc_text_str(&steps[2]));
}

static fc_status_t annotate(fc_compile_t *compile, fc_str_t text) {
  fc_text_t steps[3];
  for (size_t i = 0; i < FC_ARRAY_COUNT(steps); i++) {
    fc_text_init(&steps[i], fc_allocator_system(), TEXT_LIMIT);
  }
  fc_status_t status = guard(compile, text, steps);
  for (size_t i = 0; i < FC_ARRAY_COUNT(steps); i++) fc_text_deinit(&steps[i]);
  return status;
}

// Puts checks into LOWERED when the module divides integers.
static fc_status_t guard_divisions(fc_compile_t *compile) {
  fc_str_t text;
  fc_text_t guarded;
  FC_TRY(read_work(compile, LOWERED, &text));
  fc_text_init(&guarded, fc_allocator_system(), TEXT_LIMIT);
  fc_status_t status =
      fc_mlir_guard_divisions(compile->arena, text, &guarded, compile->err);
  if (status == FC_OK && fc_text_str(&guarded).size) {
    status = write_work(compile, LOWERED, fc_text_str(&guarded));
  }
  fc_text_deinit(&guarded);
  return status;
}

// Prints a location as messages have it: "m.mlir":2:3 becomes m.mlir:2:3:
static const char *print_place(const fc_compile_t *compile, fc_str_t location) {
  fc_str_t name = location, position = {0};
  if (location.size) {
    const char *end = memchr(location.data + 1, '"', location.size - 1);
    size_t size = end ? (size_t)(end - location.data) : location.size - 1;
    name = fc_str_make(location.data + 1, size - 1);
    position = fc_str_make(location.data + size + 1, location.size - size - 1);
  }
  return fc_print(compile->arena, "%.*s%.*s:", FC_STR_ARG(name),
                  FC_STR_ARG(position));
}

static fc_status_t tell_unverified(fc_compile_t *compile, fc_str_t operation,
                                   fc_str_t location) {
  const char *place = print_place(compile, location);
  if (!place) return fc_fail_memory(compile->err);
  fc_complain(
      0,
      "note: %s nothing checks the indices of '%.*s': the module is not "
      "memory safe, and its calls are guarded",
      place, FC_STR_ARG(operation));
  return FC_OK;
}

// Refuses an operation that no pass lowered. mlir-opt accepts it, and the error of
// mlir-translate about it would not say where it is.
static fc_status_t refuse_leftovers(fc_compile_t *compile) {
  fc_str_t text, operation, location;
  FC_TRY(read_work(compile, LOWERED, &text));
  if (!fc_mlir_leftover(text, &operation, &location)) return FC_OK;
  const char *place = print_place(compile, location);
  const char *message =
      fc_print(compile->arena, "no lowering for '%.*s'", FC_STR_ARG(operation));
  if (!place || !message) return fc_fail_memory(compile->err);
  return blame(compile, fc_str(place), FC_STR("to LLVM"), fc_str(message));
}

static fc_status_t refuse_names(fc_compile_t *compile,
                                const fc_mlir_module_t *module) {
  for (size_t i = 0; i < module->function_count; i++) {
    const fc_mlir_function_t *function = &module->functions[i];
    if (!function->has_body || !fc_libc_is_reserved(function->name)) continue;
    return fc_fail(
        compile->err, FC_CODE_SYMBOL_CLASH,
        "%s: '%.*s' is a name of the C library: LLVM takes the function "
        "for that one; rename it",
        compile->input, FC_STR_ARG(function->name));
  }
  return FC_OK;
}

// Makes OBJECT of the annotated module.
static fc_status_t lower(fc_compile_t *compile) {
  FC_TRY(run(compile, MLIR_OPT, ANNOTATED, LOWERED,
             compile->checked ? kVerify : kNothing, kLower));
  FC_TRY(refuse_leftovers(compile));
  if (compile->checked) FC_TRY(guard_divisions(compile));
  FC_TRY(run(compile, MLIR_TRANSLATE, LOWERED, IR, kTranslate, kNothing));
  FC_TRY(run(compile, OPT, IR, OPTIMIZED, kOptimize, kNothing));
  return run(compile, LLC, OPTIMIZED, OBJECT, kAssemble, kNothing);
}

// Reads the description as a server will: the attributes of the source may ask for what
// its types do not allow.
static fc_status_t check_draft(const fc_compile_t *compile, fc_str_t json) {
  fc_sidecar_t *sidecar = NULL;
  fc_error_t why;
  const fc_status_t status = fc_sidecar_parse(
      json, FC_SOURCE_EMBEDDED, NULL, fc_allocator_system(), &sidecar, &why);
  fc_sidecar_destroy(sidecar);
  if (status == FC_OK) return FC_OK;
  return fc_fail(compile->err, why.code, "%s: %s", compile->input, why.message);
}

static fc_status_t link_module(fc_compile_t *compile, const fc_draft_t *draft) {
  fc_str_t json, ir;
  FC_TRY(fc_draft_print(compile->arena, draft, false, &json, compile->err));
  FC_TRY(check_draft(compile, json));
  FC_TRY(fc_draft_embed(compile->arena, json, &ir, compile->err));
  FC_TRY(write_work(compile, ABI_IR, ir));
  FC_TRY(run(compile, LLC, ABI_IR, ABI_OBJECT, kAssemble, kNothing));
  const char *name =
      fc_print(compile->arena, "-Wl,-soname,%s", fc_file_base(compile->output));
  if (!name) return fc_fail_memory(compile->err);
  const char *const soname[] = {name, NULL};
  FC_TRY(write_work(compile, EXPORTS, fc_str(kExports)));
  return run(compile, CC, OBJECT, LINKED, kLink, soname);
}

// "dir/model.so" -> "dir/model.farcall.json"
static const char *sidecar_path(fc_compile_t *compile) {
  const char *base = fc_file_base(compile->output);
  const char *dot = strrchr(base, '.');
  size_t size = strlen(compile->output);
  if (dot && dot != base) size = (size_t)(dot - compile->output);
  return fc_print(compile->arena, "%.*s.farcall.json", (int)size,
                  compile->output);
}

static fc_status_t publish(fc_compile_t *compile, fc_draft_t *draft) {
  fc_str_t module, json;
  char sha256[65];
  FC_TRY(read_work(compile, LINKED, &module));
  fc_sha256_hex(module.data, module.size, sha256);
  draft->sha256 = sha256;
  fc_status_t status =
      fc_draft_print(compile->arena, draft, true, &json, compile->err);
  draft->sha256 = NULL;
  FC_TRY(status);
  const char *path = sidecar_path(compile);
  if (!path) return fc_fail_memory(compile->err);
  FC_TRY(fc_file_write(compile->arena, compile->output, module, compile->err));
  return fc_file_write(compile->arena, path, json, compile->err);
}

static fc_status_t make(fc_compile_t *compile) {
  fc_str_t text;
  fc_mlir_module_t source, module;
  FC_TRY(fc_file_read(compile->arena, compile->input, &text, compile->err));
  compile->text = text;
  FC_TRY(write_work(compile, compile->source, text));
  FC_TRY(find_version(compile));
  FC_TRY(run(compile, MLIR_OPT, compile->source, PARSED, kGeneric, kNothing));
  FC_TRY(read_module(compile, PARSED, &source));
  module = source;
  if (source.has_tensors) {
    FC_TRY(run(compile, MLIR_OPT, PARSED, BUFFERS, kBufferize, kNothing));
    FC_TRY(read_module(compile, BUFFERS, &module));
  }
  if (!count_public(&module)) {
    return fc_fail(compile->err, FC_CODE_ABI_METADATA,
                   "%s: no public func.func with a body: nothing to call",
                   compile->input);
  }
  FC_TRY(refuse_names(compile, &source));
  FC_TRY(fc_mlir_find_stores(compile->arena, &module, compile->err));
  FC_TRY(
      fc_draft_resolve(compile->arena, text, &source, &module, compile->err));
  FC_TRY(annotate(compile, module.text));
  FC_TRY(lower(compile));
  fc_str_t object, ir;
  FC_TRY(read_work(compile, OBJECT, &object));
  FC_TRY(read_work(compile, IR, &ir));
  bool foreign = needs_others(&source);
  fc_str_t operation, location;
  bool unverified = compile->checked &&
                    fc_mlir_unverified(module.text, &operation, &location);
  fc_draft_t draft = {.module = &module,
                      .compiler = compile->compiler,
                      .pure = !foreign && !module.has_state,
                      .checked = compile->checked && !unverified && !foreign,
                      .plainly_aligned = fc_ir_is_plainly_aligned(ir),
                      .max_frame = fc_object_max_frame(object)};
  FC_TRY(link_module(compile, &draft));
  FC_TRY(publish(compile, &draft));
  tell_roles(&module);
  return unverified ? tell_unverified(compile, operation, location) : FC_OK;
}

// ---------------------------------------------------------------------------
// The verb

// What the copy of the source is called. The name stands in messages and in the
// module, so it is that of the user's file, unless that needs quoting or is one
// of OURS.
static const char *copy_name(const char *input) {
  const char *base = fc_file_base(input);
  static const char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  bool plain = *base && base[0] != '-' && base[0] != '.' &&
               strspn(base, kPlain) == strlen(base) &&
               strncmp(base, OURS, strlen(OURS)) != 0;
  return plain ? base : "source.mlir";
}

static const char *default_output(fc_arena_t *arena, const char *input) {
  const char *base = fc_file_base(input);
  const char *dot = strrchr(base, '.');
  size_t size = dot && dot != base ? (size_t)(dot - base) : strlen(base);
  return fc_print(arena, "%.*s.so", (int)size, base);
}

static int report(const fc_compile_t *compile) {
  const fc_error_t *err = compile->err;
  if (compile->context.size) {
    fprintf(stderr, "%.*s\n", FC_STR_ARG(compile->context));
  }
  bool missing = err->code == FC_CODE_NOT_FOUND;
  // What a tool says of a dialect that it does not lower helps nobody.
  const char *hint = err->code == FC_CODE_MODULE_LOAD
                         ? fc_mlir_foreign_hint(compile->text)
                         : "";
  return fc_complain(missing ? FC_EXIT_UNAVAILABLE : FC_EXIT_DATA, "%s%s",
                     err->message, hint);
}

int fc_verb_compile(const fc_args_t *args) {
  fc_error_t err;
  fc_error_reset(&err);
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE, "compile takes one FILE.mlir, got %zu",
                       args->word_count);
  }
  const char *input = args->words[0];
  fc_compile_t compile = {
      .arena = args->arena,
      .input = input,
      .output = fc_args_get(args, FC_OPTION_COMPILE_OUTPUT,
                            default_output(args->arena, input)),
      .source = copy_name(input),
      .tools = fc_args_get(args, FC_OPTION_TOOLS, NULL),
      .checked = !fc_args_has(args, FC_OPTION_UNCHECKED),
      .err = &err};
  if (!compile.output || !*compile.output) {
    return fc_complain(FC_EXIT_USAGE,
                       "no name for the module: give -o FILE.so");
  }
  fc_str_t name;
  if (fc_module_name(fc_str(compile.output), &name, &err)) {
    return fc_complain(FC_EXIT_USAGE, "%s: give another with -o FILE.so",
                       err.message);
  }
  fc_tool_catch_signals();
  fc_tool_show_progress();
  fc_status_t status = find_tools(&compile);
  if (status == FC_OK) {
    status = fc_workdir_create(args->arena, &compile.work, &err);
  }
  if (status == FC_OK) status = make(&compile);
  if (fc_args_has(args, FC_OPTION_KEEP) && compile.work) {
    fc_complain(0, "note: intermediate files are in %s", compile.work);
  } else {
    fc_workdir_remove(compile.work);
  }
  int exit_code = status == FC_OK ? FC_EXIT_OK : report(&compile);
  if (fc_tool_interrupted()) return 128 + fc_tool_interrupted();
  return exit_code;
}
