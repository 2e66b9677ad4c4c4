// SPDX-License-Identifier: Apache-2.0
//
// Reads the functions of a module.
#include <stdio.h>

#include "compile/mlir/operation.h"
#include "module/native/libc.h"
#include "module/native/shim.h"

typedef struct fc_reading_t {
  fc_arena_t *arena;
  fc_mlir_module_t *module;
  fc_error_t *err;
} fc_reading_t;

// Reads the names of dims, for example ["m", "?"].
static fc_status_t read_dims(fc_reading_t *reading, fc_mlir_value_t *value,
                             fc_str_t text) {
  if (!text.data) return FC_OK;
  fc_str_t list = fc_lex_unwrap(text), element;
  value->dims = fc_arena_alloc_array(reading->arena, fc_lex_count(list) + 1,
                                     sizeof *value->dims);
  if (!value->dims) return fc_fail_memory(reading->err);
  while (fc_lex_element(&list, &element)) {
    fc_str_t name = fc_lex_unquote(reading->arena, element);
    if (fc_lex_char(fc_lex_trim(text), 0) != '[' || !name.size) {
      return fc_fail(reading->err, FC_CODE_ABI_METADATA,
                     "farcall.dims is %.*s: it is an array of strings",
                     FC_STR_ARG(text));
    }
    value->dims[value->dim_count++] = name;
  }
  return FC_OK;
}

static fc_status_t read_attrs(fc_reading_t *reading, fc_mlir_value_t *value,
                              fc_str_t attrs) {
  value->attrs = attrs;
  value->name = fc_lex_unquote(reading->arena,
                               fc_attr_find(attrs, FC_STR("farcall.name")));
  value->role = fc_lex_unquote(reading->arena,
                               fc_attr_find(attrs, FC_STR("farcall.role")));
  value->result_buffer =
      fc_attr_find(attrs, FC_STR("bufferize.result")).data != NULL;
  value->writable = fc_str_equal(
      fc_attr_find(attrs, FC_STR("bufferization.writable")), FC_STR("true"));
  return read_dims(reading, value, fc_attr_find(attrs, FC_STR("farcall.dims")));
}

// Reads values: their types from `types`, and their attribute dictionaries from `attrs`,
// which is "[{…}, …]" or empty.
static fc_status_t read_values(fc_reading_t *reading, fc_str_t types,
                               fc_str_t attrs, fc_mlir_value_t **out_values,
                               size_t *out_count) {
  size_t count = fc_lex_count(types);
  fc_mlir_value_t *values =
      fc_arena_alloc_array(reading->arena, count, sizeof *values);
  if (!values) return fc_fail_memory(reading->err);
  fc_str_t type, dictionary, dictionaries = fc_lex_unwrap(attrs);
  for (size_t i = 0; i < count && fc_lex_element(&types, &type); i++) {
    values[i].type = type;
    if (!fc_lex_element(&dictionaries, &dictionary)) continue;
    FC_TRY(read_attrs(reading, &values[i], fc_lex_unwrap(dictionary)));
  }
  *out_values = values;
  *out_count = count;
  return FC_OK;
}

static fc_status_t read_type(fc_reading_t *reading, fc_str_t properties,
                             fc_mlir_function_t *function) {
  fc_str_t type = fc_attr_find(properties, FC_STR("function_type"));
  size_t arguments_end = type.size ? fc_lex_balanced(type, 0, false) : 0;
  size_t at = fc_lex_space(type, arguments_end);
  if (fc_lex_char(type, 0) != '(' || fc_lex_char(type, at) != '-' ||
      fc_lex_char(type, at + 1) != '>') {
    return fc_fail(reading->err, FC_CODE_ABI_METADATA,
                   "function '%.*s' has no type", FC_STR_ARG(function->name));
  }
  fc_str_t results = fc_lex_trim(fc_lex_part(type, at + 2, type.size));
  if (fc_lex_char(results, 0) == '(') results = fc_lex_unwrap(results);
  FC_TRY(read_values(reading,
                     fc_lex_unwrap(fc_lex_part(type, 0, arguments_end)),
                     fc_attr_find(properties, FC_STR("arg_attrs")),
                     &function->arguments, &function->argument_count));
  return read_values(reading, results,
                     fc_attr_find(properties, FC_STR("res_attrs")),
                     &function->results, &function->result_count);
}

// True for a function of MLIR's runtime libraries that farcall itself has.
static bool is_provided(const fc_mlir_function_t *function, bool by_c) {
  char symbol[128];
  snprintf(symbol, sizeof symbol, "%s%.*s", by_c ? "_mlir_ciface_" : "",
           FC_STR_ARG(function->name));
  return fc_shim_provides(fc_str(symbol));
}

// Returns the name that callers know. The symbol of a function that was renamed ends in
// FC_MLIR_OWN.
static fc_str_t own_name(fc_str_t symbol) {
  if (!fc_str_ends(symbol, FC_STR(FC_MLIR_OWN))) return symbol;
  const fc_str_t own =
      fc_lex_part(symbol, 0, symbol.size - (sizeof FC_MLIR_OWN - 1));
  return fc_libc_is_reserved(own) ? own : symbol;
}

static fc_status_t read_function(fc_reading_t *reading,
                                 const fc_operation_t *operation) {
  // If the source asks for the C interface of a private function, somebody means to call
  // it.
  static const fc_str_t kInterface = FC_STR("llvm.emit_c_interface");
  const bool by_c = fc_attr_find(operation->attributes, kInterface).data;
  const fc_str_t visibility =
      fc_attr_find(operation->properties, FC_STR("sym_visibility"));
  fc_mlir_function_t function = {
      .symbol = fc_lex_unquote(
          reading->arena,
          fc_attr_find(operation->properties, FC_STR("sym_name"))),
      .begin = operation->begin,
      .end = operation->end,
      .line = fc_operation_spot(operation) / FC_MLIR_SPOT(1, 0),
      .is_public = by_c || !visibility.size ||
                   fc_str_equal(visibility, FC_STR("\"public\"")),
      .has_body = fc_lex_trim(operation->regions).size > 0,
      .properties = operation->properties,
      .attrs = operation->attributes,
      .attrs_at = operation->attributes_at,
      .body = operation->regions};
  function.name = own_name(function.symbol);
  function.is_provided = !function.has_body && is_provided(&function, by_c);
  FC_TRY(read_type(reading, operation->properties, &function));
  reading->module->functions[reading->module->function_count++] = function;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Modules

static bool has_tensors(fc_str_t types) {
  static const fc_str_t kTensor = FC_STR("tensor<");
  for (size_t at = 0; at < types.size; at++) {
    const char before = at ? types.data[at - 1] : ' ';
    if (fc_str_starts(fc_lex_part(types, at, types.size), kTensor) &&
        before != '!' && !fc_lex_is_word(before)) {
      return true;
    }
  }
  return false;
}

static bool is_state(const fc_operation_t *operation) {
  return fc_operation_is(operation, "memref.global") &&
         !fc_attr_find(operation->properties, FC_STR("constant")).data;
}

// Reads an operation: of the module's top level if `top`, otherwise from a region.
static fc_status_t read_operation(fc_reading_t *reading,
                                  const fc_operation_t *operation, bool top) {
  fc_mlir_module_t *module = reading->module;
  fc_str_t types = {0};
  if (top && is_state(operation)) module->has_state = true;
  if (top && fc_operation_is(operation, "func.func")) {
    FC_TRY(read_function(reading, operation));
    types = fc_attr_find(operation->properties, FC_STR("function_type"));
  }
  module->has_tensors = module->has_tensors || has_tensors(types) ||
                        has_tensors(operation->operand_types) ||
                        has_tensors(operation->result_types);
  return FC_OK;
}

static size_t count_functions(fc_str_t text) {
  static const char kName[] = "\"func.func\"(";
  const char *at = text.data, *end = at + text.size;
  size_t count = 0;
  while (at < end &&
         (at = memmem(at, (size_t)(end - at), kName, sizeof kName - 1))) {
    count++;
    at++;
  }
  return count;
}

fc_status_t fc_mlir_read(fc_arena_t *arena, fc_str_t text,
                         fc_mlir_module_t *out_module, fc_error_t *err) {
  fc_mlir_module_t module = {.text = text};
  fc_reading_t reading = {.arena = arena, .module = &module, .err = err};
  fc_operation_t operation;
  size_t at = 0,
         behind = 0;  // behind: the end of the last operation at the top level
  module.functions = fc_arena_alloc_array(arena, count_functions(text),
                                          sizeof *module.functions);
  if (!module.functions) return fc_fail_memory(err);
  fc_operation_next(text, &at, &operation);  // the module
  while (fc_operation_next(text, &at, &operation)) {
    const bool top = operation.begin >= behind;
    if (!top && module.has_tensors) continue;
    fc_operation_complete(text, &operation);
    if (top) behind = operation.end;
    FC_TRY(read_operation(&reading, &operation, top));
  }
  *out_module = module;
  return FC_OK;
}
