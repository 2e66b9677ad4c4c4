// SPDX-License-Identifier: Apache-2.0
//
// farcall test --reference=FILE: makes one call of a module's function, compares the
// results with those of a reference, and reports how much they differ. The reference is
// an ONNX model, which a Python runtime runs, or an .npz with arguments and results.
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <yyjson.h>

#include "abi/render.h"
#include "check.h"
#include "compile/script.h"
#include "compile/step.h"
#include "file.h"
#include "input.h"
#include "local.h"
#include "module/examples.h"
#include "style.h"
#include "tool.h"

#define TEXT_LIMIT ((size_t)1 << 31)
#define DOCUMENT FC_WORK_FILE "1-document.json"
#define REFERENCE FC_WORK_FILE "2-reference.json"

// The texts of one comparison. All are freed at the end.
typedef struct reference_t {
  fc_text_t document;  // for the script
  fc_text_t call;      // the call that both sides make
  fc_text_t results;   // of the reference
  fc_text_t answer;    // of the module
  const char *by;      // the name of the reference
} reference_t;

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

// Writes {"function": its signature, "call": a valid call}. `given` is the user's call;
// if it is empty, an example is made.
static fc_status_t put_document(const fc_function_t *function, fc_str_t given,
                                fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(put(sink, "{\"function\":", err));
  FC_TRY(fc_signature_print_json(
      function->signature, fc_module_get_name(function->module),
      fc_module_get_version(function->module), sink, err));
  FC_TRY(put(sink, ",\"call\":", err));
  if (given.size) FC_TRY(fc_sink_put(sink, given, err));
  else {
    FC_TRY(
        fc_example_print(function, FC_STR(""), FC_EXAMPLE_SIZE_MAX, sink, err));
  }
  return put(sink, "}", err);
}

static fc_status_t put_value(yyjson_val *value, fc_text_t *text,
                             fc_error_t *err) {
  size_t size = 0;
  char *json = value ? yyjson_val_write(value, 0, &size) : NULL;
  if (!json) {
    return fc_fail(err, FC_CODE_INTERNAL, "the reference answered nothing");
  }
  const fc_status_t status =
      fc_sink_put(&text->sink, fc_str_make(json, size), err);
  fc_free(fc_allocator_system(), json);
  return status;
}

static fc_status_t read_reference(fc_compile_t *run, reference_t *reference,
                                  fc_error_t *err) {
  fc_str_t json;
  FC_TRY(fc_step_read(run, REFERENCE, &json));
  yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
  yyjson_val *root = yyjson_doc_get_root(doc);
  const char *by = yyjson_get_str(yyjson_obj_get(root, "by"));
  reference->by = fc_print(run->arena, "%s", by ? by : "");
  fc_status_t status =
      put_value(yyjson_obj_get(root, "call"), &reference->call, err);
  if (status == FC_OK) {
    status =
        put_value(yyjson_obj_get(root, "results"), &reference->results, err);
  }
  yyjson_doc_free(doc);
  return status;
}

static fc_status_t ask(fc_compile_t *run, const char *path, bool given,
                       reference_t *reference, fc_error_t *err) {
  const char *tool = fc_tool_find(run->arena, "iree-compile", run->tools);
  const char *python = fc_script_python(run, tool);
  if (!python) {
    return fc_fail(err, FC_CODE_NOT_FOUND, "no python3 on PATH: it runs %s",
                   path);
  }
  const char *const arguments[] = {path, DOCUMENT, REFERENCE,
                                   given ? "given" : "drawn", NULL};
  FC_TRY(fc_workdir_create(run->arena, &run->work, err));
  FC_TRY(fc_step_write(run, DOCUMENT, fc_text_str(&reference->document)));
  FC_TRY(fc_script_run(run, python, "farcall_reference.py", arguments));
  return read_reference(run, reference, err);
}

static int report(const fc_args_t *args, const fc_function_t *function,
                  const reference_t *reference, const fc_comparison_t *found) {
  const bool same = !found->different;
  const char *text = fc_check_text(args->arena, found, reference->by);
  if (!text) return fc_complain(FC_EXIT_FAILED, "out of memory");
  printf("%s%s%s ", fc_style(stdout, same ? FC_STYLE_GOOD : FC_STYLE_BAD),
         same ? "ok    " : "failed", fc_style(stdout, FC_STYLE_PLAIN));
  fc_show(stdout, function->name);
  fputs(": ", stdout);
  fc_show_text(text);
  putchar('\n');
  return same ? FC_EXIT_OK : FC_EXIT_FAILED;
}

// Makes the call and compares. Returns an exit code.
static int compare(const fc_args_t *args, const fc_function_t *function,
                   reference_t *reference, const fc_tolerance_t *tolerance) {
  fc_comparison_t found;
  fc_error_t err;
  uint64_t took_ns;
  fc_error_reset(&err);
  if (fc_local_answer(function, fc_text_str(&reference->call), NULL,
                      &reference->answer, &took_ns, &err)) {
    return fc_local_complain(args, &err);
  }
  if (fc_compare_results(function->signature, fc_text_str(&reference->results),
                         fc_text_str(&reference->answer), tolerance,
                         fc_allocator_system(), &found, &err)) {
    return fc_complain(FC_EXIT_FAILED, "%s", err.message);
  }
  return report(args, function, reference, &found);
}

// Returns the absolute path, because scripts run in another directory.
static const char *whole_path(const fc_args_t *args, const char *path) {
  char *whole = realpath(path, NULL);
  const char *copy = whole ? fc_print(args->arena, "%s", whole) : NULL;
  fc_free(fc_allocator_system(), whole);
  return copy;
}

static int run_both(const fc_args_t *args, const fc_function_t *function,
                    fc_str_t given, const fc_tolerance_t *tolerance,
                    reference_t *reference) {
  const char *path = fc_args_get(args, FC_OPTION_REFERENCE, "");
  const char *whole = whole_path(args, path);
  fc_error_t err;
  fc_error_reset(&err);
  if (!whole)
    return fc_complain(FC_EXIT_DATA, "%s: there is no such file", path);
  fc_compile_t run = {.arena = args->arena,
                      .input = path,
                      .path = path,
                      .source = fc_file_base(path),
                      .tools = fc_args_get(args, FC_OPTION_TOOLS, NULL),
                      .err = &err};
  fc_status_t status =
      put_document(function, given, &reference->document.sink, &err);
  fc_tool_catch_signals();
  if (status == FC_OK) status = ask(&run, whole, given.size, reference, &err);
  fc_workdir_remove(run.work);
  if (fc_tool_interrupted()) return 128 + fc_tool_interrupted();
  if (status == FC_OK) return compare(args, function, reference, tolerance);
  return fc_complain(
      err.code == FC_CODE_NOT_FOUND ? FC_EXIT_UNAVAILABLE : FC_EXIT_DATA,
      "%s%s", err.message, run.hint ? run.hint : "");
}

static int test_function(const fc_args_t *args, const fc_function_t *function,
                         fc_str_t given, const fc_tolerance_t *tolerance) {
  reference_t reference = {.by = ""};
  fc_text_t *const texts[] = {&reference.document, &reference.call,
                              &reference.results, &reference.answer};
  for (size_t i = 0; i < FC_ARRAY_COUNT(texts); i++) {
    fc_text_init(texts[i], fc_allocator_system(), TEXT_LIMIT);
  }
  const int exit_code = run_both(args, function, given, tolerance, &reference);
  for (size_t i = 0; i < FC_ARRAY_COUNT(texts); i++) fc_text_deinit(texts[i]);
  return exit_code;
}

int fc_test_reference(const fc_args_t *args) {
  fc_tolerance_t tolerance;
  fc_str_t given = {0};
  fc_module_t *module;
  const fc_function_t *function;
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE, "test --reference takes one FILE");
  }
  int exit_code = fc_check_tolerance(args, &tolerance);
  if (exit_code) return exit_code;
  if (fc_args_has(args, FC_OPTION_INPUT) || fc_args_has(args, FC_OPTION_JSON)) {
    exit_code = fc_input_document(args, NULL, &given);
  }
  if (!exit_code) exit_code = fc_local_open(args, NULL, &module, &function);
  if (exit_code) return exit_code;
  exit_code = test_function(args, function, given, &tolerance);
  fc_module_release(module);
  return exit_code;
}
