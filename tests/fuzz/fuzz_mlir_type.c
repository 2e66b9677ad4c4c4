// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an MLIR type: parse, build and print. The two readers agree on what a
// type is, and a type that builds keeps its spelling.
#include <stdlib.h>

#include "abi/mlir_type.h"

#define CHECK(condition) \
  if (!(condition)) abort()

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The text of a node of a finished signature is a type that can be built again. A tuple
// is not printed as a type.
static void check_text(const fc_signature_t *signature) {
  const fc_type_t *type = fc_signature_node(signature, 0);
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  CHECK(fc_type_print_text(signature, 0, &text.sink, NULL) == FC_OK);
  bool shaped = type->kind == FC_TYPE_TENSOR || type->kind == FC_TYPE_SCALAR ||
                type->kind == FC_TYPE_VECTOR;
  if (shaped && !(type->flags & FC_TYPE_STRIDED)) {
    fc_mlir_type_t again;
    CHECK(fc_mlir_type_parse(fc_text_str(&text), &again, NULL) == FC_OK);
    CHECK(again.rank == type->rank && again.dtype == type->dtype);
  }
  fc_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fc_str_t text = fc_str_make((const char *)data, size);
  fc_mlir_type_t type;
  fc_error_t err = {0};
  bool parses = fc_mlir_type_parse(text, &type, &err) == FC_OK;
  if (!parses) CHECK(err.byte_offset <= size && err.message[0]);

  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  CHECK(builder);
  uint32_t node;
  bool builds = fc_mlir_type_build(builder, text, &node, &err) == FC_OK;
  // Parsing does not look into a tuple, but building does.
  if (!parses || type.form != FC_MLIR_TUPLE) CHECK(builds == parses);
  if (builds) {
    fc_builder_result(builder, (fc_str_t){0}, node, FC_RAW_NEXT);
    fc_signature_t *signature = NULL;
    if (fc_signature_build(builder, &signature, &err) == FC_OK) {
      check_text(signature);
    } else {
      CHECK(err.code == FC_CODE_ABI_METADATA);  // too deep or too many
    }
    fc_signature_destroy(signature);
  }
  fc_builder_destroy(builder);
  return 0;
}
