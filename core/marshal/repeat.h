// SPDX-License-Identifier: Apache-2.0
//
// "repeat" of a call document: how often a function is called, which of its results are
// arguments of the next call, and when it ends. Read with the rest of the document
// (decode.c), and checked against the function's types before any call. Private to the
// marshaller; belongs to one call.
#ifndef FARCALL_MARSHAL_REPEAT_H_
#define FARCALL_MARSHAL_REPEAT_H_

#include "marshal/frame.h"

#define FC_REPEAT_NONE UINT32_MAX

// A result that becomes an argument of the next call.
typedef struct fc_repeat_feed_t {
  uint32_t result;    // of fc_plan_t.outputs
  uint32_t argument;  // of fc_plan_t.inputs
} fc_repeat_feed_t;

typedef struct fc_repeat_t {
  uint64_t times_max;  // set by the caller; the other members are read
  bool given;          // the document has "repeat"
  uint64_t times;
  uint32_t until;      // of fc_plan_t.outputs; FC_REPEAT_NONE: it has none
  uint8_t equals[16];  // an element of that result's type
  // The lists lie in the frame's memory.
  fc_repeat_feed_t *feeds;
  uint32_t feed_count;
  uint32_t *emit;  // of fc_plan_t.outputs
  uint32_t emit_count;
} fc_repeat_t;

// Reads the value of "repeat", whose first token was just read, into frame->repeat.
// FC_CODE_MISSING_KEY, _UNKNOWN_KEY, _TYPE_MISMATCH, _DTYPE_MISMATCH, _SHAPE_MISMATCH,
// _OUT_OF_RANGE, _DUPLICATE_ARGUMENT, _DUPLICATE_KEY, with the place in the document.
fc_status_t fc_repeat_read(fc_frame_t *frame, fc_json_token_t token,
                           fc_error_t *err);

// True when elements of type `from` may be fed to an argument of type `to`. FC_DTYPE_NONE
// stands for a type that is not known yet.
bool fc_repeat_dtype_feeds(fc_dtype_t from, fc_dtype_t to);

#endif  // FARCALL_MARSHAL_REPEAT_H_
