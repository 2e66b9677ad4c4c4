// SPDX-License-Identifier: Apache-2.0
//
// Writes a signature as an MLIR declaration.
#include <inttypes.h>
#include <stdio.h>

#include "abi/mlir_type.h"
#include "abi/print.h"
#include "abi/render.h"
#include "abi/walk.h"

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

// True for a name that may follow '@' and '%' without quotes.
static bool is_identifier(fc_str_t name) {
  for (size_t i = 0; i < name.size; i++) {
    char c = name.data[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool inner = (c >= '0' && c <= '9') || c == '$' || c == '.';
    if (!letter && !(i && inner)) return false;
  }
  return name.size > 0;
}

// Writes a string in quotes. MLIR escapes bytes as a backslash and two hex digits.
static fc_status_t put_string(fc_sink_t *sink, fc_str_t text, fc_error_t *err) {
  FC_TRY(put(sink, "\"", err));
  for (size_t i = 0; i < text.size; i++) {
    unsigned char c = (unsigned char)text.data[i];
    char escaped[4] = {(char)c, '\0'};
    if (c < ' ' || c > '~' || c == '"' || c == '\\') {
      snprintf(escaped, sizeof escaped, "\\%02X", c);
    }
    FC_TRY(put(sink, escaped, err));
  }
  return put(sink, "\"", err);
}

// Writes the dims, each followed by an 'x'.
static fc_status_t put_dims(const fc_signature_t *signature,
                            const fc_type_t *type, fc_sink_t *sink,
                            fc_error_t *err) {
  if (type->rank < 0) return put(sink, "*x", err);
  const int64_t *dims = fc_signature_dims(signature, type);
  for (int32_t i = 0; i < type->rank; i++) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64 "x", dims[i]);
    FC_TRY(put(sink, dims[i] < 0 ? "?x" : text, err));
  }
  return FC_OK;
}

// Writes a tensor whose element type is not known.
static fc_status_t put_untyped(const fc_signature_t *signature,
                               const fc_type_t *type, fc_sink_t *sink,
                               fc_error_t *err) {
  FC_TRY(put(sink, "tensor<", err));
  FC_TRY(put_dims(signature, type, sink, err));
  return put(sink, "!farcall.unknown>", err);
}

static fc_status_t put_open(const fc_signature_t *signature,
                            const fc_walk_t *walk, fc_sink_t *sink,
                            fc_error_t *err) {
  const fc_type_t *type = walk->type;
  uint32_t node = (uint32_t)(type - walk->nodes);
  fc_str_t text = fc_signature_text(signature, type->text);
  switch (type->kind) {
    case FC_TYPE_TENSOR:
      if (type->dtype == FC_DTYPE_NONE) {
        return put_untyped(signature, type, sink, err);
      }
      if (text.size) return fc_sink_put(sink, text, err);
      return fc_tensor_print_mlir(signature, type, sink, err);
    case FC_TYPE_VECTOR:
      return fc_tensor_print_mlir(signature, type, sink, err);
    case FC_TYPE_SCALAR:
      return fc_type_print_text(signature, node, sink, err);
    case FC_TYPE_OPAQUE: {
      // A text such as "?" comes from a source that has no name for the type.
      fc_mlir_type_t known;
      bool mlir = fc_mlir_type_parse(text, &known, NULL) == FC_OK;
      return mlir ? fc_sink_put(sink, text, err)
                  : put(sink, "!farcall.opaque", err);
    }
    case FC_TYPE_REFARRAY:
      FC_TRY(put(sink, "!farcall.refarray<", err));
      return put_dims(signature, type, sink, err);
    case FC_TYPE_BYTES:
      return put(
          sink,
          type->flavor == FC_FLAVOR_UTF8 ? "!farcall.utf8" : "!farcall.bytes",
          err);
    case FC_TYPE_LIST:
      return put(sink, "!farcall.list<", err);
    case FC_TYPE_TUPLE:
      return put(sink, "tuple<", err);
    case FC_TYPE_DICT:
      return put(sink, "!farcall.dict<", err);
    case FC_TYPE_NULL:
      return put(sink, "none", err);
    default:
      return put(sink, "!farcall.unknown", err);
  }
}

static fc_status_t put_type(const fc_signature_t *signature, uint32_t node,
                            fc_sink_t *sink, fc_error_t *err) {
  fc_walk_t walk;
  fc_walk_init(&walk, signature->nodes, node);
  while (fc_walk_next(&walk)) {
    if (walk.leave) {
      FC_TRY(put(sink, ">", err));
      continue;
    }
    if (walk.index) FC_TRY(put(sink, ", ", err));
    if (walk.parent && walk.parent->kind == FC_TYPE_DICT) {
      FC_TRY(
          put_string(sink, fc_signature_text(signature, walk.type->key), err));
      FC_TRY(put(sink, ": ", err));
    }
    FC_TRY(put_open(signature, &walk, sink, err));
  }
  return FC_OK;
}

// Writes `%x: type {attributes}`.
static fc_status_t put_argument(const fc_signature_t *signature,
                                const fc_argument_t *at, fc_sink_t *sink,
                                fc_error_t *err) {
  fc_str_t name = fc_signature_text(signature, at->param.name);
  bool plain = is_identifier(name);
  char numbered[24];
  snprintf(numbered, sizeof numbered, "arg%u", at->position);
  FC_TRY(put(sink, at->position ? ", %" : "%", err));
  FC_TRY(plain ? fc_sink_put(sink, name, err) : put(sink, numbered, err));
  FC_TRY(put(sink, ": ", err));
  FC_TRY(put_type(signature, at->param.type, sink, err));
  // State is declared in a sidecar; MLIR has no such role.
  bool role = at->param.role != FC_ROLE_IN && at->param.role != FC_ROLE_STATE;
  if (role) {
    FC_TRY(put(sink, " {farcall.role = \"", err));
    FC_TRY(put(sink, fc_role_name((fc_role_t)at->param.role), err));
    FC_TRY(put(sink, "\"", err));
  }
  if (name.size && !plain) {
    FC_TRY(put(sink, role ? ", farcall.name = " : " {farcall.name = ", err));
    FC_TRY(put_string(sink, name, err));
  }
  return role || (name.size && !plain) ? put(sink, "}", err) : FC_OK;
}

static fc_status_t put_results(const fc_signature_t *signature, fc_sink_t *sink,
                               fc_error_t *err) {
  uint32_t count = signature->result_count;
  if (!count) return FC_OK;
  FC_TRY(put(sink, count > 1 ? " -> (" : " -> ", err));
  for (uint32_t i = 0; i < count; i++) {
    if (i) FC_TRY(put(sink, ", ", err));
    FC_TRY(put_type(signature, signature->results[i].type, sink, err));
  }
  return count > 1 ? put(sink, ")", err) : FC_OK;
}

fc_status_t fc_signature_print_mlir(const fc_signature_t *signature,
                                    fc_sink_t *sink, fc_error_t *err) {
  fc_str_t name = fc_signature_text(signature, signature->name);
  FC_TRY(put(sink, "func.func private @", err));
  FC_TRY(is_identifier(name) ? fc_sink_put(sink, name, err)
                             : put_string(sink, name, err));
  FC_TRY(put(sink, "(", err));
  fc_argument_t at = {0};
  while (fc_argument_next(signature, &at)) {
    FC_TRY(put_argument(signature, &at, sink, err));
  }
  FC_TRY(put(sink, ")", err));
  return put_results(signature, sink, err);
}
