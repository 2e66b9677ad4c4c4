// SPDX-License-Identifier: Apache-2.0
//
// Exports spans to a collector by OTLP/HTTP in JSON, over a connection of the loop. Only
// one document is sent at a time. Spans of requests wait for the next document in a ring
// of fixed size (obs/spans.h); while the ring is full, spans of further requests are
// dropped. All functions are called on the loop's thread, and none waits: another thread
// looks the collector's name up (lookup.h).
#ifndef FARCALL_SERVER_OTLP_OTLP_H_
#define FARCALL_SERVER_OTLP_OTLP_H_

#include <llhttp.h>
#include <uv.h>

#include "config/collector.h"
#include "otlp/lookup.h"
#include "obs/log.h"
#include "obs/spans.h"

typedef enum fc_otlp_state_t {
  FC_OTLP_CLOSED,     // there is no connection
  FC_OTLP_RESOLVING,  // the collector's name is being looked up
  FC_OTLP_CONNECTING,
  FC_OTLP_OPEN,     // there is a connection, and no document is being sent
  FC_OTLP_SENDING,  // a document is being sent, or waits for its answer
  FC_OTLP_CLOSING,
} fc_otlp_state_t;

// Zeroed: nothing is exported.
typedef struct fc_otlp_t {
  uv_loop_t *uv;
  fc_log_t *log;
  fc_collector_t collector;
  fc_spans_t spans;
  fc_otlp_state_t state;
  // The document that is to be sent, or is being sent; empty: none.
  fc_text_t document;
  uint64_t span_count;  // of the document
  uint32_t attempts;    // failed attempts to send this document
  uint64_t due_ms;  // the time until which the collector must accept, or answer
  uint64_t retry_ms;  // nothing is sent before this time
  // Attempts fail, and this was logged; false after a success or a drain.
  bool failing;
  bool writing;     // libuv has the document and `write`
  bool reused;      // a document was answered on this connection
  bool ending;      // the server drains: all spans are sent as soon as possible
  uint64_t end_ms;  // the server's end waits for spans until this time at most
  char head[768];
  char answer[4096];  // room for the bytes of an answer
  llhttp_t parser;
  llhttp_settings_t settings;
  bool answered;
  uv_timer_t timer;
  fc_lookup_t *lookup;             // the running look-up; NULL: none
  uv_async_t bell;                 // of `lookup`
  struct addrinfo *found;          // the addresses that the last look-up found
  const struct addrinfo *address;  // the address to try next; NULL: none
  uv_connect_t connect;
  uv_write_t write;
  uv_tcp_t tcp;
} fc_otlp_t;

// Begins to export to `collector`, if it names one. Borrows `stages`.
fc_status_t fc_otlp_init(fc_otlp_t *otlp, uv_loop_t *uv,
                         fc_allocator_t allocator,
                         const fc_collector_t *collector,
                         const char *const *stages, fc_log_t *log,
                         fc_error_t *err) FC_MUST_CHECK;
// Sends a document, connecting first if necessary, if there are enough requests for a
// full document or the server drains. Called once a turn.
void fc_otlp_turn(fc_otlp_t *otlp);
// Called when the server drains: from now on spans are sent at once, however few there
// are.
void fc_otlp_end(fc_otlp_t *otlp);
// Are there spans that the server's end should wait for? Only after fc_otlp_end, for at
// most a second, and until an attempt to send fails.
bool fc_otlp_is_busy(const fc_otlp_t *otlp);
// Cancels a running look-up. Called before the loop's handles are closed.
void fc_otlp_leave(fc_otlp_t *otlp);
// Frees everything. Called when the loop has stopped.
void fc_otlp_deinit(fc_otlp_t *otlp);

#endif  // FARCALL_SERVER_OTLP_OTLP_H_
