// SPDX-License-Identifier: Apache-2.0
//
// The file of --token-file says which tokens give which rights at a listener. One token a
// line:
//   NAME SCOPE[,SCOPE…] HASH [PATTERN,…] [priority=LOW..HIGH]
// HASH is the SHA-256 of the secret, in hex, so the file does not contain the secret.
// PATTERNs name the modules that the token may use; `priority=` is the range of
// priorities for its calls. '#' begins a comment. The file is read on the loop's thread,
// at the start and at SIGHUP; nothing is allocated afterwards.
#ifndef FARCALL_SERVER_CONFIG_TOKENS_H_
#define FARCALL_SERVER_CONFIG_TOKENS_H_

#include "config/scope.h"

#define FC_TOKEN_NAME_MAX 32
#define FC_TOKEN_SECRET_MAX 256  // a longer one is no token's
#define FC_TOKENS_MAX 1024

typedef struct fc_token_t {
  fc_grant_t grant;
  char hash[64];  // lower case
} fc_token_t;

typedef struct fc_tokens_t {
  char *text;  // of the file; the grants point into it
  fc_token_t *items;
  uint32_t count;
  // A hash table: the first 32 bits of a token's hash lead to its position in `items`,
  // counted from 1; 0 is a free place. `place_count` is a power of two, and at least half
  // of the places are free.
  uint16_t *places;
  uint32_t place_count;
  bool others_read;  // the file can be read by others than its owner
} fc_tokens_t;

// Reads the file. FC_CODE_NOT_ACCEPTABLE: the error gives FILE:LINE:COLUMN and the
// mistake there, or says why the whole file is refused (guarded_file.h).
fc_status_t fc_tokens_open(fc_tokens_t *out_tokens, const char *file,
                           fc_error_t *err) FC_MUST_CHECK;
// Reads the text of such a file. The caller keeps the text. `file` is the name for
// errors.
fc_status_t fc_tokens_parse(fc_tokens_t *out_tokens, const char *file,
                            fc_str_t text, fc_error_t *err) FC_MUST_CHECK;
// Accepts zeroed tokens.
void fc_tokens_close(fc_tokens_t *tokens);

// Returns the grant of the token with this secret; NULL: there is none. The time does
// not grow with the number of tokens. A client that measures it can learn that the hash
// of some token leads to the same place in the table as the hash of the secret that it
// sent, but no more of that hash.
const fc_grant_t *fc_tokens_find(const fc_tokens_t *tokens, fc_str_t secret);

#endif  // FARCALL_SERVER_CONFIG_TOKENS_H_
