// SPDX-License-Identifier: Apache-2.0
//
// Reads the profile of a call (written by marshal/profiled.h). Shows it as a table in a
// terminal, or writes a file for speedscope, which draws flame graphs.
#ifndef FARCALL_CLI_FLAME_H_
#define FARCALL_CLI_FLAME_H_

#include <stdio.h>
#include <yyjson.h>

#include "cli.h"

typedef struct fc_flame_row_t {
  const char *kind;
  const char *name;
  const char *grid;  // "4x1x1"; "": not a dispatch
  size_t parent;     // an earlier row; of row 0: 0
  size_t depth;
  double count;
  double ns;
  double self_ns;
  double bytes;
} fc_flame_row_t;

typedef struct fc_flame_t {
  fc_flame_row_t *rows;  // in the arena, with all that they point to
  size_t count;
  size_t *order;  // row indices in the order in which rows are shown
  double dropped;
} fc_flame_t;

#define FC_FLAME_ROWS_MAX 1024u

// Reads the JSON of a profile. FC_CODE_BAD_RESULT: the JSON is not a profile.
fc_status_t fc_flame_read(fc_arena_t *arena, fc_str_t json,
                          fc_flame_t *out_flame, fc_error_t *err);
void fc_flame_show(const fc_flame_t *flame, FILE *stream);
// Writes a file that speedscope can open.
fc_status_t fc_flame_print_speedscope(const fc_flame_t *flame, fc_sink_t *sink,
                                      fc_error_t *err);

// Shows a profile on `stream`, and writes the file that --speedscope names. Returns an
// exit code, after a complaint if it isn't 0.
int fc_flame_report(const fc_args_t *args, fc_str_t json, FILE *stream);

#endif  // FARCALL_CLI_FLAME_H_
