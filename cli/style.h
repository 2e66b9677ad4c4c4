// SPDX-License-Identifier: Apache-2.0
//
// Colours for people: only on a terminal, and not with NO_COLOR (https://no-color.org) or
// TERM=dumb.
#ifndef FARCALL_CLI_STYLE_H_
#define FARCALL_CLI_STYLE_H_

#include <stdio.h>

typedef enum fc_style_t {
  FC_STYLE_PLAIN,  // ends the other styles
  FC_STYLE_BOLD,
  FC_STYLE_GOOD,
  FC_STYLE_BAD,
  FC_STYLE_DIM,
} fc_style_t;

// Returns the text that begins the style on `stream`, "" where there are no colours.
const char *fc_style(FILE *stream, fc_style_t style);

#endif  // FARCALL_CLI_STYLE_H_
