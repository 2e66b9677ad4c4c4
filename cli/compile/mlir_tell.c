// SPDX-License-Identifier: Apache-2.0
//
// A note is a line on standard error; what is refused ends the compilation.
#include "compile/mlir_tell.h"

#include "compile/operations.h"
#include "compile/step.h"
#include "file.h"
#include "module/native/libc.h"

bool fc_mlir_tell_others(const fc_mlir_module_t *module) {
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

void fc_mlir_tell_roles(const fc_mlir_module_t *module) {
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

fc_status_t fc_mlir_tell_unverified(fc_compile_t *compile, fc_str_t operation,
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

fc_status_t fc_mlir_refuse_leftovers(fc_compile_t *compile, fc_str_t text) {
  fc_str_t operation, location;
  if (!fc_mlir_leftover(text, &operation, &location)) return FC_OK;
  const char *place = print_place(compile, location);
  const char *message =
      fc_print(compile->arena, "no lowering for '%.*s'", FC_STR_ARG(operation));
  if (!place || !message) return fc_fail_memory(compile->err);
  return fc_step_blame(compile, fc_str(place), FC_STR("to LLVM"),
                       fc_str(message));
}

fc_status_t fc_mlir_refuse_names(fc_compile_t *compile,
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

fc_status_t fc_mlir_refuse_uncallable(fc_compile_t *compile,
                                      const fc_mlir_module_t *module) {
  for (size_t i = 0; i < module->function_count; i++) {
    const fc_mlir_function_t *function = &module->functions[i];
    if (function->is_public && function->has_body) return FC_OK;
  }
  return fc_fail(compile->err, FC_CODE_ABI_METADATA,
                 "%s: no public func.func with a body: nothing to call",
                 compile->input);
}
