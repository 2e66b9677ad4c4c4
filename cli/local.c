// SPDX-License-Identifier: Apache-2.0
//
// Loads module files and finds functions in them; complains when they are not
// there.
#include "local.h"

#include "file.h"

// Complains about a file. Messages about modules name only the last part of its path:
// the rest is put in front, as the user wrote it.
static int complain(const char *path, const fc_error_t *err) {
  const char *base = fc_file_base(path);
  bool named = *base && !strncmp(err->message, base, strlen(base));
  return fc_complain(FC_EXIT_DATA, "%.*s%s", named ? (int)(base - path) : 0,
                     path, err->message);
}

int fc_local_load(const fc_args_t *args, bool describe,
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
  fc_status_t status = fc_module_load(NULL, fc_str(args->words[0]), &options,
                                      fc_allocator_system(), out_module, &err);
  return status ? complain(args->words[0], &err) : FC_EXIT_OK;
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
