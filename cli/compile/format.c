// SPDX-License-Identifier: Apache-2.0
//
// fc_format_find first refuses files that are known not to be sources (module/kinds.def).
// Then it makes one test after another; the first test that the bytes pass gives the
// format. A test reads only the given bytes, whatever sizes these contain.
#include "compile/format.h"

#include <stdio.h>

#include "compile/mlir/text.h"
#include "doctor/protobuf.h"

static const fc_format_t kFormats[] = {
    {FC_FORMAT_ONNX, "an ONNX model", FC_IMPORTER_ONNX, "onnx", true, false},
    {FC_FORMAT_JAX_EXPORT, "an artifact of jax.export", FC_IMPORTER_JAX,
     "stablehlo", true, false},
    {FC_FORMAT_PORTABLE, "a portable artifact of StableHLO", FC_IMPORTER_JAX,
     "stablehlo", true, false},
    {FC_FORMAT_BYTECODE, "MLIR bytecode", FC_IMPORTER_NONE, "auto", true, true},
    {FC_FORMAT_TORCH, "MLIR of the torch dialect", FC_IMPORTER_NONE, "auto",
     true, false},
    {FC_FORMAT_STABLEHLO, "MLIR of the stablehlo dialect", FC_IMPORTER_NONE,
     "auto", true, false},
    {FC_FORMAT_TOSA, "MLIR of the tosa dialect", FC_IMPORTER_NONE, "auto", true,
     true},
    {FC_FORMAT_GPU, "MLIR of the gpu dialect", FC_IMPORTER_NONE, "none", false,
     true},
    {FC_FORMAT_MEMREF, "MLIR with memrefs", FC_IMPORTER_NONE, "none", false,
     true},
    {FC_FORMAT_TENSOR, "MLIR", FC_IMPORTER_NONE, "none", true, true},
};

// ---------------------------------------------------------------------------
// Binary formats

static const char kBytecode[] = "ML\xEFR";

static fc_str_t behind(fc_str_t text, size_t size) {
  return size < text.size ? fc_str_make(text.data + size, text.size - size)
                          : (fc_str_t){0};
}

// True if the bytes are protobuf fields to the end, with numbers from 1 to 31, among them
// ir_version (1) and graph (7) of onnx.ModelProto.
static bool is_onnx(fc_str_t bytes) {
  uint64_t seen = 0;
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  while (fc_message_next(&message, &field)) {
    if (field.number > 31) return false;
    seen |= 1u << field.number;
  }
  return !message.damaged && (seen & 1u << 1) && (seen & 1u << 7);
}

// True for MLIR bytecode that StableHLO wrote: its producer is, for example,
// "StableHLO_v1.9.5".
static bool is_portable(fc_str_t bytes) {
  const fc_str_t magic = fc_str(kBytecode);
  if (!fc_str_starts(bytes, magic)) return false;
  const fc_str_t rest = behind(bytes, magic.size + 1);
  return fc_str_starts(rest, FC_STR("StableHLO_v"));
}

static bool is_bytecode(fc_str_t bytes) {
  return fc_str_starts(bytes, fc_str(kBytecode));
}

// True for a flatbuffer that contains a portable artifact of StableHLO. A flatbuffer has
// no magic number.
static bool is_jax_export(fc_str_t bytes) {
  if (bytes.size < 16 || is_bytecode(bytes)) return false;
  uint32_t root = 0;
  for (size_t i = 0; i < 4; i++) {
    root |= (uint32_t)(uint8_t)bytes.data[i] << 8 * i;
  }
  if (root < 4 || root >= bytes.size) return false;
  fc_str_t rest = bytes;
  while (rest.size) {
    const char *at =
        memmem(rest.data, rest.size, kBytecode, sizeof kBytecode - 1);
    if (!at) return false;
    rest = behind(bytes, (size_t)(at - bytes.data));
    if (is_portable(rest)) return true;
    rest = behind(rest, 1);
  }
  return false;
}

// ---------------------------------------------------------------------------
// Text formats

static bool is_text(fc_str_t bytes) {
  const size_t size = bytes.size < 4096 ? bytes.size : 4096;
  return !size || !memchr(bytes.data, '\0', size);
}

static bool has(fc_str_t text, const char *wanted) {
  return text.size && memmem(text.data, text.size, wanted, strlen(wanted));
}

// True if the head of a function contains a memref. The head ends at the next '{' that
// ends a line.
static bool takes_memrefs(fc_str_t text) {
  static const char kFunction[] = "func.func";
  while (text.size) {
    const char *at =
        memmem(text.data, text.size, kFunction, sizeof kFunction - 1);
    if (!at) return false;
    text = behind(text, (size_t)(at - text.data) + sizeof kFunction - 1);
    const char *end = text.size ? memchr(text.data, '\n', text.size) : NULL;
    fc_str_t line = {text.data, end ? (size_t)(end - text.data) : text.size};
    const char *brace =
        text.size ? memmem(text.data, text.size, "{\n", 2) : NULL;
    if (brace) line.size = (size_t)(brace - text.data);
    if (has(line, "memref<")) return true;
  }
  return false;
}

static fc_format_id_t text_format(fc_str_t text) {
  switch (fc_mlir_foreign(text)) {
    case FC_FOREIGN_ONNX:
    case FC_FOREIGN_TORCH:
      return FC_FORMAT_TORCH;
    case FC_FOREIGN_STABLEHLO:
      return FC_FORMAT_STABLEHLO;
    case FC_FOREIGN_TOSA:
      return FC_FORMAT_TOSA;
    case FC_FOREIGN_GPU:
      return FC_FORMAT_GPU;
    default:
      return takes_memrefs(text) ? FC_FORMAT_MEMREF : FC_FORMAT_TENSOR;
  }
}

// ---------------------------------------------------------------------------
// Finding the format

static const fc_format_t *row(fc_format_id_t id) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFormats); i++) {
    if (kFormats[i].id == id) return &kFormats[i];
  }
  return NULL;
}

const fc_format_t *fc_format_find(fc_str_t bytes, const char *path,
                                  char out_reason[FC_FILE_TEXT]) {
  const fc_file_kind_t *kind = fc_file_kind(bytes, fc_str(path));
  *out_reason = '\0';
  if (kind && kind->use != FC_FILE_SOURCE) {
    fc_file_kind_tell(kind, fc_str(path), out_reason);
    return NULL;
  }
  if (is_portable(bytes)) return row(FC_FORMAT_PORTABLE);
  if (is_bytecode(bytes)) return row(FC_FORMAT_BYTECODE);
  if (is_onnx(bytes)) return row(FC_FORMAT_ONNX);
  if (is_jax_export(bytes)) return row(FC_FORMAT_JAX_EXPORT);
  const fc_file_kind_t *named = fc_file_kind_named(fc_str(path));
  if (!kind && named == fc_file_kind_named(FC_STR(".onnx"))) {
    snprintf(out_reason, FC_FILE_TEXT,
             "no ONNX model, though its name says so: it is %s",
             bytes.size ? "something else, or cut off" : "empty");
    return NULL;
  }
  if (is_text(bytes)) return row(text_format(bytes));
  snprintf(out_reason, FC_FILE_TEXT,
           "neither ONNX, nor an artifact of jax.export, nor MLIR");
  return NULL;
}
