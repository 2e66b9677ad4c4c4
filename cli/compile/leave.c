// SPDX-License-Identifier: Apache-2.0
//
// Leaving functions out of a module, and refusing sparse tensors.
#include "compile/leave.h"

#include "compile/step.h"
#include "file.h"

// Marks the function that cannot be lowered, and all functions that call a marked one.
// `reasons` gives for each marked function the marked function that it calls, and for the
// first one itself.
static void mark(const fc_mlir_module_t *parsed,
                 const fc_mlir_function_t *culprit,
                 const fc_mlir_function_t **reasons) {
  reasons[culprit - parsed->functions] = culprit;
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < parsed->function_count; i++) {
      for (size_t k = 0; k < parsed->function_count && !reasons[i]; k++) {
        const fc_mlir_function_t *called = &parsed->functions[k];
        if (!reasons[k] ||
            !fc_mlir_names(parsed->functions[i].body, called->symbol)) {
          continue;
        }
        reasons[i] = called;
        more = true;
      }
    }
  }
}

static bool remains(const fc_mlir_module_t *parsed,
                    const fc_mlir_function_t *const *reasons) {
  for (size_t i = 0; i < parsed->function_count; i++) {
    const fc_mlir_function_t *function = &parsed->functions[i];
    if (!reasons[i] && function->is_public && function->has_body) return true;
  }
  return false;
}

static void tell(const fc_compile_t *compile,
                 const fc_mlir_function_t *function,
                 const fc_mlir_function_t *reason) {
  if (function == reason) {
    fc_complain(0, "note: '%.*s' is left out: %s%s", FC_STR_ARG(function->name),
                compile->err->message, compile->hint ? compile->hint : "");
  } else {
    fc_complain(0, "note: '%.*s' is left out: it calls '%.*s'",
                FC_STR_ARG(function->name), FC_STR_ARG(reason->name));
  }
}

static fc_status_t write_rest(const fc_compile_t *compile,
                              const fc_mlir_module_t *parsed,
                              const fc_mlir_function_t *const *reasons,
                              fc_text_t *out, fc_error_t *err) {
  const fc_str_t text = parsed->text;
  size_t at = 0;
  for (size_t i = 0; i < parsed->function_count; i++) {
    const fc_mlir_function_t *function = &parsed->functions[i];
    if (!reasons[i]) continue;
    tell(compile, function, reasons[i]);
    FC_TRY(fc_sink_put(&out->sink,
                       fc_str_make(text.data + at, function->begin - at), err));
    at = function->end;
  }
  return fc_sink_put(&out->sink, fc_str_make(text.data + at, text.size - at),
                     err);
}

fc_status_t fc_mlir_leave_out(const fc_compile_t *compile,
                              const fc_mlir_module_t *parsed, fc_text_t *out,
                              bool *out_left, fc_error_t *err) {
  *out_left = false;
  const fc_mlir_function_t *culprit =
      compile->blamed ? fc_mlir_function_at(parsed, compile->blamed) : NULL;
  if (!culprit) return FC_OK;
  const fc_mlir_function_t **reasons = fc_arena_alloc_array(
      compile->arena, parsed->function_count, sizeof *reasons);
  if (!reasons) return fc_fail_memory(err);
  mark(parsed, culprit, reasons);
  if (!remains(parsed, reasons)) return FC_OK;
  *out_left = true;
  return write_rest(compile, parsed, reasons, out, err);
}

// ---------------------------------------------------------------------------
// Sparse tensors

static fc_status_t refuse_sparse(fc_compile_t *compile,
                                 const fc_mlir_function_t *function,
                                 const char *what,
                                 const fc_mlir_value_t *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const fc_str_t type = values[i].type;
    if (!fc_step_find(type, "#sparse_tensor.encoding")) continue;
    const char *place =
        fc_print(compile->arena, "%s:%zu:", compile->source, function->line);
    const char *message = fc_print(
        compile->arena,
        "%s %zu of '%.*s' is a sparse tensor: only dense ones can be passed",
        what, i, FC_STR_ARG(function->name));
    if (!place || !message) return fc_fail_memory(compile->err);
    return fc_step_blame(compile, fc_str(place), FC_STR("the interface"),
                         fc_str(message));
  }
  return FC_OK;
}

fc_status_t fc_mlir_refuse_sparse(fc_compile_t *compile,
                                  const fc_mlir_module_t *parsed) {
  for (size_t i = 0; i < parsed->function_count; i++) {
    const fc_mlir_function_t *function = &parsed->functions[i];
    if (!function->is_public || !function->has_body) continue;
    FC_TRY(refuse_sparse(compile, function, "argument", function->arguments,
                         function->argument_count));
    FC_TRY(refuse_sparse(compile, function, "result", function->results,
                         function->result_count));
  }
  return FC_OK;
}
