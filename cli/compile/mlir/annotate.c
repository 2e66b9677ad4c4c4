// SPDX-License-Identifier: Apache-2.0
//
// Copies the text that mlir-opt has printed, and inserts attributes. Everything else
// stays as it is, also the locations.
#include "compile/mlir/operation.h"

static fc_status_t put(fc_text_t *out, const char *text, fc_error_t *err) {
  return fc_sink_put(&out->sink, fc_str(text), err);
}

// Copies the module's text from *at to `end`, and sets *at to `end`.
static fc_status_t copy(const fc_mlir_module_t *module, size_t *at, size_t end,
                        fc_text_t *out, fc_error_t *err) {
  fc_str_t text = fc_lex_part(module->text, *at, end);
  *at = end;
  return fc_sink_put(&out->sink, text, err);
}

static const char kProbe[] = "[\"probe-stack\", \"inline-asm\"]";

static bool has_probe(fc_str_t passthrough) {
  static const char kName[] = "\"probe-stack\"";
  return memmem(passthrough.data, passthrough.size, kName, sizeof kName - 1);
}

// Writes the attribute dictionary of `function`, and moves *at past the old one, to where
// copying continues.
static fc_status_t annotate_one(fc_str_t text,
                                const fc_mlir_function_t *function,
                                fc_text_t *out, size_t *at, fc_error_t *err) {
  static const fc_str_t kInterface = FC_STR("llvm.emit_c_interface");
  bool interface = fc_attr_find(function->attrs, kInterface).data != NULL;
  fc_str_t linkage = fc_attr_find(function->attrs, FC_STR("llvm.linkage"));
  fc_str_t through = fc_attr_find(function->attrs, FC_STR("passthrough"));
  FC_TRY(put(out, function->attrs.data ? "" : " {", err));
  if (function->is_public && !interface) {
    FC_TRY(put(out, "llvm.emit_c_interface, ", err));
  }
  if (!function->is_public && !interface && !linkage.data) {
    FC_TRY(put(out, "llvm.linkage = #llvm.linkage<internal>, ", err));
  }
  if (!through.data) {
    FC_TRY(put(out, "passthrough = [", err));
    FC_TRY(put(out, kProbe, err));
    FC_TRY(put(out, function->attrs.size ? "], " : "]", err));
  } else if (!has_probe(through)) {
    // Copies up to the '[', and continues after it.
    size_t inside = (size_t)(through.data - text.data) + 1;
    FC_TRY(fc_sink_put(&out->sink, fc_lex_part(text, *at, inside), err));
    FC_TRY(put(out, kProbe, err));
    FC_TRY(put(out, fc_lex_unwrap(through).size ? ", " : "", err));
    *at = inside;
  }
  return put(out, function->attrs.data ? "" : "}", err);
}

fc_status_t fc_mlir_annotate(const fc_mlir_module_t *module, fc_text_t *out,
                             fc_error_t *err) {
  size_t at = 0;
  for (size_t i = 0; i < module->function_count; i++) {
    const fc_mlir_function_t *function = &module->functions[i];
    if (!function->has_body) continue;
    FC_TRY(copy(module, &at, function->attrs_at, out, err));
    FC_TRY(annotate_one(module->text, function, out, &at, err));
  }
  return copy(module, &at, module->text.size, out, err);
}

// ---------------------------------------------------------------------------
// Tensor arguments

// True for a tensor argument that is a value, which the function must not write. False
// also if the source allows writing, by a role or an attribute: what the function leaves
// in the buffer is then a result.
static bool is_value(const fc_mlir_value_t *argument) {
  static const fc_str_t kWritable = FC_STR("bufferization.writable");
  const fc_str_t role = argument->role;
  return fc_str_starts(argument->type, FC_STR("tensor<")) &&
         (!role.size || fc_str_equal(role, FC_STR("in"))) &&
         !argument->result_buffer &&
         !fc_attr_find(argument->attrs, kWritable).data;
}

static bool has_value(const fc_mlir_function_t *function) {
  if (!function->is_public || !function->has_body) return false;
  for (size_t i = 0; i < function->argument_count; i++) {
    if (is_value(&function->arguments[i])) return true;
  }
  return false;
}

// Writes an attribute for all arguments. If the function has no attributes of arguments,
// adds a list of them before its other properties; otherwise adds to each argument's
// dictionary.
static fc_status_t keep_arguments(const fc_mlir_module_t *module,
                                  const fc_mlir_function_t *function,
                                  fc_text_t *out, size_t *at, fc_error_t *err) {
  static const char kKept[] = "bufferization.writable = false";
  const bool has_attrs = function->arguments[0].attrs.data;
  const size_t properties_at =
      (size_t)(function->properties.data - module->text.data);
  FC_TRY(copy(module, at, properties_at, out, err));
  if (!has_attrs) FC_TRY(put(out, "arg_attrs = [", err));
  for (size_t i = 0; i < function->argument_count; i++) {
    const fc_mlir_value_t *argument = &function->arguments[i];
    const char *kept = is_value(argument) ? kKept : "";
    if (has_attrs && !argument->attrs.data)
      break;  // mlir-opt does not print this
    if (has_attrs) {
      const size_t inside = (size_t)(argument->attrs.data - module->text.data);
      FC_TRY(copy(module, at, inside, out, err));
      FC_TRY(put(out, kept, err));
      FC_TRY(put(out, *kept && argument->attrs.size ? ", " : "", err));
    } else {
      FC_TRY(put(out, i ? ", {" : "{", err));
      FC_TRY(put(out, kept, err));
      FC_TRY(put(out, "}", err));
    }
  }
  return has_attrs ? FC_OK : put(out, "], ", err);
}

fc_status_t fc_mlir_keep_arguments(const fc_mlir_module_t *module,
                                   fc_text_t *out, fc_error_t *err) {
  size_t at = 0;
  for (size_t i = 0; i < module->function_count; i++) {
    const fc_mlir_function_t *function = &module->functions[i];
    if (!has_value(function)) continue;
    FC_TRY(keep_arguments(module, function, out, &at, err));
  }
  return copy(module, &at, module->text.size, out, err);
}
