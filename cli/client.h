// SPDX-License-Identifier: Apache-2.0
//
// One HTTP request to a farcalld and its answer, within one deadline. Redirects are not
// followed, and each request has a connection of its own (cli/bench/load.c keeps its
// connections). The system's resolver looks up the host name: the time of the look-up
// counts, but only the resolver's own time-out ends it, not the deadline.
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
  const char *authorization;  // the field's line, NULL: none
  const char *session;        // the same
  const char *method;         // NULL: POST with a body, else GET
  const char *type;     // of the body, or without one of the answer; NULL: JSON
  uint64_t timeout_ms;  // of an exchange as a whole; 0: none
  bool is_https;        // TLS is spoken
  bool is_grpc;         // fc_rpc_ask asks it (grpc/rpc.h), nothing here does
  fc_wire_rules_t rules;  // of https
} fc_remote_t;

typedef struct fc_reply_t {
  const char *url;  // of the server
  int status;
  bool is_json;   // its Content-Type is JSON, or that of farcalld's errors
  bool is_plain;  // another text that farcalld writes: a form of a signature
  bool cut;  // there was more body: at most 1 MiB is read unless it is JSON
  fc_str_t body;  // in the arena
} fc_reply_t;

// Reads "unix:PATH", or "http://host:port/prefix", of which only the host is needed, or
// the same with https, grpc or grpcs. FC_INVALID_ARGUMENT when `url` is none of these.
// `url` is borrowed; timeout_ms becomes 0.
fc_status_t fc_server_parse(fc_arena_t *arena, const char *url,
                            fc_remote_t *out_server, fc_error_t *err);

// `target` is an absolute path. `body` with data NULL: none, else JSON. FC_UNAVAILABLE
// when no whole answer came in time, or when what came is no HTTP, or larger than any
// answer of farcalld; the message has the beginning of what came.
fc_status_t fc_server_ask(fc_arena_t *arena, const fc_remote_t *server,
                          const char *target, fc_str_t body,
                          fc_reply_t *out_answer, fc_error_t *err);

// Where the lines of an answer in parts go.
typedef struct fc_on_lines_t {
  // Whole lines as they come, at least one, each with its '\n'. They end the answer if
  // they fail.
  fc_status_t (*show)(void *context, fc_str_t lines, fc_error_t *err);
  void *context;
} fc_on_lines_t;

// The same for an answer of lines (application/x-ndjson). Another answer, and the
// beginning of a line that never ended, is in *out_answer. The time-out is that of each
// wait for bytes, not of the whole.
fc_status_t fc_server_stream(fc_arena_t *arena, const fc_remote_t *server,
                             const char *target, fc_str_t body,
                             const fc_on_lines_t *lines, fc_reply_t *out_answer,
                             fc_error_t *err);

// Opens a connection, which does not block, for a caller that speaks HTTP over it.
// FC_UNAVAILABLE if the server cannot be reached within server->timeout_ms.
fc_status_t fc_server_connect(const fc_remote_t *server, fc_wire_t *out_wire,
                              fc_error_t *err);

// `text` as one path segment, percent-encoded; NULL when out of memory.
char *fc_url_segment(fc_arena_t *arena, fc_str_t text);

#endif  // FARCALL_CLI_CLIENT_H_
