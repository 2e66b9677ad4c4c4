// SPDX-License-Identifier: Apache-2.0
//
// An exchange: one request and its answer, over any carrier. It owns the call and its
// body, the answer's bytes, the request id, the times of the stages, and the data for
// logs and counts. The carrier (http1/connection.c) moves the bytes: it calls the
// functions below as the request arrives, and is called through fc_carrier_t when there
// is an answer. fc_exchange_document, _fail and _submit may give the answer before they
// return. Loop thread.
//
//   fc_exchange_start    the first byte of a request has arrived
//   fc_exchange_take     the request's head was read
//   fc_exchange_admit    does ROUTE and ADMIT. If it sets wait.on, take and admit are
//                        called again: with wait.slowed after FC_LIMIT_GUESS_WAIT_MS,
//                        with wait.peeks when more of the body has arrived, otherwise
//                        after the carrier's `again`. If it does not, one of:
//     fc_exchange_document  the request is answered without its body
//     fc_exchange_fail      the request is refused
//     fc_exchange_append, _submit  its body arrives (asked.is_call), and is complete
//   fc_exchange_part_sent  the carrier needs the pieces of a part no longer: the next
//                        part may be made
//   fc_exchange_sent     the carrier needs the pieces of the answer no longer
//   fc_exchange_reset    the next request may start
#ifndef FARCALL_SERVER_EXCHANGE_EXCHANGE_H_
#define FARCALL_SERVER_EXCHANGE_EXCHANGE_H_

#include "config/collector.h"
#include "config/limits.h"
#include "config/policy.h"
#include "dialect/dialect.h"
#include "modules/demand.h"

typedef struct fc_exchange_t fc_exchange_t;

#define FC_ANSWER_TAIL_FIELDS 4

// The head of an answer, without the fields that the carrier adds.
typedef struct fc_answer_t {
  int status;
  uint64_t length;   // of the body
  bool in_parts;     // `length` is that of the first part
  bool as_it_comes;  // in parts: no proxy may gather them
  bool is_cut;       // in parts: the first part ends the answer, as FC_PART_CUT
  fc_str_t content_type;
  fc_str_t digest;  // the entity tag, "" if none
  bool weak_digest;
  fc_str_t allow;  // "" if none
  fc_str_t code;   // of an error, for the head; "": the head does not name it
  uint64_t document;   // bytes of JSON before raw bytes, 0: no raw bytes
  fc_coding_t coding;  // of the body
  bool is_page;        // a page for browsers: the head limits what it may load
  uint32_t retry_after;  // seconds, 0: none
  fc_str_t origin;       // of the page that may read the answer; "": none
  bool by_origin;        // a request with another Origin may get another answer
  bool is_preflight;     // the head says what the page may request
  bool no_store;         // no cache may store the answer
  const fc_trace_t *trace;  // of the request, NULL: none
  // The session whose id is in the head; NULL: none.
  const fc_session_t *session;
  const uint64_t *spent_ns;   // FC_STAGE_COUNT times for the head; NULL: none
  const fc_batched_t *batch;  // written after these times; NULL: none
  bool is_last;               // the connection should close after this answer
  // For gRPC (request.has_trailers). `tail` has field lines that follow the body; static
  // text. `is_tail`: there is no body, and the bytes of the answer are such lines. There
  // are FC_ANSWER_TAIL_FIELDS lines at most.
  fc_str_t tail;
  bool is_tail;
} fc_answer_t;

// What follows a part of an answer.
typedef enum fc_part_end_t {
  FC_PART_MORE,
  FC_PART_LAST,  // no part follows: the answer is complete
  FC_PART_CUT,   // no part follows, although the answer is not complete
  // No part follows: this part is the field lines after the answer.
  FC_PART_TAIL,
} fc_part_end_t;

typedef struct fc_carrier_t {
  // Sends the answer: the head and then, unless the method is HEAD, the pieces of the
  // exchange. The first piece has FC_LIMIT_HEAD free bytes in front. When all is sent the
  // carrier calls fc_exchange_sent, perhaps before this returns.
  void (*answer)(fc_exchange_t *exchange, const fc_answer_t *answer);
  // Begins an answer in parts: sends the first part as `answer` does, but calls
  // fc_exchange_part_sent in the end, not fc_exchange_sent. If the method is HEAD, the
  // answer ends.
  void (*begin)(fc_exchange_t *exchange, const fc_answer_t *answer);
  // Sends the pieces of the exchange as the next part, after the previous one was sent.
  // Then calls fc_exchange_part_sent; after FC_PART_LAST and FC_PART_CUT, which may have
  // no pieces, calls fc_exchange_sent. The client can see whether an answer was cut.
  void (*part)(fc_exchange_t *exchange, fc_part_end_t part);
  // Sends an answer when there is no memory for pieces. The body is at `body`, also with
  // FC_LIMIT_HEAD free bytes in front. The carrier must not use `body` after it returns:
  // bytes that cannot be sent at once are never sent.
  void (*answer_at_once)(fc_exchange_t *exchange, const fc_answer_t *answer,
                         char *body);
  // The exchange no longer waits: its head must be admitted again.
  void (*again)(fc_exchange_t *exchange);
  // The exchange was answered outside of any call by the carrier, which may now go on
  // with stashed bytes.
  void (*resume)(fc_exchange_t *exchange);
  // Returns the client's name for the request, for an error that comes before a worker
  // has read the body; "" if it is not known. NULL: the carrier has no such names.
  fc_str_t (*name)(fc_exchange_t *exchange);
} fc_carrier_t;

// An answer in parts. Its source makes a part only when the carrier has none. So a slow
// client slows its own source, and parts do not accumulate.
typedef struct fc_parted_t {
  bool begun;  // the head was sent
  // The carrier got the last part; the answer is counted and logged.
  bool ended;
  bool sending;  // the carrier has a part
  uint64_t count;
  uint64_t size;      // bytes of the parts
  uint64_t first_ns;  // from the first byte of the request to the first part
  int failed;  // the status that the error would have had; 0: there is no error
  // For a call that is made in turns (pool/turn.h)
  bool paused;           // the next turn waits until the part is sent
  uint64_t turns;        // turns that were made
  uint64_t deadline_ns;  // how long one turn may take; 0: not limited
  uint64_t limit_ns;     // the same, by the operator's deadline alone
} fc_parted_t;

// The client. `address`, `user` and `bound` belong to the connection; ROUTE sets the
// others.
typedef struct fc_asker_t {
  fc_peer_t address;  // the other end of the stream, zero if it has none
  // The client of the request: `address`, or the client that a trusted proxy names.
  fc_peer_t peer;
  fc_known_user_t user;  // who is at the other end of a Unix socket
  fc_session_t **bound;  // the first session that ends with the connection
  // The priorities that the request may choose from.
  fc_priorities_t priorities;
  char token[FC_TOKEN_NAME_MAX];  // the name of the token that was sent
  uint8_t token_size;             // 0: no token was sent
} fc_asker_t;

// The facts that the head and the route of the request give.
typedef struct fc_asked_t {
  fc_method_t method;
  const char *method_name;  // NULL until a head is read
  // The body is needed: for a call, an act, or a POST for a document.
  bool is_call;
  bool is_asking;     // a POST for a document
  bool is_preflight;  // a browser asks what a page may request
  bool is_source;     // an iteration by GET (exchange/source.h)
  bool is_stream;     // its body is a stream of messages (FC_ROUTE_STREAM)
  // The request is one message of a stream. Its answer is one, too, even an error.
  bool is_message;
  // The client asks again after the iteration's end: it is told to stop.
  bool is_over;
  fc_str_t origin;  // of the page that may have the answer; "": of none
  uint8_t id_size;  // 0: it has no id yet
  char id[FC_LIMIT_REQUEST_ID];
} fc_asked_t;

// Reasons for which a request waits between its head and its body. When a wait ends, the
// head is admitted again.
typedef struct fc_exchange_wait_t {
  fc_waiter_t waiter;  // waits for the generation
  bool on;
  bool waited;      // has waited for the generation, at least once
  bool slowed;      // waits because of a token (FC_LIMIT_GUESS_WAIT_MS)
  bool peeks;       // waits for more of the body (FC_ROUTE_PEEK)
  bool was_slowed;  // has waited because of a token
} fc_exchange_wait_t;

// The session that the request is about, or that its call belongs to.
typedef struct fc_exchange_joined_t {
  fc_session_t *session;  // pinned; NULL: there is none
  bool has_step;          // the session must be at `step` for this call
  bool ends;              // the session ends with the exchange
  bool is_last;           // the session ends after this call
  // The session of a sequence that the new session replaces after the call; pinned.
  fc_session_t *former;
  uint64_t step;
} fc_exchange_joined_t;

// The time of a request in each stage.
typedef struct fc_times_t {
  uint64_t began_ns;   // of the first byte of the head; 0: no byte yet
  uint64_t marked_ns;  // the time up to here is counted to stages
  uint64_t spent_ns[FC_STAGE_COUNT];
  fc_batched_t batch;
  uint8_t stage;  // fc_stage_t that the request is in
} fc_times_t;

// The data that is exported about a request that belongs to a sampled trace.
typedef struct fc_traced_t {
  fc_trace_t trace;  // `known`: the request belongs to this trace
  // The dispatches of the call, until they are exported; NULL: none are known.
  const fc_dispatch_span_t *dispatches;
  uint32_t dispatch_count;
} fc_traced_t;

// The answer, or the part of it that the carrier has.
typedef struct fc_exchange_out_t {
  uint32_t retry_after;
  uint32_t count;
  fc_piece_t pieces[FC_PIECES_MAX];
} fc_exchange_out_t;

struct fc_exchange_t {
  fc_server_t *server;
  const fc_carrier_t *carrier;
  const fc_policy_t *policy;
  fc_asker_t asker;
  fc_asked_t asked;
  uint64_t body_seen;  // bytes of the body that have come, also those not kept
  fc_place_t place;
  fc_generation_t *generation;  // of the place, held; NULL: it has none
  fc_exchange_wait_t wait;
  fc_job_t job;  // job.caller, set at ROUTE, also owns the memory of the body
  fc_exchange_joined_t joined;
  fc_act_t *act;             // NULL: the request asks for no act
  struct fc_draft_t *draft;  // its document is being written; NULL: none is
  // The request waits for a change (watcher.c); NULL: it does not.
  struct fc_watcher_t *watcher;
  fc_parted_t parted;
  fc_exchange_out_t out;
  fc_times_t times;
  fc_traced_t traced;
};

// `exchange` must be zeroed memory. Borrows `server`, `carrier` and `policy`.
void fc_exchange_init(fc_exchange_t *exchange, fc_server_t *server,
                      const fc_carrier_t *carrier, const fc_policy_t *policy,
                      const fc_peer_t *address);
// Frees everything. The exchange's call must have ended or been dropped.
void fc_exchange_deinit(fc_exchange_t *exchange);

void fc_exchange_start(fc_exchange_t *exchange);
// Call it when a head was read, also a malformed one, as far as it was understood.
// `request` is not kept. Does nothing if the request has waited.
void fc_exchange_take(fc_exchange_t *exchange, const fc_request_t *request);
// Fails if the request is refused; times.stage says in which stage. Sets asked.is_call
// and wait.on.
fc_status_t fc_exchange_admit(fc_exchange_t *exchange,
                              const fc_request_t *request,
                              fc_error_t *err) FC_MUST_CHECK;
// Answers an admitted request that asks for a document, or a preflight. A document about
// all modules may be long: then the answer is given in later turns of the loop, in parts
// if it is longer than one part, and exchange->draft is set until then.
void fc_exchange_document(fc_exchange_t *exchange, const fc_request_t *request);
// Writes a part of one of the documents in server->drafts, whose parts so far were sent.
// Called once a turn of the loop.
void fc_exchange_write_part(fc_server_t *server);
// Tells watching requests if readiness has changed, and ends them when the server drains.
// Called once a turn of the loop.
void fc_exchange_tell_watchers(fc_server_t *server);
// Answers any request with an error. A request without a head gets an id. An answer in
// parts that has begun is cut; the carrier must not have a part then. `stage` is where
// the request failed; FC_STAGE_COUNT: the answer does not name a stage.
void fc_exchange_fail(fc_exchange_t *exchange, const fc_error_t *error,
                      fc_stage_t stage);

// Cuts an answer in parts that has begun: no more parts are made. The error becomes the
// last part, unless the carrier still has a part or nothing can be said.
void fc_exchange_cut(fc_exchange_t *exchange, const fc_error_t *error);

// Returns the place to which the next bytes of the body may be read; `left` bytes are
// still to come.
fc_span_t fc_exchange_room(const fc_exchange_t *exchange, uint64_t left);
// Adds `bytes` of the body, which were read to fc_exchange_room or elsewhere. `left` more
// are to come, 0 if that is not known.
fc_status_t fc_exchange_append(fc_exchange_t *exchange, fc_str_t bytes,
                               uint64_t left, fc_error_t *err) FC_MUST_CHECK;
// Call it when the body is complete: runs or queues the call, begins the act, or answers
// with the document that the body asks for. If that is not possible, answers with an
// error.
void fc_exchange_submit(fc_exchange_t *exchange);

// True if a worker has the call, or the exchange has an act, a document that is being
// written, or an answer that has begun.
bool fc_exchange_is_running(const fc_exchange_t *exchange);
// Notes in log, metrics and spans that the client left while it waited for its answer or
// for more parts. Does nothing if that was noted already.
void fc_exchange_abandoned(fc_exchange_t *exchange);
// Notes that an answer in parts, of which the carrier still has one, ends here with this
// error.
void fc_exchange_note_cut(fc_exchange_t *exchange, const fc_error_t *error);
// Call it when nobody waits for the answer any more. A call is dropped (fc_pool_drop). A
// document is not written further. An answer that has begun ends as if the client had
// left. A wait for a module ends. An act that has begun goes on.
void fc_exchange_drop(fc_exchange_t *exchange);

// fc_exchange_begin_stream begins the answer to a stream of messages (asked.is_stream);
// the carrier handles the messages. fc_exchange_end_stream ends a complete answer.
// fc_exchange_fail ends one with an error.
void fc_exchange_begin_stream(fc_exchange_t *exchange);
void fc_exchange_end_stream(fc_exchange_t *exchange);

// Call it when the carrier has sent a part: frees the pieces of the part. The next part
// is made in this turn or a later one.
void fc_exchange_part_sent(fc_exchange_t *exchange);
// Frees the blocks of the answer's pieces, which are no longer needed.
void fc_exchange_sent(fc_exchange_t *exchange);
// Prepares the exchange for the next request.
void fc_exchange_reset(fc_exchange_t *exchange);

// ---------------------------------------------------------------------------
// Clients, and events of the pool

// Returns how many calls or connections one client may have: the value of the listener's
// policy, or half of all connections, so that no client can take the place of all others.
static inline uint32_t fc_exchange_share(const fc_server_t *server,
                                         uint32_t said) {
  return said ? said : server->connection_max - server->connection_max / 2;
}

#define FC_EXCHANGE_ID_SIZE 16  // of ids that fc_exchange_make_id makes
#define FC_EXCHANGE_REFUSAL_MAX 1024

// For a client without an exchange: writes the body of an error, counts the answer, and
// returns its head. Needs no memory.
fc_answer_t fc_exchange_refusal(fc_server_t *server, const fc_error_t *error,
                                char body[FC_EXCHANGE_REFUSAL_MAX],
                                char out_id[FC_EXCHANGE_ID_SIZE]);

static inline fc_str_t fc_exchange_id(const fc_exchange_t *exchange) {
  return fc_str_make(exchange->asked.id, exchange->asked.id_size);
}

// Returns the owner that represents all clients of an address, with the precision of
// fc_peer_share.
fc_owner_t fc_exchange_owner(const fc_peer_t *peer);
// Returns the owner for a client without a token: the user of a Unix socket if known,
// else fc_exchange_owner.
fc_owner_t fc_exchange_client(const fc_peer_t *peer,
                              const fc_known_user_t *user);

// Called by the pool for its events.
void fc_exchange_on_done(void *context, fc_job_t *job);
void fc_exchange_on_expired(void *context, fc_job_t *job);

// ---------------------------------------------------------------------------
// Functions that the files of an exchange call among themselves

// Admits a request unchanged. fc_exchange_admit (source.c) first turns a GET for an
// iteration into a POST.
fc_status_t fc_exchange_admit_as(fc_exchange_t *exchange,
                                 const fc_request_t *request,
                                 fc_error_t *err) FC_MUST_CHECK;
// Looks up what the request asks for (fc_place_find).
fc_status_t fc_exchange_find(fc_exchange_t *exchange,
                             const fc_request_t *request,
                             fc_error_t *err) FC_MUST_CHECK;
// Does the same on listeners with tokens or rules for users (fc_policy_is_guarded).
// FC_CODE_UNAUTHORIZED or _FORBIDDEN: the token or the user does not allow the request.
// No name is looked up before the client is known. *out_scopes are the client's scopes.
fc_status_t fc_exchange_guard(fc_exchange_t *exchange,
                              const fc_request_t *request, uint8_t *out_scopes,
                              fc_error_t *err) FC_MUST_CHECK;
// For a route about sessions: notes the client in the place, and finds the session that
// the path names. FC_CODE_SESSION_NOT_FOUND.
fc_status_t fc_exchange_find_session(fc_exchange_t *x,
                                     const fc_request_t *request,
                                     fc_error_t *err) FC_MUST_CHECK;
// For a call: finds the session that its head names, if any, and the function in that
// session's generation.
fc_status_t fc_exchange_join_session(fc_exchange_t *x,
                                     const fc_request_t *request,
                                     fc_error_t *err) FC_MUST_CHECK;
// For a call whose body has arrived, in a dialect that has sequences: finds or begins the
// sequence that its document names. FC_CODE_SESSION_NOT_FOUND, and the errors of sessions.
fc_status_t fc_exchange_join_sequence(fc_exchange_t *x, fc_str_t body,
                                      fc_error_t *err) FC_MUST_CHECK;
// Updates the call's sequence after the call has ended.
void fc_exchange_note_sequence(fc_exchange_t *x, const fc_outcome_t *outcome);
// For a call about values: enters the session that the path names, and its generation.
// Checks that the session is not lost, and that it is at the step that the head says.
fc_status_t fc_exchange_enter_session(fc_exchange_t *x,
                                      const fc_request_t *request,
                                      fc_error_t *err) FC_MUST_CHECK;
// May the call be made, now that its body has arrived? FC_CODE_SESSION_BUSY: the session
// is at another step now. FC_CODE_SESSION_NOT_FOUND, FC_CODE_SESSION_LOST.
fc_status_t fc_exchange_check_session(const fc_exchange_t *x,
                                      fc_error_t *err) FC_MUST_CHECK;
// Call it when the exchange ends. Ends a session that it made if the client was not told
// its id.
void fc_exchange_leave_session(fc_exchange_t *x);
// Fills the job for a call of `function` of the place's module.
fc_status_t fc_exchange_fill_call(fc_exchange_t *x, const fc_request_t *request,
                                  const fc_admission_t *admission,
                                  uint32_t function,
                                  fc_error_t *err) FC_MUST_CHECK;
// values.c: calls that run no function
// Does the request read values of a session, or write one?
bool fc_exchange_is_order(const fc_exchange_t *x);
fc_status_t fc_exchange_admit_order(fc_exchange_t *x,
                                    const fc_request_t *request,
                                    fc_error_t *err) FC_MUST_CHECK;
// Admits a POST with a body that makes a session. fc_exchange_submit_making makes the
// session when the body is complete. True: a call must then write the values into it.
// False: the request was answered.
fc_status_t fc_exchange_admit_making(fc_exchange_t *x,
                                     const fc_request_t *request,
                                     fc_error_t *err) FC_MUST_CHECK;
bool fc_exchange_submit_making(fc_exchange_t *x);
// Puts the order in front of the complete body, as a part of it.
void fc_exchange_take_order(fc_exchange_t *x);
// Answers a request that made a session, after the session got its values.
void fc_exchange_answer_made(fc_exchange_t *x);
// message.c: messages. Removes the message's head from the complete body.
// FC_CODE_BINARY_FRAMING.
fc_status_t fc_exchange_open_message(fc_exchange_t *x,
                                     fc_error_t *err) FC_MUST_CHECK;
// Puts a message head in front of the answer. `is_error`: the answer is an error.
void fc_exchange_close_message(fc_exchange_t *x, bool is_error);
// Answers with the document that the message in the body asks for, or begins its act.
void fc_exchange_answer_message(fc_exchange_t *x);
// Reads the body of an act, and begins it.
void fc_exchange_submit_act(fc_exchange_t *x, fc_str_t body);
// Counts a call for its client, unless the client is a trusted proxy.
// FC_CODE_TOO_MANY_REQUESTS: the client has its maximum.
fc_status_t fc_exchange_count_call(fc_exchange_t *exchange,
                                   fc_error_t *err) FC_MUST_CHECK;
// Stops counting the call, if the exchange still counts it: the call was answered, or
// never will be. If the call runs on, its host has taken over the count (fc_job_t.count).
void fc_exchange_uncount_call(fc_exchange_t *exchange);
// Makes an id of hex digits. It is not secret, but unique in the process.
void fc_exchange_make_id(fc_server_t *server, char out[FC_EXCHANGE_ID_SIZE]);
// Answers a call that has ended, as job.outcome says.
void fc_exchange_answer_call(fc_exchange_t *exchange);
// Answers a call whose deadline has passed in the pool's queue.
void fc_exchange_answer_expired(fc_exchange_t *exchange);
// Answers an act that has ended, as exchange->act says.
void fc_exchange_answer_act(fc_exchange_t *exchange);
// Answers with the part that a turn of a call has made, the first or a later one.
void fc_exchange_answer_turn(fc_exchange_t *exchange);
// Begins to watch: sends the present state, and each change from now on.
void fc_exchange_begin_watch(fc_exchange_t *exchange, bool knows);
// Goes on after the last message of the watch was sent.
void fc_exchange_go_on_watch(fc_exchange_t *exchange);
// Ends the watch, if there is one.
void fc_exchange_drop_watch(fc_exchange_t *exchange);
// Ends the document that is being written, if there is one.
void fc_exchange_drop_draft(fc_exchange_t *exchange);
// Goes on with the document that is being written.
void fc_exchange_go_on_draft(fc_exchange_t *exchange);
// Ends `stage`: adds the time since the last mark to it.
void fc_exchange_mark(fc_exchange_t *exchange, fc_stage_t stage);
// Gives the names of module and function for log, spans and errors; "" if there is none.
void fc_exchange_names(const fc_exchange_t *exchange, fc_str_t *out_module,
                       fc_str_t *out_function);
// Finds the trace of the request: that of `traceparent`, a new one if the request is
// sampled without traceparent, or none.
void fc_exchange_trace(fc_exchange_t *exchange, fc_str_t traceparent);
// If the request is sampled, stores it for export when it is answered or its client has
// left. `code` is an fc_code_t, or FC_SERIES_LEFT.
void fc_exchange_export(const fc_exchange_t *exchange, int status, int code,
                        uint64_t bytes_out);
// Counts an answer, or that the client left without one. `code` is an fc_code_t, or
// FC_SERIES_LEFT. `has_results`: the answer has results of a call. The times of its
// stages must be marked before.
void fc_exchange_count(fc_exchange_t *exchange, int status, int code,
                       uint64_t bytes_out, bool has_results);
// Counts a call that failed after the pool got it: in a worker, in its queue, or by its
// deadline. Its times must be marked before.
void fc_exchange_count_failed(fc_exchange_t *exchange);
// Logs the answer. `detail` is that of the error which the client got; "": none.
void fc_exchange_log(const fc_exchange_t *exchange, int status, fc_code_t code,
                     fc_str_t detail, uint64_t bytes_out, bool is_call);

#endif  // FARCALL_SERVER_EXCHANGE_EXCHANGE_H_
