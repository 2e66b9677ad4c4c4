// SPDX-License-Identifier: Apache-2.0
//
// Skips MLIR text that is kept as it is: brackets and strings are matched, and nothing
// else is interpreted.
#include "abi/mlir_type.h"

enum { NESTING_MAX = 64 };  // open brackets

// Moves *at from the opening quote of a string to the closing one; false when there is
// no closing quote.
static bool skip_string(fc_str_t text, size_t *at) {
  for (size_t i = *at + 1; i < text.size; i++) {
    if (text.data[i] == '\\') {
      i++;
    } else if (text.data[i] == '"') {
      *at = i;
      return true;
    }
  }
  return false;
}

const char *fc_mlir_skip(fc_str_t text, size_t *at, const char *stops) {
  static const char brackets[] = "<>()[]{}";
  char closers[NESTING_MAX];
  size_t depth = 0;
  for (; *at < text.size; (*at)++) {
    char c = text.data[*at];
    if (!depth && c && strchr(stops, c)) return NULL;
    if (c == '"') {
      if (!skip_string(text, at)) return "the string does not end";
      continue;
    }
    char next = *at + 1 < text.size ? text.data[*at + 1] : '\0';
    if ((c == '-' && next == '>') || (c == '>' && next == '=')) {
      (*at)++;  // the '>' of an arrow or a comparison closes no bracket
      continue;
    }
    const char *bracket = c ? strchr(brackets, c) : NULL;
    if (!bracket) continue;
    if ((bracket - brackets) % 2 == 0) {
      if (depth == NESTING_MAX) return "brackets nest too deep";
      closers[depth++] = bracket[1];
    } else if (!depth || closers[--depth] != c) {
      return "this bracket closes nothing";
    }
  }
  return depth ? "a bracket is not closed" : NULL;
}
