// SPDX-License-Identifier: Apache-2.0
//
// The reader of ABI descriptions. Whoever wrote one may be wrong, and an
// embedded one comes with a foreign file: everything is checked, and where a
// wrong guess would corrupt memory (a rank, the size of an out argument) it
// fails instead of guessing.
#include "abi/sidecar.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <yyjson.h>

#include "abi/mlir_type.h"

// One argument while its function is read.
typedef struct argument_t {
  uint32_t node;
  fc_role_t role;
  bool memref;
  bool ranked;
} argument_t;

typedef struct reader_t {
  fc_sidecar_t *sidecar;
  fc_builder_t *builder;
  fc_source_t source;
  fc_error_t *err;
  // Where it stands, for messages.
  int64_t function;  // -1: at the top
  const char *list;  // "args" or "results", NULL: in neither
  size_t item;
  argument_t *arguments;  // FC_SIDECAR_PARAMS_MAX
  size_t argument_count;
} reader_t;

// ---------------------------------------------------------------------------
// Faults

// The pointer of member `key` of the object being read.
static void place_print(const reader_t *reader, const char *key, char *out,
                        size_t capacity) {
  char list[48] = "";
  char function[48] = "";
  if (reader->function >= 0) {
    snprintf(function, sizeof function, "/functions/%" PRId64,
             reader->function);
  }
  if (reader->list) {
    snprintf(list, sizeof list, "/%s/%zu", reader->list, reader->item);
  }
  snprintf(out, capacity, "%s%s%s%s", function, list, key[0] ? "/" : "", key);
}

FC_PRINTF(3, 4)
static fc_status_t fault(const reader_t *reader, const char *key,
                         const char *format, ...) {
  char place[128];
  char what[240];
  place_print(reader, key, place, sizeof place);
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  fc_status_t status = fc_fail(reader->err, FC_CODE_ABI_METADATA, "%s: %s",
                               place[0] ? place : "the document", what);
  if (reader->err) {
    reader->err->has_pointer = true;
    snprintf(reader->err->pointer, sizeof reader->err->pointer, "%s", place);
  }
  return status;
}

// ---------------------------------------------------------------------------
// Members

static fc_str_t text_of(yyjson_val *value) {
  return fc_str_make(yyjson_get_str(value), yyjson_get_len(value));
}

// An absent member leaves *out as it is.
static fc_status_t get_text(const reader_t *reader, yyjson_val *object,
                            const char *key, fc_str_t *out) {
  yyjson_val *value = yyjson_obj_get(object, key);
  if (!value) return FC_OK;
  if (!yyjson_is_str(value)) return fault(reader, key, "must be a string");
  *out = text_of(value);
  return FC_OK;
}

static fc_status_t get_bool(const reader_t *reader, yyjson_val *object,
                            const char *key, bool *out) {
  yyjson_val *value = yyjson_obj_get(object, key);
  if (!value) return FC_OK;
  if (!yyjson_is_bool(value))
    return fault(reader, key, "must be true or false");
  *out = yyjson_get_bool(value);
  return FC_OK;
}

static fc_status_t get_size(const reader_t *reader, yyjson_val *object,
                            const char *key, uint64_t *out) {
  yyjson_val *value = yyjson_obj_get(object, key);
  if (!value) return FC_OK;
  if (!yyjson_is_uint(value)) {
    return fault(reader, key, "must be an integer, 0 or more");
  }
  *out = yyjson_get_uint(value);
  return FC_OK;
}

// One of `names`; its place in the table goes to *out.
static fc_status_t get_choice(const reader_t *reader, yyjson_val *object,
                              const char *key, const char *const *names,
                              unsigned count, unsigned *out) {
  fc_str_t text = {0};
  FC_TRY(get_text(reader, object, key, &text));
  if (!text.data) return FC_OK;
  char known[100] = "";
  size_t used = 0;
  for (unsigned i = 0; i < count; i++) {
    if (fc_str_equal(text, fc_str(names[i]))) {
      *out = i;
      return FC_OK;
    }
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                             i ? ", " : "", names[i]);
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, text);
  return fault(reader, key, "'%s' is none of: %s", shown, known);
}

// The array `key`, NULL when absent, with at most `limit` elements.
static fc_status_t get_array(const reader_t *reader, yyjson_val *object,
                             const char *key, size_t limit, yyjson_val **out) {
  *out = yyjson_obj_get(object, key);
  if (!*out) return FC_OK;
  if (!yyjson_is_arr(*out)) return fault(reader, key, "must be an array");
  if (yyjson_arr_size(*out) <= limit) return FC_OK;
  return fault(reader, key, "%zu elements, at most %zu are allowed",
               yyjson_arr_size(*out), limit);
}

// ---------------------------------------------------------------------------
// Arguments and results

FC_PRINTF(2, 3)
static void refuse(reader_t *reader, const char *format, ...) {
  char reason[400];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  fc_builder_refuse(reader->builder, fc_str(reason));
}

// "argument 1 ('x')"
static void param_print(const reader_t *reader, fc_str_t name, char *out,
                        size_t capacity) {
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  const char *noun = !strcmp(reader->list, "args") ? "argument" : "result";
  snprintf(out, capacity, name.size ? "%s %zu ('%s')" : "%s %zu", noun,
           reader->item, shown);
}

// Writes what "dims" says about the dims of a type over them: a size fixes a
// dynamic dim, a name ties it to the others of that name.
static fc_status_t read_dims(reader_t *reader, yyjson_val *object,
                             fc_mlir_type_t *type) {
  yyjson_val *dims;
  FC_TRY(get_array(reader, object, "dims", FC_RANK_MAX, &dims));
  if (!dims) return FC_OK;
  bool shaped = type->form == FC_MLIR_MEMREF || type->form == FC_MLIR_TENSOR;
  if (!shaped || type->rank != (int32_t)yyjson_arr_size(dims)) {
    return fault(reader, "dims", "%zu dims for a type of %d",
                 yyjson_arr_size(dims), shaped ? (int)type->rank : 0);
  }
  for (int32_t i = 0; i < type->rank; i++) {
    yyjson_val *dim = yyjson_arr_get(dims, (size_t)i);
    if (yyjson_is_null(dim)) continue;
    if (yyjson_is_str(dim) && yyjson_get_len(dim)) {
      if (type->dims[i] >= 0) {
        return fault(reader, "dims", "dim %d has a size in the type, no name",
                     (int)i);
      }
      type->dims[i] = fc_builder_dim_name(reader->builder, text_of(dim));
      continue;
    }
    if (!yyjson_is_uint(dim) || yyjson_get_uint(dim) > INT64_MAX) {
      return fault(reader, "dims", "dim %d must be a size, a name or null",
                   (int)i);
    }
    int64_t size = (int64_t)yyjson_get_uint(dim);
    if (type->dims[i] >= 0 && type->dims[i] != size) {
      return fault(reader, "dims",
                   "dim %d is %" PRId64 ", %" PRId64 " in the type", (int)i,
                   size, type->dims[i]);
    }
    type->dims[i] = size;
  }
  return FC_OK;
}

// The type of an argument or result -> a node, dims as the description has
// them. What cannot be passed makes the function not callable.
static fc_status_t read_type(reader_t *reader, yyjson_val *object,
                             fc_str_t name, fc_mlir_type_t *type,
                             uint32_t *out_node) {
  fc_str_t text = {0};
  FC_TRY(get_text(reader, object, "type", &text));
  if (!text.data) return fault(reader, "type", "is missing");
  fc_error_t inner;
  if (fc_mlir_type_parse(text, type, &inner) != FC_OK ||
      fc_mlir_type_build(reader->builder, text, out_node, &inner) != FC_OK) {
    return fault(reader, "type", "%s", inner.message);
  }
  FC_TRY(read_dims(reader, object, type));
  const fc_type_t *node = fc_builder_at(reader->builder, *out_node);
  if (node && node->kind == FC_TYPE_TENSOR) {
    fc_builder_dims(reader->builder, *out_node, type->rank, type->dims);
  }
  if (type->refusal[0]) {
    char param[128];
    param_print(reader, name, param, sizeof param);
    refuse(reader, "%s: %s", param, type->refusal);
  }
  return FC_OK;
}

static fc_status_t read_argument(reader_t *reader, yyjson_val *object) {
  static const char *const roles[] = {"in", "out", "inout"};
  static const fc_role_t role_of[] = {FC_ROLE_IN, FC_ROLE_OUT, FC_ROLE_INOUT};
  if (!yyjson_is_obj(object)) return fault(reader, "", "must be an object");
  fc_str_t name = {0};
  unsigned role = 0;
  fc_mlir_type_t type;
  uint32_t node;
  FC_TRY(get_text(reader, object, "name", &name));
  FC_TRY(get_choice(reader, object, "role", roles, 3, &role));
  FC_TRY(read_type(reader, object, name, &type, &node));
  bool memref = type.form == FC_MLIR_MEMREF;
  if (role && !memref) {
    return fault(reader, "role", "only a memref can be '%s'", roles[role]);
  }
  fc_builder_argument(reader->builder, name, node, role_of[role], name.size > 0,
                      FC_SLOT_NEXT);
  reader->arguments[reader->argument_count++] = (argument_t){
      .node = node,
      .role = role_of[role],
      .memref = memref && !type.refusal[0],
      .ranked = type.rank >= 0,
  };
  return FC_OK;
}

static fc_status_t read_result(reader_t *reader, yyjson_val *object,
                               uint8_t *out_ownership, bool *out_scalar) {
  static const char *const names[] = {"auto", "owned", "borrowed"};
  if (!yyjson_is_obj(object)) return fault(reader, "", "must be an object");
  fc_str_t name = {0};
  unsigned ownership = 0;
  fc_mlir_type_t type;
  uint32_t node;
  FC_TRY(get_text(reader, object, "name", &name));
  FC_TRY(get_choice(reader, object, "ownership", names, 3, &ownership));
  FC_TRY(read_type(reader, object, name, &type, &node));
  fc_builder_result(reader->builder, name, node, FC_SLOT_NEXT);
  *out_ownership = (uint8_t)ownership;
  *out_scalar = type.form == FC_MLIR_SCALAR &&
                fc_dtype_info(type.dtype)->class_ != FC_DTYPE_CLASS_COMPLEX;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The sizes of out arguments

// "args[0].dim1"
static bool read_reference(fc_str_t text, size_t *out_argument,
                           size_t *out_dim) {
  size_t values[2];
  const fc_str_t words[2] = {FC_STR("args["), FC_STR("].dim")};
  for (int i = 0; i < 2; i++) {
    if (!fc_str_starts(text, words[i])) return false;
    size_t at = words[i].size, start = at, value = 0;
    for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9' &&
           at - start < 6;
         at++) {
      value = value * 10 + (size_t)(text.data[at] - '0');
    }
    if (at == start) return false;
    values[i] = value;
    text = fc_str_make(text.data + at, text.size - at);
  }
  *out_argument = values[0];
  *out_dim = values[1];
  return text.size == 0;
}

// The dim another argument has there: its size, or the name both share from
// now on.
static fc_status_t resolve(reader_t *reader, fc_str_t text, int64_t *out) {
  size_t argument, dim;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, text);
  if (!read_reference(text, &argument, &dim)) {
    *out = fc_builder_dim_name(reader->builder, text);
    return FC_OK;
  }
  const argument_t *source = NULL;
  if (argument < reader->argument_count) source = &reader->arguments[argument];
  if (!source || !source->memref || source->role == FC_ROLE_OUT) {
    return fault(reader, "shape", "'%s' is no memref the caller sends", shown);
  }
  const fc_type_t *type = fc_builder_at(reader->builder, source->node);
  if (!type) return FC_OK;  // the builder failed and will say so
  if (type->rank < 0 || dim >= (size_t)type->rank) {
    return fault(reader, "shape", "'%s': it has %d dims", shown,
                 type->rank < 0 ? 0 : (int)type->rank);
  }
  int64_t *dims = fc_builder_get_dims(reader->builder, source->node);
  if (dims[dim] == FC_DIM_DYNAMIC) {
    int64_t name = fc_builder_dim_name(reader->builder, text);
    dims = fc_builder_get_dims(reader->builder, source->node);
    if (dims) dims[dim] = name;
    *out = name;
    return FC_OK;
  }
  *out = dims[dim];
  return FC_OK;
}

static fc_status_t read_shape(reader_t *reader, yyjson_val *object) {
  yyjson_val *shape;
  FC_TRY(get_array(reader, object, "shape", FC_RANK_MAX, &shape));
  const argument_t *argument = &reader->arguments[reader->item];
  if (!shape || !argument->memref) return FC_OK;
  const fc_type_t *type = fc_builder_at(reader->builder, argument->node);
  if (!type) return FC_OK;
  int32_t rank = type->rank;
  if (argument->role != FC_ROLE_OUT) {
    return fault(reader, "shape", "only an out argument has one");
  }
  if (rank != (int32_t)yyjson_arr_size(shape)) {
    return fault(reader, "shape", "%zu dims for a type of %d",
                 yyjson_arr_size(shape), rank < 0 ? 0 : (int)rank);
  }
  for (int32_t i = 0; i < rank; i++) {
    yyjson_val *entry = yyjson_arr_get(shape, (size_t)i);
    int64_t dim = FC_DIM_DYNAMIC;
    if (yyjson_is_uint(entry) && yyjson_get_uint(entry) <= INT64_MAX) {
      dim = (int64_t)yyjson_get_uint(entry);
    } else if (yyjson_is_str(entry) && yyjson_get_len(entry)) {
      FC_TRY(resolve(reader, text_of(entry), &dim));
    } else {
      return fault(reader, "shape",
                   "dim %d must be a size, a name or 'args[i].dimJ'", (int)i);
    }
    int64_t *dims = fc_builder_get_dims(reader->builder, argument->node);
    if (!dims) return FC_OK;
    if (dims[i] >= 0 && dims[i] != dim) {
      return fault(reader, "shape", "dim %d is %" PRId64 " in the type", (int)i,
                   dims[i]);
    }
    dims[i] = dim;
  }
  return FC_OK;
}

// True when an argument the caller sends has this named dim.
static bool is_bound(const reader_t *reader, int64_t name) {
  for (size_t i = 0; i < reader->argument_count; i++) {
    const argument_t *argument = &reader->arguments[i];
    if (!argument->memref || argument->role == FC_ROLE_OUT) continue;
    const fc_type_t *type = fc_builder_at(reader->builder, argument->node);
    const int64_t *dims = fc_builder_get_dims(reader->builder, argument->node);
    for (int32_t k = 0; dims && k < type->rank; k++) {
      if (dims[k] == name) return true;
    }
  }
  return false;
}

// An out argument nobody can give memory to makes the function not callable.
static void check_out(reader_t *reader, size_t index) {
  const argument_t *argument = &reader->arguments[index];
  if (argument->role != FC_ROLE_OUT || !argument->memref) return;
  if (!argument->ranked) {
    refuse(reader, "argument %zu is out and unranked: its size is not known",
           index);
    return;
  }
  const fc_type_t *type = fc_builder_at(reader->builder, argument->node);
  const int64_t *dims = fc_builder_get_dims(reader->builder, argument->node);
  for (int32_t i = 0; dims && i < type->rank; i++) {
    if (dims[i] >= 0) continue;
    if (fc_dim_is_named(dims[i]) && is_bound(reader, dims[i])) continue;
    refuse(reader,
           "argument %zu is out and the size of its dim %d is not known: give "
           "\"shape\", or role inout",
           index, (int)i);
    return;
  }
}

// True when no argument has a dim that the caller chooses.
static bool is_static(const reader_t *reader) {
  for (size_t i = 0; i < reader->argument_count; i++) {
    const argument_t *argument = &reader->arguments[i];
    if (!argument->memref) continue;
    if (!argument->ranked) return false;
    const fc_type_t *type = fc_builder_at(reader->builder, argument->node);
    const int64_t *dims = fc_builder_get_dims(reader->builder, argument->node);
    for (int32_t k = 0; dims && k < type->rank; k++) {
      if (dims[k] < 0) return false;
    }
  }
  return true;
}

// ---------------------------------------------------------------------------
// Functions

static fc_status_t read_arguments(reader_t *reader, yyjson_val *object) {
  yyjson_val *list;
  FC_TRY(get_array(reader, object, "args", FC_SIDECAR_PARAMS_MAX, &list));
  reader->list = "args";
  reader->argument_count = 0;
  size_t count = yyjson_arr_size(list);
  yyjson_val *value = yyjson_arr_get_first(list);
  for (reader->item = 0; reader->item < count; reader->item++) {
    FC_TRY(read_argument(reader, value));
    value = unsafe_yyjson_get_next(value);
  }
  value = yyjson_arr_get_first(list);
  for (reader->item = 0; reader->item < count; reader->item++) {
    FC_TRY(read_shape(reader, value));
    value = unsafe_yyjson_get_next(value);
  }
  for (size_t i = 0; i < count; i++) check_out(reader, i);
  reader->list = NULL;
  return FC_OK;
}

static fc_status_t read_results(reader_t *reader, yyjson_val *object,
                                uint8_t *ownership, bool *out_simple) {
  yyjson_val *list = yyjson_obj_get(object, "results");
  reader->list = "results";
  size_t count = yyjson_arr_size(list);
  yyjson_val *value = yyjson_arr_get_first(list);
  bool scalar = true;
  for (reader->item = 0; reader->item < count; reader->item++) {
    FC_TRY(read_result(reader, value, &ownership[reader->item], &scalar));
    value = unsafe_yyjson_get_next(value);
  }
  *out_simple = !count || (count == 1 && scalar);
  reader->list = NULL;
  return FC_OK;
}

// What a calling convention cannot do, LLVM's aggregates not being those of C.
static void check_convention(reader_t *reader, fc_cc_t cc, bool simple) {
  if (cc != FC_CC_EXPANDED && cc != FC_CC_BAREPTR) return;
  if (!simple) {
    refuse(reader, "only the C interface can return this: rebuild with "
                   "llvm.emit_c_interface");
  }
  if (cc == FC_CC_BAREPTR && !is_static(reader)) {
    refuse(reader, "the bare pointer convention takes static shapes only");
  }
}

static fc_status_t read_symbol(reader_t *reader, yyjson_val *object,
                               fc_sidecar_function_t *function) {
  static const char *const conventions[] = {"ciface", "packed", "expanded",
                                            "bareptr"};
  static const char *const threads[] = {"auto", "reentrant", "serial"};
  unsigned cc = FC_CC_CIFACE, thread = FC_THREADS_AUTO;
  FC_TRY(get_text(reader, object, "name", &function->name));
  if (!function->name.size) return fault(reader, "name", "is missing");
  FC_TRY(get_text(reader, object, "symbol", &function->symbol));
  if (!function->symbol.size) return fault(reader, "symbol", "is missing");
  if (memchr(function->symbol.data, '\0', function->symbol.size)) {
    return fault(reader, "symbol", "holds a NUL");
  }
  FC_TRY(get_choice(reader, object, "cc", conventions, 4, &cc));
  FC_TRY(get_choice(reader, object, "threads", threads, 3, &thread));
  FC_TRY(get_size(reader, object, "stack", &function->stack));
  function->cc = (fc_cc_t)cc;
  function->threads = (fc_threads_t)thread;
  fc_builder_name(reader->builder, function->name);
  fc_builder_source(reader->builder, reader->source);
  fc_builder_attr(reader->builder, FC_STR("cc"), fc_str(conventions[cc]));
  fc_builder_attr(reader->builder, FC_STR("symbol"), function->symbol);
  fc_str_t doc = {0};
  FC_TRY(get_text(reader, object, "doc", &doc));
  if (doc.size) fc_builder_attr(reader->builder, FC_STR("doc"), doc);
  return FC_OK;
}

static fc_status_t check_name(reader_t *reader, fc_str_t name) {
  const fc_sidecar_t *sidecar = reader->sidecar;
  for (size_t i = 0; i < sidecar->function_count; i++) {
    if (!fc_str_equal(sidecar->functions[i].name, name)) continue;
    return fault(reader, "name", "function %zu has the same name", i);
  }
  return FC_OK;
}

static fc_status_t read_function(reader_t *reader, yyjson_val *object,
                                 uint8_t *ownership,
                                 fc_sidecar_function_t *function) {
  if (!yyjson_is_obj(object)) return fault(reader, "", "must be an object");
  fc_builder_reset(reader->builder);
  function->ownership = ownership;
  bool simple = false;
  FC_TRY(read_symbol(reader, object, function));
  FC_TRY(check_name(reader, function->name));
  FC_TRY(read_arguments(reader, object));
  FC_TRY(read_results(reader, object, ownership, &simple));
  check_convention(reader, function->cc, simple);
  fc_builder_memory_safe(reader->builder,
                         reader->sidecar->checked || is_static(reader));
  fc_error_t inner;
  fc_status_t status =
      fc_signature_build(reader->builder, &function->signature, &inner);
  if (status == FC_OK) return FC_OK;
  if (inner.code == FC_CODE_OUT_OF_MEMORY) return fc_fail_memory(reader->err);
  return fault(reader, "", "%s", inner.message);
}

// ---------------------------------------------------------------------------
// The document

static void *alc_malloc(void *context, size_t size) {
  return fc_alloc_aligned(*(fc_allocator_t *)context, size, 16);
}
static void *alc_realloc(void *context, void *memory, size_t old_size,
                         size_t size) {
  return fc_realloc(*(fc_allocator_t *)context, memory, old_size, size);
}
static void alc_free(void *context, void *memory) {
  fc_free(*(fc_allocator_t *)context, memory);
}

// The document keeps a pointer to the allocator, so it must be the sidecar's.
static fc_status_t read_document(reader_t *reader, fc_str_t json) {
  if (json.size > FC_SIDECAR_SIZE_MAX) {
    return fault(reader, "", "%zu bytes, at most %u are read", json.size,
                 FC_SIDECAR_SIZE_MAX);
  }
  yyjson_alc alc = {alc_malloc, alc_realloc, alc_free,
                    &reader->sidecar->allocator};
  yyjson_read_err failure = {0};
  // Without YYJSON_READ_INSITU the text is only read.
  yyjson_doc *document = yyjson_read_opts((char *)(uintptr_t)json.data,
                                          json.size, 0, &alc, &failure);
  if (document) {
    reader->sidecar->document = document;
    return FC_OK;
  }
  if (failure.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
    return fc_fail_memory(reader->err);
  }
  fc_status_t status =
      fault(reader, "", "not JSON: %s at byte %zu", failure.msg, failure.pos);
  if (reader->err) reader->err->byte_offset = failure.pos;
  return status;
}

static bool is_sha256(fc_str_t text) {
  for (size_t i = 0; i < text.size; i++) {
    char c = text.data[i];
    bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
               (c >= 'A' && c <= 'F');
    if (!hex) return false;
  }
  return text.size == 64;
}

static fc_status_t read_head(reader_t *reader, yyjson_val *root) {
  if (!yyjson_is_obj(root)) return fault(reader, "", "must be an object");
  yyjson_val *format = yyjson_obj_get(root, "farcall");
  if (!yyjson_is_uint(format)) {
    return fault(reader, "farcall", "must be the number of the format");
  }
  if (yyjson_get_uint(format) != 1) {
    return fault(reader, "farcall", "format %" PRIu64 ", only 1 is known",
                 yyjson_get_uint(format));
  }
  static const char *const abis[] = {"mlir-memref"};
  unsigned abi = 0;
  FC_TRY(get_choice(reader, root, "abi", abis, 1, &abi));
  uint64_t index_bits = 64;
  FC_TRY(get_size(reader, root, "index_bits", &index_bits));
  if (index_bits != 64) {
    return fault(reader, "index_bits", "%" PRIu64 ", only 64 is supported",
                 index_bits);
  }
  fc_sidecar_t *sidecar = reader->sidecar;
  FC_TRY(get_bool(reader, root, "pure", &sidecar->pure));
  FC_TRY(get_bool(reader, root, "checked", &sidecar->checked));
  FC_TRY(get_bool(reader, root, "ftz", &sidecar->ftz));
  FC_TRY(get_text(reader, root, "compiler", &sidecar->compiler));
  FC_TRY(get_size(reader, root, "max_frame", &sidecar->max_frame));
  FC_TRY(get_text(reader, root, "so_sha256", &sidecar->so_sha256));
  if (sidecar->so_sha256.size && !is_sha256(sidecar->so_sha256)) {
    return fault(reader, "so_sha256", "must be 64 hex digits");
  }
  return FC_OK;
}

// Checks every "results" and makes room for what they need.
static fc_status_t make_room(reader_t *reader, yyjson_val *functions) {
  fc_sidecar_t *sidecar = reader->sidecar;
  size_t count = yyjson_arr_size(functions), results = 0;
  yyjson_val *function = yyjson_arr_get_first(functions);
  for (size_t i = 0; i < count; i++) {
    yyjson_val *list;
    reader->function = (int64_t)i;
    FC_TRY(
        get_array(reader, function, "results", FC_SIDECAR_PARAMS_MAX, &list));
    results += yyjson_arr_size(list);
    function = unsafe_yyjson_get_next(function);
  }
  sidecar->functions =
      fc_alloc_array(sidecar->allocator, count, sizeof *sidecar->functions);
  sidecar->ownership = fc_alloc(sidecar->allocator, results);
  reader->arguments = fc_alloc_array(sidecar->allocator, FC_SIDECAR_PARAMS_MAX,
                                     sizeof *reader->arguments);
  reader->builder = fc_builder_create(sidecar->allocator);
  if (!sidecar->functions || !sidecar->ownership || !reader->arguments ||
      !reader->builder) {
    return fc_fail_memory(reader->err);
  }
  return FC_OK;
}

static fc_status_t read_functions(reader_t *reader, yyjson_val *root) {
  yyjson_val *functions;
  fc_sidecar_t *sidecar = reader->sidecar;
  FC_TRY(get_array(reader, root, "functions", FC_SIDECAR_FUNCTIONS_MAX,
                   &functions));
  if (!functions) return fault(reader, "functions", "is missing");
  FC_TRY(make_room(reader, functions));
  size_t count = yyjson_arr_size(functions);
  uint8_t *ownership = sidecar->ownership;
  yyjson_val *value = yyjson_arr_get_first(functions);
  for (size_t i = 0; i < count; i++) {
    fc_sidecar_function_t *function = &sidecar->functions[i];
    reader->function = (int64_t)i;
    FC_TRY(read_function(reader, value, ownership, function));
    sidecar->function_count++;
    ownership += function->signature->result_count;
    value = unsafe_yyjson_get_next(value);
  }
  return FC_OK;
}

fc_status_t fc_sidecar_parse(fc_str_t json, fc_source_t source,
                             fc_allocator_t allocator,
                             fc_sidecar_t **out_sidecar, fc_error_t *err) {
  fc_sidecar_t *sidecar = fc_alloc(allocator, sizeof *sidecar);
  if (!sidecar) return fc_fail_memory(err);
  sidecar->allocator = allocator;
  reader_t reader = {
      .sidecar = sidecar, .source = source, .err = err, .function = -1};
  fc_status_t status = read_document(&reader, json);
  if (status == FC_OK) {
    yyjson_val *root = yyjson_doc_get_root(sidecar->document);
    status = read_head(&reader, root);
    if (status == FC_OK) status = read_functions(&reader, root);
  }
  fc_builder_destroy(reader.builder);
  fc_free(allocator, reader.arguments);
  if (status != FC_OK) {
    fc_sidecar_destroy(sidecar);
    return status;
  }
  *out_sidecar = sidecar;
  return FC_OK;
}

void fc_sidecar_destroy(fc_sidecar_t *sidecar) {
  if (!sidecar) return;
  for (size_t i = 0; i < sidecar->function_count; i++) {
    fc_signature_destroy(sidecar->functions[i].signature);
  }
  fc_free(sidecar->allocator, sidecar->functions);
  fc_free(sidecar->allocator, sidecar->ownership);
  yyjson_doc_free(sidecar->document);
  fc_free(sidecar->allocator, sidecar);
}
