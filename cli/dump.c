// SPDX-License-Identifier: Apache-2.0
//
// farcall dump: a .vmfb as text. A file that farcall would not run is shown as
// far as it can be read.
#include <stdio.h>

#include "cli.h"
#include "module/vm/backend.h"

#define DUMP_LIMIT ((size_t)1 << 30)

int fc_verb_dump(const fc_args_t *args) {
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE, "dump takes one FILE.vmfb");
  }
  const char *path = args->words[0];
  if (!fc_is_vmfb(args, path)) return FC_EXIT_DATA;
  fc_error_t err = {0};
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), DUMP_LIMIT);
  fc_status_t status =
      fc_vm_dump_file(path, fc_allocator_system(), &text.sink, &err);
  fc_str_t dump = fc_text_str(&text);
  fc_show(stdout, dump);
  fc_text_deinit(&text);
  if (status) return fc_complain(FC_EXIT_DATA, "%s: %s", path, err.message);
  return FC_EXIT_OK;
}
