// SPDX-License-Identifier: Apache-2.0
//
// Looks files up in kinds.def. An ONNX file has no fixed first bytes: its protobuf fields
// are examined instead.
#include "module/kinds.h"

#include <stdio.h>

#include "module/files.h"

#define ANYWHERE SIZE_MAX
#define NAME_SHOWN 80

static const fc_file_kind_t kKinds[] = {
#define FC_KIND(use, title, suffixes, bytes, place, way) \
  {FC_FILE_##use, title, suffixes, {bytes, sizeof(bytes) - 1}, place, way},
#include "module/kinds.def"
};

static bool is_named(const fc_file_kind_t *kind, fc_str_t path) {
  fc_str_t rest = fc_str(kind->suffixes);
  while (rest.size) {
    const fc_str_t suffix = fc_str_take(&rest, ' ');
    if (fc_str_ends(path, suffix)) return true;
  }
  return false;
}

static bool has_bytes(const fc_file_kind_t *kind, fc_str_t head) {
  const fc_str_t bytes = kind->bytes;
  if (!bytes.size || head.size < bytes.size) return false;
  if (kind->place == ANYWHERE) {
    return memmem(head.data, head.size, bytes.data, bytes.size);
  }
  return kind->place <= head.size - bytes.size &&
         !memcmp(head.data + kind->place, bytes.data, bytes.size);
}

// True for the beginning of a ModelProto of ONNX: ir_version, from 3 to 127, then a text,
// a number (model_version), the graph or the opset. A SavedModel of TensorFlow begins in
// the same way, but its first number, the version, is 1.
static bool is_onnx(fc_str_t head) {
  static const char kNext[] = "\x12\x1A\x22\x28\x32\x3A\x42";
  return head.size > 2 && head.data[0] == '\x08' && head.data[1] > 2 &&
         memchr(kNext, head.data[2], sizeof kNext - 1);
}

const fc_file_kind_t *fc_file_kind_named(fc_str_t path) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kKinds); i++) {
    if (is_named(&kKinds[i], path)) return &kKinds[i];
  }
  return NULL;
}

const fc_file_kind_t *fc_file_kind(fc_str_t head, fc_str_t path) {
  const fc_file_kind_t *first = NULL;
  if (head.size > FC_FILE_HEAD) head.size = FC_FILE_HEAD;
  if (is_onnx(head)) return fc_file_kind_named(FC_STR(".onnx"));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kKinds); i++) {
    if (!has_bytes(&kKinds[i], head)) continue;
    if (is_named(&kKinds[i], path)) return &kKinds[i];
    if (!first) first = &kKinds[i];
  }
  return first;
}

void fc_file_kind_tell(const fc_file_kind_t *kind, fc_str_t path,
                       char out[FC_FILE_TEXT]) {
  char name[NAME_SHOWN + 8];
  fc_escape(name, sizeof name, NAME_SHOWN, fc_path_file(path));
  switch (kind->use) {
    case FC_FILE_MODULE:
      snprintf(out, FC_FILE_TEXT,
               "%s, a module already: `farcall serve %s` serves it",
               kind->title, name);
      break;
    case FC_FILE_SOURCE:
      snprintf(out, FC_FILE_TEXT,
               "%s: `farcall serve %s` compiles and serves it, `farcall "
               "compile %s` makes a module of it",
               kind->title, name, name);
      break;
    case FC_FILE_DATA:
    case FC_FILE_FOREIGN:
      snprintf(out, FC_FILE_TEXT, "%s: %s", kind->title, kind->way);
      break;
  }
}
