// SPDX-License-Identifier: Apache-2.0
//
// What the HTML pages of `farcall` share. A page needs nothing else: it has no script
// and asks for no other file.
#ifndef FARCALL_CLI_PAGE_H_
#define FARCALL_CLI_PAGE_H_

#include "cli.h"

// The head, title and style, and <main>. `title` is markup.
fc_status_t fc_page_begin(fc_sink_t *sink, const char *title, fc_error_t *err);
// Text of a file or a server: what could be markup is escaped.
fc_status_t fc_page_text(fc_sink_t *sink, fc_str_t text, fc_error_t *err);

// "1.23 ms": a time with up to three digits, in us, ms or s.
typedef struct fc_page_time_t {
  char text[24];
} fc_page_time_t;
fc_page_time_t fc_page_time(double ns);

#endif  // FARCALL_CLI_PAGE_H_
