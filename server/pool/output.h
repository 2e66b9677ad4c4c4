// SPDX-License-Identifier: Apache-2.0
//
// What a worker process prints, as log lines: each is cut at FC_OUTPUT_LINE bytes, empty
// lines are left out, and lines above FC_OUTPUT_LINES a second are only counted. The last
// line is kept for the log line about the end of the process. The loop's thread.
#ifndef FARCALL_SERVER_POOL_OUTPUT_H_
#define FARCALL_SERVER_POOL_OUTPUT_H_

#include "obs/log.h"

#define FC_OUTPUT_LINE 512
#define FC_OUTPUT_LINES 20

typedef struct fc_output_t {
  fc_log_t *log;
  fc_str_t module;
  int pid;
  uint64_t second;
  uint32_t lines;    // in this second
  uint64_t dropped;  // lines dropped since the log was last told
  uint32_t size;     // bytes of the line being read
  uint32_t last_size;
  char line[FC_OUTPUT_LINE];
  char last[FC_OUTPUT_LINE];
} fc_output_t;

void fc_output_init(fc_output_t *output, fc_log_t *log, fc_str_t module,
                    int pid);
// Reads what is there, at most 64 KiB. False at the end, or if reading fails.
bool fc_output_read(fc_output_t *output, int descriptor);
// Logs a last line that has no end, and how many lines were dropped.
void fc_output_finish(fc_output_t *output);

#endif  // FARCALL_SERVER_POOL_OUTPUT_H_
