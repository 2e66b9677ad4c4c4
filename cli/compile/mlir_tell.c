// SPDX-License-Identifier: Apache-2.0
//
// Prints notes on standard error, and refuses modules: that ends the compilation.
#include "compile/mlir_tell.h"

#include "abi/mlir_type.h"
#include "compile/mlir/text.h"
#include "compile/step.h"
#include "file.h"

static bool is_other(const fc_mlir_function_t *function) {
  return !function->has_body && !function->is_provided;
}

bool fc_mlir_has_others(const fc_mlir_module_t *module) {
  for (size_t i = 0; i < module->function_count; i++) {
    if (is_other(&module->functions[i])) return true;
  }
  return false;
}

void fc_mlir_tell_others(const fc_mlir_module_t *module) {
  for (size_t i = 0; i < module->function_count; i++) {
    const fc_mlir_function_t *function = &module->functions[i];
    if (!is_other(function)) continue;
    fc_complain(0,
                "note: '%.*s' is declared without a body; the module loads "
                "only where another library provides it",
                FC_STR_ARG(function->name));
  }
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

// Returns a location as messages write it: `m.mlir:2:3:` from `"m.mlir":2:3`.
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

// Returns the reason if one of the values of a function that was not lowered has a type
// that cannot be passed. NULL: no value has such a type.
static const char *find_refusal(fc_compile_t *compile,
                                const fc_mlir_function_t *function,
                                const char *what, const fc_mlir_value_t *values,
                                size_t count) {
  for (size_t i = 0; i < count; i++) {
    fc_mlir_type_t type;
    fc_error_t ignored;
    if (fc_mlir_type_parse(values[i].type, &type, &ignored) != FC_OK ||
        !type.refusal[0]) {
      continue;
    }
    return fc_print(compile->arena, "%s %zu of '%.*s': %s", what, i,
                    FC_STR_ARG(function->name), type.refusal);
  }
  return NULL;
}

// In the lowered module, only functions that were not lowered are still func.func.
// Explains the first of them.
static fc_status_t explain_type(fc_compile_t *compile, fc_str_t text,
                                const char **message) {
  fc_mlir_module_t left;
  FC_TRY(fc_mlir_read(compile->arena, text, &left, compile->err));
  if (!left.function_count) return FC_OK;
  const fc_mlir_function_t *function = &left.functions[0];
  const char *why = find_refusal(compile, function, "argument",
                                 function->arguments, function->argument_count);
  if (!why) {
    why = find_refusal(compile, function, "result", function->results,
                       function->result_count);
  }
  if (why) *message = why;
  return FC_OK;
}

fc_status_t fc_mlir_refuse_leftovers(fc_compile_t *compile, fc_str_t text) {
  fc_str_t operation, location;
  if (!fc_mlir_leftover(text, &operation, &location)) return FC_OK;
  const char *place = print_place(compile, location);
  const char *message =
      fc_print(compile->arena, "no lowering for '%.*s'", FC_STR_ARG(operation));
  if (!place || !message) return fc_fail_memory(compile->err);
  if (fc_str_equal(operation, FC_STR("func.func"))) {
    FC_TRY(explain_type(compile, text, &message));
  }
  return fc_step_blame(compile, fc_str(place), FC_STR("to LLVM"),
                       fc_str(message));
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
