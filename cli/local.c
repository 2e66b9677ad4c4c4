// SPDX-License-Identifier: Apache-2.0
//
// Loads module files, finds functions in them and calls them; complains if a file or
// function does not exist.
#include "local.h"

#include <sys/stat.h>

#include "abi/print.h"
#include "abi/render.h"
#include "crash.h"
#include "file.h"
#include "input.h"
#include "marshal/profiled.h"
#include "module/examples.h"
#include "module/kinds.h"
#include "module/prove.h"
#include "prove.h"

#define NAMES_MAX 200

// The error names only the last part of the module's path, so the part before it, as the
// user wrote it, is put in front.
int fc_local_refuse(const char *path, const fc_error_t *err) {
  const char *base = fc_file_base(path);
  bool named = *base && !strncmp(err->message, base, strlen(base));
  return fc_complain(FC_EXIT_DATA, "%.*s%s", named ? (int)(base - path) : 0,
                     path, err->message);
}

static bool is_regular(const char *path) {
  struct stat status;
  return !stat(path, &status) && S_ISREG(status.st_mode);
}

bool fc_local_is_file(const char *word) {
  const fc_file_kind_t *kind = fc_file_kind_named(fc_str(word));
  if (kind && (kind->use == FC_FILE_MODULE || kind->use == FC_FILE_SOURCE)) {
    return true;
  }
  return strpbrk(word, "./") && is_regular(word);
}

fc_status_t fc_local_try(const fc_args_t *args, const char *path, bool describe,
                         fc_module_t **out_module, fc_error_t *err) {
  const fc_setting_t settings[] = {
      {FC_STR("vm.parameters"),
       fc_str(fc_args_get(args, FC_OPTION_PARAMETERS, ""))},
      {FC_STR("vm.heap"),
       fc_str(fc_args_get(args, FC_OPTION_MODULE_HEAP, ""))}};
  const fc_module_options_t options = {
      .forbid_native = fc_args_has(args, FC_OPTION_NO_NATIVE_KERNELS),
      .describe_native = describe,
      .settings = settings,
      .setting_count = FC_ARRAY_COUNT(settings)};
  return fc_module_load(NULL, fc_str(path), &options, fc_allocator_system(),
                        out_module, err);
}

int fc_local_load(const fc_args_t *args, const char *path, bool describe,
                  fc_module_t **out_module) {
  fc_error_t err;
  fc_error_reset(&err);
  const fc_status_t status =
      fc_local_try(args, path, describe, out_module, &err);
  return status ? fc_local_refuse(path, &err) : FC_EXIT_OK;
}

int fc_local_calls(const fc_args_t *args, const char *path,
                   fc_expectations_t **out_calls) {
  fc_error_t err;
  fc_str_t lines;
  fc_error_reset(&err);
  if (fc_file_read(args->arena, path, &lines, &err) != FC_OK) {
    return fc_complain(FC_EXIT_DATA, "%s", err.message);
  }
  const fc_status_t status =
      fc_expectations_parse(lines, fc_allocator_system(), out_calls, &err);
  if (status == FC_OK) return FC_EXIT_OK;
  return fc_complain(FC_EXIT_DATA, "%s: %s", path, err.message);
}

const fc_function_t *fc_local_find(const fc_module_t *module,
                                   const char *name) {
  const fc_function_t *function = fc_module_find(module, fc_str(name));
  if (function) return function;
  fc_str_t own = fc_module_get_name(module);
  const fc_function_t *near = fc_module_nearest(module, fc_str(name));
  if (near) {
    fc_complain(0, "'%.*s' has no function '%s': did you mean '%.*s'?",
                FC_STR_ARG(own), name, FC_STR_ARG(near->name));
  } else {
    fc_complain(0, "'%.*s' has no function '%s'", FC_STR_ARG(own), name);
  }
  return NULL;
}

// Complains that there are several functions, and names as many as fit on a line.
static void complain_of_many(const fc_args_t *args, const fc_module_t *module) {
  fc_str_t own = fc_module_get_name(module);
  size_t count = fc_module_function_count(module);
  const char *names = "";
  for (size_t i = 0; names && i < count; i++) {
    fc_str_t name = fc_module_function(module, i)->name;
    if (strlen(names) + name.size > NAMES_MAX) {
      names = fc_print(args->arena, "%s, …", names);
      break;
    }
    names = fc_print(args->arena, "%s%s%.*s", names, i ? ", " : "",
                     FC_STR_ARG(name));
  }
  fc_complain(0, "'%.*s' has %zu functions, choose one with --function: %s",
              FC_STR_ARG(own), count, names ? names : "");
}

// A word that names no function may be a value for which the user forgot --input.
static const fc_function_t *find_word(const fc_module_t *module,
                                      const char *word) {
  const fc_function_t *function = fc_local_find(module, word);
  if (!function && *word && strchr("0123456789-[{\"@", *word)) {
    fc_complain(0, "values go by --input=VALUE, one for each argument");
  }
  return function;
}

static const fc_function_t *choose(const fc_args_t *args,
                                   const fc_module_t *module,
                                   const char *word) {
  const char *name = fc_args_get(args, FC_OPTION_FUNCTION, NULL);
  if (word) return find_word(module, word);
  if (name) return fc_local_find(module, name);
  if (fc_module_function_count(module) == 1) {
    return fc_module_function(module, 0);
  }
  complain_of_many(args, module);
  return NULL;
}

// Complains if the function cannot be called. Otherwise crash reports name this function
// from now on. Returns an exit code.
static int check(const fc_args_t *args, const fc_function_t *function) {
  if (!function->plan) {
    const fc_signature_t *signature = function->signature;
    fc_str_t reason = fc_signature_text(signature, signature->reason);
    return fc_complain(FC_EXIT_FAILED, "%s: '%.*s' cannot be called: %.*s",
                       fc_code_info(FC_CODE_UNSUPPORTED_TYPE)->text,
                       FC_STR_ARG(function->name), FC_STR_ARG(reason));
  }
  const char *what =
      fc_print(args->arena, "'%.*s'", FC_STR_ARG(function->name));
  if (!what) return fc_complain(FC_EXIT_FAILED, "out of memory");
  fc_crash_watch(what);
  return FC_EXIT_OK;
}

int fc_local_open(const fc_args_t *args, const char *word,
                  fc_module_t **out_module,
                  const fc_function_t **out_function) {
  fc_module_t *module;
  if (word && fc_args_has(args, FC_OPTION_FUNCTION)) {
    return fc_complain(FC_EXIT_USAGE,
                       "the function is named twice: %s, --function=%s", word,
                       fc_args_get(args, FC_OPTION_FUNCTION, ""));
  }
  fc_crash_watch(fc_file_base(args->words[0]));
  fc_crash_before_load();
  int exit_code = fc_local_load(args, args->words[0], false, &module);
  if (exit_code) return exit_code;
  fc_crash_after_load(args->arena, args->words[0]);
  const fc_function_t *function = choose(args, module, word);
  exit_code = function ? check(args, function) : FC_EXIT_USAGE;
  if (exit_code) {
    fc_module_release(module);
    return exit_code;
  }
  *out_module = module;
  *out_function = function;
  return FC_EXIT_OK;
}

int fc_local_complain(const fc_args_t *args, const fc_error_t *err) {
  const char *code = fc_code_info(err->code)->text;
  const char *pointer = err->has_pointer ? err->pointer : "";
  return fc_complain_call(0, code, err->message,
                          fc_input_hint(args, code, pointer), pointer,
                          err->byte_offset);
}

fc_status_t fc_local_bind(const fc_function_t *function,
                          fc_local_bound_t *out_bound, fc_error_t *err) {
  const fc_backend_t *backend = fc_module_get_backend(function->module);
  const fc_allocator_t allocator = fc_allocator_system();
  const fc_limits_t limits = fc_limits_default();
  fc_local_bound_t bound = {.function = function};
  FC_TRY(backend->instance_create(fc_module_get_handle(function->module),
                                  allocator, &bound.instance, err));
  const fc_status_t status =
      fc_frame_create(allocator, &limits, &bound.frame, err);
  if (status) backend->instance_destroy(bound.instance);
  else *out_bound = bound;
  return status;
}

void fc_local_unbind(fc_local_bound_t *bound) {
  if (!bound->function) return;
  fc_frame_destroy(bound->frame);
  fc_module_get_backend(bound->function->module)
      ->instance_destroy(bound->instance);
}

static fc_status_t invoke(const fc_local_bound_t *bound, fc_profile_t *profile,
                          fc_error_t *err) {
  const fc_function_t *function = bound->function;
  const fc_backend_t *backend = fc_module_get_backend(function->module);
  return profile ? fc_frame_invoke_profiled(
                       bound->frame, backend, bound->instance, function->index,
                       function->name, NULL, 0, profile, err)
                 : fc_frame_invoke(bound->frame, backend, bound->instance,
                                   function->index, NULL, 0, err);
}

// Finds out whether rows of the function may be batched. Takes seconds, so it is done
// only if a call's tensors fit only as batched rows.
static fc_status_t prove(const fc_function_t *function, fc_error_t *err) {
  char verdict[FC_VERDICT_SIZE];
  fc_local_prove(function, verdict);
  return fc_module_settle((fc_module_t *)(uintptr_t)function->module,
                          function->index, fc_str(verdict), err);
}

static fc_status_t decode(const fc_local_bound_t *bound, fc_str_t document,
                          fc_error_t *err) {
  const fc_function_t *function = bound->function;
  const bool asks = fc_rows_may_batch(function) &&
                    !fc_signature_batches(function->signature) &&
                    fc_signature_may_batch(function->signature);
  fc_frame_begin(bound->frame, function->plan, NULL);
  const fc_status_t status = fc_frame_decode(bound->frame, document, err);
  if (status == FC_OK || !asks || err->code != FC_CODE_SHAPE_MISMATCH) {
    return status;
  }
  FC_TRY(prove(function, err));
  fc_frame_begin(bound->frame, function->plan, NULL);
  return fc_frame_decode(bound->frame, document, err);
}

fc_status_t fc_local_call(fc_local_bound_t *bound, fc_str_t document,
                          fc_profile_t *profile, fc_text_t *answer,
                          uint64_t *out_ns, fc_error_t *err) {
  fc_status_t status = decode(bound, document, err);
  if (status == FC_OK) {
    const uint64_t began_ns = fc_clock_ns();
    status = invoke(bound, profile, err);
    *out_ns = fc_clock_ns() - began_ns;
  }
  if (status == FC_OK && answer) {
    status = fc_frame_encode(bound->frame, &answer->sink, err);
  }
  fc_frame_end(bound->frame);
  return status;
}

fc_status_t fc_local_answer(const fc_function_t *function, fc_str_t document,
                            fc_profile_t *profile, fc_text_t *answer,
                            uint64_t *out_ns, fc_error_t *err) {
  fc_local_bound_t bound;
  uint64_t call_ns;
  FC_TRY(fc_local_bind(function, &bound, err));
  const uint64_t began_ns = fc_clock_ns();
  const fc_status_t status =
      fc_local_call(&bound, document, profile, answer, &call_ns, err);
  *out_ns = fc_clock_ns() - began_ns;
  fc_local_unbind(&bound);
  return status;
}

int fc_local_document(const fc_args_t *args, const fc_function_t *function,
                      fc_str_t *out_document) {
  fc_error_t err;
  fc_text_t text;
  if (!fc_args_has(args, FC_OPTION_EXAMPLE)) {
    return fc_input_document(args, function->signature, out_document);
  }
  const int exit_code = fc_input_check(args);
  if (exit_code) return exit_code;
  fc_error_reset(&err);
  fc_text_init(&text, fc_allocator_system(), FC_EXAMPLE_SIZE_MAX);
  fc_status_t status = fc_example_print(
      function, fc_str(fc_args_get(args, FC_OPTION_EXAMPLE, "")),
      FC_EXAMPLE_SIZE_MAX, &text.sink, &err);
  if (status == FC_OK) {
    *out_document = fc_arena_copy(args->arena, fc_text_str(&text));
    if (!out_document->data) status = fc_fail_memory(&err);
  }
  fc_text_deinit(&text);
  return status ? fc_complain(FC_EXIT_USAGE, "%s", err.message) : FC_EXIT_OK;
}
