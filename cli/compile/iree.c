// SPDX-License-Identifier: Apache-2.0
//
// The road by IREE's compiler. If the source's format has an importer (format.h), that
// script of tools/ first writes MLIR and a description of the functions: names, types,
// dims. IREE's compiler drops most of it, so the description becomes the module's
// sidecar.
#include <stdio.h>
#include <yyjson.h>

#include "abi/print.h"
#include "base/sha256.h"
#include "compile/mlir/text.h"
#include "compile/script.h"
#include "compile/step.h"
#include "farcall/farcall.h"
#include "file.h"
#include "tool.h"

#define IMPORTED FC_WORK_FILE "1-imported.mlir"
#define REPORT FC_WORK_FILE "1-report.json"
#define MODULE FC_WORK_FILE "2-module.vmfb"
#define TEXT_LIMIT ((size_t)1 << 30)
#define PIP "pip install 'iree-base-compiler[onnx]'"

typedef struct road_t {
  fc_compile_t *compile;
  const char *compiler;
  const char *source;       // the compiler's input, in the work directory
  bool any_level;           // no -O was given
  yyjson_mut_doc *sidecar;  // NULL until the functions are described
  fc_text_t batched;  // the source with functions for the sizes of --batch
} road_t;

// For each importer: its script, and the command that installs the packages it needs.
static const struct {
  const char *script;
  const char *needs;
} kImporters[] = {
    [FC_IMPORTER_ONNX] = {"farcall_onnx.py", PIP},
    [FC_IMPORTER_JAX] = {"farcall_jax.py",
                         "pip install iree-base-compiler jax flatbuffers"},
};

// A text that the compiler prints, and the hint for it. The first row whose text is found
// is used.
static const struct {
  const char *said;
  const char *hint;
} kHints[] = {
    {"exceeded stack allocation limit", "another level, -O2 or -O1, may help"},
    {"stablehlo.custom_call",
     "IREE has no such function of a library (LAPACK, FFT, a Pallas kernel): "
     "write it by other operations"},
    {"workgroup count hint",
     "giving dims a size (--batch) may help: IREE does not count the work of "
     "some operations without"},
    {"torch.operator",
     "IREE does not know this operator: another opset version, or writing it "
     "by other operators, may help"},
    {"failed to legalize operation 'torch.",
     "IREE does not lower this operation: giving dims a size (--batch) may "
     "help"},
    {"dynamic", "giving dims a size (--batch) may help"},
};

// ---------------------------------------------------------------------------
// Running the compiler

static fc_status_t find_compiler(road_t *road) {
  fc_compile_t *compile = road->compile;
  road->compiler = fc_tool_find(compile->arena, "iree-compile", compile->tools);
  if (road->compiler) return FC_OK;
  const fc_importer_t importer = compile->format->importer;
  return fc_fail(compile->err, FC_CODE_NOT_FOUND,
                 "no iree-compile %s%s for %s, %s: `%s` installs it",
                 compile->tools ? "in " : "on PATH",
                 compile->tools ? compile->tools : "", compile->input,
                 compile->format->name,
                 importer ? kImporters[importer].needs : PIP);
}

// Returns "onnx.Foo" from `torch.operator "onnx.Foo"` or `name = "onnx.Foo"`, if the
// compiler refuses this operator; otherwise an empty text.
static fc_str_t operator_of(fc_str_t log) {
  if (!fc_step_find(log, "failed to legalize operation 'torch.operator'")) {
    return (fc_str_t){0};
  }
  static const char *const marks[] = {"torch.operator \"", "name = \"onnx."};
  for (size_t i = 0; i < FC_ARRAY_COUNT(marks); i++) {
    const char *at = fc_step_find(log, marks[i]);
    if (!at) continue;
    at += strcspn(at, "\"") + 1;  // the log ends in a NUL
    const char *end = memchr(at, '"', (size_t)(log.data + log.size - at));
    if (end) return fc_str_make(at, (size_t)(end - at));
  }
  return (fc_str_t){0};
}

// Reduces the compiler's output to one line. Leaves out the text of operations, and
// source lines if an importer wrote them.
static fc_status_t shorten(fc_compile_t *compile, fc_str_t log) {
  const fc_str_t operator_name = operator_of(log);
  size_t hint = 0;
  while (hint < FC_ARRAY_COUNT(kHints) &&
         !fc_step_find(log, kHints[hint].said)) {
    hint++;
  }
  if (hint < FC_ARRAY_COUNT(kHints)) {
    compile->hint = fc_print(compile->arena, "; %s", kHints[hint].hint);
  }
  if (operator_name.size) {
    compile->context = (fc_str_t){0};
    return fc_fail(compile->err, FC_CODE_MODULE_LOAD,
                   "%s: IREE's compiler does not lower the operator '%.*s'",
                   compile->input, FC_STR_ARG(operator_name));
  }
  if (compile->format->importer) compile->context = (fc_str_t){0};
  static const char *const ends[] = {": %", ": \"", ": func.func"};
  char *message = compile->err->message;
  for (size_t i = 0; i < FC_ARRAY_COUNT(ends); i++) {
    char *end = strstr(message, ends[i]);
    if (end && end != message) *end = '\0';
  }
  return compile->err->status;
}

static fc_status_t run_compiler(fc_compile_t *compile,
                                const char *const *argv) {
  const fc_status_t status =
      fc_step_run(compile, FC_STEP_COMPILER, "iree-compile", argv);
  fc_str_t log;
  fc_error_t unread;
  if (status == FC_OK || fc_tool_interrupted()) return status;
  const char *path = fc_step_path(compile, FC_STEP_LOG);
  if (path && !fc_file_read(compile->arena, path, &log, &unread)) {
    return shorten(compile, log);
  }
  return status;
}

static fc_status_t compile_for(road_t *road, const char *cpu) {
  fc_compile_t *compile = road->compile;
  const bool bytecode = !strcmp(cpu, "vmvx");
  const char *input = fc_print(
      compile->arena, "--iree-input-type=%s",
      compile->format->importer ? compile->format->input_type : "auto");
  // Levels 1 and 2 use the compiler's default level. Levels 2 and 3 also lay data out for
  // the processor's vector units, and turn convolutions into matrix products, so that
  // their data is laid out too. Level 3 uses the compiler's O3, which refuses some
  // models.
  const bool tiled = compile->level >= '2';
  const char *level = compile->level == '3'   ? "--iree-opt-level=O3"
                      : compile->level == '0' ? "--iree-opt-level=O0"
                                              : NULL;
  const char *target = fc_print(compile->arena, "--iree-llvmcpu-target-cpu=%s",
                                bytecode ? "generic" : cpu);
  if (!input || !target) return fc_fail_memory(compile->err);
  const char *const argv[] = {
      road->compiler, road->source, "-o", MODULE,
      "--iree-hal-target-device=local",
      bytecode ? "--iree-hal-local-target-device-backends=vmvx"
               : "--iree-hal-local-target-device-backends=llvm-cpu",
      target, input,
      // Keeps f64 in the functions' types.
      "--iree-input-demote-f64-to-f32=false",
      tiled ? "--iree-opt-data-tiling" : "--iree-opt-data-tiling=false",
      tiled ? "--iree-global-opt-use-im2col-for-convs"
            : "--iree-global-opt-use-im2col-for-convs=false",
      level, NULL};
  return run_compiler(compile, argv);
}

// ---------------------------------------------------------------------------
// The sidecar

// Arguments of an imported source are values, so their role is "in".
static void put_values(road_t *road, yyjson_mut_val *function) {
  static const char *const lists[] = {"arguments", "args"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(lists); i++) {
    yyjson_mut_val *list = yyjson_mut_obj_get(function, lists[i]), *argument;
    size_t index, count;
    yyjson_mut_arr_foreach(list, index, count, argument) {
      if (yyjson_mut_obj_get(argument, "role")) continue;
      yyjson_mut_obj_add_str(road->sidecar, argument, "role", "in");
    }
  }
}

static fc_status_t set_sidecar(road_t *road, yyjson_val *root) {
  road->sidecar = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *copy =
      road->sidecar ? yyjson_val_mut_copy(road->sidecar, root) : NULL;
  if (!copy) return fc_fail_memory(road->compile->err);
  yyjson_mut_doc_set_root(road->sidecar, copy);
  yyjson_mut_val *list = yyjson_mut_obj_get(copy, "functions"), *function;
  size_t index, count;
  yyjson_mut_arr_foreach(list, index, count, function) {
    put_values(road, function);
  }
  return FC_OK;
}

// Reads the report of an importer: {"sidecar": …, "notes": ["…"]}.
static fc_status_t read_report(road_t *road) {
  fc_compile_t *compile = road->compile;
  fc_str_t json;
  FC_TRY(fc_step_read(compile, REPORT, &json));
  yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
  yyjson_val *root = yyjson_doc_get_root(doc), *note;
  fc_status_t status = FC_OK;
  size_t index, count;
  yyjson_val *sidecar = yyjson_obj_get(root, "sidecar");
  if (!sidecar) {
    status = fc_fail(compile->err, FC_CODE_INTERNAL,
                     "%s: its importer describes nothing", compile->input);
  } else {
    yyjson_arr_foreach(yyjson_obj_get(root, "notes"), index, count, note) {
      fc_complain(0, "note: %s: %s", compile->input, yyjson_get_str(note));
    }
    status = set_sidecar(road, sidecar);
  }
  yyjson_doc_free(doc);
  return status;
}

static fc_status_t run_importer(road_t *road) {
  fc_compile_t *compile = road->compile;
  const fc_importer_t importer = compile->format->importer;
  const char *python = fc_script_python(compile, road->compiler);
  const char *folder = compile->path ? realpath(compile->path, NULL) : NULL;
  const char *original = fc_print(compile->arena, "%s", folder ? folder : "");
  fc_free(fc_allocator_system(), (void *)(uintptr_t)folder);
  if (!original) return fc_fail_memory(compile->err);
  if (!python) {
    return fc_fail(compile->err, FC_CODE_NOT_FOUND,
                   "no python3 on PATH: it runs the importer of %s",
                   compile->format->name);
  }
  const char *arguments[4 + FC_COMPILE_SIZES_MAX + 1] = {
      compile->source, original, IMPORTED, REPORT};
  for (size_t i = 0; i < compile->size_count; i++) {
    arguments[4 + i] = compile->sizes[i];
  }
  road->source = IMPORTED;
  return fc_script_run(compile, python, kImporters[importer].script, arguments);
}

static fc_status_t import(road_t *road) {
  FC_TRY(run_importer(road));
  return read_report(road);
}

// True for the names that printers give to values without a name: "arg0", "input12".
static bool is_numbered(fc_str_t name, const char *word) {
  if (!fc_str_starts(name, fc_str(word))) return false;
  for (size_t i = strlen(word); i < name.size; i++) {
    if (name.data[i] < '0' || name.data[i] > '9') return false;
  }
  return name.size > strlen(word);
}

// Returns the name that an argument gets from the source; empty if it keeps its own name.
static fc_str_t name_for(const fc_signature_t *signature, size_t index,
                         fc_str_t name) {
  const fc_str_t has =
      fc_signature_text(signature, signature->arguments[index].name);
  const bool own = has.size && !is_numbered(has, "input");
  return own || is_numbered(name, "arg") ? (fc_str_t){0} : name;
}

// Adds the names and roles that the source, MLIR text, gives to a function's arguments.
static fc_status_t put_arguments(road_t *road, const fc_function_t *function,
                                 yyjson_mut_val *functions) {
  fc_compile_t *compile = road->compile;
  const size_t count = function->signature->argument_count;
  fc_mlir_argument_t *said =
      fc_arena_alloc_array(compile->arena, count + 1, sizeof *said);
  if (!said) return fc_fail_memory(compile->err);
  FC_TRY(fc_mlir_arguments(compile->arena, compile->text, function->name, count,
                           said, compile->err));
  yyjson_mut_doc *doc = road->sidecar;
  yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, functions);
  yyjson_mut_obj_add_strncpy(doc, object, "name", function->name.data,
                             function->name.size);
  yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "args");
  for (size_t i = 0; i < count; i++) {
    yyjson_mut_val *argument = yyjson_mut_arr_add_obj(doc, list);
    const fc_str_t name = name_for(function->signature, i, said[i].name);
    if (name.size) {
      yyjson_mut_obj_add_strncpy(doc, argument, "name", name.data, name.size);
    }
    if (*said[i].role) {
      yyjson_mut_obj_add_str(doc, argument, "role", said[i].role);
    }
  }
  return FC_OK;
}

// Makes the sidecar of a source without an importer: the module's functions, with names
// and roles from the source's text.
static fc_status_t describe(road_t *road) {
  fc_compile_t *compile = road->compile;
  const fc_module_options_t options = {.describe_native = true};
  const char *path = fc_step_path(compile, MODULE);
  fc_module_t *module;
  road->sidecar = yyjson_mut_doc_new(NULL);
  if (!path || !road->sidecar) return fc_fail_memory(compile->err);
  yyjson_mut_val *root = yyjson_mut_obj(road->sidecar);
  yyjson_mut_doc_set_root(road->sidecar, root);
  yyjson_mut_obj_add_int(road->sidecar, root, "farcall", 1);
  yyjson_mut_obj_add_str(road->sidecar, root, "abi", "module");
  yyjson_mut_val *functions =
      yyjson_mut_obj_add_arr(road->sidecar, root, "functions");
  FC_TRY(fc_module_load(NULL, fc_str(path), &options, fc_allocator_system(),
                        &module, compile->err));
  fc_status_t status = FC_OK;
  for (size_t i = 0; status == FC_OK && i < fc_module_function_count(module);
       i++) {
    const fc_function_t *function = fc_module_function(module, i);
    // A function made of several sizes gets names and roles from these (abi/sizes.h).
    if (function->signature->size_count) continue;
    status = put_arguments(road, function, functions);
  }
  fc_module_release(module);
  return status;
}

static void put_variants(road_t *road, yyjson_mut_val *root) {
  fc_compile_t *compile = road->compile;
  yyjson_mut_doc *doc = road->sidecar;
  yyjson_mut_val *variants = yyjson_mut_obj_add_arr(doc, root, "variants");
  for (size_t i = 1; i < compile->cpu_count; i++) {
    const char *output = fc_compile_output(compile, i);
    yyjson_mut_val *variant = yyjson_mut_arr_add_obj(doc, variants);
    if (output) {
      yyjson_mut_obj_add_str(doc, variant, "file", fc_file_base(output));
    }
    yyjson_mut_val *cpu = yyjson_mut_obj_add_arr(doc, variant, "cpu");
    yyjson_mut_arr_add_str(doc, cpu, compile->cpus[i]);
  }
}

// A sidecar with variants contains no digest, because it belongs to several files.
static fc_status_t write_sidecar(road_t *road, fc_str_t module) {
  fc_compile_t *compile = road->compile;
  yyjson_mut_val *root = yyjson_mut_doc_get_root(road->sidecar);
  char sha256[65];
  if (compile->cpu_count > 1) {
    put_variants(road, root);
  } else {
    fc_sha256_hex(module.data, module.size, sha256);
    yyjson_mut_obj_add_str(road->sidecar, root, "so_sha256", sha256);
  }
  size_t size = 0;
  const char *path = fc_compile_sidecar(compile, compile->output);
  char *text = yyjson_mut_write(
      road->sidecar,
      YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_NEWLINE_AT_END, &size);
  if (!path || !text) {
    fc_free(fc_allocator_system(), text);
    return fc_fail_memory(compile->err);
  }
  const fc_status_t status = fc_file_write(
      compile->arena, path, fc_str_make(text, size), compile->err);
  fc_free(fc_allocator_system(), text);
  return status;
}

// ---------------------------------------------------------------------------
// Building the module and its variants

// If the compiler fails, tries again with other values of options that the user did not
// give, and prints a note. If there is no -O, tries level 1: IREE 3.13 refuses some
// models only at level 2, for example with a softmax after a sum with one row. In
// `farcall serve` without --cpu, tries the processor "generic". If every try fails, the
// error is that of the first.
static fc_status_t compile_somehow(road_t *road, const char *cpu) {
  fc_compile_t *compile = road->compile;
  const char level = compile->level;
  const struct {
    bool allowed;
    const char *cpu;
    char level;
    const char *fails;
  } again[] = {
      {road->any_level, cpu, '1', "at level 2: this is level 1"},
      {compile->any_cpu, "generic", level,
       "for this processor: this is for any of its architecture"},
      {road->any_level && compile->any_cpu, "generic", '1',
       "for this processor: this is for any of its architecture, at level 1"},
  };
  fc_status_t status = compile_for(road, cpu);
  const fc_error_t first = *compile->err;
  const fc_str_t context = compile->context;
  const char *hint = compile->hint;
  for (size_t i = 0; i < FC_ARRAY_COUNT(again); i++) {
    if (status == FC_OK || fc_tool_interrupted()) return status;
    if (!again[i].allowed) continue;
    compile->level = again[i].level;
    status = compile_for(road, again[i].cpu);
    compile->level = level;
    if (status == FC_OK) {
      compile->context = (fc_str_t){0};
      compile->hint = NULL;
      fc_error_reset(compile->err);
      fc_complain(0, "note: %s: IREE's compiler fails %s", compile->input,
                  again[i].fails);
    }
  }
  if (status != FC_OK) {
    *compile->err = first;
    compile->context = context;
    compile->hint = hint;
  }
  return status;
}

// Compiles for `cpus[index]` and writes the file. The module itself is number 0; it is
// built last, and its sidecar is written after it.
static fc_status_t build(road_t *road, size_t index) {
  fc_compile_t *compile = road->compile;
  fc_str_t module;
  const char *output = fc_compile_output(compile, index);
  if (!output) return fc_fail_memory(compile->err);
  FC_TRY(compile_somehow(road, compile->cpus[index]));
  FC_TRY(fc_step_read(compile, MODULE, &module));
  if (index == 0 && !road->sidecar) FC_TRY(describe(road));
  FC_TRY(fc_file_write(compile->arena, output, module, compile->err));
  return index == 0 ? write_sidecar(road, module) : FC_OK;
}

fc_status_t fc_compile_try(fc_compile_t *compile) {
  road_t road = {.compile = compile, .source = compile->source};
  FC_TRY(find_compiler(&road));
  FC_TRY(fc_step_write(compile, compile->source, compile->text));
  FC_TRY(run_importer(&road));
  const char *input = fc_print(compile->arena, "--iree-input-type=%s",
                               compile->format->input_type);
  if (!input) return fc_fail_memory(compile->err);
  const char *const argv[] = {
      road.compiler,
      road.source,
      "-o",
      MODULE,
      "--compile-to=input",
      "--iree-hal-target-device=local",
      "--iree-hal-local-target-device-backends=llvm-cpu",
      input,
      NULL};
  return run_compiler(compile, argv);
}

// Adds functions for the sizes of --batch to a source in MLIR. For other formats, the
// script that imports them gets these sizes (run_importer).
static fc_status_t batch_text(road_t *road) {
  fc_compile_t *compile = road->compile;
  const char *sizes = compile->sizes[0];
  size_t count = 0;
  if (compile->size_count > 1 || strchr(sizes, '=')) {
    return fc_fail(compile->err, FC_CODE_MODULE_LOAD,
                   "--batch=%s: dims of %s have no names: write --batch=1,8",
                   compile->sizes[compile->size_count - 1],
                   compile->format->name);
  }
  fc_text_init(&road->batched, fc_allocator_system(), TEXT_LIMIT);
  FC_TRY(fc_mlir_batch(compile->arena, compile->text, fc_str(sizes),
                       &road->batched, &count, compile->err));
  if (!count) {
    return fc_fail(compile->err, FC_CODE_MODULE_LOAD,
                   "%s has no function f from tensor<?x…> to tensor<?x…> "
                   "for --batch: write f_bs1, f_bs8, … for their rows",
                   compile->input);
  }
  compile->text = fc_text_str(&road->batched);
  return fc_step_write(compile, compile->source, compile->text);
}

static bool takes(const fc_format_t *format) { return format->by_iree; }

static bool is_there(fc_compile_t *compile) {
  return fc_tool_find(compile->arena, "iree-compile", compile->tools);
}

static fc_status_t make(fc_compile_t *compile) {
  road_t road = {.compile = compile, .source = compile->source};
  FC_TRY(find_compiler(&road));
  road.any_level = !compile->level;
  if (!compile->level) compile->level = '2';
  const bool imports = compile->format->importer != FC_IMPORTER_NONE;
  fc_status_t status = imports               ? import(&road)
                       : compile->size_count ? batch_text(&road)
                                             : FC_OK;
  for (size_t i = compile->cpu_count; i-- > 0 && status == FC_OK;) {
    status = build(&road, i);
  }
  yyjson_mut_doc_free(road.sidecar);
  fc_text_deinit(&road.batched);
  return status;
}

const fc_road_t fc_road_iree = {"iree", ".vmfb", takes, is_there, make};
