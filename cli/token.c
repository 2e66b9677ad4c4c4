// SPDX-License-Identifier: Apache-2.0
//
// farcall token: makes a token for farcalld's --token-file. The secret is printed and
// stored nowhere; the line for the file has its hash. Needs no server.
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/hex.h"
#include "base/sha256.h"
#include "cli.h"

#define SECRET_BYTES 32  // as docs/decisions/tokens.md wants
#define NAME_MAX_SIZE 32

#define FC_SCOPE(name, text) text,
static const char *const kScopes[] = {
#include "config/scope.def"
};
#undef FC_SCOPE
#define FC_SCOPE(name, text) ", " text
static const char kListed[] =
#include "config/scope.def"
    ;
#undef FC_SCOPE

static bool is_name(const char *name) {
  static const char kMarks[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  const size_t size = strlen(name);
  return size && size <= NAME_MAX_SIZE && strspn(name, kMarks) == size;
}

static bool is_scope(fc_str_t word) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kScopes); i++) {
    if (fc_str_equal(word, fc_str(kScopes[i]))) return true;
  }
  return false;
}

static bool are_scopes(fc_str_t list) {
  bool more = true;
  while (more) {
    more = list.size && memchr(list.data, ',', list.size);
    if (!is_scope(fc_str_take(&list, ','))) return false;
  }
  return true;
}

static int print_token(const char *name, const char *scopes,
                       const char *modules) {
  uint8_t random[SECRET_BYTES];
  char secret[2 * SECRET_BYTES], hash[65];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
    return fc_complain(FC_EXIT_FAILED, "the kernel gives no random bytes");
  }
  for (size_t i = 0; i < sizeof random; i++) {
    fc_hex_put(secret + 2 * i, random[i]);
  }
  fc_sha256_hex(secret, sizeof secret, hash);
  fputs(
      "the token, for the client, which is kept nowhere else; then a line for "
      "--token-file:\n",
      stderr);
  printf("%.*s\n%s %s %s%s%s\n", (int)sizeof secret, secret, name, scopes, hash,
         *modules ? " " : "", modules);
  return FC_EXIT_OK;
}

int fc_verb_token(const fc_args_t *args) {
  const char *scopes = fc_args_get(args, FC_OPTION_SCOPE, "call");
  const char *modules = fc_args_get(args, FC_OPTION_MODULES, "");
  if (args->word_count != 2 || strcmp(args->words[0], "new") != 0) {
    return fc_complain(FC_EXIT_USAGE,
                       "farcall token new NAME [--scope=SCOPE,…]");
  }
  if (!is_name(args->words[1])) {
    return fc_complain(FC_EXIT_USAGE,
                       "'%s' is no name of a token: 1 to 32 letters, digits, "
                       "'.', '-' and '_'",
                       args->words[1]);
  }
  if (!are_scopes(fc_str(scopes))) {
    return fc_complain(FC_EXIT_USAGE,
                       "--scope='%s': of %s, separated by commas", scopes,
                       kListed + 2);
  }
  if (strpbrk(modules, " \t\r\n#")) {
    return fc_complain(FC_EXIT_USAGE,
                       "--modules='%s': patterns are separated by commas alone",
                       modules);
  }
  return print_token(args->words[1], scopes, modules);
}
