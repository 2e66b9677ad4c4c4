// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a raw signature (`f`). If it is accepted it can be printed, and is
// written and read back as itself.
#include "mangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fc_signature_t *parse(fc_str_t text) {
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_signature_t *signature = NULL;
  fc_error_t err;
  if (fc_raw_parse(text, builder, &err) != FC_OK ||
      fc_signature_build(builder, &signature, &err) != FC_OK) {
    signature = NULL;
  }
  fc_builder_destroy(builder);
  return signature;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const fc_str_t text = fc_str_make((const char *)data, size);
  fc_signature_t *signature = parse(text);
  if (!signature) return 0;
  fc_text_t listed;
  fc_text_init(&listed, fc_allocator_system(), 1 << 22);
  if (fc_raw_print_text(text, &listed.sink, NULL) != FC_OK) abort();
  fc_text_deinit(&listed);
  check_mangling(signature, parse, fc_raw_mangle);
  fc_signature_destroy(signature);
  return 0;
}
