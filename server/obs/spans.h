// SPDX-License-Identifier: Apache-2.0
//
// Keeps sampled requests in a ring of fixed size until they are exported. Requests
// without room in the ring are dropped and counted; no request is delayed. Also writes
// the exported documents in the JSON form of OTLP/HTTP (opentelemetry-proto 1, "JSON
// Protobuf Encoding"), with a span for each request, for each of its stages and for each
// dispatch. Loop thread.
#ifndef FARCALL_SERVER_OBS_SPANS_H_
#define FARCALL_SERVER_OBS_SPANS_H_

#include "obs/trace.h"

#define FC_SPANS_ROOM 2048  // requests that the ring has room for
#define FC_SPANS_STAGES 8
#define FC_SPANS_NAME 96             // the most bytes of a name
#define FC_SPANS_DISPATCHES 64       // the most of one request
#define FC_SPANS_DISPATCH_ROOM 4096  // the most of all requests in the ring
#define FC_SPANS_DOCUMENT \
  640  // once a document has this many spans, no request is added to it

// One dispatch of a profiled call. The worker sends it with the answer.
typedef struct fc_dispatch_span_t {
  uint64_t began_ns;  // since its stage began
  uint64_t took_ns;
  uint32_t grid[3];
  uint32_t name_size;
  char name[FC_SPANS_NAME];
} fc_dispatch_span_t;

// An answered request. Texts that are pointers are static or live as long as the server.
typedef struct fc_span_record_t {
  fc_trace_t trace;
  uint64_t began_unix_ns;
  uint64_t took_ns;
  uint64_t spent_ns[FC_SPANS_STAGES];  // 0: the request had no such stage
  uint64_t received;
  uint64_t sent;
  uint64_t parts;  // the number of parts of the answer; 0: it was not in parts
  uint64_t first_ns;  // the time until the first part
  int status;
  const char *scheme;
  const char *method;
  fc_str_t route;
  const char *code;  // of the error; NULL: none
  uint8_t module_size;
  uint8_t function_size;
  char module[FC_SPANS_NAME];
  char function[FC_SPANS_NAME];
  uint8_t call_stage;  // the stage of `dispatches`
  uint32_t dispatch_count;
  fc_dispatch_span_t *dispatches;  // owned
} fc_span_record_t;

typedef struct fc_spans_t {
  fc_allocator_t allocator;
  fc_span_record_t *ring;  // FC_SPANS_ROOM; NULL: nothing is exported
  uint32_t first;
  uint32_t count;
  uint32_t dispatch_count;  // in the ring
  uint64_t id_state;
  const char *const *stages;  // the names of the stages
  uint64_t exported;          // spans of any kind
  uint64_t dropped;           // spans of any kind
  uint64_t failures;  // how often the collector did not accept a document
} fc_spans_t;

fc_status_t fc_spans_init(fc_spans_t *spans, fc_allocator_t allocator,
                          uint64_t seed, const char *const *stages,
                          fc_error_t *err) FC_MUST_CHECK;
// Accepts a zeroed struct.
void fc_spans_deinit(fc_spans_t *spans);

// Returns the place of one more request, for the caller to fill in. NULL: the ring is
// full, and the request's spans count as dropped.
fc_span_record_t *fc_spans_add(fc_spans_t *spans, const uint64_t *spent_ns);
// Adds dispatches to a record whose other members are set; `record` NULL: the record was
// dropped. The dispatches are copied, or dropped if there is no room.
void fc_spans_add_dispatches(fc_spans_t *spans, fc_span_record_t *record,
                             const fc_dispatch_span_t *dispatches,
                             uint32_t count);
// Writes a document of at most `most` requests, the oldest first, and removes them from
// the ring. *out_spans is the number of removed spans, also on failure.
fc_status_t fc_spans_write(fc_spans_t *spans, uint32_t most,
                           uint64_t *out_spans, fc_sink_t *sink,
                           fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_OBS_SPANS_H_
