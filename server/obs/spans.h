// SPDX-License-Identifier: Apache-2.0
//
// Requests that were sampled, until they are exported: a ring that never grows. What
// does not fit is dropped and counted; no request waits. Also their text, as
// OTLP/HTTP has it in JSON (opentelemetry-proto 1, "JSON Protobuf Encoding"): a span
// for each request and one for each of its stages. Loop thread.
#ifndef FARCALL_SERVER_OBS_SPANS_H_
#define FARCALL_SERVER_OBS_SPANS_H_

#include "obs/trace.h"

#define FC_SPANS_ROOM 2048  // requests that may wait to be exported
#define FC_SPANS_STAGES 8
#define FC_SPANS_NAME 96  // bytes of a name that are kept

// A request that was answered. Texts that are pointers are static, or live as long
// as the server.
typedef struct fc_span_record_t {
  fc_trace_t trace;
  uint64_t began_unix_ns;
  uint64_t took_ns;
  uint64_t spent_ns[FC_SPANS_STAGES];  // 0: it was not there
  uint64_t received;
  uint64_t sent;
  int status;
  const char *method;
  fc_str_t route;
  const char *code;  // of an error, NULL: none
  uint8_t module_size;
  uint8_t function_size;
  char module[FC_SPANS_NAME];
  char function[FC_SPANS_NAME];
} fc_span_record_t;

typedef struct fc_spans_t {
  fc_allocator_t allocator;
  fc_span_record_t *ring;  // FC_SPANS_ROOM; NULL: nothing is exported
  uint32_t first;
  uint32_t count;
  uint64_t id_state;
  const char *const *stages;  // their names
  // Spans, of stages too.
  uint64_t exported;
  uint64_t dropped;
  uint64_t failures;  // documents that were not taken
} fc_spans_t;

fc_status_t fc_spans_init(fc_spans_t *spans, fc_allocator_t allocator,
                          uint64_t seed, const char *const *stages,
                          fc_error_t *err) FC_MUST_CHECK;
// A zeroed one is allowed.
void fc_spans_deinit(fc_spans_t *spans);

// The place of one more; NULL: there is none, and a request was dropped.
fc_span_record_t *fc_spans_add(fc_spans_t *spans, const uint64_t *spent_ns);
// Writes a document of at most `most` requests, the oldest first, and takes them out of
// the ring. *out_spans: how many spans it has.
fc_status_t fc_spans_write(fc_spans_t *spans, uint32_t most,
                           uint64_t *out_spans, fc_sink_t *sink,
                           fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_OBS_SPANS_H_
