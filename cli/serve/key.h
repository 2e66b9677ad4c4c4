// SPDX-License-Identifier: Apache-2.0
//
// What a compiled module depends on, as one digest. One thread.
#ifndef FARCALL_CLI_SERVE_KEY_H_
#define FARCALL_CLI_SERVE_KEY_H_

#include "cli.h"

#define FC_SERVE_STATE 160
// Says in `out` which file there is at the path now, without reading it: the text is
// another one after the file has been written to or replaced. "" if there is none.
void fc_serve_state(const char *path, char out[FC_SERVE_STATE]);

// The digest of the source's bytes and of all else that its module depends on: the files
// of its weights, the options of `args`, the compilers that may be used, and this program.
void fc_serve_key(const fc_args_t *args, const char *path, fc_str_t bytes,
                  char out_hex[65]);

#endif  // FARCALL_CLI_SERVE_KEY_H_
