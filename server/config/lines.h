// SPDX-License-Identifier: Apache-2.0
//
// Finds the line and column of a byte. The reader of the configuration file overwrites
// line ends with moved texts, so places cannot be found in the changed text.
#ifndef FARCALL_SERVER_CONFIG_LINES_H_
#define FARCALL_SERVER_CONFIG_LINES_H_

#include "config/options.h"

typedef struct fc_lines_t {
  uint32_t *begins;  // offset of each line
  uint32_t count;
  uint32_t size;  // of the text
} fc_lines_t;

// Finds the lines of a text of less than 4 GiB. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_lines_init(fc_lines_t *lines, fc_str_t text,
                          fc_error_t *err) FC_MUST_CHECK;
void fc_lines_deinit(fc_lines_t *lines);
// Returns the place of the byte at `offset`; an offset past the end gives the end's
// place.
fc_origin_t fc_lines_find(const fc_lines_t *lines, uint64_t offset);

#endif  // FARCALL_SERVER_CONFIG_LINES_H_
