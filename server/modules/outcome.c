// SPDX-License-Identifier: Apache-2.0
//
// Writes the outcome of an act, for the answer and the log.
#include <stdio.h>

#include "modules/act.h"

// Bytes of an act's message that are reserved for fc_act_add_counts.
#define COUNTS_ROOM 120

// Adds the reason of another failure to the outcome of an act on all modules, if there is
// room. The first reason is cut, between two characters, if it is too long.
static void add_reason(fc_act_t *act, fc_str_t module,
                       const fc_error_t *error) {
  char shown[80], reason[sizeof error->message + 96];
  char *text = act->error.message;
  const size_t had = strlen(text);
  const size_t room = sizeof act->error.message - COUNTS_ROOM - had;
  fc_escape(shown, sizeof shown, 64, module);
  snprintf(reason, sizeof reason, "%s%s%s%s%s", had ? "; " : "",
           module.size ? "module '" : "", shown, module.size ? "': " : "",
           error->message);
  size_t size = strlen(reason);
  if (had && size >= room) return;
  if (size >= room) size = room - 1;
  while (size && ((unsigned char)reason[size] & 0xC0) == 0x80) size--;
  memcpy(text + had, reason, size);
  text[had + size] = '\0';
  act->told++;
}

void fc_act_note_failure(fc_act_t *act, fc_str_t module,
                         const fc_error_t *error) {
  const bool first = act->status == FC_OK;
  act->failed++;
  if (first) {
    act->status = error->status;
    act->error = *error;
  }
  if (act->name.size) return;
  if (first) act->error.message[0] = '\0';
  add_reason(act, module, error);
}

void fc_act_add_counts(fc_act_t *act) {
  char more[32] = "";
  const size_t had = strlen(act->error.message);
  if (act->failed > act->told) {
    snprintf(more, sizeof more, "; and %u more", act->failed - act->told);
  }
  snprintf(act->error.message + had, sizeof act->error.message - had,
           "%s (loaded %u, unchanged %u, unloaded %u, failed %u)", more,
           act->loaded, act->unchanged, act->unloaded, act->failed);
}

void fc_act_note_digest(char out[65], const fc_generation_t *generation) {
  const char *sha256 = generation && generation->module
                           ? fc_module_get_sha256(generation->module)
                           : "";
  memcpy(out, sha256, strlen(sha256) + 1);
}
