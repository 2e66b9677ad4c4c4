// SPDX-License-Identifier: Apache-2.0
//
// What it says of single modules: config/module.c.
#include "pool/isolation.h"

// The next part of a list; false at its end.
static bool next_part(fc_str_t *rest, fc_str_t *out_part) {
  if (rest->size == 0) return false;
  const char *comma = memchr(rest->data, ',', rest->size);
  size_t size = comma ? (size_t)(comma - rest->data) : rest->size;
  *out_part = fc_str_make(rest->data, size);
  size_t skip = comma ? size + 1 : size;
  *rest = fc_str_make(rest->data + skip, rest->size - skip);
  return true;
}

static bool is_mode(fc_str_t word) {
  return fc_str_equal(word, FC_STR("auto")) ||
         fc_str_equal(word, FC_STR("process")) ||
         fc_str_equal(word, FC_STR("thread"));
}

static bool is_named(fc_str_t part) {
  const char *equals = part.size ? memchr(part.data, '=', part.size) : NULL;
  if (!equals || equals == part.data) return false;
  const size_t skip = (size_t)(equals - part.data) + 1;
  return is_mode(fc_str_make(part.data + skip, part.size - skip));
}

fc_status_t fc_isolation_check(fc_str_t text, fc_error_t *err) {
  fc_str_t rest = text, part;
  for (bool first = true; next_part(&rest, &part); first = false) {
    if ((first && is_mode(part)) || is_named(part)) continue;
    char shown[80];
    fc_escape(shown, sizeof shown, 64, part);
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "'%s' is no isolation: auto, process or thread, then "
                   "MODULE=process or MODULE=thread",
                   shown);
  }
  return FC_OK;
}
