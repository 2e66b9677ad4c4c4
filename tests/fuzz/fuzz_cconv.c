// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a calling convention. If they parse, the number of items is as counted,
// and the signature that is built has as many values.
#include <stdlib.h>

#include "abi/cconv.h"

#define CHECK(condition) \
  if (!(condition)) abort()

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t count_items(fc_str_t side) {
  uint32_t count = 0;
  fc_cconv_item_t item, element;
  for (; fc_cconv_next(&side, &item); count++) {
    bool span = item.kind == FC_CCONV_SPAN;
    CHECK(span || memchr("iIfFr", item.kind, 5));
    while (fc_cconv_next(&item.span, &element)) CHECK(span);
  }
  return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fc_cconv_t cconv;
  fc_error_t err = {0};
  fc_str_t text = fc_str_make((const char *)data, size);
  if (fc_cconv_parse(text, &cconv, &err) != FC_OK) {
    CHECK(err.byte_offset <= size && err.message[0]);
    return 0;
  }
  CHECK(count_items(cconv.arguments) == cconv.argument_count);
  CHECK(count_items(cconv.results) == cconv.result_count);
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  CHECK(builder);
  fc_cconv_build(builder, &cconv);
  fc_signature_t *signature = NULL;
  if (fc_signature_build(builder, &signature, &err) == FC_OK) {
    CHECK(signature->raw_argument_count == cconv.argument_count);
    CHECK(signature->callable == !cconv.variadic);
  } else {
    CHECK(size > FC_NODE_MAX);
  }
  fc_signature_destroy(signature);
  fc_builder_destroy(builder);
  return 0;
}
