// SPDX-License-Identifier: Apache-2.0
//
// Writes a signature as V1 metadata (`iree.abi`), in the form that the importers print:
// no spaces, members a, r, v, integers without their sign. A type for which V1 has no
// record is "unknown". Reading the text and writing it again gives the same text. Any
// thread.
#include <inttypes.h>
#include <stdio.h>

#include "abi/iree_v1.h"
#include "abi/mlir_type.h"
#include "abi/walk.h"
#include "farcall/abi.h"
#include "json/writer.h"

typedef struct writer_t {
  const fc_signature_t *signature;
  fc_sink_t *sink;
  fc_error_t *err;
} writer_t;

static fc_status_t put(const writer_t *writer, const char *text) {
  return fc_sink_put(writer->sink, fc_str(text), writer->err);
}

static fc_status_t put_text(const writer_t *writer, fc_text_ref_t text) {
  return fc_json_write_string(
      writer->sink, fc_signature_text(writer->signature, text), writer->err);
}

// Writes the record of a number type. An integer is written with its width only; an
// index has the width of a register. V1 has only four floats, those below.
static fc_status_t put_dtype(const writer_t *writer, fc_dtype_t dtype) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  char text[16];
  switch (info->class_) {
    case FC_DTYPE_CLASS_BOOL:
    case FC_DTYPE_CLASS_INT:
    case FC_DTYPE_CLASS_SINT:
    case FC_DTYPE_CLASS_UINT:
    case FC_DTYPE_CLASS_INDEX:
      snprintf(text, sizeof text, "\"i%u\"", info->bits);
      return put(writer, text);
    default:
      break;
  }
  const bool spelled = info->class_ == FC_DTYPE_CLASS_COMPLEX ||
                       dtype == FC_DTYPE_F16 || dtype == FC_DTYPE_BF16 ||
                       dtype == FC_DTYPE_F32 || dtype == FC_DTYPE_F64;
  return fc_json_write_string(
      writer->sink, fc_str(spelled ? info->text : "unknown"), writer->err);
}

static fc_status_t put_dims(const writer_t *writer, int32_t rank,
                            const int64_t *dims) {
  if (rank < 0) return put(writer, ",null]");
  FC_TRY(put(writer, ","));
  FC_TRY(fc_json_write_i64(writer->sink, rank, writer->err));
  for (int32_t i = 0; i < rank; i++) {
    FC_TRY(put(writer, ","));
    if (dims[i] < 0) FC_TRY(put(writer, "null"));
    else FC_TRY(fc_json_write_i64(writer->sink, dims[i], writer->err));
  }
  return put(writer, "]");
}

static fc_status_t put_type_dims(const writer_t *writer,
                                 const fc_type_t *type) {
  return put_dims(writer, type->rank,
                  fc_signature_dims(writer->signature, type));
}

// Writes a number type that farcall does not have as it is spelled in the source.
static fc_status_t put_word(const writer_t *writer, fc_str_t word) {
  if (!fc_v1_is_numbered(word)) word = FC_STR("unknown");
  return fc_json_write_string(writer->sink, word, writer->err);
}

static fc_status_t put_tensor(const writer_t *writer, const fc_type_t *type) {
  FC_TRY(put(writer, "[\"ndarray\","));
  if (!(type->flags & FC_TYPE_UNTYPED)) {
    FC_TRY(put_dtype(writer, (fc_dtype_t)type->dtype));
  } else if (type->text.size) {
    FC_TRY(put_word(writer, fc_signature_text(writer->signature, type->text)));
  } else {
    FC_TRY(put(writer, "null"));
  }
  return put_type_dims(writer, type);
}

// Writes a type for which the type tree has no kind of node. An integer is written with
// its width, an array with its dims and its elements' width. A type without a width
// becomes "unknown".
static fc_status_t put_opaque(const writer_t *writer, fc_str_t text) {
  fc_mlir_type_t type;
  if (fc_mlir_type_parse(text, &type, NULL) != FC_OK || type.odd) {
    return put_word(writer, text);
  }
  const bool array = type.form == FC_MLIR_MEMREF || type.form == FC_MLIR_TENSOR;
  if (array) FC_TRY(put(writer, "[\"ndarray\","));
  char word[16] = "unknown";
  if (type.bits) snprintf(word, sizeof word, "i%" PRIu32, type.bits);
  else if (!array && fc_v1_is_numbered(text)) return put_word(writer, text);
  FC_TRY(fc_json_write_string(writer->sink, fc_str(word), writer->err));
  return array ? put_dims(writer, type.rank, type.dims) : FC_OK;
}

static fc_status_t put_leaf(const writer_t *writer, const fc_type_t *type) {
  switch (type->kind) {
    case FC_TYPE_SCALAR:
      return put_dtype(writer, (fc_dtype_t)type->dtype);
    case FC_TYPE_TENSOR:
      return put_tensor(writer, type);
    case FC_TYPE_OPAQUE:
      return put_opaque(writer,
                        fc_signature_text(writer->signature, type->text));
    case FC_TYPE_NULL:
      return put(writer, "null");
    case FC_TYPE_BYTES:
      if (type->flavor != FC_FLAVOR_I8) break;
      return put(writer, "[\"py_homogeneous_list\",\"i8\"]");
    default:
      break;
  }
  return put(writer, "\"unknown\"");
}

static fc_status_t put_begin(const writer_t *writer, const fc_type_t *type) {
  switch (type->kind) {
    case FC_TYPE_TUPLE:
      return put(writer,
                 type->flavor == FC_FLAVOR_LIST ? "[\"slist\"" : "[\"stuple\"");
    case FC_TYPE_DICT:
      return put(writer, type->flavor == FC_FLAVOR_KWARGS ? "[\"sdict_kwargs\""
                                                          : "[\"sdict\"");
    case FC_TYPE_LIST:
      return put(writer, "[\"py_homogeneous_list\"");
    default:
      return put(writer, "[\"ndarray\"");
  }
}

static fc_status_t put_record(const writer_t *writer, uint32_t root) {
  fc_walk_t walk;
  fc_walk_init(&walk, writer->signature->nodes, root);
  while (fc_walk_next(&walk)) {
    const fc_type_t *type = walk.type;
    const bool in_dict = walk.parent && walk.parent->kind == FC_TYPE_DICT;
    if (walk.parent && !walk.leave) FC_TRY(put(writer, ","));
    if (in_dict && !walk.leave) {
      FC_TRY(put(writer, "["));
      FC_TRY(put_text(writer, type->key));
      FC_TRY(put(writer, ","));
    }
    const bool nests = fc_type_kind_nests(type->kind);
    if (!nests) FC_TRY(put_leaf(writer, type));
    else if (!walk.leave) FC_TRY(put_begin(writer, type));
    else if (type->kind == FC_TYPE_REFARRAY)
      FC_TRY(put_type_dims(writer, type));
    else FC_TRY(put(writer, "]"));
    if (in_dict && (walk.leave || !nests)) FC_TRY(put(writer, "]"));
  }
  return FC_OK;
}

static fc_status_t put_param(const writer_t *writer, const fc_param_t *param) {
  if (!param->keyword || !param->name.size) {
    return put_record(writer, param->type);
  }
  FC_TRY(put(writer, "[\"named\","));
  FC_TRY(put_text(writer, param->name));
  FC_TRY(put(writer, ","));
  FC_TRY(put_record(writer, param->type));
  return put(writer, "]");
}

static fc_status_t put_params(const writer_t *writer, const fc_param_t *params,
                              uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (i) FC_TRY(put(writer, ","));
    FC_TRY(put_param(writer, &params[i]));
  }
  return FC_OK;
}

fc_status_t fc_v1_mangle(const fc_signature_t *signature, fc_sink_t *sink,
                         fc_error_t *err) {
  const writer_t writer = {signature, sink, err};
  FC_TRY(put(&writer, "{\"a\":["));
  FC_TRY(put_params(&writer, signature->arguments, signature->argument_count));
  FC_TRY(put(&writer, "],\"r\":["));
  FC_TRY(put_params(&writer, signature->results, signature->result_count));
  return put(&writer, "],\"v\":1}");
}
