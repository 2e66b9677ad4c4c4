// SPDX-License-Identifier: Apache-2.0
//
// Sends one HTTP request to a farcalld and reads its answer, within one deadline.
// Redirects are not followed, and each request has its own connection (cli/bench/load.c
// keeps connections open). The system's resolver looks up the host name: the look-up
// counts for the deadline, but only the resolver's own time-out can end it.
#ifndef FARCALL_CLI_CLIENT_H_
#define FARCALL_CLI_CLIENT_H_

#include "farcall/base.h"
#include "wire.h"

#define FC_SERVER_DEFAULT "http://127.0.0.1:8000"

typedef struct fc_remote_t {
  const char *url;     // as given, for messages
  const char *socket;  // the path of a Unix socket, NULL: none
  const char *host;    // without brackets
  const char *port;
  const char *authority;      // for the Host field
  const char *prefix;         // put before each target; no slash at its end
  const char *authorization;  // the whole field line, NULL: none
  const char *session;        // the Farcall-Session line, NULL: none
  const char *method;         // NULL: POST with a body, else GET
  const char *type;  // of the body; without a body, of the answer; NULL: JSON
  uint64_t timeout_ms;    // for the whole exchange; 0: no limit
  bool is_https;          // over TLS
  bool is_grpc;           // only fc_rpc_ask (grpc/rpc.h) can be used
  fc_wire_rules_t rules;  // for TLS
} fc_remote_t;

typedef struct fc_reply_t {
  const char *url;  // of the server
  int status;
  bool is_json;   // application/json, or problem+json of an error
  bool is_plain;  // text/plain or a JSON Schema: forms of a signature
  bool cut;       // the body was longer: of other types only 1 MiB is read
  fc_str_t body;  // in the arena
} fc_reply_t;

// Reads "unix:PATH" or "http://host:port/prefix"; only the host is required, and the
// scheme may also be https, grpc or grpcs. FC_INVALID_ARGUMENT: `url` has none of these
// forms. Borrows `url`; sets timeout_ms to 0.
fc_status_t fc_server_parse(fc_arena_t *arena, const char *url,
                            fc_remote_t *out_server, fc_error_t *err);

// Sends a request. `target` is an absolute path. `body` is JSON; if its data is NULL,
// there is no body. FC_UNAVAILABLE: no complete answer came in time, or the answer is not
// HTTP, or it is larger than any answer of farcalld. The message shows the first bytes
// received.
fc_status_t fc_server_ask(fc_arena_t *arena, const fc_remote_t *server,
                          const char *target, fc_str_t body,
                          fc_reply_t *out_answer, fc_error_t *err);

// The receiver of the lines of an answer in parts.
typedef struct fc_on_lines_t {
  // Called with one or more complete lines as they arrive, each with its '\n'. If it
  // fails, reading stops.
  fc_status_t (*show)(void *context, fc_str_t lines, fc_error_t *err);
  void *context;
} fc_on_lines_t;

// Like fc_server_ask, for an answer of lines (application/x-ndjson). Any other answer,
// and an incomplete last line, are put into *out_answer. The time-out is for each wait
// for bytes, not for the whole exchange.
fc_status_t fc_server_stream(fc_arena_t *arena, const fc_remote_t *server,
                             const char *target, fc_str_t body,
                             const fc_on_lines_t *lines, fc_reply_t *out_answer,
                             fc_error_t *err);

// Opens a non-blocking connection for a caller that speaks HTTP itself. FC_UNAVAILABLE:
// no connection within server->timeout_ms.
fc_status_t fc_server_connect(const fc_remote_t *server, fc_wire_t *out_wire,
                              fc_error_t *err);

// Returns `text` as one path segment, percent-encoded; NULL: no memory.
char *fc_url_segment(fc_arena_t *arena, fc_str_t text);

#endif  // FARCALL_CLI_CLIENT_H_
