// SPDX-License-Identifier: Apache-2.0
//
// "cconv\ndeclaration" from any bytes. A declaration that is accepted with its calling
// convention has as many arguments and results as the convention. It is also accepted
// without the convention, with as many arguments.
#include <stdlib.h>

#include "abi/declaration.h"

#define CHECK(condition) \
  if (!(condition)) abort()

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fc_signature_t *build(fc_builder_t *builder, fc_str_t text,
                             const fc_cconv_t *cconv) {
  fc_error_t err = {0};
  fc_signature_t *signature = NULL;
  fc_builder_reset(builder);
  fc_status_t status = fc_declaration_build(builder, text, cconv, &err);
  if (status == FC_OK) status = fc_signature_build(builder, &signature, &err);
  if (status != FC_OK) CHECK(err.code == FC_CODE_ABI_METADATA);
  return signature;
}

static void print(const fc_signature_t *signature) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 24);
  CHECK(fc_signature_print_json(signature, FC_STR("m"), FC_STR("1"), &text.sink,
                                NULL) == FC_OK);
  fc_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fc_str_t text = fc_str_make((const char *)data, size);
  const char *line = size ? memchr(data, '\n', size) : NULL;
  fc_cconv_t cconv;
  bool checked = false;
  if (line) {
    size_t head = (size_t)(line - text.data);
    checked =
        fc_cconv_parse(fc_str_make(text.data, head), &cconv, NULL) == FC_OK;
    text = fc_str_make(line + 1, size - head - 1);
  }
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  CHECK(builder);
  fc_signature_t *free_one = build(builder, text, NULL);
  if (free_one) print(free_one);
  if (checked) {
    fc_signature_t *bound = build(builder, text, &cconv);
    if (bound) {
      CHECK(free_one);
      uint32_t fences = bound->async ? 2 : 0;
      CHECK(bound->argument_count + fences == cconv.argument_count);
      CHECK(bound->result_count == cconv.result_count);
      CHECK(bound->argument_count == free_one->argument_count);
      print(bound);
    }
    fc_signature_destroy(bound);
  }
  fc_signature_destroy(free_one);
  fc_builder_destroy(builder);
  return 0;
}
