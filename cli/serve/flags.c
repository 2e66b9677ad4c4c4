// SPDX-License-Identifier: Apache-2.0
//
// Reads farcalld's own table of options, so a new option needs no change here. Only the
// names of flags, and whether they take a value, are used: farcalld reads the values.
#include "serve/flags.h"

#include <string.h>

typedef enum fc_flag_kind_t {
  TEXT,
  LIST,
  COUNT,
  SIZE,
  TIME,
  FLAG,
  CHOICE,
} fc_flag_kind_t;

static const struct {
  const char *name;
  char letter;  // 0: none
  fc_flag_kind_t kind;
} kFlags[] = {
#define COUNT_OF(least, most) COUNT
#define SIZE_OF(least, most) SIZE
#define FC_OPTION(field, flag, letter, kind, ...) {flag, letter, kind},
#include "config/options.def"
#undef FC_OPTION
    {"test", 't', FLAG},
    {"print", 'T', FLAG},
};

static bool is_flag(size_t i, const char *text, size_t size) {
  if (text[1] != '-') return kFlags[i].letter && text[1] == kFlags[i].letter;
  return strlen(kFlags[i].name) == size - 2 &&
         !strncmp(kFlags[i].name, text + 2, size - 2);
}

size_t fc_serve_flag_words(const char *text) {
  const size_t size = strcspn(text, "=");
  if (size < 2) return 0;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFlags); i++) {
    if (!is_flag(i, text, size)) continue;
    const bool whole = text[1] == '-' ? text[size] == '=' : text[2] != 0;
    return kFlags[i].kind == FLAG || whole ? 1 : 2;
  }
  return 0;
}

const char *fc_serve_flag_foreign(fc_str_t name) {
  static const struct {
    const char *flag, *here;
  } kForeign[] = {
#define FC_FOREIGN(flag, here) {flag, here},
#include "config/foreign.def"
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kForeign); i++) {
    if (fc_str_equal(name, fc_str(kForeign[i].flag))) return kForeign[i].here;
  }
  return NULL;
}

size_t fc_serve_flag_names(const char **out_names, size_t capacity) {
  size_t count = 0;
  while (count < FC_ARRAY_COUNT(kFlags) && count < capacity) {
    out_names[count] = kFlags[count].name;
    count++;
  }
  return count;
}
