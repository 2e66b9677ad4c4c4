// SPDX-License-Identifier: Apache-2.0
#include "config/tokens.h"

#include <stdio.h>

#include "base/sha256.h"
#include "config/guarded_file.h"

// The most bytes of a wrong word in an error; a secret has 43 or more.
#define SHOWN_MAX 16

typedef struct parser_t {
  fc_tokens_t *tokens;
  const char *file;
  fc_str_t line;  // without its comment
  fc_str_t rest;  // of the line
  unsigned number;
  fc_error_t *err;
} parser_t;

static fc_status_t fail_at(const parser_t *p, const char *at,
                           const char *message, fc_str_t shown) {
  char text[80];
  fc_escape(text, sizeof text, 64, shown);
  return fc_fail(p->err, FC_CODE_NOT_ACCEPTABLE, "%s:%u:%u: %s%s%s%s", p->file,
                 p->number, (unsigned)(at - p->line.data) + 1, message,
                 shown.data ? " '" : "", shown.data ? text : "",
                 shown.data ? "'" : "");
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Takes the next word of the line; "": there is none.
static fc_str_t take_word(parser_t *p) {
  const char *at = p->rest.data, *end = at + p->rest.size;
  while (at < end && is_blank(*at)) at++;
  const char *begin = at;
  while (at < end && !is_blank(*at)) at++;
  p->rest = fc_str_make(at, (size_t)(end - at));
  return fc_str_make(begin, (size_t)(at - begin));
}

static bool is_of_name(char c) {
  const char low = (char)(c | 0x20);
  return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

static fc_status_t take_name(parser_t *p, fc_token_t *token) {
  const fc_str_t none = {0}, name = take_word(p);
  const fc_tokens_t *tokens = p->tokens;
  bool good = name.size <= FC_TOKEN_NAME_MAX;
  for (size_t i = 0; i < name.size && good; i++)
    good = is_of_name(name.data[i]);
  if (!good) {
    // The error does not show the word: the user may have written the secret there.
    return fail_at(p, name.data,
                   "a name is 1 to 32 letters, digits, '.', '-' and '_'", none);
  }
  for (uint32_t i = 0; i < tokens->count; i++) {
    if (!fc_str_equal(tokens->items[i].grant.name, name)) continue;
    return fail_at(p, name.data, "there are two tokens", name);
  }
  if (tokens->count == FC_TOKENS_MAX) {
    return fail_at(p, name.data, "more than 1024 tokens", none);
  }
  token->grant.name = name;
  return FC_OK;
}

static fc_status_t take_scopes(parser_t *p, fc_token_t *token) {
  const fc_str_t none = {0};
  fc_str_t bad;
  if (fc_scopes_parse(take_word(p), ',', &token->grant.scopes, &bad)) {
    return FC_OK;
  }
  const bool shown = bad.size <= SHOWN_MAX;  // a longer word may be the secret
  char says[128];
  snprintf(says, sizeof says, "a scope is one of %s%s", fc_scope_names(),
           shown ? ", not" : "");
  return fail_at(p, bad.data, says, shown ? bad : none);
}

// Takes the hash. The error does not show the word: the user may have written the secret
// there.
static fc_status_t take_hash(parser_t *p, fc_token_t *token) {
  const fc_str_t none = {0}, word = take_word(p);
  bool good = word.size == sizeof token->hash;
  for (size_t i = 0; i < word.size && good; i++) {
    const char c = word.data[i];
    good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  }
  if (!good) {
    return fail_at(p, word.data,
                   "the SHA-256 of a secret is 64 digits of lower case hex",
                   none);
  }
  memcpy(token->hash, word.data, sizeof token->hash);
  for (uint32_t i = 0; i < p->tokens->count; i++) {
    if (memcmp(p->tokens->items[i].hash, token->hash, sizeof token->hash)) {
      continue;
    }
    return fail_at(p, word.data, "two tokens have this hash", none);
  }
  return FC_OK;
}

#define PRIORITY FC_STR("priority=")

// Takes the words after the hash. A word with '=' is the range, because no pattern
// contains '='.
static fc_status_t take_more(parser_t *p, fc_token_t *token) {
  fc_grant_t *grant = &token->grant;
  fc_str_t word = take_word(p);
  if (word.size && !memchr(word.data, '=', word.size)) {
    grant->modules = word;
    word = take_word(p);
  }
  if (!word.size) return FC_OK;
  if (!memchr(word.data, '=', word.size)) {
    const fc_str_t none = {0};
    return fail_at(p, word.data, "a line has at most one list of modules",
                   none);
  }
  fc_str_t range = word;
  range.data += PRIORITY.size;
  range.size -= PRIORITY.size;
  if (!fc_str_starts(word, PRIORITY) ||
      !fc_priorities_parse(range, &grant->priorities)) {
    return fail_at(p, word.data,
                   "a range is priority=LOW..HIGH, from -4 to 4, not", word);
  }
  grant->is_ranged = true;
  return FC_OK;
}

static fc_status_t take_line(parser_t *p) {
  const fc_str_t none = {0};
  fc_token_t *token = &p->tokens->items[p->tokens->count];
  const char *comment = memchr(p->line.data, '#', p->line.size);
  if (comment) p->line.size = (size_t)(comment - p->line.data);
  p->rest = p->line;
  if (take_word(p).size == 0) return FC_OK;
  p->rest = p->line;
  FC_TRY(take_name(p, token));
  FC_TRY(take_scopes(p, token));
  FC_TRY(take_hash(p, token));
  token->grant.hash = token->hash;
  FC_TRY(take_more(p, token));
  const fc_str_t more = take_word(p);
  if (more.size) {
    return fail_at(p, more.data, "a line has at most five words", none);
  }
  p->tokens->count++;
  return FC_OK;
}

// Returns the first place to search for a hash, from its first 32 bits. Clients cannot
// make the search longer: only hashes of the file are in the table.
static uint32_t place_of(const fc_tokens_t *tokens, const char hash[64]) {
  uint32_t bits = 0;
  for (int i = 0; i < 8; i++) {
    const char c = hash[i];
    bits = bits << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return bits & (tokens->place_count - 1);
}

static fc_status_t index_tokens(fc_tokens_t *tokens, fc_error_t *err) {
  tokens->place_count = 2;
  while (tokens->place_count < 2 * tokens->count) tokens->place_count *= 2;
  tokens->places = fc_alloc_array(fc_allocator_system(), tokens->place_count,
                                  sizeof *tokens->places);
  if (!tokens->places) return fc_fail_memory(err);
  for (uint32_t i = 0; i < tokens->count; i++) {
    uint32_t at = place_of(tokens, tokens->items[i].hash);
    while (tokens->places[at]) at = (at + 1) & (tokens->place_count - 1);
    tokens->places[at] = (uint16_t)(i + 1);
  }
  return FC_OK;
}

fc_status_t fc_tokens_parse(fc_tokens_t *out_tokens, const char *file,
                            fc_str_t text, fc_error_t *err) {
  fc_allocator_t allocator = fc_allocator_system();
  uint32_t lines = 1;
  *out_tokens = (fc_tokens_t){0};
  for (size_t i = 0; i < text.size; i++) lines += text.data[i] == '\n';
  if (lines > FC_TOKENS_MAX) lines = FC_TOKENS_MAX;
  fc_tokens_t tokens = {
      .text = fc_alloc(allocator, text.size + 1),
      // Room for one more item than there are tokens: for the line that is being read.
      .items = fc_alloc_array(allocator, lines + 1, sizeof *tokens.items)};
  fc_status_t status = FC_OK;
  if (!tokens.text || !tokens.items) status = fc_fail_memory(err);
  else if (text.size) memcpy(tokens.text, text.data, text.size);
  parser_t p = {.tokens = &tokens, .file = file, .err = err};
  for (text.data = tokens.text; status == FC_OK && text.size;) {
    p.line = fc_str_take(&text, '\n');
    p.number++;
    status = take_line(&p);
  }
  if (status == FC_OK) status = index_tokens(&tokens, err);
  if (status == FC_OK) *out_tokens = tokens;
  else fc_tokens_close(&tokens);
  return status;
}

fc_status_t fc_tokens_open(fc_tokens_t *out_tokens, const char *file,
                           fc_error_t *err) {
  fc_guarded_file_t read;
  *out_tokens = (fc_tokens_t){0};
  FC_TRY(fc_guarded_file_open(&read, file, err));
  const fc_status_t status = fc_tokens_parse(out_tokens, file, read.text, err);
  // A reader of the file learns names, scopes and hashes, but no secret: 256 random bits
  // cannot be found from their hash.
  out_tokens->others_read = read.others_read;
  fc_guarded_file_close(&read);
  return status;
}

void fc_tokens_close(fc_tokens_t *tokens) {
  fc_free(fc_allocator_system(), tokens->text);
  fc_free(fc_allocator_system(), tokens->items);
  fc_free(fc_allocator_system(), tokens->places);
  *tokens = (fc_tokens_t){0};
}

const fc_grant_t *fc_tokens_find(const fc_tokens_t *tokens, fc_str_t secret) {
  const fc_grant_t *found = NULL;
  char hash[65];
  if (secret.size > FC_TOKEN_SECRET_MAX) return NULL;
  fc_sha256_hex(secret.data, secret.size, hash);
  uint32_t at = place_of(tokens, hash);
  while (tokens->places[at]) {
    const fc_token_t *token = &tokens->items[tokens->places[at] - 1];
    if (fc_sha256_same(token->hash, hash)) found = &token->grant;
    at = (at + 1) & (tokens->place_count - 1);
  }
  return found;
}
