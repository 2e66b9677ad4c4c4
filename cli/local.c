// SPDX-License-Identifier: Apache-2.0
//
// Loads module files, finds functions in them and calls these; complains when they
// are not there.
#include "local.h"

#include "crash.h"
#include "file.h"
#include "input.h"
#include "marshal/profiled.h"

#define NAMES_MAX 200

// Complains about a file. Messages about modules name only the last part of its path:
// the rest is put in front, as the user wrote it.
static int complain(const char *path, const fc_error_t *err) {
  const char *base = fc_file_base(path);
  bool named = *base && !strncmp(err->message, base, strlen(base));
  return fc_complain(FC_EXIT_DATA, "%.*s%s", named ? (int)(base - path) : 0,
                     path, err->message);
}

int fc_local_load(const fc_args_t *args, const char *path, bool describe,
                  fc_module_t **out_module) {
  fc_error_t err;
  fc_error_reset(&err);
  const fc_setting_t parameters = {
      FC_STR("vm.parameters"),
      fc_str(fc_args_get(args, FC_OPTION_PARAMETERS, ""))};
  const fc_module_options_t options = {
      .forbid_native = fc_args_has(args, FC_OPTION_NO_NATIVE_KERNELS),
      .describe_native = describe,
      .settings = &parameters,
      .setting_count = 1};
  fc_status_t status = fc_module_load(NULL, fc_str(path), &options,
                                      fc_allocator_system(), out_module, &err);
  return status ? complain(path, &err) : FC_EXIT_OK;
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

const fc_function_t *fc_local_choose(const fc_args_t *args,
                                     const fc_module_t *module,
                                     const char *name) {
  name = fc_args_get(args, FC_OPTION_FUNCTION, name);
  if (name) return fc_local_find(module, name);
  if (fc_module_function_count(module) == 1) {
    return fc_module_function(module, 0);
  }
  complain_of_many(args, module);
  return NULL;
}

int fc_local_check(const fc_args_t *args, const fc_function_t *function) {
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

int fc_local_complain(const fc_args_t *args, const fc_error_t *err) {
  const char *code = fc_code_info(err->code)->text;
  const char *pointer = err->has_pointer ? err->pointer : "";
  return fc_complain_call(0, code, err->message,
                          fc_input_hint(args, code, pointer), pointer,
                          err->byte_offset);
}

static fc_status_t take_steps(const fc_function_t *function, void *instance,
                              fc_frame_t *frame, fc_str_t document,
                              fc_profile_t *profile, fc_text_t *answer,
                              fc_error_t *err) {
  const fc_backend_t *backend = fc_module_get_backend(function->module);
  fc_frame_begin(frame, function->plan, NULL);
  FC_TRY(fc_frame_decode(frame, document, err));
  FC_TRY(profile ? fc_frame_invoke_profiled(frame, backend, instance,
                                            function->index, function->name,
                                            NULL, 0, profile, err)
                 : fc_frame_invoke(frame, backend, instance, function->index,
                                   NULL, 0, err));
  return fc_frame_encode(frame, &answer->sink, err);
}

fc_status_t fc_local_answer(const fc_function_t *function, fc_str_t document,
                            fc_profile_t *profile, fc_text_t *answer,
                            uint64_t *out_ns, fc_error_t *err) {
  fc_allocator_t allocator = fc_allocator_system();
  const fc_backend_t *backend = fc_module_get_backend(function->module);
  fc_limits_t limits = fc_limits_default();
  fc_frame_t *frame = NULL;
  void *instance = NULL;
  fc_status_t status = backend->instance_create(
      fc_module_get_handle(function->module), allocator, &instance, err);
  if (status) return status;
  status = fc_frame_create(allocator, &limits, &frame, err);
  if (status == FC_OK) {
    const uint64_t began_ns = fc_clock_ns();
    status =
        take_steps(function, instance, frame, document, profile, answer, err);
    *out_ns = fc_clock_ns() - began_ns;
    fc_frame_end(frame);
  }
  fc_frame_destroy(frame);
  backend->instance_destroy(instance);
  return status;
}
