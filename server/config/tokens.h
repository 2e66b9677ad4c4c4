// SPDX-License-Identifier: Apache-2.0
//
// The file of --token-file: who may ask a listener for what. One token a line:
//   NAME SCOPE[,SCOPE…] HASH [PATTERN,…] [priority=LOW..HIGH]
// HASH is the SHA-256 of the secret, in hex, so the file has no secret. PATTERNs say
// which modules the token is for; `priority=` says from which priorities its calls may
// choose. '#' begins a comment. Read on the loop's thread, at the start and at SIGHUP;
// nothing is allocated afterwards.
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
  // A hash table by the first 32 bits of a token's hash: its place in `items`, from 1;
  // 0: free. `place_count` is a power of two, and at least half of the places are free.
  uint16_t *places;
  uint32_t place_count;
  bool others_read;  // the file can be read by others than its owner
} fc_tokens_t;

// Reads the file. FC_CODE_NOT_ACCEPTABLE says FILE:LINE:COLUMN and what is wrong
// there, or why the file is refused as a whole (guarded_file.h).
fc_status_t fc_tokens_open(fc_tokens_t *out_tokens, const char *file,
                           fc_error_t *err) FC_MUST_CHECK;
// Reads such a file's text, which stays the caller's. `file` is for errors.
fc_status_t fc_tokens_parse(fc_tokens_t *out_tokens, const char *file,
                            fc_str_t text, fc_error_t *err) FC_MUST_CHECK;
// Zeroed ones are allowed.
void fc_tokens_close(fc_tokens_t *tokens);

// What the secret allows; NULL: no token has it. The time does not grow with the number
// of tokens. The time can show a client that some token has the same place in the table
// as the secret that was sent, but no more of that token's hash.
const fc_grant_t *fc_tokens_find(const fc_tokens_t *tokens, fc_str_t secret);

#endif  // FARCALL_SERVER_CONFIG_TOKENS_H_
