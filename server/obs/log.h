// SPDX-License-Identifier: Apache-2.0
//
// Writes log lines to a descriptor: text for people, or JSON lines for programs. A record
// is always one line; text from clients is escaped and cut. Lines are buffered and
// written once a loop turn, or when the buffer is full. If the reader of a pipe is too
// slow, lines are dropped and counted; the loop does not wait. One thread.
#ifndef FARCALL_SERVER_OBS_LOG_H_
#define FARCALL_SERVER_OBS_LOG_H_

#include "farcall/base.h"

typedef enum fc_log_level_t {
  FC_LOG_INFO,
  FC_LOG_WARN,
  FC_LOG_ERROR,
} fc_log_level_t;

#define FC_LOG_BUFFER (64u << 10)
#define FC_LOG_LINE_MAX 2048

typedef struct fc_log_t {
  int descriptor;
  bool json;
  // By level: lines of this level are not written.
  bool silent[FC_LOG_ERROR + 1];
  uint64_t dropped;  // lines dropped since the last line that told their number
  uint64_t lost;     // lines dropped, ever
  size_t size;
  char *buffer;  // FC_LOG_BUFFER bytes
  fc_allocator_t allocator;
} fc_log_t;

// A member of a line: the number if has_number, else the text. A member with an empty
// text is left out.
typedef struct fc_log_field_t {
  const char *key;
  fc_str_t text;
  uint64_t number;
  bool has_number;
} fc_log_field_t;

#define FC_LOG_TEXT(key_, value) \
  ((fc_log_field_t){.key = (key_), .text = (value)})
#define FC_LOG_NUMBER(key_, value) \
  ((fc_log_field_t){.key = (key_), .number = (value), .has_number = true})

fc_status_t fc_log_init(fc_log_t *log, fc_allocator_t allocator, int descriptor,
                        bool json, fc_error_t *err) FC_MUST_CHECK;
void fc_log_deinit(fc_log_t *log);  // writes the buffered lines first

void fc_log(fc_log_t *log, fc_log_level_t level, const char *format, ...)
    FC_PRINTF(3, 4);
void fc_log_fields(fc_log_t *log, fc_log_level_t level, fc_str_t message,
                   const fc_log_field_t *fields, size_t count);
// Writes the buffered lines, without waiting.
void fc_log_flush(fc_log_t *log);

#endif  // FARCALL_SERVER_OBS_LOG_H_
