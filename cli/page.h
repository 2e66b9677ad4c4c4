// SPDX-License-Identifier: Apache-2.0
//
// Shared by the HTML pages of `farcall`. A page has no script and loads no other file.
#ifndef FARCALL_CLI_PAGE_H_
#define FARCALL_CLI_PAGE_H_

#include "cli.h"

// Writes the head, title and style, and <main>. `title` is markup.
fc_status_t fc_page_begin(fc_sink_t *sink, const char *title, fc_error_t *err);
// Writes text from a file or a server, with markup escaped.
fc_status_t fc_page_text(fc_sink_t *sink, fc_str_t text, fc_error_t *err);

// "1.23 ms": a time with up to three digits, in us, ms or s.
typedef struct fc_page_time_t {
  char text[24];
} fc_page_time_t;
fc_page_time_t fc_page_time(double ns);

#endif  // FARCALL_CLI_PAGE_H_
