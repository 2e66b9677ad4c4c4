// SPDX-License-Identifier: Apache-2.0
//
// Computes one digest of everything that a compiled module depends on. One thread.
#ifndef FARCALL_CLI_SERVE_KEY_H_
#define FARCALL_CLI_SERVE_KEY_H_

#include "cli.h"

#define FC_SERVE_STATE 160
// Writes to `out` a text that identifies the file at the path, without reading the file.
// The text changes when the file is written or replaced. "": there is no file.
void fc_serve_state(const char *path, char out[FC_SERVE_STATE]);

// Computes the digest of the source's bytes and of everything else that its module
// depends on: the files of its weights, the options of `args`, the available compilers,
// and this program.
void fc_serve_key(const fc_args_t *args, const char *path, fc_str_t bytes,
                  char out_hex[65]);

#endif  // FARCALL_CLI_SERVE_KEY_H_
