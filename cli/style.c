// SPDX-License-Identifier: Apache-2.0
//
// Colours, by escape sequences that every terminal knows.
#include "style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *fc_style(FILE *stream, fc_style_t style) {
  static const char *const kEscapes[] = {"\x1b[0m", "\x1b[1m", "\x1b[32m",
                                         "\x1b[1;31m", "\x1b[2m"};
  const char *off = getenv("NO_COLOR"), *terminal = getenv("TERM");
  if (off && *off) return "";
  if (!terminal || !strcmp(terminal, "dumb")) return "";
  return isatty(fileno(stream)) ? kEscapes[style] : "";
}
