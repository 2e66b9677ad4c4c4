// SPDX-License-Identifier: Apache-2.0
//
// For fuzzers of a notation. A signature that is parsed must be written as a text that
// is parsed and written as itself. Any difference aborts.
#ifndef FARCALL_TESTS_FUZZ_MANGLE_H_
#define FARCALL_TESTS_FUZZ_MANGLE_H_

#include <stdlib.h>

#include "farcall/abi.h"

typedef fc_signature_t *(*parse_t)(fc_str_t text);
typedef fc_status_t (*mangle_t)(const fc_signature_t *signature,
                                fc_sink_t *sink, fc_error_t *err);

static inline void check_mangling(const fc_signature_t *signature,
                                  parse_t parse, mangle_t mangle) {
  fc_text_t once, twice;
  fc_text_init(&once, fc_allocator_system(), 1 << 24);
  fc_text_init(&twice, fc_allocator_system(), 1 << 24);
  if (mangle(signature, &once.sink, NULL) != FC_OK) abort();
  fc_signature_t *again = parse(fc_text_str(&once));
  if (!again) abort();
  if (mangle(again, &twice.sink, NULL) != FC_OK) abort();
  if (!fc_str_equal(fc_text_str(&once), fc_text_str(&twice))) abort();
  fc_signature_destroy(again);
  fc_text_deinit(&once);
  fc_text_deinit(&twice);
}

#endif  // FARCALL_TESTS_FUZZ_MANGLE_H_
