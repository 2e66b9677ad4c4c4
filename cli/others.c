// SPDX-License-Identifier: Apache-2.0
//
// Finds a flag in the table of others.def.
#include "others.h"

const fc_other_t fc_others[] = {
#define FC_OTHER(flag, program, kind, option, text) \
  {flag, program, FC_OTHER_##kind, FC_OPTION_##option, text},
#include "others.def"
};
const size_t fc_other_count = FC_ARRAY_COUNT(fc_others);

static bool names(const fc_other_t *other, const char *name, size_t size) {
  const size_t length = strlen(other->flag);
  if (other->flag[length - 1] == '*') {
    return size >= length && !strncmp(name, other->flag, length - 1);
  }
  return size == length && !strncmp(name, other->flag, size);
}

const fc_other_t *fc_other_find(fc_verb_t verb, const char *text) {
  if (verb != FC_VERB_RUN) return NULL;
  text += text[1] == '-' ? 2 : 1;
  const size_t size = strcspn(text, "=");
  for (size_t i = 0; i < fc_other_count; i++) {
    if (names(&fc_others[i], text, size)) return &fc_others[i];
  }
  return NULL;
}

bool fc_other_check_device(const char *device) {
  if (!strcmp(device, "local-sync") || !strcmp(device, "local")) return true;
  if (!strcmp(device, "local-task")) {
    fc_complain(0, "note: --device=local-task: run computes on one thread; "
                   "farcalld --tiles=N has threads share a call");
    return true;
  }
  fc_complain(0,
              "--device=%s: farcall runs modules on the processor only, as "
              "local-sync does",
              device);
  return false;
}
