// SPDX-License-Identifier: Apache-2.0
//
// The list is short and needed once for each module, so it is read again each
// time.
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

static bool find_mode(fc_str_t word, fc_isolation_mode_t *out_mode) {
  static const char *const kWords[] = {"auto", "process", "thread"};
  for (unsigned i = 0; i < FC_ARRAY_COUNT(kWords); i++) {
    if (!fc_str_equal(word, fc_str(kWords[i]))) continue;
    *out_mode = (fc_isolation_mode_t)i;
    return true;
  }
  return false;
}

static bool split(fc_str_t part, fc_str_t *out_name,
                  fc_isolation_mode_t *out_mode) {
  const char *equals = part.size ? memchr(part.data, '=', part.size) : NULL;
  if (!equals || equals == part.data) return false;
  *out_name = fc_str_make(part.data, (size_t)(equals - part.data));
  size_t skip = out_name->size + 1;
  return find_mode(fc_str_make(part.data + skip, part.size - skip), out_mode);
}

fc_status_t fc_isolation_parse(fc_str_t text, fc_isolation_t *out_isolation,
                               fc_error_t *err) {
  fc_isolation_t isolation = {FC_ISOLATION_AUTO, text};
  fc_str_t rest = text, part, name;
  for (bool first = true; next_part(&rest, &part); first = false) {
    fc_isolation_mode_t mode;
    if (first && find_mode(part, &isolation.mode)) {
      isolation.others = rest;
      continue;
    }
    if (split(part, &name, &mode)) continue;
    char shown[80];
    fc_escape(shown, sizeof shown, 64, part);
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "'%s' is no isolation: auto, process or thread, then "
                   "MODULE=process or MODULE=thread",
                   shown);
  }
  *out_isolation = isolation;
  return FC_OK;
}

bool fc_isolation_process(const fc_isolation_t *isolation, fc_str_t module,
                          bool runs_native) {
  fc_isolation_mode_t mode = isolation->mode;
  fc_str_t rest = isolation->others, part, name;
  while (next_part(&rest, &part)) {
    fc_isolation_mode_t own;
    if (split(part, &name, &own) && fc_str_equal(name, module)) mode = own;
  }
  return mode == FC_ISOLATION_PROCESS ||
         (mode == FC_ISOLATION_AUTO && runs_native);
}
