// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as lines of calls with expected answers: either an error, or calls whose
// results equal themselves.
#include <stdlib.h>

#include "farcall/abi.h"
#include "module/expect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fc_signature_t *make_signature(void) {
  static const char kText[] =
      "{\"a\":[],\"r\":[[\"sdict\",[\"a\",[\"ndarray\",\"f32\",1,null]],"
      "[\"b\",[\"slist\",\"i64\"]]],\"f16\"],\"v\":1}";
  const fc_raw_counts_t any = {FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN};
  fc_signature_t *signature = NULL;
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  if (!builder || fc_v1_parse(fc_str(kText), any, builder, NULL) != FC_OK ||
      fc_signature_build(builder, &signature, NULL) != FC_OK) {
    abort();
  }
  fc_builder_destroy(builder);
  return signature;
}

static void check(const fc_expected_call_t *call,
                  const fc_signature_t *signature) {
  fc_text_t answer;
  fc_error_t err;
  fc_text_init(&answer, fc_allocator_system(), SIZE_MAX);
  if (fc_sink_put(&answer.sink, FC_STR("{\"results\":"), NULL) != FC_OK ||
      fc_sink_put(&answer.sink, call->results, NULL) != FC_OK ||
      fc_sink_put(&answer.sink, FC_STR("}"), NULL) != FC_OK) {
    abort();
  }
  const fc_status_t status = fc_expected_check(
      call, signature, fc_text_str(&answer), NULL, fc_allocator_system(), &err);
  // Results with a key twice, or with NaN that must not be equal, do not equal
  // themselves.
  if (status != FC_OK && err.code != FC_CODE_SELF_TEST_FAILED &&
      err.code != FC_CODE_JSON_TOO_DEEP) {
    abort();
  }
  fc_text_deinit(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fc_signature_t *signature;
  fc_expectations_t *read;
  if (!signature) signature = make_signature();
  if (fc_expectations_parse(fc_str_make((const char *)data, size),
                            fc_allocator_system(), &read, NULL) != FC_OK) {
    return 0;
  }
  for (size_t i = 0; i < read->count; i++) {
    if (read->calls[i].results.size) check(&read->calls[i], signature);
  }
  fc_expectations_destroy(read);
  return 0;
}
