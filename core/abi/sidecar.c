// SPDX-License-Identifier: Apache-2.0
//
// Reads ABI descriptions. An author may make mistakes, and an embedded
// description comes with somebody else's file, so everything is checked.
// Nothing is guessed where a wrong guess would corrupt memory (a rank, the size
// of an out argument): reading fails, or the function is not callable.
#include "abi/sidecar.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "abi/document.h"
#include "abi/mlir_type.h"
#include "abi/named.h"

// An argument of the function that is being read.
typedef struct argument_t {
  uint32_t node;
  fc_role_t role;
  bool memref;
  bool ranked;
} argument_t;

typedef struct reader_t {
  fc_sidecar_t *sidecar;
  fc_names_t *names;
  fc_builder_t *builder;
  fc_source_t source;
  fc_doc_t doc;
  argument_t *arguments;  // room for FC_SIDECAR_PARAMS_MAX
  size_t argument_count;
  size_t float_count;  // number of arguments in float and vector registers
  bool vectors;        // the function takes or returns vectors
  bool crowded;        // no such register was left for a vector
  uint8_t alignment;   // of the arguments of the function
} reader_t;

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

// Prints an argument or result for a message, for example: argument 1 ('x').
static void param_print(const reader_t *reader, fc_str_t name, char *out,
                        size_t capacity) {
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  const char *noun = !strcmp(reader->doc.list, "args") ? "argument" : "result";
  snprintf(out, capacity, name.size ? "%s %zu ('%s')" : "%s %zu", noun,
           reader->doc.item, shown);
}

// Changes the dims of a type as "dims" says: a size makes a dynamic dim static, a name
// makes it equal to all dims of that name.
static fc_status_t read_dims(reader_t *reader, yyjson_val *object,
                             fc_mlir_type_t *type) {
  yyjson_val *dims;
  FC_TRY(fc_doc_array(&reader->doc, object, "dims", FC_RANK_MAX, &dims));
  if (!dims) return FC_OK;
  bool shaped = type->form == FC_MLIR_MEMREF || type->form == FC_MLIR_TENSOR;
  if (!shaped || type->rank != (int32_t)yyjson_arr_size(dims)) {
    return fc_doc_fault(&reader->doc, "dims", "%zu dims for a type of %d",
                        yyjson_arr_size(dims), shaped ? (int)type->rank : 0);
  }
  for (int32_t i = 0; i < type->rank; i++) {
    FC_TRY(fc_doc_dim(&reader->doc, yyjson_arr_get(dims, (size_t)i), (int)i,
                      type->dims[i], reader->builder, &type->dims[i]));
  }
  return FC_OK;
}

// Raises the alignment that the function needs. Code loads a vector in a memref one
// whole row at a time, so each row must lie at a multiple of its size.
static void note_row(reader_t *reader, const fc_mlir_type_t *type) {
  if (!type->inner || type->refusal[0]) return;
  const size_t row =  // at most 64 bytes, else the type has a refusal
      (size_t)type->dims[type->rank - 1] * fc_dtype_size(type->dtype);
  if (row > reader->alignment) reader->alignment = (uint8_t)row;
}

// Makes a node of the type of an argument or result, with the dims that the
// description has. A type that cannot be passed makes the function not
// callable.
static fc_status_t read_type(reader_t *reader, yyjson_val *object,
                             fc_str_t name, fc_mlir_type_t *type,
                             uint32_t *out_node) {
  fc_str_t text = {0};
  FC_TRY(fc_doc_text(&reader->doc, object, "type", &text));
  if (!text.data) return fc_doc_fault(&reader->doc, "type", "is missing");
  fc_error_t inner;
  if (fc_mlir_type_parse(text, type, &inner) != FC_OK ||
      fc_mlir_type_build(reader->builder, text, out_node, &inner) != FC_OK) {
    return fc_doc_fault(&reader->doc, "type", "%s", inner.message);
  }
  note_row(reader, type);
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

// True when the memref has a rank and only dims of fixed sizes.
static bool has_static_dims(const reader_t *reader, uint32_t memref) {
  const fc_type_t *type = fc_builder_at(reader->builder, memref);
  const int64_t *dims = fc_builder_get_dims(reader->builder, memref);
  if (type && type->rank == FC_RANK_DYNAMIC) return false;
  for (int32_t i = 0; type && dims && i < type->rank; i++) {
    if (dims[i] < 0) return false;
  }
  return true;
}

// True when a pointer to the first element is enough to describe the memref.
static bool is_bare(const reader_t *reader, uint32_t memref) {
  if (!has_static_dims(reader, memref)) return false;
  const fc_type_t *type = fc_builder_at(reader->builder, memref);
  const int64_t *dims = fc_builder_get_dims(reader->builder, memref);
  if (!type || !dims || !(type->flags & FC_TYPE_STRIDED)) return true;
  for (int32_t i = 0; i <= type->rank; i++) {
    if (dims[type->rank + i] == FC_STRIDE_DYNAMIC) return false;
  }
  return true;
}

// Counts the registers of floats and vectors that a value takes. Floats of one byte are
// passed as integers.
static void count_registers(reader_t *reader, const fc_mlir_type_t *type) {
  const fc_dtype_info_t *info = fc_dtype_info(type->dtype);
  if (type->form == FC_MLIR_VECTOR) {
    uint64_t size = info->size;
    for (int32_t i = 0; i < type->rank && !type->refusal[0]; i++) {
      size *= (uint64_t)type->dims[i];
    }
    reader->vectors = true;
    reader->float_count += (size_t)(type->refusal[0] ? 1 : size / 16);
    reader->crowded |= reader->float_count > 8;
  } else if (type->form == FC_MLIR_SCALAR) {
    const bool two = info->class_ == FC_DTYPE_CLASS_COMPLEX;
    const bool one = info->class_ == FC_DTYPE_CLASS_FLOAT && info->size > 1;
    reader->float_count += two ? 2 : one;
  }
}

static fc_status_t read_argument(reader_t *reader, yyjson_val *object) {
  static const char *const roles[] = {"in", "out", "inout", "scratch"};
  static const fc_role_t role_of[] = {FC_ROLE_IN, FC_ROLE_OUT, FC_ROLE_INOUT,
                                      FC_ROLE_SCRATCH};
  if (!yyjson_is_obj(object))
    return fc_doc_fault(&reader->doc, "", "must be an object");
  fc_str_t name = {0};
  unsigned role = 0;
  fc_mlir_type_t type;
  uint32_t node;
  FC_TRY(fc_doc_text(&reader->doc, object, "name", &name));
  FC_TRY(fc_doc_choice(&reader->doc, object, "role", roles,
                       FC_ARRAY_COUNT(roles), &role));
  FC_TRY(read_type(reader, object, name, &type, &node));
  bool memref = type.form == FC_MLIR_MEMREF;
  count_registers(reader, &type);
  if (role && !memref) {
    return fc_doc_fault(&reader->doc, "role", "only a memref can be '%s'",
                        roles[role]);
  }
  fc_builder_argument(reader->builder, name, node, role_of[role], name.size > 0,
                      FC_RAW_NEXT);
  fc_builder_role(reader->builder, (uint32_t)reader->argument_count,
                  role_of[role], yyjson_obj_get(object, "role") != NULL);
  reader->arguments[reader->argument_count++] = (argument_t){
      .node = node,
      .role = role_of[role],
      .memref = memref && !type.refusal[0],
      .ranked = type.rank >= 0,
  };
  return FC_OK;
}

static fc_status_t read_result(reader_t *reader, yyjson_val *object,
                               uint8_t *out_ownership, bool *out_bare) {
  static const char *const names[] = {"auto", "owned", "borrowed"};
  if (!yyjson_is_obj(object))
    return fc_doc_fault(&reader->doc, "", "must be an object");
  fc_str_t name = {0};
  unsigned ownership = 0;
  fc_mlir_type_t type;
  uint32_t node;
  FC_TRY(fc_doc_text(&reader->doc, object, "name", &name));
  FC_TRY(
      fc_doc_choice(&reader->doc, object, "ownership", names, 3, &ownership));
  FC_TRY(read_type(reader, object, name, &type, &node));
  reader->vectors |= type.form == FC_MLIR_VECTOR;
  fc_builder_result(reader->builder, name, node, FC_RAW_NEXT);
  *out_ownership = (uint8_t)ownership;
  *out_bare =
      type.form != FC_MLIR_MEMREF || type.refusal[0] || is_bare(reader, node);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The sizes of out arguments

// Parses a text of the form "args[0].dim1". False: it has another form.
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

// Reads a text in "shape". "args[0].dim1" refers to a dim of an argument: *out is the
// size of that dim, or the name that both dims share from now on. Any other text is the
// name of the dim.
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
    return fc_doc_fault(&reader->doc, "shape",
                        "'%s' is no memref the caller sends", shown);
  }
  const fc_type_t *type = fc_builder_at(reader->builder, source->node);
  if (!type) return FC_OK;  // fc_signature_build will return the error
  if (type->rank < 0 || dim >= (size_t)type->rank) {
    return fc_doc_fault(&reader->doc, "shape", "'%s': it has %d dims", shown,
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
  FC_TRY(fc_doc_array(&reader->doc, object, "shape", FC_RANK_MAX, &shape));
  const argument_t *argument = &reader->arguments[reader->doc.item];
  if (!shape || !argument->memref) return FC_OK;
  const fc_type_t *type = fc_builder_at(reader->builder, argument->node);
  if (!type) return FC_OK;
  int32_t rank = type->rank;
  if (argument->role != FC_ROLE_OUT) {
    return fc_doc_fault(&reader->doc, "shape", "only an out argument has one");
  }
  if (rank != (int32_t)yyjson_arr_size(shape)) {
    return fc_doc_fault(&reader->doc, "shape", "%zu dims for a type of %d",
                        yyjson_arr_size(shape), rank < 0 ? 0 : (int)rank);
  }
  for (int32_t i = 0; i < rank; i++) {
    yyjson_val *entry = yyjson_arr_get(shape, (size_t)i);
    int64_t dim = FC_DIM_DYNAMIC;
    if (yyjson_is_uint(entry) && yyjson_get_uint(entry) <= INT64_MAX) {
      dim = (int64_t)yyjson_get_uint(entry);
    } else if (yyjson_is_str(entry) && yyjson_get_len(entry)) {
      FC_TRY(resolve(reader, fc_doc_text_of(entry), &dim));
    } else {
      return fc_doc_fault(&reader->doc, "shape",
                          "dim %d must be a size, a name or 'args[i].dimJ'",
                          (int)i);
    }
    int64_t *dims = fc_builder_get_dims(reader->builder, argument->node);
    if (!dims) return FC_OK;
    if (dims[i] >= 0 && dims[i] != dim) {
      return fc_doc_fault(&reader->doc, "shape",
                          "dim %d is %" PRId64 " in the type", (int)i, dims[i]);
    }
    dims[i] = dim;
  }
  return FC_OK;
}

// True when an argument that the caller sends has a dim of this name.
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

// Makes the function not callable if the size of this out argument is not known,
// because then the server cannot allocate it.
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

// True when every memref among the arguments has static dims.
static bool is_static(const reader_t *reader) {
  for (size_t i = 0; i < reader->argument_count; i++) {
    const argument_t *argument = &reader->arguments[i];
    if (argument->memref && !has_static_dims(reader, argument->node)) {
      return false;
    }
  }
  return true;
}

// ---------------------------------------------------------------------------
// Functions

static fc_status_t read_arguments(reader_t *reader, yyjson_val *object) {
  yyjson_val *list;
  FC_TRY(
      fc_doc_array(&reader->doc, object, "args", FC_SIDECAR_PARAMS_MAX, &list));
  reader->doc.list = "args";
  reader->argument_count = 0;
  size_t count = yyjson_arr_size(list);
  yyjson_val *value = yyjson_arr_get_first(list);
  for (reader->doc.item = 0; reader->doc.item < count; reader->doc.item++) {
    FC_TRY(read_argument(reader, value));
    value = unsafe_yyjson_get_next(value);
  }
  value = yyjson_arr_get_first(list);
  for (reader->doc.item = 0; reader->doc.item < count; reader->doc.item++) {
    FC_TRY(read_shape(reader, value));
    value = unsafe_yyjson_get_next(value);
  }
  for (size_t i = 0; i < count; i++) check_out(reader, i);
  reader->doc.list = NULL;
  return FC_OK;
}

static fc_status_t read_results(reader_t *reader, yyjson_val *object,
                                uint8_t *ownership, bool *out_bare) {
  yyjson_val *list = yyjson_obj_get(object, "results");
  reader->doc.list = "results";
  size_t count = yyjson_arr_size(list);
  yyjson_val *value = yyjson_arr_get_first(list);
  *out_bare = true;
  for (reader->doc.item = 0; reader->doc.item < count; reader->doc.item++) {
    bool bare = true;
    FC_TRY(read_result(reader, value, &ownership[reader->doc.item], &bare));
    *out_bare = *out_bare && bare;
    value = unsafe_yyjson_get_next(value);
  }
  reader->doc.list = NULL;
  return FC_OK;
}

// Refuses vectors if the function's calling convention cannot pass them, or if there
// are too few registers for them.
static void check_vectors(reader_t *reader, fc_cc_t cc) {
  if (!reader->vectors || cc == FC_CC_PACKED) return;
  if (cc != FC_CC_CIFACE) {
    refuse(reader, "vectors are passed by the C interface and packed only");
  } else if (reader->crowded) {
    refuse(reader, "vectors need the first 8 registers of floats and vectors");
  }
}

// Refuses types that the bare pointer convention cannot pass.
static void check_convention(reader_t *reader, fc_cc_t cc, bool bare) {
  check_vectors(reader, cc);
  if (cc != FC_CC_BAREPTR) return;
  for (size_t i = 0; i < reader->argument_count; i++) {
    const argument_t *argument = &reader->arguments[i];
    bare = bare && (!argument->memref || is_bare(reader, argument->node));
  }
  if (!bare) {
    refuse(reader, "the bare pointer convention takes and returns static "
                   "shapes and strides only");
  }
}

static fc_status_t read_symbol(reader_t *reader, yyjson_val *object,
                               fc_sidecar_function_t *function) {
  static const char *const conventions[] = {"ciface", "packed", "expanded",
                                            "bareptr"};
  static const char *const threads[] = {"auto", "reentrant", "serial"};
  unsigned cc = FC_CC_CIFACE, thread = FC_THREADING_AUTO;
  FC_TRY(fc_doc_text(&reader->doc, object, "name", &function->name));
  if (!function->name.size)
    return fc_doc_fault(&reader->doc, "name", "is missing");
  FC_TRY(fc_doc_text(&reader->doc, object, "symbol", &function->symbol));
  if (!function->symbol.size)
    return fc_doc_fault(&reader->doc, "symbol", "is missing");
  if (memchr(function->symbol.data, '\0', function->symbol.size)) {
    return fc_doc_fault(&reader->doc, "symbol", "holds a NUL");
  }
  FC_TRY(fc_doc_choice(&reader->doc, object, "cc", conventions, 4, &cc));
  FC_TRY(fc_doc_choice(&reader->doc, object, "threads", threads, 3, &thread));
  function->cc = (fc_cc_t)cc;
  function->threads = (fc_threading_t)thread;
  fc_builder_name(reader->builder, function->name);
  fc_builder_source(reader->builder, reader->source);
  fc_builder_attr(reader->builder, FC_STR("cc"), fc_str(conventions[cc]));
  fc_builder_attr(reader->builder, FC_STR("symbol"), function->symbol);
  fc_str_t doc = {0};
  FC_TRY(fc_doc_text(&reader->doc, object, "doc", &doc));
  if (doc.size) fc_builder_attr(reader->builder, FC_STR("doc"), doc);
  return fc_doc_showing(&reader->doc, object, reader->builder);
}

static fc_status_t build(reader_t *reader, fc_signature_t **out_signature) {
  fc_error_t inner;
  if (fc_signature_build(reader->builder, out_signature, &inner) == FC_OK) {
    return FC_OK;
  }
  if (inner.code == FC_CODE_OUT_OF_MEMORY) {
    return fc_fail_memory(reader->doc.err);
  }
  return fc_doc_fault(&reader->doc, "", "%s", inner.message);
}

// Builds the signature again, with the names that a document gives it.
static fc_status_t rename_all(reader_t *reader, fc_signature_t **signature) {
  const fc_str_t name = fc_signature_text(*signature, (*signature)->name);
  bool named;
  fc_signature_t *again = NULL;
  FC_TRY(fc_names_apply(reader->names, name, *signature, reader->builder,
                        &named, reader->doc.err));
  if (!named) return FC_OK;
  FC_TRY(fc_signature_build(reader->builder, &again, reader->doc.err));
  fc_signature_destroy(*signature);
  *signature = again;
  return FC_OK;
}

static fc_status_t read_function(reader_t *reader, yyjson_val *object,
                                 uint8_t *ownership,
                                 fc_sidecar_function_t *function) {
  if (!yyjson_is_obj(object))
    return fc_doc_fault(&reader->doc, "", "must be an object");
  fc_builder_reset(reader->builder);
  reader->float_count = 0;
  reader->vectors = reader->crowded = false;
  reader->alignment = reader->sidecar->alignment;
  function->ownership = ownership;
  bool bare = true;
  FC_TRY(read_symbol(reader, object, function));
  FC_TRY(read_arguments(reader, object));
  FC_TRY(read_results(reader, object, ownership, &bare));
  FC_TRY(fc_doc_state(&reader->doc, object, reader->builder));
  check_convention(reader, function->cc, bare);
  fc_builder_memory_safe(reader->builder, reader->sidecar->checked,
                         !is_static(reader));
  fc_builder_alignment(reader->builder, reader->alignment);
  FC_TRY(build(reader, &function->signature));
  return reader->names ? rename_all(reader, &function->signature) : FC_OK;
}

// ---------------------------------------------------------------------------
// The document

static fc_status_t read_head(reader_t *reader, yyjson_val *root) {
  if (reader->doc.abi == FC_DOC_ABI_MODULE) {
    return fc_doc_fault(&reader->doc, "abi",
                        "it may not name the module's own ABI");
  }
  uint64_t index_bits = 64;
  FC_TRY(fc_doc_size(&reader->doc, root, "index_bits", &index_bits));
  if (index_bits != 64) {
    return fc_doc_fault(&reader->doc, "index_bits",
                        "%" PRIu64 ", only 64 is supported", index_bits);
  }
  fc_sidecar_t *sidecar = reader->sidecar;
  FC_TRY(fc_doc_bool(&reader->doc, root, "pure", &sidecar->pure));
  FC_TRY(fc_doc_bool(&reader->doc, root, "checked", &sidecar->checked));
  FC_TRY(fc_doc_bool(&reader->doc, root, "ftz", &sidecar->ftz));
  FC_TRY(fc_doc_text(&reader->doc, root, "compiler", &sidecar->compiler));
  uint64_t alignment = 64;
  FC_TRY(fc_doc_size(&reader->doc, root, "alignment", &alignment));
  if (!alignment || alignment > 64 || (alignment & (alignment - 1))) {
    return fc_doc_fault(&reader->doc, "alignment",
                        "must be a power of two up to 64");
  }
  sidecar->alignment = (uint8_t)alignment;
  sidecar->so_sha256 = reader->doc.so_sha256;
  return FC_OK;
}

// Checks that each "results" is an array, and allocates what all functions need.
static fc_status_t make_room(reader_t *reader, yyjson_val *functions) {
  fc_sidecar_t *sidecar = reader->sidecar;
  size_t count = yyjson_arr_size(functions), results = 0;
  yyjson_val *function = yyjson_arr_get_first(functions);
  for (size_t i = 0; i < count; i++) {
    yyjson_val *list;
    reader->doc.function = (int64_t)i;
    FC_TRY(fc_doc_array(&reader->doc, function, "results",
                        FC_SIDECAR_PARAMS_MAX, &list));
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
    return fc_fail_memory(reader->doc.err);
  }
  return FC_OK;
}

static fc_status_t check_names(reader_t *reader) {
  const fc_sidecar_t *sidecar = reader->sidecar;
  const size_t count = sidecar->function_count;
  fc_named_t *names = fc_alloc_array(sidecar->allocator, count, sizeof *names);
  if (!names) return fc_fail_memory(reader->doc.err);
  for (size_t i = 0; i < count; i++) {
    names[i] = (fc_named_t){sidecar->functions[i].name, (uint32_t)i};
  }
  fc_named_t first, second;
  const bool twins = fc_named_find_twins(names, count, &first, &second);
  fc_free(sidecar->allocator, names);
  if (!twins) return FC_OK;
  reader->doc.function = second.number;
  return fc_doc_fault(&reader->doc, "name", "function %u has the same name",
                      first.number);
}

static fc_status_t read_functions(reader_t *reader, yyjson_val *root) {
  yyjson_val *functions;
  fc_sidecar_t *sidecar = reader->sidecar;
  FC_TRY(fc_doc_array(&reader->doc, root, "functions", FC_SIDECAR_FUNCTIONS_MAX,
                      &functions));
  if (!functions) return fc_doc_fault(&reader->doc, "functions", "is missing");
  FC_TRY(make_room(reader, functions));
  size_t count = yyjson_arr_size(functions);
  uint8_t *ownership = sidecar->ownership;
  yyjson_val *value = yyjson_arr_get_first(functions);
  for (size_t i = 0; i < count; i++) {
    fc_sidecar_function_t *function = &sidecar->functions[i];
    reader->doc.function = (int64_t)i;
    fc_status_t status = read_function(reader, value, ownership, function);
    // The function is counted even if reading it failed, because it may have a
    // signature: fc_sidecar_destroy frees the signatures of the counted functions.
    sidecar->function_count++;
    FC_TRY(status);
    ownership += function->signature->result_count;
    value = unsafe_yyjson_get_next(value);
  }
  return check_names(reader);
}

fc_status_t fc_sidecar_parse(fc_str_t json, fc_source_t source,
                             fc_names_t *names, fc_allocator_t allocator,
                             fc_sidecar_t **out_sidecar, fc_error_t *err) {
  fc_sidecar_t *sidecar = fc_alloc(allocator, sizeof *sidecar);
  if (!sidecar) return fc_fail_memory(err);
  sidecar->allocator = allocator;
  reader_t reader = {.sidecar = sidecar, .source = source, .names = names};
  fc_status_t status = fc_doc_open(&reader.doc, json, &sidecar->allocator, err);
  sidecar->document = reader.doc.json;
  if (status == FC_OK) {
    yyjson_val *root = yyjson_doc_get_root(sidecar->document);
    status = read_head(&reader, root);
    if (status == FC_OK) status = read_functions(&reader, root);
  }
  if (status == FC_OK && names) status = fc_names_finish(names, err);
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
