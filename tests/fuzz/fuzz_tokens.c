// SPDX-License-Identifier: Apache-2.0
//
// The bytes before the first NUL as a file of tokens, the rest as an Authorization
// header. An error names the file, and only a secret whose hash is in a line is
// accepted.
#include <stdlib.h>

#include "base/sha256.h"
#include "exchange/grant.h"

#define CHECK(condition) \
  if (!(condition)) abort()

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_hash(const fc_tokens_t *tokens, fc_str_t field) {
  char hash[65];
  const size_t scheme = sizeof "bearer";
  field =
      fc_request_trim(fc_str_make(field.data + scheme, field.size - scheme));
  fc_sha256_hex(field.data, field.size, hash);
  for (uint32_t i = 0; i < tokens->count; i++) {
    if (!memcmp(tokens->items[i].hash, hash, 64)) return true;
  }
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  const char *mark = size ? memchr(text, 0, size) : NULL;
  const size_t first = mark ? (size_t)(mark - text) : size;
  fc_tokens_t tokens;
  fc_error_t err;
  if (fc_tokens_parse(&tokens, "f", fc_str_make(text, first), &err) != FC_OK) {
    CHECK(err.code == FC_CODE_OUT_OF_MEMORY ||
          fc_str_starts(fc_str(err.message), FC_STR("f:")));
    return 0;
  }
  const fc_policy_t policy = {.tokens = &tokens};
  fc_request_t request = {.method = FC_METHOD_GET};
  fc_grant_t grant = {0};
  if (mark) {
    request.fields[FC_FIELD_AUTHORIZATION] =
        fc_str_make(mark + 1, size - first - 1);
  }
  if (fc_grant_of_token(&policy, &request, &grant, &err) == FC_OK) {
    CHECK(has_hash(&tokens, request.fields[FC_FIELD_AUTHORIZATION]));
    CHECK(grant.scopes && !(grant.scopes & ~FC_SCOPE_ALL) && grant.name.size);
    (void)fc_patterns_fit(grant.modules, grant.name);
  } else {
    CHECK(err.code == FC_CODE_UNAUTHORIZED);
  }
  fc_tokens_close(&tokens);
  return 0;
}
