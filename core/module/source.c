// SPDX-License-Identifier: Apache-2.0
//
// Helps backends to read the source that they open (farcall/backend.h). Any thread.
#include "farcall/backend.h"

fc_str_t fc_source_setting(const fc_module_source_t *source, const char *name) {
  for (size_t i = source->setting_count; i-- > 0;) {
    if (fc_str_equal(source->settings[i].name, fc_str(name))) {
      return source->settings[i].value;
    }
  }
  return FC_STR("");
}
