// SPDX-License-Identifier: Apache-2.0
//
// Takes any bytes as a SIP signature. One that is accepted must be written (mangled) in
// as many bytes as it was read from; and if these are read and written again, the same
// bytes must come out. If the input has a NUL and ends with a newline, the SIP
// signature is before the first NUL, and a raw signature is between that and the
// newline.
#include <stdlib.h>

#include "farcall/abi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fc_signature_t *parse(fc_str_t sip, fc_str_t raw) {
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  const fc_raw_counts_t counts = {FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN};
  fc_signature_t *signature = NULL;
  fc_error_t err;
  if (fc_sip_parse(sip, raw, counts, builder, &err) != FC_OK ||
      fc_signature_build(builder, &signature, &err) != FC_OK) {
    signature = NULL;
  }
  fc_builder_destroy(builder);
  return signature;
}

static void mangle(const fc_signature_t *signature, fc_text_t *text) {
  fc_text_init(text, fc_allocator_system(), 1 << 20);
  if (fc_sip_mangle(signature, &text->sink, NULL) != FC_OK) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fc_str_t sip = fc_str_make((const char *)data, size);
  fc_str_t raw = FC_STR("");
  const char *nul = size ? memchr(data, '\0', size) : NULL;
  if (nul && size > 1 && data[size - 1] == '\n') {
    raw = fc_str_make(nul + 1, (size_t)(sip.data + size - 1 - (nul + 1)));
    sip.size = (size_t)(nul - sip.data);
  }
  fc_signature_t *signature = parse(sip, raw);
  if (!signature) return 0;
  fc_text_t once, twice;
  mangle(signature, &once);
  fc_signature_t *again = parse(fc_text_str(&once), raw);
  if (!again) abort();
  mangle(again, &twice);
  if (!fc_str_equal(fc_text_str(&once), fc_text_str(&twice))) abort();
  fc_signature_destroy(signature);
  fc_signature_destroy(again);
  fc_text_deinit(&once);
  fc_text_deinit(&twice);
  return 0;
}
