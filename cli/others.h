// SPDX-License-Identifier: Apache-2.0
//
// Flags of other programs that run modules: which option of ours means the same, or
// what does it here.
#ifndef FARCALL_CLI_OTHERS_H_
#define FARCALL_CLI_OTHERS_H_

#include "cli.h"

typedef enum fc_other_kind_t {
  FC_OTHER_WORD,
  FC_OTHER_OPTION,
  FC_OTHER_DEVICE,
  FC_OTHER_NOTHING,
  FC_OTHER_REFUSED,
} fc_other_kind_t;

typedef struct fc_other_t {
  const char *flag;  // without dashes; one that ends in '*' is a beginning
  const char *program;
  fc_other_kind_t kind;
  fc_cli_option_t option;  // of FC_OTHER_OPTION
  const char *text;        // what does the same here
} fc_other_t;

// The rows of others.def.
extern const fc_other_t fc_others[];
extern const size_t fc_other_count;

// The row of the flag that `text`, a word of a command line, begins with: -flag,
// --flag, either perhaps with =VALUE. NULL when there is none, as for all verbs but run.
const fc_other_t *fc_other_find(fc_verb_t verb, const char *text);

// Whether the device is the processor. Complains if not, and tells of local-task, which
// farcall run has no threads for.
bool fc_other_check_device(const char *device);

#endif  // FARCALL_CLI_OTHERS_H_
