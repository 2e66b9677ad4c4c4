// SPDX-License-Identifier: Apache-2.0
//
// Turns the output of a worker process into log lines. Each line is cut at FC_OUTPUT_LINE
// bytes, empty lines are left out, and lines above FC_OUTPUT_LINES a second are only
// counted. The last line is kept for the log line about the end of the process. The
// nursery's thread reads and the loop's thread logs, never at the same time. All
// processes of a module together may print FC_OUTPUT_RATE bytes a second. Further bytes
// are not read before the next second, so a process that prints more waits in its own
// write().
#ifndef FARCALL_SERVER_POOL_OUTPUT_H_
#define FARCALL_SERVER_POOL_OUTPUT_H_

#include "obs/log.h"

#define FC_OUTPUT_LINE 512
#define FC_OUTPUT_LINES 20
#define FC_OUTPUT_RATE (1u << 20)
// The most bytes of one read, and of the rest of an ended process.
#define FC_OUTPUT_READ (64u << 10)

// The output of a module's processes in a second.
typedef struct fc_output_rate_t {
  uint64_t second;
  uint64_t size;  // bytes
} fc_output_rate_t;

typedef struct fc_output_t {
  uint64_t second;
  uint32_t lines;    // in this second
  uint64_t dropped;  // lines dropped since the log was last told
  uint32_t size;     // bytes of the line being read
  uint32_t last_size;
  char line[FC_OUTPUT_LINE];
  char last[FC_OUTPUT_LINE];
  // For the log: the lines `told`, each with a line feed at its end, and how many lines
  // were dropped before these.
  uint64_t told_dropped;
  uint32_t told_size;
  char told[FC_OUTPUT_LINES * (FC_OUTPUT_LINE + 1)];
} fc_output_t;

// Reads available bytes, up to FC_OUTPUT_READ and the rate of the module. False: the
// output has ended, or reading failed. True: read again when there is more, but not
// before *out_due_ns (0: at once). The previous lines must have been logged.
bool fc_output_read(fc_output_t *output, int descriptor, fc_output_rate_t *rate,
                    uint64_t *out_due_ns);
// Reads the rest after the process has ended, also a last line without an end.
void fc_output_finish(fc_output_t *output, int descriptor);
// Is there nothing for the log?
bool fc_output_is_empty(const fc_output_t *output);
// Logs the lines and the number of dropped ones, and removes them.
void fc_output_log(fc_output_t *output, fc_log_t *log, fc_str_t module,
                   int pid);

#endif  // FARCALL_SERVER_POOL_OUTPUT_H_
