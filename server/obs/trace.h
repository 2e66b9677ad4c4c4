// SPDX-License-Identifier: Apache-2.0
//
// The trace that a request belongs to, from the field `traceparent` (W3C Trace Context,
// version 00, and the parts that later versions keep). Any thread.
#ifndef FARCALL_SERVER_OBS_TRACE_H_
#define FARCALL_SERVER_OBS_TRACE_H_

#include "farcall/base.h"

#define FC_TRACE_ID 16
#define FC_SPAN_ID 8
#define FC_TRACE_TEXT 55  // characters of a traceparent

typedef struct fc_trace_t {
  // The request belongs to a trace; false: nothing else here is valid.
  bool known;
  bool sampled;  // the request's spans are exported
  uint8_t id[FC_TRACE_ID];
  uint8_t parent[FC_SPAN_ID];  // the caller's span; zero: there is none
  uint8_t span[FC_SPAN_ID];    // the request's own
} fc_trace_t;

// Reads a traceparent into known, sampled, id and parent, and zeroes `span`. False: the
// text is no traceparent, and nothing is changed. W3C Trace Context then wants the
// field to be ignored.
bool fc_trace_parse(fc_str_t text, fc_trace_t *out_trace);
// Writes the trace with its own span, in FC_TRACE_TEXT characters, for other programs.
void fc_trace_print(const fc_trace_t *trace, char *out);
// Writes bytes as hex digits, two for each.
void fc_trace_print_id(const uint8_t *bytes, size_t size, char *out);

// Returns numbers for ids. They are a bijection of a counter, so one state never gives a
// number twice.
uint64_t fc_trace_random(uint64_t *state);
// Fills an id of 8 or 16 bytes; the bytes are never all zero.
void fc_trace_make_id(uint64_t *state, uint8_t *out, size_t size);

#endif  // FARCALL_SERVER_OBS_TRACE_H_
