// SPDX-License-Identifier: Apache-2.0
//
// A dialect defines the form of requests and answers of one kind. It checks requests
// (match), reads the head of a call (admit), turns the body into arguments and results
// into a body (worker, where the call runs), and writes documents and errors. A dialect
// never sees a connection.
//
// A new dialect needs its own file, a row in dialect.def and rows in route.def. A path
// names a function by {module} and {function}, or by a {model}; code for any other way
// belongs in place.c. The readers and writers of its bodies belong in core/marshal,
// because a worker has no server. What a worker calls is fc_dialect_worker_t
// (pool/region.h). tests/e2e/test_faces.py and tests/torture list all dialects;
// tests/http/test_dialect.c has the smallest. Files that only write documents are compiled
// for size (server/CMakeLists.txt).
#ifndef FARCALL_SERVER_DIALECT_DIALECT_H_
#define FARCALL_SERVER_DIALECT_DIALECT_H_

#include "config/options.h"
#include "dialect/route.h"
#include "jail/jail.h"
#include "modules/act.h"
#include "obs/http2.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "obs/spans.h"
#include "obs/tls.h"
#include "pool/guesses.h"
#include "pool/pool.h"
#include "state/session.h"

typedef struct fc_parts_t fc_parts_t;  // dialect/parts.h

// The time during which all certificates of the listeners are valid, in seconds since
// 1970.
typedef struct fc_certificates_t {
  uint32_t count;
  int64_t begin_s;
  int64_t end_s;
} fc_certificates_t;

// The files, besides modules, that SIGHUP reads again.
typedef enum fc_reread_file_t {
  FC_REREAD_CONFIG,
  FC_REREAD_CERTIFICATE,
  FC_REREAD_TOKENS,
  FC_REREAD_TRUST,
  FC_REREAD_COUNT
} fc_reread_file_t;

// Why the last reading of the file was refused. Its earlier content then stays in force.
typedef struct fc_refused_file_t {
  uint64_t at_ns;  // on fc_clock_ns' clock; 0: it was not refused
  fc_error_t reason;
} fc_refused_file_t;

// The facts from which readiness is computed (fc_ready_look).
typedef struct fc_ready_facts_t {
  uint64_t of[8];
} fc_ready_facts_t;

// What code that answers requests can see of the server. Each loop has one.
typedef struct fc_server_t {
  const fc_routes_t *routes;
  const fc_server_options_t *options;
  fc_modules_t *modules;
  fc_pool_t *pool;
  fc_sessions_t *sessions;
  fc_blocks_t *blocks;
  fc_log_t *log;
  const fc_groups_t *groups;   // which limits of modules the system can enforce
  fc_jail_facts_t *jail;       // which parts of the jail the kernel has
  const fc_tls_counts_t *tls;  // NULL: nothing is counted
  const fc_http2_counts_t *http2;  // NULL: nothing is counted
  fc_certificates_t certificates;
  fc_refused_file_t refused[FC_REREAD_COUNT];
  fc_spans_t *spans;  // of requests, to be exported; NULL: none are exported
  // How many of FC_RATIO_ALL requests without a good traceparent begin a trace
  // (--trace-sample).
  uint32_t trace_ratio;
  fc_metrics_t metrics;
  fc_error_t error;     // for rare errors: clearing one on the stack costs time
  uint64_t started_ns;  // on fc_clock_ns' clock
  uint64_t started_unix_ns;  // the same moment, since 1970
  uint64_t instance;         // a random number of this run
  uint64_t id_state;         // request ids and ids of traces are made from this
  fc_owners_t client_calls;  // by client
  fc_owners_t client_connections;  // by address or user
  fc_guesses_t *guesses;           // NULL: nobody has sent a wrong token
  uint32_t connections;            // that are open now
  uint32_t streams;  // of HTTP/2, without the first one of each connection
  uint64_t connections_refused;   // memory, or room in the kernel, was short
  uint32_t connection_max;        // the most that may be open
  struct fc_watcher_t *watchers;  // requests that wait for a change (watcher.c)
  fc_ready_facts_t watched;  // at the time when the watchers were told last
  uint32_t draft_count;
  struct fc_draft_t *drafts;  // documents that are being written in parts
  bool leaving;      // /readyz is 503; the server listens until it is draining
  uint64_t ends_ns;  // of a leaving server: it ends by then at the latest
  bool draining;     // nobody can connect; each answer is its connection's last
  // Modules may be added while the server runs (--watch, --watch-interval,
  // --load=demand, admin routes), so it may be ready without any (fc_ready_check).
  bool may_grow;
} fc_server_t;

// The result of admit for a call. All zero before admit is called, except the pointer
// `parameters`.
typedef struct fc_admission_t {
  uint8_t flags;        // FC_CALL_VALIDATE, FC_CALL_PROFILE, FC_CALL_TIMED
  uint8_t body_coding;  // fc_coding_t
  // fc_coding_t that the client wants. Raw bytes and short answers are sent as they
  // are.
  uint8_t answer_coding;
  uint8_t parts;        // fc_part_form_t, of a call that is made in turns
  uint64_t document;    // bytes of the document before raw bytes; 0: none
  uint64_t timeout_ms;  // that the client asks for; 0: it asks for none
  // FC_CALL_PARAMETERS zeroed bytes. admit writes here what the worker's functions and
  // result_type get.
  uint8_t *parameters;
} fc_admission_t;

#define FC_SEQUENCE_NAME 129

// The sequence that a call belongs to. The name is the type of the id followed by its
// bytes.
typedef struct fc_sequence_t {
  char name[FC_SEQUENCE_NAME];
  uint8_t name_size;  // 0: the call is part of no sequence
  bool starts;
  bool ends;
} fc_sequence_t;

// The head of the answer to a request that is no call.
typedef struct fc_document_t {
  fc_str_t content_type;
  fc_str_t digest;    // the entity tag without its quotes; "" if it has none
  bool weak_digest;   // the document says more than the digest covers
  bool not_modified;  // 304: nothing is written
  bool unavailable;   // 503: the document says why
  bool created;       // 201
  bool is_page;       // a page for browsers: the head limits what it may load
  // Nothing is written now: `tell` writes the state and each change.
  bool watches;
  bool watches_known;  // of a request that watches: what it watches exists
  const fc_session_t *session;  // that the request made; NULL: none
  fc_coding_t coding;
  // Not NULL: nothing is written yet, because the document is written in parts. The
  // caller of `document` destroys them.
  fc_parts_t *parts;
} fc_document_t;

// An error, and the other members of its body. Empty strings are left out.
typedef struct fc_problem_t {
  const fc_error_t *error;
  int status;
  fc_str_t module;
  fc_str_t function;
  const char *stage;  // NULL: left out
  uint64_t step;      // of a call in parts: the one that failed; 0: left out
  fc_str_t request_id;
  fc_str_t name;   // what the client calls its request; "" if it is not known
  bool is_asking;  // the request was a POST whose body asks for a document
} fc_problem_t;

// All functions but those of `worker` are called on the loop's thread.
struct fc_dialect_t {
  const char *name;
  // ROUTE: is this request allowed? Its path and method match the place's row; query
  // parameters are not checked yet. NULL: it is always allowed.
  fc_status_t (*match)(const fc_request_t *request, const fc_place_t *place,
                       fc_error_t *err);
  // ADMIT: is this call's head acceptable, and what does it ask for? The body comes
  // later. NULL: no row of the dialect is a call of a function.
  fc_status_t (*admit)(const fc_server_t *server, const fc_request_t *request,
                       const fc_place_t *place, fc_admission_t *out_admission,
                       fc_error_t *err);
  // Reads from the uncompressed body of a call which sequence it belongs to. NULL: there
  // are no sequences.
  fc_status_t (*find_sequence)(fc_str_t body, uint8_t *parameters,
                               fc_sequence_t *out_sequence, fc_error_t *err);
  // DECODE and ENCODE. They run where the call runs: in a thread, in a process or, if the
  // call is quick, on the loop. NULL: no row is a call.
  const fc_dialect_worker_t *worker;
  // Returns the media type of a call's results. `document` is the number of bytes before
  // raw bytes, from the worker's encode; 0: there are no raw bytes.
  fc_str_t (*result_type)(const uint8_t *parameters, uint64_t document);
  // Makes, with fc_act_create, the act that the head of a request (FC_ROUTE_ACT) asks
  // for. `by` names the client for the log. The client's right was checked before. NULL:
  // the dialect has no row for acts.
  fc_status_t (*begin_act)(const fc_server_t *server,
                           const fc_request_t *request, const fc_place_t *place,
                           fc_str_t by, fc_act_t **out_act, fc_error_t *err);
  // Returns the module that an act on this name in a path would change. It decides
  // whether a token for some modules allows the act. Set if `begin_act` is set.
  fc_str_t (*act_module)(const fc_server_t *server, fc_str_t name);
  // Reads the body of the request, before the act begins.
  fc_status_t (*read_act)(fc_act_t *act, fc_str_t body, fc_error_t *err);
  // Writes the answer to a successful act, application/json.
  fc_status_t (*tell_act)(const fc_server_t *server, const fc_act_t *act,
                          fc_sink_t *sink, fc_error_t *err);
  // Writes the body of an answer to a request that is no call, and sets the answer's
  // head.
  fc_status_t (*document)(const fc_server_t *server,
                          const fc_request_t *request, const fc_place_t *place,
                          fc_document_t *out_document, fc_sink_t *sink,
                          fc_error_t *err);
  // Returns the HTTP status of an error.
  int (*status_of)(const fc_error_t *error);
  // Writes the body of an error. The loop writes the errors of every stage, also those of
  // a worker: only the loop knows the request id and the stage.
  fc_status_t (*encode_error)(const fc_problem_t *problem, fc_sink_t *sink,
                              fc_error_t *err);
  const char *error_type;  // media type of an error's body
  // Writes an error as one message of a stream. Set if a row is FC_ROUTE_STREAM.
  fc_status_t (*encode_failure)(const fc_problem_t *problem, fc_sink_t *sink,
                                fc_error_t *err);
  // gRPC: bodies are messages with a head (fc_request_is_grpc). encode_error writes
  // errors as field lines after the body.
  bool framed;
  // Writes what a watching request receives: may the server be sent calls? Set if
  // `document` can make a request watch.
  fc_status_t (*tell)(bool knows, bool ready, fc_sink_t *sink, fc_error_t *err);
  // Reads the names of the model from the beginning of a body, for routes with
  // FC_ROUTE_PEEK. *out_more: more of the body is needed first. `kept` stores the names.
  fc_status_t (*peek)(const fc_request_t *request, char kept[FC_ROUTE_KEPT],
                      fc_route_names_t *out_names, bool *out_more,
                      fc_error_t *err);
  // Errors also have their code in the field Farcall-Error-Code.
  bool names_code;
};

// The dialects, by the index in routes and calls. The first one answers requests that
// match no route.
enum {
#define FC_DIALECT(name, dialect) FC_DIALECT_##name,
#include "dialect/dialect.def"
#undef FC_DIALECT
  FC_DIALECT_COUNT
};

#define FC_DIALECT(name, dialect) extern const fc_dialect_t dialect;
#include "dialect/dialect.def"
#undef FC_DIALECT

// Returns the dialect of a place, also for FC_ROUTE_NONE.
static inline const fc_dialect_t *fc_dialect_of(const fc_server_t *server,
                                                const fc_place_t *place) {
  const fc_routes_t *routes = server->routes;
  return routes->dialects[routes->rows[place->route].dialect];
}

// Gives the worker halves by dialect index, for the pool and for worker processes.
#define FC_DIALECTS_MAX 16
void fc_dialect_workers(
    const fc_routes_t *routes,
    const fc_dialect_worker_t *out_workers[FC_DIALECTS_MAX]);

#endif  // FARCALL_SERVER_DIALECT_DIALECT_H_
