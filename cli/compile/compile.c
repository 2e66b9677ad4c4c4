// SPDX-License-Identifier: Apache-2.0
//
// farcall compile: finds the format of the source, makes a module by one of two roads,
// and prints how to call the module. All other files are in a private directory. It is
// removed at the end, also after a signal, unless there is --keep.
#include "compile/compile.h"

#include <ctype.h>
#include <unistd.h>

#include "abi/render.h"
#include "compile/step.h"
#include "doctor/doctor.h"
#include "farcall/farcall.h"
#include "file.h"
#include "tool.h"

// In bytes. A longer call document is not put into the curl command that is printed.
#define CURL_SIZE_MAX 300

// The roads, in the order in which choose_road tries them.
static const fc_road_t *const kRoads[] = {&fc_road_iree, &fc_road_mlir};

// ---------------------------------------------------------------------------
// Names

static bool is_generic(const char *cpu) { return !strcmp(cpu, "generic"); }

const char *fc_compile_cpu(const char *name) {
#if defined(__x86_64__)
  return is_generic(name) ? "x86-64" : name;
#else
  return name;
#endif
}

// Returns the size of the path without the file's extension.
static size_t stem_size(const char *path) {
  const char *base = fc_file_base(path);
  const char *dot = strrchr(base, '.');
  return dot && dot != base ? (size_t)(dot - path) : strlen(path);
}

const char *fc_compile_output(fc_compile_t *compile, size_t index) {
  const char *path = compile->output;
  const size_t size = stem_size(path);
  if (index == 0) return path;
  return fc_print(compile->arena, "%.*s-%s%s", (int)size, path,
                  compile->cpus[index], path + size);
}

const char *fc_compile_sidecar(fc_compile_t *compile, const char *output) {
  return fc_print(compile->arena, "%.*s.farcall.json", (int)stem_size(output),
                  output);
}

// Returns the name for the copy of the source. Messages and the module contain it, so it
// is the name of the user's file, unless that name needs quotes or could be a work file's
// name.
static const char *copy_name(const char *input) {
  const char *base = fc_file_base(input);
  static const char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  bool plain = *base && base[0] != '-' && base[0] != '.' &&
               strspn(base, kPlain) == strlen(base) &&
               strncmp(base, FC_WORK_FILE, strlen(FC_WORK_FILE)) != 0;
  return plain ? base : "source.mlir";
}

// ---------------------------------------------------------------------------
// The command line. Functions named read_, order_ or choose_ return an exit code, after a
// complaint if it isn't 0.

static int read_level(const fc_args_t *args, fc_compile_t *compile) {
  const char *level = fc_args_get(args, FC_OPTION_LEVEL, NULL);
  if (!level) return FC_EXIT_OK;  // the road has its own default
  if (level[0] < '0' || level[0] > '3' || level[1]) {
    return fc_complain(FC_EXIT_USAGE, "-O%s: it is 0, 1, 2 or 3", level);
  }
  compile->level = level[0];
  return FC_EXIT_OK;
}

// Returns the number at the end of "x86-64-v4"; 0 if the name does not have this form.
static int level_of(const char *cpu) {
  static const char kLevel[] = "x86-64-v";
  const size_t size = strlen(kLevel);
  if (strncmp(cpu, kLevel, size) != 0 || !cpu[size] || cpu[size + 1]) return 0;
  return cpu[size] >= '2' && cpu[size] <= '4' ? cpu[size] - '0' : 0;
}

// Sorts the processors, if there are several. The first is "generic", for the module
// itself, even if the user does not name it. The variants follow, the highest level
// first.
static int order_cpus(fc_compile_t *compile) {
  const char *sorted[FC_COMPILE_CPUS_MAX] = {"generic"};
  size_t count = 1;
  for (size_t i = 0; i < compile->cpu_count; i++) {
    const char *cpu = compile->cpus[i];
    if (is_generic(cpu)) continue;
    const int level = level_of(cpu);
    if (!level) {
      return fc_complain(FC_EXIT_USAGE,
                         "--cpu: of '%s' there is no variant: several are "
                         "generic, x86-64-v2, x86-64-v3 and x86-64-v4",
                         cpu);
    }
    size_t at = 1;
    while (at < count && level_of(sorted[at]) > level) at++;
    if (at < count && level_of(sorted[at]) == level) continue;  // named twice
    if (count == FC_COMPILE_CPUS_MAX) break;
    memmove(&sorted[at + 1], &sorted[at], (count - at) * sizeof *sorted);
    sorted[at] = cpu;
    count++;
  }
  memcpy(compile->cpus, sorted, sizeof sorted);
  compile->cpu_count = count;
  return FC_EXIT_OK;
}

static bool is_cpu_name(const char *name) {
  if (!isalnum((unsigned char)*name)) return false;
  for (; *name; name++) {
    if (!isalnum((unsigned char)*name) && !strchr("-_.+", *name)) return false;
  }
  return true;
}

static int read_cpus(const fc_args_t *args, fc_compile_t *compile) {
  // A module in a given folder is for a server on this machine (fc_compile_into).
  const char *list = fc_args_get(args, FC_OPTION_CPU, NULL);
  compile->any_cpu = !list && compile->folder;
  if (!list) list = compile->folder ? "host" : "generic";
  while (*list) {
    const size_t size = strcspn(list, ",");
    const char *name = fc_print(args->arena, "%.*s", (int)size, list);
    if (!name) return fc_complain(FC_EXIT_FAILED, "out of memory");
    if (!is_cpu_name(name) || compile->cpu_count == FC_COMPILE_CPUS_MAX) {
      return fc_complain(FC_EXIT_USAGE, "--cpu: '%s' is no processor's name",
                         name);
    }
    compile->cpus[compile->cpu_count++] = name;
    list += size + (list[size] == ',');
  }
  if (!compile->cpu_count) {
    return fc_complain(FC_EXIT_USAGE, "--cpu: no processor is named");
  }
  return compile->cpu_count > 1 ? order_cpus(compile) : FC_EXIT_OK;
}

static int read_sizes(const fc_args_t *args, fc_compile_t *compile) {
  for (size_t i = 0; i < args->flag_count; i++) {
    const fc_flag_t *flag = &args->flags[i];
    if (flag->option != FC_OPTION_BATCH) continue;
    const char *equals = strrchr(flag->value, '=');
    const char *sizes = equals ? equals + 1 : flag->value;
    if (!*sizes || strspn(sizes, "0123456789,") != strlen(sizes) ||
        equals == flag->value || compile->size_count == FC_COMPILE_SIZES_MAX) {
      return fc_complain(FC_EXIT_USAGE,
                         "--batch=%s: sizes are numbers with commas between "
                         "them, as in --batch=1,8,32 or --batch=rows=1,8",
                         flag->value);
    }
    compile->sizes[compile->size_count++] = flag->value;
  }
  return FC_EXIT_OK;
}

static const fc_road_t *named_road(const char *name) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRoads); i++) {
    if (!strcmp(kRoads[i]->name, name)) return kRoads[i];
  }
  return NULL;
}

static const fc_road_t *suffixed_road(const char *output) {
  for (size_t i = 0; output && i < FC_ARRAY_COUNT(kRoads); i++) {
    if (fc_str_ends(fc_str(output), fc_str(kRoads[i]->suffix)))
      return kRoads[i];
  }
  return NULL;
}

// Chooses the road that the user names, by --road or by the output's suffix. Otherwise
// chooses the first installed road that accepts the source. If none is installed, the
// first road that accepts it will report what is missing.
static int choose_road(const fc_args_t *args, fc_compile_t *compile,
                       const fc_road_t **out_road) {
  const char *name = fc_args_get(args, FC_OPTION_ROAD, NULL);
  const char *output = fc_args_get(args, FC_OPTION_COMPILE_OUTPUT, NULL);
  const fc_road_t *road = name ? named_road(name) : suffixed_road(output),
                  *first = NULL;
  if (name && !road) {
    return fc_complain(FC_EXIT_USAGE, "--road=%s: it is iree or mlir", name);
  }
  for (size_t i = 0; !road && i < FC_ARRAY_COUNT(kRoads); i++) {
    if (!kRoads[i]->takes(compile->format)) continue;
    if (!first) first = kRoads[i];
    if (kRoads[i]->is_there(compile)) road = kRoads[i];
  }
  *out_road = road ? road : first;
  if (road && !road->takes(compile->format)) {
    const bool iree = road == &fc_road_iree;
    return fc_complain(
        FC_EXIT_DATA, "%s is %s, which %s: --road=%s does", compile->input,
        compile->format->name,
        iree ? "IREE's compiler does not take" : "MLIR's tools do not lower",
        iree ? "mlir" : "iree");
  }
  return FC_EXIT_OK;
}

static int choose_output(const fc_args_t *args, fc_compile_t *compile,
                         const fc_road_t *road) {
  const char *output = fc_args_get(args, FC_OPTION_COMPILE_OUTPUT, NULL);
  fc_error_t err;
  fc_str_t name;
  if (!output && compile->path) {
    const char *base = fc_file_base(compile->path);
    output = fc_print(
        args->arena, "%s%s%.*s%s", compile->folder ? compile->folder : "",
        compile->folder ? "/" : "", (int)stem_size(base), base, road->suffix);
  }
  if (!output || !*output) {
    return fc_complain(FC_EXIT_USAGE, "no name for the module: give -o FILE%s",
                       road->suffix);
  }
  if (fc_module_name(fc_str(output), &name, &err)) {
    if (compile->folder) {
      return fc_complain(FC_EXIT_USAGE, "%s: give the file another name",
                         err.message);
    }
    return fc_complain(FC_EXIT_USAGE, "%s: give another with -o FILE%s",
                       err.message, road->suffix);
  }
  compile->output = output;
  return FC_EXIT_OK;
}

// ---------------------------------------------------------------------------
// Printing the made module

static void put_percent(fc_str_t name) {
  for (size_t i = 0; i < name.size; i++) {
    const unsigned char byte = (unsigned char)name.data[i];
    if (isalnum(byte) || strchr("-_.~$", byte)) putchar(byte);
    else printf("%%%02X", byte);
  }
}

static void put_url(const fc_function_t *function, const char *more) {
  fputs("localhost:8000/api/v1/functions/", stdout);
  put_percent(fc_module_get_name(function->module));
  putchar('/');
  put_percent(function->name);
  fputs(more, stdout);
}

// Prints a call that works: with its document if that is short, otherwise with the
// server's example.
static fc_status_t print_curl(const fc_function_t *function, fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), (size_t)64 << 20);
  const fc_status_t status =
      fc_signature_print_example(function->signature, &text.sink, err);
  const fc_str_t document = fc_text_str(&text);
  fputs("curl -s ", stdout);
  if (status == FC_OK && document.size <= CURL_SIZE_MAX &&
      !memchr(document.data, '\'', document.size)) {
    put_url(function, " -d '");
    fc_show(stdout, document);
    fputs("'\n", stdout);
  } else {
    put_url(function, "/example | curl -s ");
    put_url(function, " -d @-\n");
  }
  fc_text_deinit(&text);
  return FC_OK;
}

static fc_status_t print_signature(const fc_function_t *function,
                                   fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), (size_t)64 << 20);
  const fc_status_t status =
      fc_signature_print_text(function->signature, &text.sink, err);
  if (status == FC_OK) {
    fc_show(stdout, fc_module_get_name(function->module));
    putchar('/');
    fc_show(stdout, fc_text_str(&text));
    putchar('\n');
  }
  fc_text_deinit(&text);
  return status;
}

// Prints the signatures, and how to call the first function that can be called. Loads the
// module without running its code, as a server does to describe it. So a file or sidecar
// that a server would refuse is an error here.
static fc_status_t print_module(const fc_compile_t *compile) {
  const fc_module_options_t options = {.describe_native = true};
  fc_module_t *module;
  FC_TRY(fc_module_load(NULL, fc_str(compile->output), &options,
                        fc_allocator_system(), &module, compile->err));
  fc_status_t status = FC_OK;
  const fc_function_t *called = NULL;
  for (size_t i = 0; status == FC_OK && i < fc_module_function_count(module);
       i++) {
    const fc_function_t *function = fc_module_function(module, i);
    if (!called && function->signature->callable) called = function;
    status = print_signature(function, compile->err);
  }
  if (status == FC_OK && called) status = print_curl(called, compile->err);
  fc_module_release(module);
  return status;
}

static int report(const fc_compile_t *compile) {
  const fc_error_t *err = compile->err;
  if (compile->context.size) {
    fprintf(stderr, "%.*s\n", FC_STR_ARG(compile->context));
  }
  const bool missing = err->code == FC_CODE_NOT_FOUND;
  return fc_complain(missing ? FC_EXIT_UNAVAILABLE : FC_EXIT_DATA, "%s%s",
                     err->message, compile->hint ? compile->hint : "");
}

// ---------------------------------------------------------------------------
// The verb

static int read_source(const fc_args_t *args, fc_compile_t *compile) {
  char reason[FC_FILE_TEXT];
  const char *path = compile->path ? compile->path : "/dev/stdin";
  if (fc_file_read(args->arena, path, &compile->text, compile->err)) {
    return fc_complain(FC_EXIT_DATA, "%s", compile->err->message);
  }
  compile->format = fc_format_find(compile->text, path, reason);
  if (compile->format) return FC_EXIT_OK;
  return fc_complain(FC_EXIT_DATA, "%s: this is %s", compile->input, reason);
}

// Refuses a source that would certainly fail, before a compiler is started.
static int ask_doctor(const fc_compile_t *compile) {
  return fc_doctor_refuses(compile->arena, compile->path, compile->input,
                           compile->text)
             ? FC_EXIT_DATA
             : FC_EXIT_OK;
}

// X.so and X.vmfb share the sidecar X.farcall.json, which describes the module that was
// made last. Warns if the other module exists.
static void tell_other(fc_compile_t *compile) {
  const bool native = fc_str_ends(fc_str(compile->output), FC_STR(".so"));
  const char *other =
      fc_print(compile->arena, "%.*s%s", (int)stem_size(compile->output),
               compile->output, native ? ".vmfb" : ".so");
  const char *sidecar = fc_compile_sidecar(compile, compile->output);
  if (!other || !sidecar || access(other, F_OK)) return;
  fc_complain(0, "note: %s is of %s now, not of %s: -o gives another name",
              sidecar, compile->output, other);
}

// Copies the source to the work directory, makes the module, and prints its signatures.
static fc_status_t make(fc_compile_t *compile, const fc_road_t *road) {
  FC_TRY(fc_step_write(compile, compile->source, compile->text));
  FC_TRY(road->make(compile));
  if (compile->quiet) return FC_OK;
  tell_other(compile);
  return print_module(compile);
}

static int run(const fc_args_t *args, fc_compile_t *compile) {
  const fc_road_t *road = kRoads[0];
  int exit_code = read_level(args, compile);
  if (!exit_code) exit_code = read_cpus(args, compile);
  if (!exit_code) exit_code = read_sizes(args, compile);
  if (!exit_code) exit_code = read_source(args, compile);
  if (!exit_code) exit_code = choose_road(args, compile, &road);
  if (!exit_code) exit_code = choose_output(args, compile, road);
  if (!exit_code && road == &fc_road_iree) exit_code = ask_doctor(compile);
  if (exit_code) return exit_code;
  fc_tool_catch_signals();
  fc_tool_show_progress(compile->quiet);
  fc_status_t status =
      fc_workdir_create(args->arena, &compile->work, compile->err);
  if (status == FC_OK) status = make(compile, road);
  if (fc_args_has(args, FC_OPTION_KEEP) && compile->work) {
    fc_complain(0, "note: intermediate files are in %s", compile->work);
  } else {
    fc_workdir_remove(compile->work);
  }
  exit_code = status == FC_OK ? FC_EXIT_OK : report(compile);
  if (fc_tool_interrupted()) return 128 + fc_tool_interrupted();
  return exit_code;
}

// Compiles one file. `path` is NULL for standard input.
static int compile_file(const fc_args_t *args, const char *path,
                        const char *folder) {
  fc_error_t err;
  fc_error_reset(&err);
  fc_compile_t compile = {.arena = args->arena,
                          .input = path ? path : "standard input",
                          .path = path,
                          .source = copy_name(path ? path : "stdin"),
                          .folder = folder,
                          .tools = fc_args_get(args, FC_OPTION_TOOLS, NULL),
                          .checked = !fc_args_has(args, FC_OPTION_UNCHECKED),
                          .lines = fc_args_has(args, FC_OPTION_DEBUG),
                          .verbose = fc_args_has(args, FC_OPTION_VERBOSE),
                          .quiet = folder != NULL,
                          .err = &err};
  return run(args, &compile);
}

int fc_compile_into(const fc_args_t *args, const char *path,
                    const char *folder) {
  return compile_file(args, path, folder);
}

int fc_verb_compile(const fc_args_t *args) {
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE, "compile takes one FILE, got %zu",
                       args->word_count);
  }
  const char *word = args->words[0];
  return compile_file(args, strcmp(word, "-") ? word : NULL, NULL);
}
