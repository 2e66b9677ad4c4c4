// SPDX-License-Identifier: Apache-2.0
//
// The two renderings of a finished signature: canonical JSON (hashed for the
// ETag, so its bytes are part of the interface) and one line of text. Any
// thread; allocates only to put the line into the JSON.
#include "abi/print.h"

#include <inttypes.h>
#include <stdio.h>

#include "abi/walk.h"
#include "json/writer.h"

static const char *const role_names[] = {
    [FC_ROLE_IN] = "in",
    [FC_ROLE_OUT] = "out",
    [FC_ROLE_INOUT] = "inout",
    [FC_ROLE_TRANSIENT] = "transient",
    [FC_ROLE_WAIT_FENCE] = "wait_fence",
    [FC_ROLE_SIGNAL_FENCE] = "signal_fence",
    [FC_ROLE_STORAGE] = "storage",
    [FC_ROLE_SCRATCH] = "scratch",
    [FC_ROLE_STATE] = "state",
};

static const char *const kind_names[] = {
    [FC_TYPE_SCALAR] = "scalar",   [FC_TYPE_TENSOR] = "tensor",
    [FC_TYPE_BYTES] = "bytes",     [FC_TYPE_LIST] = "list",
    [FC_TYPE_TUPLE] = "tuple",     [FC_TYPE_DICT] = "dict",
    [FC_TYPE_VECTOR] = "vector",   [FC_TYPE_REFARRAY] = "refarray",
    [FC_TYPE_OPAQUE] = "opaque",   [FC_TYPE_NULL] = "null",
    [FC_TYPE_UNKNOWN] = "unknown",
};

static const char *const flavor_names[] = {
    [FC_FLAVOR_NONE] = "",       [FC_FLAVOR_UTF8] = "utf8",
    [FC_FLAVOR_RAW] = "raw",     [FC_FLAVOR_LIST] = "list",
    [FC_FLAVOR_TUPLE] = "tuple", [FC_FLAVOR_STRUCT] = "struct",
    [FC_FLAVOR_I8] = "i8",       [FC_FLAVOR_KWARGS] = "kwargs",
};

const char *fc_role_name(fc_role_t role) {
  return (unsigned)role < FC_ARRAY_COUNT(role_names) ? role_names[role] : "in";
}

const char *fc_type_kind_name(fc_type_kind_t kind) {
  return (unsigned)kind < FC_ARRAY_COUNT(kind_names) ? kind_names[kind]
                                                     : "unknown";
}

static const char *dtype_name(const fc_type_t *type) {
  return fc_dtype_info((fc_dtype_t)type->dtype)->text;
}

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

static fc_status_t put_number(fc_sink_t *sink, int64_t value, fc_error_t *err) {
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, value);
  return put(sink, text, err);
}

// ---------------------------------------------------------------------------
// Text

// True when the name can stand in text without quotes.
static bool is_plain(fc_str_t name) {
  for (size_t i = 0; i < name.size; i++) {
    char c = name.data[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '_' || c == '$';
    bool inner = (c >= '0' && c <= '9') || c == '.' || c == '-';
    if (!letter && !(i && inner)) return false;
  }
  return name.size > 0;
}

static fc_status_t text_name(fc_sink_t *sink, fc_str_t name, fc_error_t *err) {
  return is_plain(name) ? fc_sink_put(sink, name, err)
                        : fc_json_write_string(sink, name, err);
}

// Writes the name of an opaque type as it is. It is quoted if it has a character that
// is not printable ASCII, which could break the line or hide something.
static fc_status_t text_opaque(fc_sink_t *sink, fc_str_t text,
                               fc_error_t *err) {
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < ' ' || text.data[i] > '~') {
      return fc_json_write_string(sink, text, err);
    }
  }
  return fc_sink_put(sink, text, err);
}

static fc_str_t dim_name(const fc_signature_t *signature, int64_t dim) {
  return fc_signature_text(signature, signature->dim_names[fc_dim_name(dim)]);
}

// Writes a dim. A name is put in brackets, since its letters may include an
// `x`, which also stands between dims.
static fc_status_t text_dim(const fc_signature_t *signature, int64_t dim,
                            bool names, fc_sink_t *sink, fc_error_t *err) {
  if (dim >= 0) return put_number(sink, dim, err);
  if (!names || !fc_dim_is_named(dim)) return put(sink, "?", err);
  FC_TRY(put(sink, "[", err));
  FC_TRY(text_name(sink, dim_name(signature, dim), err));
  return put(sink, "]", err);
}

static fc_status_t text_dims(const fc_signature_t *signature,
                             const fc_type_t *type, bool names, fc_sink_t *sink,
                             fc_error_t *err) {
  if (type->rank < 0) return put(sink, "*x", err);
  const int64_t *dims = fc_signature_dims(signature, type);
  for (int32_t i = 0; i < type->rank; i++) {
    FC_TRY(text_dim(signature, dims[i], names, sink, err));
    FC_TRY(put(sink, "x", err));
  }
  return FC_OK;
}

static fc_status_t text_stride(fc_sink_t *sink, int64_t stride,
                               fc_error_t *err) {
  return stride == FC_STRIDE_DYNAMIC ? put(sink, "?", err)
                                     : put_number(sink, stride, err);
}

static fc_status_t text_layout(const fc_signature_t *signature,
                               const fc_type_t *type, fc_sink_t *sink,
                               fc_error_t *err) {
  if (!(type->flags & FC_TYPE_STRIDED)) return FC_OK;
  const int64_t *strides = fc_signature_dims(signature, type) + type->rank;
  FC_TRY(put(sink, ", strided<[", err));
  for (int32_t i = 0; i < type->rank; i++) {
    if (i) FC_TRY(put(sink, ", ", err));
    FC_TRY(text_stride(sink, strides[i], err));
  }
  FC_TRY(put(sink, "]", err));
  if (strides[type->rank] != 0) {
    FC_TRY(put(sink, ", offset: ", err));
    FC_TRY(text_stride(sink, strides[type->rank], err));
  }
  return put(sink, ">", err);
}

// Writes the element type. A type that farcall does not have is spelled as in its source.
static fc_status_t text_dtype(const fc_signature_t *signature,
                              const fc_type_t *type, fc_sink_t *sink,
                              fc_error_t *err) {
  if (type->dtype != FC_DTYPE_NONE) return put(sink, dtype_name(type), err);
  if (!(type->flags & FC_TYPE_ODD)) return put(sink, "unknown", err);
  return fc_sink_put(sink, fc_signature_text(signature, type->text), err);
}

static fc_status_t text_shaped(const fc_signature_t *signature,
                               const fc_type_t *type, bool names,
                               fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(put(sink, kind_names[type->kind], err));
  FC_TRY(put(sink, "<", err));
  FC_TRY(text_dims(signature, type, names, sink, err));
  if (type->kind == FC_TYPE_REFARRAY) return FC_OK;  // its elements follow
  FC_TRY(text_dtype(signature, type, sink, err));
  FC_TRY(text_layout(signature, type, sink, err));
  return put(sink, ">", err);
}

static fc_status_t text_open(const fc_signature_t *signature,
                             const fc_type_t *type, fc_sink_t *sink,
                             fc_error_t *err) {
  switch (type->kind) {
    case FC_TYPE_SCALAR:
      return put(sink, dtype_name(type), err);
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
    case FC_TYPE_REFARRAY:
      return text_shaped(signature, type, true, sink, err);
    case FC_TYPE_BYTES:
      return put(sink, type->flavor == FC_FLAVOR_UTF8 ? "utf8" : "bytes", err);
    case FC_TYPE_LIST:
      return put(sink, type->flags & FC_TYPE_VARIADIC ? "" : "list<", err);
    case FC_TYPE_TUPLE:
      if (type->flavor == FC_FLAVOR_LIST) return put(sink, "[", err);
      return put(sink, type->flavor == FC_FLAVOR_TUPLE ? "(" : "struct(", err);
    case FC_TYPE_DICT:
      return put(sink, "{", err);
    case FC_TYPE_OPAQUE:
      return text_opaque(sink, fc_signature_text(signature, type->text), err);
    default:
      return put(sink, kind_names[type->kind], err);
  }
}

fc_status_t fc_tensor_print_mlir(const fc_signature_t *signature,
                                 const fc_type_t *type, fc_sink_t *sink,
                                 fc_error_t *err) {
  return text_shaped(signature, type, false, sink, err);
}

static fc_status_t text_close(const fc_type_t *type, fc_sink_t *sink,
                              fc_error_t *err) {
  switch (type->kind) {
    case FC_TYPE_LIST:
      return put(sink, type->flags & FC_TYPE_VARIADIC ? "..." : ">", err);
    case FC_TYPE_REFARRAY:
      return put(sink, ">", err);
    case FC_TYPE_DICT:
      return put(sink, "}", err);
    default:
      return put(sink, type->flavor == FC_FLAVOR_LIST ? "]" : ")", err);
  }
}

fc_status_t fc_type_print_text(const fc_signature_t *signature, uint32_t node,
                               fc_sink_t *sink, fc_error_t *err) {
  fc_walk_t walk;
  fc_walk_init(&walk, signature->nodes, node);
  while (fc_walk_next(&walk)) {
    if (walk.leave) {
      FC_TRY(text_close(walk.type, sink, err));
      continue;
    }
    if (walk.index) FC_TRY(put(sink, ", ", err));
    if (walk.parent && walk.parent->kind == FC_TYPE_DICT) {
      FC_TRY(
          text_name(sink, fc_signature_text(signature, walk.type->key), err));
      FC_TRY(put(sink, ": ", err));
    }
    FC_TRY(text_open(signature, walk.type, sink, err));
  }
  return FC_OK;
}

static fc_status_t text_param(const fc_signature_t *signature,
                              const fc_param_t *param, fc_sink_t *sink,
                              fc_error_t *err) {
  if (param->role != FC_ROLE_IN) {
    FC_TRY(put(sink, fc_role_name((fc_role_t)param->role), err));
    FC_TRY(put(sink, " ", err));
  }
  if (param->name.size) {
    FC_TRY(text_name(sink, fc_signature_text(signature, param->name), err));
    FC_TRY(put(sink, ": ", err));
  }
  return fc_type_print_text(signature, param->type, sink, err);
}

bool fc_argument_next(const fc_signature_t *signature, fc_argument_t *at) {
  uint32_t position = at->started ? at->position + 1 : 0;
  at->started = true;
  at->position = position;
  const fc_type_t *root = fc_signature_root(signature);
  if (!root) {
    if (position >= signature->argument_count) return false;
    at->param = signature->arguments[position];
    return true;
  }
  uint32_t node =
      position ? signature->nodes[at->param.type].next : root->child;
  if (node == FC_NODE_NONE) return false;
  bool keyword = root->kind == FC_TYPE_DICT;
  at->param = (fc_param_t){
      .type = node,
      .role = FC_ROLE_IN,
      .keyword = keyword,
      .raw_index = FC_RAW_NONE,
  };
  if (keyword) at->param.name = signature->nodes[node].key;
  return true;
}

const fc_type_t *fc_signature_root(const fc_signature_t *signature) {
  if (!signature->root_tree || !signature->argument_count) return NULL;
  const fc_type_t *root = &signature->nodes[signature->arguments[0].type];
  bool splits = root->kind == FC_TYPE_TUPLE || root->kind == FC_TYPE_DICT;
  return splits ? root : NULL;
}

const fc_param_t *fc_result_next(const fc_signature_t *signature,
                                 const fc_param_t *result) {
  const fc_param_t *end = signature->results + signature->result_count;
  result = result ? result + 1 : signature->results;
  while (result < end && result->role == FC_ROLE_STATE) result++;
  return result < end ? result : NULL;
}

static fc_status_t text_results(const fc_signature_t *signature,
                                fc_sink_t *sink, fc_error_t *err) {
  const fc_param_t *first = fc_result_next(signature, NULL);
  bool single = first && !fc_result_next(signature, first);
  if (single) {
    // Without parentheses a single tuple would read as several results.
    const fc_type_t *type = &signature->nodes[first->type];
    single = type->kind != FC_TYPE_TUPLE || type->flavor != FC_FLAVOR_TUPLE;
  }
  if (single) return fc_type_print_text(signature, first->type, sink, err);
  FC_TRY(put(sink, "(", err));
  for (const fc_param_t *at = first; at; at = fc_result_next(signature, at)) {
    if (at != first) FC_TRY(put(sink, ", ", err));
    FC_TRY(text_param(signature, at, sink, err));
  }
  return put(sink, ")", err);
}

// ---------------------------------------------------------------------------
// Sizes

fc_status_t fc_signature_print_sizes(const fc_signature_t *signature,
                                     const int64_t *row, fc_sink_t *sink,
                                     fc_error_t *err) {
  bool more = false;
  for (uint32_t i = 0; i < signature->dim_name_count; i++) {
    const int64_t dim = -2 - (int64_t)i;
    if (!fc_dim_is_sized(signature, dim)) continue;
    if (more) FC_TRY(put(sink, "x", err));
    more = true;
    FC_TRY(row ? put_number(sink, row[i], err)
               : text_dim(signature, dim, true, sink, err));
  }
  return FC_OK;
}

static fc_str_t batch_of(const fc_signature_t *signature) {
  return signature->size_count
             ? fc_signature_attr(signature, FC_STR(FC_BATCH_ATTR))
             : (fc_str_t){0};
}

bool fc_signature_batches(const fc_signature_t *signature) {
  const fc_str_t batch = batch_of(signature);
  return fc_str_equal(batch, FC_STR(FC_BATCH_EXACT)) ||
         fc_str_equal(batch, FC_STR(FC_BATCH_APPROXIMATE));
}

bool fc_signature_may_batch(const fc_signature_t *signature) {
  return fc_signature_batches(signature) ||
         fc_str_equal(batch_of(signature), FC_STR(FC_BATCH_UNPROVED));
}

fc_status_t fc_signature_print_rows(const fc_signature_t *signature,
                                    fc_sink_t *sink, fc_error_t *err) {
  if (fc_signature_batches(signature)) {
    FC_TRY(put(sink, "1 or more, by ", err));
  }
  for (uint32_t i = 0; i < signature->size_count; i++) {
    const bool last = i + 1 == signature->size_count;
    if (i) FC_TRY(put(sink, last ? " or " : ", ", err));
    FC_TRY(fc_signature_print_sizes(
        signature, signature->sizes + i * (size_t)signature->dim_name_count,
        sink, err));
  }
  return FC_OK;
}

// Writes, for example: " where [batch] is 1, 8 or 32".
static fc_status_t text_sizes(const fc_signature_t *signature, fc_sink_t *sink,
                              fc_error_t *err) {
  if (!signature->size_count) return FC_OK;
  FC_TRY(put(sink, " where ", err));
  FC_TRY(fc_signature_print_sizes(signature, NULL, sink, err));
  FC_TRY(put(sink, " is ", err));
  return fc_signature_print_rows(signature, sink, err);
}

fc_status_t fc_signature_print_text(const fc_signature_t *signature,
                                    fc_sink_t *sink, fc_error_t *err) {
  fc_str_t name = fc_signature_text(signature, signature->name);
  if (name.size) FC_TRY(text_name(sink, name, err));
  FC_TRY(put(sink, "(", err));
  fc_argument_t at = {0};
  while (fc_argument_next(signature, &at)) {
    if (at.position) FC_TRY(put(sink, ", ", err));
    FC_TRY(text_param(signature, &at.param, sink, err));
  }
  FC_TRY(put(sink, ") -> ", err));
  FC_TRY(text_results(signature, sink, err));
  return text_sizes(signature, sink, err);
}

// ---------------------------------------------------------------------------
// JSON

static fc_status_t json_text(fc_sink_t *sink, const char *before, fc_str_t text,
                             fc_error_t *err) {
  return fc_json_print(sink, err, "%s'%.*s'", before, FC_STR_ARG(text));
}

static fc_status_t json_bool(fc_sink_t *sink, const char *before, bool value,
                             fc_error_t *err) {
  return fc_json_print(sink, err, "%s%s", before, value ? "true" : "false");
}

static fc_status_t json_shape(const fc_signature_t *signature,
                              const fc_type_t *type, fc_sink_t *sink,
                              fc_error_t *err) {
  if (type->rank < 0) return put(sink, ",\"shape\":null", err);
  const int64_t *dims = fc_signature_dims(signature, type);
  bool named = false;
  FC_TRY(put(sink, ",\"shape\":[", err));
  for (int32_t i = 0; i < type->rank; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(dims[i] < 0 ? put(sink, "null", err)
                       : put_number(sink, dims[i], err));
    named |= fc_dim_is_named(dims[i]);
  }
  FC_TRY(put(sink, "]", err));
  if (!named) return FC_OK;

  FC_TRY(put(sink, ",\"dims\":[", err));
  for (int32_t i = 0; i < type->rank; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    if (!fc_dim_is_named(dims[i])) {
      FC_TRY(put(sink, "null", err));
      continue;
    }
    FC_TRY(fc_json_write_string(sink, dim_name(signature, dims[i]), err));
  }
  return put(sink, "]", err);
}

static fc_status_t json_stride(fc_sink_t *sink, int64_t stride,
                               fc_error_t *err) {
  return stride == FC_STRIDE_DYNAMIC ? put(sink, "null", err)
                                     : put_number(sink, stride, err);
}

static fc_status_t json_layout(const fc_signature_t *signature,
                               const fc_type_t *type, fc_sink_t *sink,
                               fc_error_t *err) {
  if (!(type->flags & FC_TYPE_STRIDED)) return FC_OK;
  const int64_t *strides = fc_signature_dims(signature, type) + type->rank;
  FC_TRY(put(sink, ",\"strides\":[", err));
  for (int32_t i = 0; i < type->rank; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(json_stride(sink, strides[i], err));
  }
  FC_TRY(put(sink, "],\"offset\":", err));
  return json_stride(sink, strides[type->rank], err);
}

static fc_status_t json_dtype(const fc_signature_t *signature,
                              const fc_type_t *type, fc_sink_t *sink,
                              fc_error_t *err) {
  if (type->dtype == FC_DTYPE_NONE) {
    // The source says null here, or a word that is no element type.
    const fc_str_t word = fc_signature_text(signature, type->text);
    if (!word.size) return put(sink, ",\"dtype\":null", err);
    return json_text(sink, ",\"dtype\":", word, err);
  }
  return json_text(sink, ",\"dtype\":", fc_str(dtype_name(type)), err);
}

// Writes a node except its children. Of a leaf it writes all but the raw index and
// the closing brace.
static fc_status_t json_open(const fc_signature_t *signature,
                             const fc_type_t *type, fc_sink_t *sink,
                             fc_error_t *err) {
  FC_TRY(json_text(sink, "{\"kind\":", fc_str(kind_names[type->kind]), err));
  switch (type->kind) {
    case FC_TYPE_SCALAR:
      return json_dtype(signature, type, sink, err);
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
      FC_TRY(json_dtype(signature, type, sink, err));
      FC_TRY(json_shape(signature, type, sink, err));
      return json_layout(signature, type, sink, err);
    case FC_TYPE_BYTES:
      return json_text(
          sink, ",\"encoding\":", fc_str(flavor_names[type->flavor]), err);
    case FC_TYPE_REFARRAY:
      FC_TRY(json_shape(signature, type, sink, err));
      return put(sink, ",\"items\":", err);
    case FC_TYPE_LIST:
      return put(sink, ",\"items\":", err);
    case FC_TYPE_TUPLE:
      return put(sink, ",\"items\":[", err);
    case FC_TYPE_DICT:
      return put(sink, ",\"fields\":[", err);
    case FC_TYPE_OPAQUE:
      return json_text(
          sink, ",\"type\":", fc_signature_text(signature, type->text), err);
    default:
      return FC_OK;
  }
}

// Writes what follows the children of a node, before its raw index or closing brace.
static fc_status_t json_close(const fc_type_t *type, fc_sink_t *sink,
                              fc_error_t *err) {
  switch (type->kind) {
    case FC_TYPE_LIST:
      return type->flags & FC_TYPE_VARIADIC
                 ? put(sink, ",\"variadic\":true", err)
                 : FC_OK;
    case FC_TYPE_TUPLE:
      return json_text(
          sink, "],\"flavor\":", fc_str(flavor_names[type->flavor]), err);
    case FC_TYPE_DICT:
      FC_TRY(put(sink, "]", err));
      if (type->flavor == FC_FLAVOR_NONE) return FC_OK;
      return json_text(sink, ",\"flavor\":", fc_str(flavor_names[type->flavor]),
                       err);
    default:
      return FC_OK;
  }
}

static fc_status_t json_type(const fc_signature_t *signature, uint32_t node,
                             fc_sink_t *sink, fc_error_t *err) {
  fc_walk_t walk;
  fc_walk_init(&walk, signature->nodes, node);
  while (fc_walk_next(&walk)) {
    const fc_type_t *type = walk.type;
    bool field = walk.parent && walk.parent->kind == FC_TYPE_DICT;
    if (!walk.leave) {
      if (walk.index) FC_TRY(put(sink, ",", err));
      if (field) {
        FC_TRY(json_text(
            sink, "{\"name\":", fc_signature_text(signature, type->key), err));
        FC_TRY(put(sink, ",\"type\":", err));
      }
      FC_TRY(json_open(signature, type, sink, err));
      if (fc_type_kind_nests(type->kind)) continue;
    } else {
      FC_TRY(json_close(type, sink, err));
    }
    if (type->raw_index >= 0) {
      FC_TRY(fc_json_print(sink, err, ",'raw_index':%d", type->raw_index));
    }
    FC_TRY(put(sink, field ? "}}" : "}", err));
  }
  return FC_OK;
}

static fc_status_t json_argument(const fc_signature_t *signature,
                                 const fc_argument_t *at, fc_sink_t *sink,
                                 fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, "%s{'position':%u", at->position ? "," : "",
                       at->position));
  if (at->param.name.size || at->param.keyword) {
    FC_TRY(json_text(
        sink, ",\"name\":", fc_signature_text(signature, at->param.name), err));
  }
  FC_TRY(fc_json_print(sink, err, ",'keyword':%s,'role':'%s'",
                       at->param.keyword ? "true" : "false",
                       fc_role_name((fc_role_t)at->param.role)));
  if (at->param.certain) FC_TRY(put(sink, ",\"certain\":true", err));
  FC_TRY(put(sink, ",\"type\":", err));
  FC_TRY(json_type(signature, at->param.type, sink, err));
  return put(sink, "}", err);
}

static fc_status_t json_arguments(const fc_signature_t *signature,
                                  fc_sink_t *sink, fc_error_t *err) {
  if (signature->root_tree && signature->argument_count) {
    const fc_type_t *root = &signature->nodes[signature->arguments[0].type];
    const char *kind =
        fc_signature_root(signature) ? kind_names[root->kind] : "leaf";
    FC_TRY(json_text(sink, ",\"root\":", fc_str(kind), err));
  }
  FC_TRY(put(sink, ",\"arguments\":[", err));
  fc_argument_t at = {0};
  while (fc_argument_next(signature, &at)) {
    FC_TRY(json_argument(signature, &at, sink, err));
  }
  return put(sink, "]", err);
}

static fc_status_t json_results(const fc_signature_t *signature,
                                fc_sink_t *sink, fc_error_t *err) {
  const fc_param_t *first = fc_result_next(signature, NULL), *result = first;
  FC_TRY(put(sink, ",\"results\":[", err));
  for (; result; result = fc_result_next(signature, result)) {
    FC_TRY(put(sink, result != first ? ",{" : "{", err));
    if (result->name.size) {
      FC_TRY(json_text(
          sink, "\"name\":", fc_signature_text(signature, result->name), err));
      FC_TRY(put(sink, ",", err));
    }
    FC_TRY(put(sink, "\"type\":", err));
    FC_TRY(json_type(signature, result->type, sink, err));
    FC_TRY(put(sink, "}", err));
  }
  return put(sink, "]", err);
}

// Writes ,"state":[{"name":"kv","argument":4,"shape":[64,8]},…].
static fc_status_t json_states(const fc_signature_t *signature, fc_sink_t *sink,
                               fc_error_t *err) {
  for (uint32_t i = 0; i < signature->state_count; i++) {
    const fc_state_decl_t *state = &signature->states[i];
    const fc_param_t *param = &signature->arguments[state->argument];
    const fc_type_t *type = fc_signature_node(signature, param->type);
    const int64_t *shape = signature->dims + state->dims;
    FC_TRY(put(sink, i ? ",{" : ",\"state\":[{", err));
    FC_TRY(json_text(
        sink, "\"name\":", fc_signature_text(signature, state->name), err));
    FC_TRY(put(sink, ",\"argument\":", err));
    FC_TRY(put_number(sink, state->argument, err));
    if (state->result != FC_STATE_IN_PLACE) {
      FC_TRY(put(sink, ",\"result\":", err));
      FC_TRY(put_number(sink, state->result, err));
    }
    const bool tensor = type->kind == FC_TYPE_TENSOR;
    for (int32_t k = 0; tensor && k < type->rank; k++) {
      FC_TRY(put(sink, k ? "," : ",\"shape\":[", err));
      FC_TRY(put_number(sink, shape[k], err));
    }
    if (tensor) FC_TRY(put(sink, type->rank ? "]" : ",\"shape\":[]", err));
    if (state->survives) FC_TRY(put(sink, ",\"survives\":true", err));
    FC_TRY(put(sink, "}", err));
  }
  return signature->state_count ? put(sink, "]", err) : FC_OK;
}

// Writes ,"sizes":[{"batch":1},…].
static fc_status_t json_sizes(const fc_signature_t *signature, fc_sink_t *sink,
                              fc_error_t *err) {
  if (!signature->size_count) return FC_OK;
  const int64_t *row = signature->sizes;
  for (uint32_t i = 0; i < signature->size_count; i++) {
    FC_TRY(put(sink, i ? "},{" : ",\"sizes\":[{", err));
    bool more = false;
    for (uint32_t k = 0; k < signature->dim_name_count; k++) {
      const int64_t dim = -2 - (int64_t)k;
      if (!fc_dim_is_sized(signature, dim)) continue;
      if (more) FC_TRY(put(sink, ",", err));
      more = true;
      FC_TRY(fc_json_write_string(sink, dim_name(signature, dim), err));
      FC_TRY(fc_json_print(sink, err, ":%ld", row[k]));
    }
    row += signature->dim_name_count;
  }
  return put(sink, "}]", err);
}

static fc_status_t json_line(const fc_signature_t *signature, fc_sink_t *sink,
                             fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, signature->allocator, SIZE_MAX);
  fc_status_t status = fc_signature_print_text(signature, &text.sink, err);
  if (status == FC_OK) {
    status = json_text(sink, ",\"text\":", fc_text_str(&text), err);
  }
  fc_text_deinit(&text);
  return status;
}

static fc_status_t json_raw(const fc_signature_t *signature, fc_sink_t *sink,
                            fc_error_t *err) {
  FC_TRY(json_text(sink, ",\"raw\":{\"cconv\":",
                   fc_signature_text(signature, signature->cconv), err));
  FC_TRY(put(sink, ",\"attrs\":{", err));
  for (uint32_t i = 0; i < signature->attr_count; i++) {
    const fc_attr_t *attr = &signature->attrs[i];
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(fc_json_write_string(sink, fc_signature_text(signature, attr->key),
                                err));
    FC_TRY(
        json_text(sink, ":", fc_signature_text(signature, attr->value), err));
  }
  return put(sink, "}}", err);
}

static fc_status_t json_head(const fc_signature_t *signature, fc_str_t module,
                             fc_str_t version, fc_sink_t *sink,
                             fc_error_t *err) {
  FC_TRY(put(sink, "{", err));
  if (module.size) {
    FC_TRY(fc_json_print(sink, err, "'module':'%.*s','version':'%.*s',",
                         FC_STR_ARG(module), FC_STR_ARG(version)));
  }
  return json_text(
      sink, "\"name\":", fc_signature_text(signature, signature->name), err);
}

static fc_status_t json_callable(const fc_signature_t *signature,
                                 fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(json_bool(sink, ",\"callable\":", signature->callable, err));
  if (signature->callable) return put(sink, ",\"reason\":null", err);
  return json_text(sink, ",\"reason\":",
                   fc_signature_text(signature, signature->reason), err);
}

fc_status_t fc_signature_print_short(const fc_signature_t *signature,
                                     fc_str_t module, fc_str_t version,
                                     fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(json_head(signature, module, version, sink, err));
  FC_TRY(json_line(signature, sink, err));
  FC_TRY(json_callable(signature, sink, err));
  return put(sink, "}", err);
}

static fc_status_t json_state(const fc_signature_t *signature, fc_sink_t *sink,
                              fc_error_t *err) {
  FC_TRY(json_callable(signature, sink, err));
  if (signature->memory_known) {
    FC_TRY(json_bool(sink, ",\"memory_safe\":", signature->memory_safe, err));
  }
  if (signature->warning.size) {
    FC_TRY(json_text(sink, ",\"warning\":",
                     fc_signature_text(signature, signature->warning), err));
  }
  return FC_OK;
}

fc_status_t fc_signature_print_json(const fc_signature_t *signature,
                                    fc_str_t module, fc_str_t version,
                                    fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(json_head(signature, module, version, sink, err));
  FC_TRY(json_text(
      sink, ",\"source\":", fc_str(fc_source_name(signature->source)), err));
  FC_TRY(json_text(sink, ",\"model\":",
                   signature->async ? FC_STR("async") : FC_STR("sync"), err));
  FC_TRY(json_arguments(signature, sink, err));
  FC_TRY(json_results(signature, sink, err));
  FC_TRY(json_states(signature, sink, err));
  FC_TRY(json_sizes(signature, sink, err));
  FC_TRY(json_line(signature, sink, err));
  if (module.size) FC_TRY(json_raw(signature, sink, err));
  FC_TRY(json_state(signature, sink, err));
  return put(sink, "}", err);
}
