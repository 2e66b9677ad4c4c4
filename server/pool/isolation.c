// SPDX-License-Identifier: Apache-2.0
//
// Only checks the option: config/module.c reads what the option says of single modules.
#include "pool/isolation.h"

static bool is_mode(fc_str_t word) {
  return fc_str_equal(word, FC_STR("auto")) ||
         fc_str_equal(word, FC_STR("process")) ||
         fc_str_equal(word, FC_STR("thread"));
}

static bool is_named(fc_str_t part) {
  return fc_str_take(&part, '=').size > 0 && is_mode(part);
}

fc_status_t fc_isolation_check(fc_str_t text, fc_error_t *err) {
  for (bool first = true; text.size; first = false) {
    const fc_str_t part = fc_str_take(&text, ',');
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
