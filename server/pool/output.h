// SPDX-License-Identifier: Apache-2.0
//
// What a worker process prints, as log lines: each is cut at FC_OUTPUT_LINE bytes, empty
// lines are left out, and lines above FC_OUTPUT_LINES a second are only counted. The last
// line is kept for the log line about the end of the process. The nursery's thread reads,
// the loop's logs what was read, one after the other. All processes of a module together
// have a rate of FC_OUTPUT_RATE bytes a second: what is beyond it is not read before the
// next second, so that whoever prints more waits in his own write().
#ifndef FARCALL_SERVER_POOL_OUTPUT_H_
#define FARCALL_SERVER_POOL_OUTPUT_H_

#include "obs/log.h"

#define FC_OUTPUT_LINE 512
#define FC_OUTPUT_LINES 20
#define FC_OUTPUT_RATE (1u << 20)
// Bytes that are read at one go, and of a process that has ended.
#define FC_OUTPUT_READ (64u << 10)

// What the processes of a module have printed in a second.
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
  // For the log: how many lines were dropped before these, each ended by a line feed.
  uint64_t told_dropped;
  uint32_t told_size;
  char told[FC_OUTPUT_LINES * (FC_OUTPUT_LINE + 1)];
} fc_output_t;

// Reads what is there, as far as FC_OUTPUT_READ and the rate of the module go. False at
// the end, or if reading fails. True: it may be read again when there is more, but not
// before *out_due_ns (0: at once). The lines for the log must have been logged before.
bool fc_output_read(fc_output_t *output, int descriptor, fc_output_rate_t *rate,
                    uint64_t *out_due_ns);
// Reads what is left when the process has ended, also a last line that has no end.
void fc_output_finish(fc_output_t *output, int descriptor);
// Is there nothing for the log?
bool fc_output_is_empty(const fc_output_t *output);
// Logs the lines, and how many were dropped. There are none any more.
void fc_output_log(fc_output_t *output, fc_log_t *log, fc_str_t module,
                   int pid);

#endif  // FARCALL_SERVER_POOL_OUTPUT_H_
