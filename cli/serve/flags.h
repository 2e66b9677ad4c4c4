// SPDX-License-Identifier: Apache-2.0
//
// The flags of farcalld, which `farcall serve` passes on unchanged.
#ifndef FARCALL_CLI_SERVE_FLAGS_H_
#define FARCALL_CLI_SERVE_FLAGS_H_

#include <stdbool.h>
#include <stddef.h>

#include "farcall/base.h"

// Returns how many words of a command line a flag of farcalld takes; `text` begins with
// the flag. 1, or 2 if its value is the next word. 0: farcalld has no such flag.
size_t fc_serve_flag_words(const char *text);
// Gives the names of all flags, for hints. `out_names` has room for `capacity`; returns
// the number.
size_t fc_serve_flag_names(const char **out_names, size_t capacity);
// Says what does the same here as a flag of another server, which is named without its
// dashes. NULL: no other server is known to have it.
const char *fc_serve_flag_foreign(fc_str_t name);

#endif  // FARCALL_CLI_SERVE_FLAGS_H_
