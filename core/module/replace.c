// SPDX-License-Identifier: Apache-2.0
#include "module/replace.h"

#include "abi/narrow.h"

fc_status_t fc_module_check_replaces(const fc_module_t *before,
                                     const fc_module_t *after,
                                     fc_error_t *err) {
  const size_t count = fc_module_function_count(before);
  for (size_t i = 0; i < count; i++) {
    const fc_function_t *had = fc_module_function(before, i);
    if (!had->signature->callable) continue;
    const fc_function_t *has = fc_module_find(after, had->name);
    if (!has) {
      return fc_fail(err, FC_CODE_SIGNATURE_NARROWED,
                     "function '%.*s' is no longer there",
                     FC_STR_ARG(had->name));
    }
    FC_TRY(fc_signature_check_replaces(had->signature, has->signature, err));
  }
  return FC_OK;
}
