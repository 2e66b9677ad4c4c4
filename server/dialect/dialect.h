// SPDX-License-Identifier: Apache-2.0
//
// A dialect: what requests and answers of one kind look like. It says what a route
// takes (match), reads the head of a call (admit, on the loop), turns the body into
// arguments and results into a body (worker, wherever the call runs), and writes
// the documents GET asks for and every error. It never sees a connection.
//
// To add one: its own file, a row in dialect.def and its rows in route.def. A path
// that names no {function} may name a {model}; another rule belongs in route.c.
#ifndef FARCALL_SERVER_DIALECT_DIALECT_H_
#define FARCALL_SERVER_DIALECT_DIALECT_H_

#include "config/options.h"
#include "dialect/route.h"
#include "modules/act.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "obs/spans.h"
#include "pool/pool.h"

typedef struct fc_parts_t fc_parts_t;  // dialect/parts.h

// What code that answers requests may know of the server. There is one for a
// loop; what it points to is borrowed.
typedef struct fc_server_t {
  const fc_routes_t *routes;
  const fc_server_options_t *options;
  fc_modules_t *modules;
  fc_pool_t *pool;
  fc_blocks_t *blocks;
  fc_log_t *log;
  fc_spans_t *spans;     // that are exported; NULL: none are
  uint32_t trace_ratio;  // of requests without a traceparent, as --trace-sample
  fc_metrics_t metrics;
  fc_error_t error;  // for rare errors: clearing one on the stack costs time
  uint64_t started_ns;
  uint64_t started_unix_ns;  // the same, since 1970
  uint64_t id_state;         // from which request ids are made
  uint32_t connections;      // open
  uint32_t connection_max;   // that may be open
  uint32_t draft_count;
  struct fc_draft_t *drafts;  // documents that are being written in parts
  bool leaving;               // told to end; it still listens, until it drains
  bool draining;
  bool may_grow;  // it may be told, or notice, that there is more to serve
} fc_server_t;

// What admit says of a call. Zeroed, but for `parameters`, before admit is
// called.
typedef struct fc_admission_t {
  uint8_t flags;        // FC_CALL_VALIDATE
  uint8_t body_coding;  // fc_coding_t
  // fc_coding_t that the answer may have, where it is worth it.
  uint8_t answer_coding;
  uint64_t document;    // bytes of the body before raw bytes; 0: it has none
  uint64_t timeout_ms;  // that the client asks for; 0: it asks for none
  // FC_CALL_PARAMETERS bytes for decode, encode and result_type.
  uint8_t *parameters;
} fc_admission_t;

// The head of the answer to a request that is no call.
typedef struct fc_document_t {
  fc_str_t content_type;
  fc_str_t digest;    // the entity tag without its quotes; "" if it has none
  bool weak_digest;   // the document says more than the digest covers
  bool not_modified;  // 304: nothing is written
  bool is_page;       // it is for a browser: the head says what it may do
  fc_coding_t coding;
  fc_parts_t *parts;  // nothing is written yet: the document is in parts; owned
} fc_document_t;

// What is added to an error for its body. Empty strings are left out.
typedef struct fc_problem_t {
  const fc_error_t *error;
  int status;
  fc_str_t module;
  fc_str_t function;
  const char *stage;  // NULL: left out
  fc_str_t request_id;
  fc_str_t name;  // what the client calls its request; "" if it is not known
} fc_problem_t;

// All functions are called on the loop's thread, but for those of `worker`.
struct fc_dialect_t {
  const char *name;
  // ROUTE: may this request be made of this place? Path and method have been
  // found in a row; query parameters are checked here. NULL: it always may.
  fc_status_t (*match)(const fc_request_t *request, const fc_place_t *place,
                       fc_error_t *err);
  // ADMIT: may this call's head be accepted, and what does it ask for? Its body
  // comes later. NULL: no row of the dialect is a call.
  fc_status_t (*admit)(const fc_server_t *server, const fc_request_t *request,
                       const fc_place_t *place, fc_admission_t *out_admission,
                       fc_error_t *err);
  // DECODE and ENCODE, in a thread or a process. NULL if `admit` is.
  const fc_dialect_worker_t *worker;
  // Media type of a call's results; `document` as the worker's encode said.
  fc_str_t (*result_type)(const uint8_t *parameters, uint64_t document);
  // Makes the act that the head of a request (FC_ROUTE_ACT) asks for, with
  // fc_act_create, which is given `by`. Whether the client may ask at all has
  // been checked. NULL: the dialect has no row for acts.
  fc_status_t (*begin_act)(const fc_server_t *server,
                           const fc_request_t *request, const fc_place_t *place,
                           fc_str_t by, fc_act_t **out_act, fc_error_t *err);
  // Reads the body of the request, before the act begins.
  fc_status_t (*read_act)(fc_act_t *act, fc_str_t body, fc_error_t *err);
  // Writes the answer to an act that has ended well, application/json.
  fc_status_t (*tell_act)(const fc_server_t *server, const fc_act_t *act,
                          fc_sink_t *sink, fc_error_t *err);
  // The body of an answer to a request that is no call, and what its head says.
  fc_status_t (*document)(const fc_server_t *server,
                          const fc_request_t *request, const fc_place_t *place,
                          fc_document_t *out_document, fc_sink_t *sink,
                          fc_error_t *err);
  // HTTP status of an error.
  int (*status_of)(const fc_error_t *error);
  // Writes the body of an error. The errors of every stage are written by the
  // loop, a worker's too: only the loop knows the request id and the stage.
  fc_status_t (*encode_error)(const fc_problem_t *problem, fc_sink_t *sink,
                              fc_error_t *err);
  const char *error_type;  // media type of an error's body
  bool names_code;         // its errors say their code in the head too
};

// The dialects there are, by the index that routes and calls have. Requests that no
// route fits are answered by the first.
enum {
#define FC_DIALECT(name, dialect) FC_DIALECT_##name,
#include "dialect/dialect.def"
#undef FC_DIALECT
  FC_DIALECT_COUNT
};

#define FC_DIALECT(name, dialect) extern const fc_dialect_t dialect;
#include "dialect/dialect.def"
#undef FC_DIALECT

// The dialect of a place, also of FC_ROUTE_NONE.
const fc_dialect_t *fc_dialect_of(const fc_server_t *server,
                                  const fc_place_t *place);
// The worker halves, by index: what pools and worker processes are given.
#define FC_DIALECTS_MAX 16
void fc_dialect_workers(
    const fc_routes_t *routes,
    const fc_dialect_worker_t *out_workers[FC_DIALECTS_MAX]);

#endif  // FARCALL_SERVER_DIALECT_DIALECT_H_
