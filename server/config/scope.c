// SPDX-License-Identifier: Apache-2.0
#include "config/scope.h"

static const fc_str_t kNames[FC_SCOPE_COUNT] = {
#define FC_SCOPE(name, text) FC_STR(text),
#include "config/scope.def"
#undef FC_SCOPE
};

const char *fc_scope_name(uint8_t scopes) {
  return kNames[__builtin_ctz(scopes)].data;
}

const char *fc_scope_names(void) {
  static const char kAll[] =
#define FC_SCOPE(name, text) ", " text
#include "config/scope.def"
#undef FC_SCOPE
      ;
  return kAll + 2;
}

static uint8_t find(fc_str_t name) {
  for (unsigned i = 0; i < FC_SCOPE_COUNT; i++) {
    if (fc_str_equal(kNames[i], name)) return (uint8_t)(1u << i);
  }
  return 0;
}

bool fc_scopes_parse(fc_str_t text, char separator, uint8_t *out_scopes,
                     fc_str_t *out_bad) {
  uint8_t scopes = 0;
  bool more = true;
  while (more) {
    more = text.size && memchr(text.data, separator, text.size);
    *out_bad = fc_str_take(&text, separator);
    const uint8_t scope = find(*out_bad);
    if (!scope) return false;
    scopes |= scope;
  }
  *out_scopes = scopes;
  return true;
}

// When a character does not match, the last '*' is made to match one character more,
// and the pattern after it is tried again from there.
static bool fits(fc_str_t pattern, fc_str_t name) {
  size_t p = 0, n = 0, star = SIZE_MAX, from = 0;
  while (n < name.size) {
    if (p < pattern.size && pattern.data[p] == '*') {
      star = p++;
      from = n;
    } else if (p < pattern.size && pattern.data[p] == name.data[n]) {
      p++;
      n++;
    } else if (star != SIZE_MAX) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size && pattern.data[p] == '*') p++;
  return p == pattern.size;
}

bool fc_patterns_fit(fc_str_t patterns, fc_str_t name) {
  while (patterns.size) {
    if (fits(fc_str_take(&patterns, ','), name)) return true;
  }
  return false;
}
