// SPDX-License-Identifier: Apache-2.0
//
// Scopes say what a client may request (scope.def). A set of scopes is a bit set. No
// allocation; any thread.
#ifndef FARCALL_SERVER_CONFIG_SCOPE_H_
#define FARCALL_SERVER_CONFIG_SCOPE_H_

#include "config/priority.h"

enum {
#define FC_SCOPE(name, text) FC_SCOPE_BIT_##name,
#include "config/scope.def"
#undef FC_SCOPE
  FC_SCOPE_COUNT
};

enum {
#define FC_SCOPE(name, text) FC_SCOPE_##name = 1 << FC_SCOPE_BIT_##name,
#include "config/scope.def"
#undef FC_SCOPE
  FC_SCOPE_ALL = (1 << FC_SCOPE_COUNT) - 1,
  // A request can also need no scope (OPEN), or only a known client (ANY).
  FC_SCOPE_OPEN = 0,
  FC_SCOPE_ANY = 0x80,
};

// What the client of a request is allowed. The texts are borrowed.
typedef struct fc_grant_t {
  uint8_t scopes;
  fc_str_t name;     // of the token
  fc_str_t modules;  // patterns, separated by commas; "": every module
  bool is_user;      // `name` is the number of a user of a Unix socket
  bool is_ranged;    // `priorities` replaces the range of the listener
  fc_priorities_t priorities;
  const char *hash;  // of the token; NULL: the grant is a user's
} fc_grant_t;

// Returns the name of the lowest scope of a set that is not empty.
const char *fc_scope_name(uint8_t scopes);
// Returns the names of all scopes, with ", " between them.
const char *fc_scope_names(void);
// Reads "call,read"; `separator` stands between names. False: *out_bad is the part of
// `text` that is no scope.
bool fc_scopes_parse(fc_str_t text, char separator, uint8_t *out_scopes,
                     fc_str_t *out_bad);
// Does a pattern of a list such as "net*,text" match the whole name? '*' matches any
// characters, or none.
bool fc_patterns_fit(fc_str_t patterns, fc_str_t name);

#endif  // FARCALL_SERVER_CONFIG_SCOPE_H_
