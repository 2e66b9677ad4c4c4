// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as V1 metadata (`iree.abi`). If it is accepted and callable, it is written
// as metadata that reads back as itself.
#include "mangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fc_signature_t *parse(fc_str_t text) {
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  const fc_raw_counts_t counts = {FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN};
  fc_signature_t *signature = NULL;
  fc_error_t err;
  if (fc_v1_parse(text, counts, builder, &err) != FC_OK ||
      fc_signature_build(builder, &signature, &err) != FC_OK) {
    signature = NULL;
  }
  fc_builder_destroy(builder);
  return signature;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fc_signature_t *signature = parse(fc_str_make((const char *)data, size));
  if (!signature) return 0;
  check_mangling(signature, parse, fc_v1_mangle);
  fc_signature_destroy(signature);
  return 0;
}
