// SPDX-License-Identifier: Apache-2.0
//
// Flags of other programs that run modules, and what farcall has instead: an option of
// the same meaning, or another way.
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
  const char *flag;  // without dashes; '*' at its end stands for any ending
  const char *program;
  fc_other_kind_t kind;
  fc_cli_option_t option;  // of FC_OTHER_OPTION
  const char *text;        // what farcall has instead
} fc_other_t;

// The rows of others.def.
extern const fc_other_t fc_others[];
extern const size_t fc_other_count;

// Returns the row of the flag at the beginning of `text`, a word of a command line: -flag
// or --flag, optionally with =VALUE. NULL: there is no such row, or `verb` is not run.
const fc_other_t *fc_other_find(fc_verb_t verb, const char *text);

// True if the device is the processor. Otherwise complains. For the device local-task,
// mentions that farcall run has no threads.
bool fc_other_check_device(const char *device);

#endif  // FARCALL_CLI_OTHERS_H_
