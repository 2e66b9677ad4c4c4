// SPDX-License-Identifier: Apache-2.0
//
// Reads the canonical signature JSON (which print.c writes) back into a builder, for
// `farcall abi mangle` and for the indented form of a signature. It also reads types in
// documents that people write about a module, where types have the same form. The
// documents are small, so yyjson's tree is walked; nesting is limited. Any thread.
#include <stdio.h>
#include <yyjson.h>

#include "abi/document.h"
#include "abi/print.h"
#include "farcall/abi.h"

#define TEXT_SIZE_MAX (4u << 20)

typedef struct unprint_t {
  fc_builder_t *builder;
  fc_error_t *err;
  bool rooted;   // the root is a tree (sip): only leaves have raw indices
  bool flat;     // each leaf is a value of the flat call, the next one unless
                 // it has a raw_index
  int32_t next;  // raw index of the next leaf, if flat
  uint32_t arguments;  // added so far
  char path[160];      // the member being read, for messages
} unprint_t;

static fc_status_t bad(unprint_t *reader, const char *reason) {
  return fc_fail(reader->err, FC_CODE_ABI_METADATA, "%s: %s",
                 reader->path[0] ? reader->path : "/", reason);
}

// Appends to the path and returns its old size; leave() cuts the path back to that size.
static size_t enter(unprint_t *reader, const char *name, size_t index) {
  const size_t size = strlen(reader->path);
  const size_t room = sizeof reader->path - size;
  if (name) snprintf(reader->path + size, room, "/%s", name);
  else snprintf(reader->path + size, room, "/%zu", index);
  return size;
}

static void leave(unprint_t *reader, size_t size) { reader->path[size] = '\0'; }

static fc_str_t text_of(yyjson_val *value) {
  return fc_str_make(yyjson_get_str(value), yyjson_get_len(value));
}

static bool text_is(yyjson_val *value, const char *text) {
  return yyjson_is_str(value) && fc_str_equal(text_of(value), fc_str(text));
}

static fc_str_t name_of(yyjson_val *object) {
  yyjson_val *name = yyjson_obj_get(object, "name");
  return yyjson_is_str(name) ? text_of(name) : FC_STR("");
}

// ---------------------------------------------------------------------------
// Types

static fc_status_t read_type(unprint_t *reader, yyjson_val *value,
                             uint32_t depth, uint32_t *out_node);

static fc_status_t read_dtype(unprint_t *reader, yyjson_val *type,
                              fc_dtype_t *out_dtype) {
  yyjson_val *value = yyjson_obj_get(type, "dtype");
  if (!yyjson_is_str(value)) return bad(reader, "dtype must be a string");
  *out_dtype = fc_dtype_find_named(text_of(value), FC_DTYPE_NONE);
  return *out_dtype ? FC_OK : bad(reader, "dtype is unknown");
}

// Reads an integer, or null, which stands for `dynamic`.
static fc_status_t read_size(unprint_t *reader, yyjson_val *value,
                             int64_t dynamic, bool negative_ok,
                             int64_t *out_size) {
  if (yyjson_is_null(value)) {
    *out_size = dynamic;
    return FC_OK;
  }
  if (!yyjson_is_int(value)) return bad(reader, "must be an integer or null");
  *out_size = yyjson_get_sint(value);
  if (*out_size < 0 && !negative_ok) return bad(reader, "must not be negative");
  return FC_OK;
}

static fc_status_t read_shape(unprint_t *reader, yyjson_val *type,
                              int32_t *out_rank, int64_t *dims) {
  yyjson_val *shape = yyjson_obj_get(type, "shape");
  if (yyjson_is_null(shape)) {
    *out_rank = FC_RANK_DYNAMIC;
    return FC_OK;
  }
  const size_t rank = yyjson_arr_size(shape);
  if (!yyjson_is_arr(shape) || rank > FC_RANK_MAX) {
    return bad(reader, "shape must be null or an array of at most 32 dims");
  }
  for (size_t i = 0; i < rank; i++) {
    FC_TRY(read_size(reader, yyjson_arr_get(shape, i), FC_DIM_DYNAMIC, false,
                     &dims[i]));
  }
  // "dims" has names for the dynamic dims that must be equal.
  yyjson_val *names = yyjson_obj_get(type, "dims");
  for (size_t i = 0; yyjson_is_arr(names) && i < rank; i++) {
    yyjson_val *name = yyjson_arr_get(names, i);
    if (!yyjson_is_str(name) || dims[i] >= 0) continue;
    dims[i] = fc_builder_dim_name(reader->builder, text_of(name));
  }
  *out_rank = (int32_t)rank;
  return FC_OK;
}

static fc_status_t read_strides(unprint_t *reader, yyjson_val *strides,
                                int32_t rank, int64_t *out_strides) {
  if (!yyjson_is_arr(strides) || rank < 0 ||
      yyjson_arr_size(strides) != (size_t)rank) {
    return bad(reader, "strides must be an array with one entry a dim");
  }
  for (size_t i = 0; i < (size_t)rank; i++) {
    FC_TRY(read_size(reader, yyjson_arr_get(strides, i), FC_STRIDE_DYNAMIC,
                     true, &out_strides[i]));
  }
  return FC_OK;
}

static fc_status_t read_untyped(unprint_t *reader, yyjson_val *type,
                                int32_t rank, const int64_t *dims,
                                uint32_t *out_node) {
  yyjson_val *spelling = yyjson_obj_get(type, "dtype");
  *out_node = fc_builder_tensor(reader->builder, FC_DTYPE_NONE, rank, dims);
  fc_text_ref_t text = {0, 0};
  if (yyjson_is_str(spelling)) {
    text = fc_builder_text(reader->builder, text_of(spelling));
  }
  fc_type_t *node = fc_builder_at(reader->builder, *out_node);
  if (!node) return FC_OK;
  node->flags |= FC_TYPE_UNTYPED;
  node->text = text;
  return FC_OK;
}

static fc_status_t read_tensor(unprint_t *reader, yyjson_val *type,
                               uint32_t *out_node) {
  int64_t dims[FC_RANK_MAX], strides[FC_RANK_MAX], offset = 0;
  int32_t rank;
  FC_TRY(read_shape(reader, type, &rank, dims));
  yyjson_val *spelling = yyjson_obj_get(type, "dtype");
  if (yyjson_is_null(spelling) ||
      (yyjson_is_str(spelling) &&
       !fc_dtype_find_named(text_of(spelling), FC_DTYPE_NONE))) {
    return read_untyped(reader, type, rank, dims, out_node);
  }
  fc_dtype_t dtype;
  FC_TRY(read_dtype(reader, type, &dtype));
  yyjson_val *stride_list = yyjson_obj_get(type, "strides");
  if (!stride_list) {
    *out_node = fc_builder_tensor(reader->builder, dtype, rank, dims);
    return FC_OK;
  }
  FC_TRY(read_strides(reader, stride_list, rank, strides));
  yyjson_val *offset_value = yyjson_obj_get(type, "offset");
  if (offset_value) {
    FC_TRY(read_size(reader, offset_value, FC_STRIDE_DYNAMIC, true, &offset));
  }
  *out_node =
      fc_builder_strided(reader->builder, dtype, rank, dims, strides, offset);
  return FC_OK;
}

static fc_status_t read_scalar(unprint_t *reader, yyjson_val *type,
                               uint32_t *out_node) {
  fc_dtype_t dtype;
  FC_TRY(read_dtype(reader, type, &dtype));
  *out_node = fc_builder_scalar(reader->builder, dtype);
  return FC_OK;
}

static fc_status_t read_vector(unprint_t *reader, yyjson_val *type,
                               uint32_t *out_node) {
  int64_t dims[FC_RANK_MAX];
  int32_t rank;
  fc_dtype_t dtype;
  FC_TRY(read_dtype(reader, type, &dtype));
  FC_TRY(read_shape(reader, type, &rank, dims));
  *out_node = fc_builder_vector(reader->builder, dtype, rank, dims);
  return FC_OK;
}

static fc_status_t read_bytes(unprint_t *reader, yyjson_val *type,
                              uint32_t *out_node) {
  yyjson_val *encoding = yyjson_obj_get(type, "encoding");
  const fc_flavor_t flavor = text_is(encoding, "utf8") ? FC_FLAVOR_UTF8
                             : text_is(encoding, "i8") ? FC_FLAVOR_I8
                                                       : FC_FLAVOR_RAW;
  *out_node = fc_builder_bytes(reader->builder, flavor);
  return FC_OK;
}

static fc_status_t read_opaque(unprint_t *reader, yyjson_val *type,
                               uint32_t *out_node) {
  yyjson_val *name = yyjson_obj_get(type, "type");
  if (!yyjson_is_str(name)) return bad(reader, "type must be a string");
  *out_node = fc_builder_opaque(reader->builder, text_of(name));
  return FC_OK;
}

// NOLINTBEGIN(misc-no-recursion): read_type stops at FC_TYPE_DEPTH_MAX.
static fc_status_t read_one_item(unprint_t *reader, yyjson_val *type,
                                 uint32_t depth, uint32_t node) {
  const size_t size = enter(reader, "items", 0);
  uint32_t child;
  FC_TRY(read_type(reader, yyjson_obj_get(type, "items"), depth + 1, &child));
  fc_builder_append(reader->builder, node, child);
  leave(reader, size);
  return FC_OK;
}

static fc_status_t read_list(unprint_t *reader, yyjson_val *type,
                             uint32_t depth, uint32_t *out_node) {
  *out_node = fc_builder_node(reader->builder, FC_TYPE_LIST);
  fc_type_t *node = fc_builder_at(reader->builder, *out_node);
  if (node && yyjson_is_true(yyjson_obj_get(type, "variadic"))) {
    node->flags |= FC_TYPE_VARIADIC;
  }
  return read_one_item(reader, type, depth, *out_node);
}

static fc_status_t read_refarray(unprint_t *reader, yyjson_val *type,
                                 uint32_t depth, uint32_t *out_node) {
  int64_t dims[FC_RANK_MAX];
  int32_t rank;
  FC_TRY(read_shape(reader, type, &rank, dims));
  *out_node = fc_builder_node(reader->builder, FC_TYPE_REFARRAY);
  fc_builder_dims(reader->builder, *out_node, rank, dims);
  return read_one_item(reader, type, depth, *out_node);
}

static fc_flavor_t flavor_of(yyjson_val *type) {
  yyjson_val *flavor = yyjson_obj_get(type, "flavor");
  if (text_is(flavor, "list")) return FC_FLAVOR_LIST;
  if (text_is(flavor, "struct")) return FC_FLAVOR_STRUCT;
  return FC_FLAVOR_TUPLE;
}

static fc_status_t read_tuple(unprint_t *reader, yyjson_val *type,
                              uint32_t depth, uint32_t *out_node) {
  yyjson_val *items = yyjson_obj_get(type, "items");
  if (!yyjson_is_arr(items)) return bad(reader, "items must be an array");
  *out_node = fc_builder_node(reader->builder, FC_TYPE_TUPLE);
  fc_type_t *node = fc_builder_at(reader->builder, *out_node);
  if (node) node->flavor = (uint8_t)flavor_of(type);
  yyjson_val *item;
  yyjson_arr_iter iterator = yyjson_arr_iter_with(items);
  for (size_t i = 0; (item = yyjson_arr_iter_next(&iterator)); i++) {
    const size_t size = enter(reader, NULL, i);
    uint32_t child;
    FC_TRY(read_type(reader, item, depth + 1, &child));
    fc_builder_append(reader->builder, *out_node, child);
    leave(reader, size);
  }
  return FC_OK;
}

static fc_status_t read_dict(unprint_t *reader, yyjson_val *type,
                             uint32_t depth, uint32_t *out_node) {
  yyjson_val *fields = yyjson_obj_get(type, "fields");
  if (!yyjson_is_arr(fields)) return bad(reader, "fields must be an array");
  *out_node = fc_builder_node(reader->builder, FC_TYPE_DICT);
  fc_type_t *dict = fc_builder_at(reader->builder, *out_node);
  if (dict && text_is(yyjson_obj_get(type, "flavor"), "kwargs")) {
    dict->flavor = FC_FLAVOR_KWARGS;
  }
  yyjson_val *field;
  yyjson_arr_iter iterator = yyjson_arr_iter_with(fields);
  for (size_t i = 0; (field = yyjson_arr_iter_next(&iterator)); i++) {
    const size_t size = enter(reader, NULL, i);
    yyjson_val *name = yyjson_obj_get(field, "name");
    if (!yyjson_is_str(name)) return bad(reader, "name must be a string");
    uint32_t child;
    FC_TRY(read_type(reader, yyjson_obj_get(field, "type"), depth + 1, &child));
    fc_builder_append_key(reader->builder, *out_node, text_of(name), child);
    leave(reader, size);
  }
  return FC_OK;
}

static fc_status_t read_kind(unprint_t *reader, yyjson_val *type,
                             uint32_t depth, uint32_t *out_node) {
  yyjson_val *kind = yyjson_obj_get(type, "kind");
  if (text_is(kind, "scalar")) return read_scalar(reader, type, out_node);
  if (text_is(kind, "tensor")) return read_tensor(reader, type, out_node);
  if (text_is(kind, "vector")) return read_vector(reader, type, out_node);
  if (text_is(kind, "bytes")) return read_bytes(reader, type, out_node);
  if (text_is(kind, "opaque")) return read_opaque(reader, type, out_node);
  if (text_is(kind, "list")) return read_list(reader, type, depth, out_node);
  if (text_is(kind, "tuple")) return read_tuple(reader, type, depth, out_node);
  if (text_is(kind, "dict")) return read_dict(reader, type, depth, out_node);
  if (text_is(kind, "refarray")) {
    return read_refarray(reader, type, depth, out_node);
  }
  const bool null = text_is(kind, "null");
  if (!null && !text_is(kind, "unknown")) return bad(reader, "unknown kind");
  *out_node =
      fc_builder_node(reader->builder, null ? FC_TYPE_NULL : FC_TYPE_UNKNOWN);
  return FC_OK;
}

// Gives a leaf of a flat description the next raw index. Refuses lists, since a list may
// have any number of values.
static fc_status_t number_leaf(unprint_t *reader, uint32_t node) {
  fc_type_t *type = fc_builder_at(reader->builder, node);
  if (!type) return FC_OK;
  switch ((fc_type_kind_t)type->kind) {
    case FC_TYPE_TUPLE:
    case FC_TYPE_DICT:
    case FC_TYPE_NULL:
      return FC_OK;
    case FC_TYPE_LIST:
    case FC_TYPE_REFARRAY:
      return bad(reader, "a function takes no list of any length here");
    default:
      type->raw_index = reader->next++;
      return FC_OK;
  }
}

static fc_status_t read_type(unprint_t *reader, yyjson_val *value,
                             uint32_t depth, uint32_t *out_node) {
  if (depth > FC_TYPE_DEPTH_MAX) return bad(reader, "nested deeper than 32");
  if (!yyjson_is_obj(value)) return bad(reader, "a type must be an object");
  FC_TRY(read_kind(reader, value, depth, out_node));
  yyjson_val *raw_index = yyjson_obj_get(value, "raw_index");
  if (!raw_index) return reader->flat ? number_leaf(reader, *out_node) : FC_OK;
  // A signature has at most FC_NODE_MAX nodes, so no leaf needs a higher index.
  if (!yyjson_is_uint(raw_index) || yyjson_get_uint(raw_index) >= FC_NODE_MAX) {
    return bad(reader, "raw_index must be an integer from 0 to 16383");
  }
  fc_type_t *node = fc_builder_at(reader->builder, *out_node);
  if (node) node->raw_index = (int32_t)yyjson_get_uint(raw_index);
  if (reader->next <= (int32_t)yyjson_get_uint(raw_index)) {
    reader->next = (int32_t)yyjson_get_uint(raw_index) + 1;
  }
  return FC_OK;
}
// NOLINTEND(misc-no-recursion)

// ---------------------------------------------------------------------------
// The document

// Takes the raw index away from the type of a parameter and returns it, for the
// parameter. A type that is a tree has no raw index; its leaves keep theirs.
static int32_t take_raw_index(const unprint_t *reader, uint32_t node) {
  fc_type_t *type = fc_builder_at(reader->builder, node);
  const int32_t index = type ? type->raw_index : FC_RAW_NONE;
  if (type) type->raw_index = FC_RAW_NONE;
  return index;
}

// Returns the raw index of a parameter: FC_RAW_NONE for a tree whose leaves have raw
// indices, the leaf's own for a leaf in a flat description, otherwise FC_RAW_NEXT.
static int32_t raw_index_of(const unprint_t *reader, uint32_t node,
                            size_t count) {
  if (reader->rooted) return FC_RAW_NONE;
  if (reader->flat) return take_raw_index(reader, node);
  const fc_type_t *type = fc_builder_at(reader->builder, node);
  if (!type || count != 1) return FC_RAW_NEXT;
  const bool compound =
      type->kind == FC_TYPE_TUPLE || type->kind == FC_TYPE_DICT;
  if (!compound || type->child == FC_NODE_NONE) return FC_RAW_NEXT;
  const fc_type_t *child = fc_builder_at(reader->builder, type->child);
  return child && child->raw_index >= 0 ? FC_RAW_NONE : FC_RAW_NEXT;
}

// Reads the role of argument `index`, which was added last. A role in a sidecar is
// certain, since its author declares it; a signature says which of its roles are certain.
static fc_status_t read_role(unprint_t *reader, yyjson_val *param,
                             uint32_t index, const fc_type_t *type) {
  yyjson_val *text = yyjson_obj_get(param, "role");
  const bool certain = reader->flat
                           ? text != NULL
                           : yyjson_is_true(yyjson_obj_get(param, "certain"));
  fc_role_t role = FC_ROLE_IN;
  while (text && role <= FC_ROLE_STATE && !text_is(text, fc_role_name(role)))
    role++;
  const bool declared = fc_role_is_sent((uint8_t)role) || role == FC_ROLE_OUT;
  if (reader->flat && text && !declared) {
    return bad(reader, "\"role\" is in, inout, out or scratch");
  }
  if (role > FC_ROLE_STATE) role = FC_ROLE_IN;
  if (reader->flat && role != FC_ROLE_IN && type &&
      !fc_type_may_be_written(type)) {
    return bad(reader, "only a tensor can have a role other than in");
  }
  fc_builder_role(reader->builder, index, role, certain);
  return FC_OK;
}

static fc_status_t read_result(unprint_t *reader, yyjson_val *param,
                               size_t count, uint32_t root) {
  (void)root;
  uint32_t node;
  FC_TRY(read_type(reader, yyjson_obj_get(param, "type"), 0, &node));
  fc_builder_result(reader->builder, name_of(param), node,
                    raw_index_of(reader, node, count));
  return FC_OK;
}

// Reads one argument. `root` is the tree whose children are the arguments, or
// FC_NODE_NONE.
static fc_status_t read_argument(unprint_t *reader, yyjson_val *param,
                                 size_t count, uint32_t root) {
  uint32_t node;
  FC_TRY(read_type(reader, yyjson_obj_get(param, "type"), 0, &node));
  const bool keyword = yyjson_is_true(yyjson_obj_get(param, "keyword"));
  if (root == FC_NODE_NONE) {
    fc_builder_argument(reader->builder, name_of(param), node, FC_ROLE_IN,
                        keyword, raw_index_of(reader, node, count));
    return read_role(reader, param, reader->arguments++,
                     fc_builder_at(reader->builder, node));
  }
  const fc_type_t *parent = fc_builder_at(reader->builder, root);
  if (parent && parent->kind == FC_TYPE_DICT) {
    fc_builder_append_key(reader->builder, root, name_of(param), node);
  } else {
    fc_builder_append(reader->builder, root, node);
  }
  return FC_OK;
}

typedef fc_status_t (*read_param_t)(unprint_t *reader, yyjson_val *param,
                                    size_t count, uint32_t root);

static fc_status_t read_params(unprint_t *reader, yyjson_val *document,
                               const char *member, read_param_t read,
                               uint32_t root) {
  const size_t member_size = enter(reader, member, 0);
  reader->next = 0;
  yyjson_val *list = yyjson_obj_get(document, member);
  if (!yyjson_is_arr(list)) return bad(reader, "must be an array");
  yyjson_val *param;
  yyjson_arr_iter iterator = yyjson_arr_iter_with(list);
  for (size_t i = 0; (param = yyjson_arr_iter_next(&iterator)); i++) {
    const size_t size = enter(reader, NULL, i);
    FC_TRY(read(reader, param, yyjson_arr_size(list), root));
    leave(reader, size);
  }
  leave(reader, member_size);
  return FC_OK;
}

// Reads the root of a sip signature ("root": tuple, dict or leaf). It is one argument,
// whose children are listed as the arguments.
static fc_status_t read_rooted(unprint_t *reader, yyjson_val *document) {
  yyjson_val *kind = yyjson_obj_get(document, "root");
  const bool dict = text_is(kind, "dict");
  reader->rooted = true;
  fc_builder_root_tree(reader->builder, true);
  if (!dict && !text_is(kind, "tuple")) {
    return read_params(reader, document, "arguments", read_argument,
                       FC_NODE_NONE);
  }
  const uint32_t root =
      fc_builder_node(reader->builder, dict ? FC_TYPE_DICT : FC_TYPE_TUPLE);
  fc_type_t *type = fc_builder_at(reader->builder, root);
  if (type && !dict) type->flavor = FC_FLAVOR_LIST;
  FC_TRY(read_params(reader, document, "arguments", read_argument, root));
  fc_builder_argument(reader->builder, FC_STR(""), root, FC_ROLE_IN, false,
                      FC_RAW_NONE);
  return FC_OK;
}

// Reads "sizes", a list of objects that say the sizes of dims by their names.
static fc_status_t read_sizes(unprint_t *reader, yyjson_val *document) {
  yyjson_val *list = yyjson_obj_get(document, "sizes"), *object, *name, *size;
  size_t index, count, at, most;
  if (!list) return FC_OK;
  if (!yyjson_is_arr(list)) return bad(reader, "sizes must be an array");
  yyjson_arr_foreach(list, index, count, object) {
    int64_t row[FC_DIM_NAMES_MAX];
    for (size_t i = 0; i < FC_DIM_NAMES_MAX; i++) row[i] = FC_DIM_DYNAMIC;
    if (!yyjson_is_obj(object)) {
      return bad(reader, "sizes must be objects");
    }
    yyjson_obj_foreach(object, at, most, name, size) {
      const int64_t dim = fc_builder_dim_name(reader->builder, text_of(name));
      if (!yyjson_is_int(size)) return bad(reader, "a size must be an integer");
      if (fc_dim_is_named(dim)) row[fc_dim_name(dim)] = yyjson_get_sint(size);
    }
    fc_builder_sizes(reader->builder, row);
  }
  return FC_OK;
}

static fc_source_t source_of(yyjson_val *root) {
  for (int source = 0; source < FC_SOURCE_COUNT; source++) {
    if (text_is(yyjson_obj_get(root, "source"),
                fc_source_name((fc_source_t)source))) {
      return (fc_source_t)source;
    }
  }
  return FC_SOURCE_SIDECAR;
}

static fc_status_t read_document(unprint_t *reader, yyjson_val *document) {
  if (!yyjson_is_obj(document)) return bad(reader, "must be an object");
  const fc_source_t source = source_of(document);
  fc_builder_source(reader->builder, source);
  fc_builder_name(reader->builder, name_of(document));
  fc_builder_async(reader->builder,
                   text_is(yyjson_obj_get(document, "model"), "async"));
  if (source == FC_SOURCE_SIP) {
    FC_TRY(read_rooted(reader, document));
  } else {
    FC_TRY(read_params(reader, document, "arguments", read_argument,
                       FC_NODE_NONE));
  }
  FC_TRY(read_params(reader, document, "results", read_result, FC_NODE_NONE));
  return read_sizes(reader, document);
}

fc_status_t fc_doc_signature(const fc_doc_t *doc, yyjson_val *object,
                             fc_builder_t *builder) {
  fc_error_t why;
  fc_error_reset(&why);
  unprint_t reader = {.builder = builder, .err = &why, .flat = true};
  fc_status_t status =
      read_params(&reader, object, "arguments", read_argument, FC_NODE_NONE);
  const uint32_t arguments = (uint32_t)reader.next;
  if (status == FC_OK) {
    status = read_params(&reader, object, "results", read_result, FC_NODE_NONE);
  }
  fc_builder_source(builder, FC_SOURCE_SIDECAR);
  fc_builder_raw_counts(builder, arguments, (uint32_t)reader.next);
  return status == FC_OK ? FC_OK : fc_doc_fault(doc, "", "%s", why.message);
}

fc_status_t fc_signature_parse_json(fc_str_t text, fc_builder_t *builder,
                                    fc_error_t *err) {
  if (text.size > TEXT_SIZE_MAX) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "signature of %zu bytes is over the limit of %u", text.size,
                   TEXT_SIZE_MAX);
  }
  yyjson_read_err json_err;
  yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text.data, text.size,
                                     YYJSON_READ_NOFLAG, NULL, &json_err);
  if (!doc) {
    fc_status_t status =
        fc_fail(err, FC_CODE_ABI_METADATA, "not valid JSON at byte %zu: %s",
                json_err.pos, json_err.msg);
    if (err) err->byte_offset = json_err.pos;
    return status;
  }
  unprint_t reader = {.builder = builder, .err = err};
  fc_status_t status = read_document(&reader, yyjson_doc_get_root(doc));
  yyjson_doc_free(doc);
  return status;
}
