// SPDX-License-Identifier: Apache-2.0
//
// mlir-opt indents the operations of the top level by two spaces, and each begins a line.
#include "compile/leave.h"

#include "compile/mlir/find.h"
#include "compile/mlir/lex.h"
#include "compile/step.h"
#include "file.h"

// Where the line begins on which the function does.
static size_t begin_of(fc_str_t text, const fc_mlir_function_t *function) {
  size_t at = function->properties_at;
  while (at && text.data[at - 1] != '\n') at--;
  return at;
}

// Behind the last line of the function.
static size_t end_of(fc_str_t text, const fc_mlir_function_t *function) {
  size_t at = function->attrs_at;
  if (function->has_attrs) at = fc_lex_balanced(text, at - 1, false);
  (void)fc_lex_line(text, &at);
  return at;
}

// Finds where the last operation of the top level begins that is not behind `line` of the
// source. False when there is none.
static bool find_operation(fc_str_t text, size_t line, size_t *out_begin) {
  size_t nearest = 0;
  for (size_t at = 0; at < text.size;) {
    const size_t begin = at;
    fc_str_t operation, content = fc_lex_line(text, &at);
    size_t open;
    if (!fc_str_starts(content, FC_STR("  ")) ||
        fc_lex_char(content, 2) == ' ' ||
        !fc_lex_operation(content, &operation, &open)) {
      continue;
    }
    const size_t own = fc_mlir_line(text, begin + open);
    if (!own || own > line || own < nearest) continue;
    nearest = own;
    *out_begin = begin;
  }
  return nearest > 0;
}

static bool names(fc_str_t body, fc_str_t symbol) {
  for (size_t at = 0; at < body.size; at++) {
    if (body.data[at] == '"') at = fc_lex_string(body, at) - 1;
    if (body.data[at] != '@') continue;
    const size_t quoted = fc_lex_char(body, at + 1) == '"';
    const size_t begin = at + 1 + quoted, end = begin + symbol.size;
    if (fc_str_equal(fc_lex_part(body, begin, end), symbol) &&
        !fc_lex_is_word(fc_lex_char(body, end))) {
      return true;
    }
  }
  return false;
}

// Marks the function and those that call it. `reasons` has the function that each one
// calls, or itself.
static void mark(const fc_mlir_module_t *parsed, size_t culprit,
                 const fc_mlir_function_t **reasons) {
  reasons[culprit] = &parsed->functions[culprit];
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < parsed->function_count; i++) {
      for (size_t k = 0; k < parsed->function_count && !reasons[i]; k++) {
        const fc_mlir_function_t *called = &parsed->functions[k];
        if (!reasons[k] || !names(parsed->functions[i].body, called->symbol)) {
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
  size_t at = 0;
  for (size_t i = 0; i < parsed->function_count; i++) {
    const fc_mlir_function_t *function = &parsed->functions[i];
    if (!reasons[i]) continue;
    tell(compile, function, reasons[i]);
    const size_t begin = begin_of(parsed->text, function);
    FC_TRY(fc_sink_put(&out->sink, fc_lex_part(parsed->text, at, begin), err));
    at = end_of(parsed->text, function);
  }
  return fc_sink_put(&out->sink,
                     fc_lex_part(parsed->text, at, parsed->text.size), err);
}

fc_status_t fc_mlir_leave_out(const fc_compile_t *compile,
                              const fc_mlir_module_t *parsed, fc_text_t *out,
                              bool *out_left, fc_error_t *err) {
  size_t begin, culprit = 0;
  *out_left = false;
  if (!compile->blamed ||
      !find_operation(parsed->text, compile->blamed, &begin)) {
    return FC_OK;
  }
  while (culprit < parsed->function_count &&
         begin_of(parsed->text, &parsed->functions[culprit]) != begin) {
    culprit++;
  }
  if (culprit == parsed->function_count) return FC_OK;
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
                                 const fc_mlir_module_t *parsed,
                                 const fc_mlir_function_t *function,
                                 const char *what,
                                 const fc_mlir_value_t *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const fc_str_t type = values[i].type;
    if (!fc_step_find(type, "#sparse_tensor.encoding")) continue;
    const size_t begin = begin_of(parsed->text, function);
    size_t open, at = begin;
    fc_str_t operation, line = fc_lex_line(parsed->text, &at);
    if (!fc_lex_operation(line, &operation, &open)) open = 0;
    const char *place = fc_print(compile->arena, "%s:%zu:", compile->source,
                                 fc_mlir_line(parsed->text, begin + open));
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
    FC_TRY(refuse_sparse(compile, parsed, function, "argument",
                         function->arguments, function->argument_count));
    FC_TRY(refuse_sparse(compile, parsed, function, "result", function->results,
                         function->result_count));
  }
  return FC_OK;
}
