// SPDX-License-Identifier: Apache-2.0
//
// farcall doctor: reports what will fail or may fail with a file, and remedies, before a
// compiler or a server gets the file. Exit code 1: the file is unfit.
#include "doctor/doctor.h"

#include <stdio.h>

#include "cli.h"
#include "compile/compile.h"
#include "doctor/checkup.h"
#include "file.h"
#include "tool.h"

static bool is_module(fc_str_t bytes) {
  const fc_file_kind_t *kind = fc_file_kind(bytes, FC_STR(""));
  return kind && kind->use == FC_FILE_MODULE;
}

// ONNX begins with the field of its version, and no text begins with that byte. A
// truncated model is not ONNX for fc_format_find, but fc_doctor_onnx can tell where it
// ends.
static bool begins_as_onnx(fc_str_t bytes) {
  return fc_str_starts(bytes, FC_STR("\x08"));
}

static void check_source(fc_checkup_t *checkup, fc_str_t bytes) {
  char reason[FC_FILE_TEXT];
  const fc_format_t *format = fc_format_find(bytes, checkup->path, reason);
  if (begins_as_onnx(bytes)) {
    checkup->format = "an ONNX model";
    fc_doctor_onnx(checkup, bytes);
    return;
  }
  if (!format) {
    fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("format"),
                   "its first bytes",
                   fc_checkup_print(checkup, "this is %s", reason),
                   "docs/compile.md names what is taken");
    return;
  }
  checkup->format = format->name;
  switch (format->id) {
    case FC_FORMAT_ONNX:  // a model that begins with another field
      fc_doctor_onnx(checkup, bytes);
      break;
    case FC_FORMAT_JAX_EXPORT:
      fc_doctor_jax(checkup, bytes);
      break;
    case FC_FORMAT_PORTABLE:
    case FC_FORMAT_BYTECODE:
      fc_doctor_bytecode(checkup, bytes);
      break;
    default:
      fc_doctor_mlir(checkup, bytes);
      break;
  }
}

static void check(fc_checkup_t *checkup, fc_str_t bytes) {
  if (!bytes.size) {
    fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("format"),
                   "the whole file", "it is empty", "write or copy it again");
  } else if (is_module(bytes) && *checkup->path) {
    fc_doctor_module(checkup, bytes);
  } else {
    check_source(checkup, bytes);
  }
}

bool fc_doctor_refuses(fc_arena_t *arena, const char *path, const char *input,
                       fc_str_t bytes) {
  fc_checkup_t checkup;
  char reason[FC_FILE_TEXT];
  const fc_format_t *format = fc_format_find(bytes, path ? path : "", reason);
  fc_checkup_init(&checkup, arena, path ? path : "", input);
  // For MLIR text, the compiler itself reports the error and its line. Text formats come
  // after FC_FORMAT_BYTECODE.
  if (!format || format->id > FC_FORMAT_BYTECODE) return false;
  check_source(&checkup, bytes);
  if (fc_checkup_is_fit(&checkup)) return false;
  for (size_t i = 0; i < checkup.count; i++) {
    const fc_finding_t *finding = &checkup.findings[i];
    if (finding->level != FC_LEVEL_UNFIT) continue;
    fc_complain(0, "%s: %.*s%s%s: %s; %s", input, FC_STR_ARG(finding->thing),
                *finding->place ? ", at " : "", finding->place,
                finding->message, finding->way_out);
  }
  return true;
}

// ---------------------------------------------------------------------------
// Findings of the importer and the compiler

static void add_refusal(fc_checkup_t *checkup, const fc_compile_t *compile) {
  const char *message = compile->err->message, *hint = compile->hint;
  const size_t lead = strlen(checkup->input);
  if (!strncmp(message, checkup->input, lead) && message[lead] == ':') {
    message += lead + 1 + (message[lead + 1] == ' ');
  }
  fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("import"),
                 "the whole model", fc_checkup_print(checkup, "%s", message),
                 hint ? fc_checkup_print(checkup, "%s", hint + 2)
                      : "export it by other operators");
}

// Imports the file. Returns an exit code, after a complaint, if the tools could not be
// run.
static int try_import(fc_checkup_t *checkup, fc_compile_t *compile) {
  fc_tool_catch_signals();
  fc_tool_show_progress(false);
  fc_status_t status =
      fc_workdir_create(compile->arena, &compile->work, compile->err);
  if (status == FC_OK) status = fc_compile_try(compile);
  fc_workdir_remove(compile->work);
  const fc_code_t code = status ? compile->err->code : FC_CODE_NONE;
  checkup->asked = code == FC_CODE_NOT_FOUND
                       ? "no compiler was asked, as none is installed"
                       : "IREE's importer and compiler were asked";
  if (code == FC_CODE_MODULE_LOAD) add_refusal(checkup, compile);
  const bool known = status == FC_OK || code == FC_CODE_NOT_FOUND ||
                     code == FC_CODE_MODULE_LOAD;
  return known ? FC_EXIT_OK
               : fc_complain(FC_EXIT_FAILED, "%s", compile->err->message);
}

// Imports an ONNX model that looks fit, if the tools are installed: only an import shows
// whether it can be imported.
static int ask_importer(const fc_args_t *args, fc_checkup_t *checkup,
                        fc_str_t bytes) {
  char reason[FC_FILE_TEXT];
  fc_error_t err;
  fc_error_reset(&err);
  const fc_format_t *format = fc_format_find(bytes, checkup->path, reason);
  if (!fc_checkup_is_fit(checkup) || !format || format->id != FC_FORMAT_ONNX) {
    return FC_EXIT_OK;
  }
  fc_compile_t compile = {.arena = args->arena,
                          .input = checkup->input,
                          .path = *checkup->path ? checkup->path : NULL,
                          .source = "model.onnx",
                          .tools = fc_args_get(args, FC_OPTION_TOOLS, NULL),
                          .format = format,
                          .text = bytes,
                          .err = &err};
  return try_import(checkup, &compile);
}

static int print(const fc_args_t *args, const fc_checkup_t *checkup) {
  fc_error_t err;
  fc_error_reset(&err);
  if (checkup->out_of_memory) {
    return fc_complain(FC_EXIT_FAILED, "out of memory");
  }
  const int exit_code =
      fc_checkup_is_fit(checkup) ? FC_EXIT_OK : FC_EXIT_FAILED;
  if (!fc_args_has(args, FC_OPTION_DOCTOR_JSON)) {
    fc_checkup_show(checkup, stdout);
    return exit_code;
  }
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), (size_t)64 << 20);
  const fc_status_t status = fc_checkup_write_json(checkup, &text.sink, &err);
  const fc_str_t json = fc_text_str(&text);
  if (status == FC_OK) fwrite(json.data, 1, json.size, stdout);
  fc_text_deinit(&text);
  return status == FC_OK ? exit_code
                         : fc_complain(FC_EXIT_FAILED, "%s", err.message);
}

int fc_verb_doctor(const fc_args_t *args) {
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE, "doctor takes one FILE, got %zu",
                       args->word_count);
  }
  const char *word = args->words[0];
  const bool piped = !strcmp(word, "-");
  fc_checkup_t checkup;
  fc_error_t err;
  fc_str_t bytes;
  fc_error_reset(&err);
  if (fc_file_read(args->arena, piped ? "/dev/stdin" : word, &bytes, &err)) {
    return fc_complain(FC_EXIT_DATA, "%s", err.message);
  }
  fc_checkup_init(&checkup, args->arena, piped ? "" : word,
                  piped ? "standard input" : word);
  checkup.write_roles = fc_args_has(args, FC_OPTION_WRITE);
  check(&checkup, bytes);
  const int exit_code = ask_importer(args, &checkup, bytes);
  if (fc_tool_interrupted()) return 128 + fc_tool_interrupted();
  return exit_code ? exit_code : print(args, &checkup);
}
