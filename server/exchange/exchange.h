// SPDX-License-Identifier: Apache-2.0
//
// An exchange: one request and its answer, whoever carries them. It owns the call
// and its body, the answer's bytes, the request id, the times of the stages, and
// what is logged and counted. The carrier (http1/connection.c) knows how bytes
// come and go: it calls the functions below as the request arrives, and is called
// through fc_carrier_t when there is an answer. An answer may be given from within
// any of these functions. Loop thread.
//
//   fc_exchange_start    the first byte of a request is there
//   fc_exchange_take     its head is read: READ is over
//   fc_exchange_admit    ROUTE and ADMIT. If `waits` is set then, take and admit
//                        are called again after the carrier's `again`. Else:
//     fc_exchange_document  the request is answered without its body
//     fc_exchange_fail      it is refused
//     fc_exchange_append, _submit  its body arrives, and the call is made
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

// The head of an answer, without what the carrier adds.
typedef struct fc_answer_t {
  int status;
  uint64_t length;  // of the body
  fc_str_t content_type;
  fc_str_t digest;  // the entity tag, "" if none
  bool weak_digest;
  fc_str_t allow;           // "" if none
  fc_str_t code;            // of an error, "" if the head does not say it
  uint64_t document;        // bytes of JSON before raw bytes, 0: no raw bytes
  fc_coding_t coding;       // of the body
  bool is_page;             // it is for a browser: the head says what it may do
  uint32_t retry_after;     // seconds, 0: none
  const fc_trace_t *trace;  // of the request, NULL: none
  const uint64_t *spent_ns;  // FC_STAGE_COUNT times to tell, or NULL
  bool is_last;              // the connection should close after it
} fc_answer_t;

typedef struct fc_carrier_t {
  // Sends the answer: the head and then, unless the method is HEAD, the pieces
  // of the exchange. The first piece has FC_LIMIT_HEAD free bytes in front.
  // Calls fc_exchange_sent, perhaps before it returns.
  void (*answer)(fc_exchange_t *exchange, const fc_answer_t *answer);
  // Sends an answer when there is no memory for pieces. The body is at `body`,
  // also with FC_LIMIT_HEAD free bytes in front. The carrier must not use
  // `body` after it returns: what cannot be sent at once is never sent.
  void (*answer_at_once)(fc_exchange_t *exchange, const fc_answer_t *answer,
                         char *body);
  // The exchange waits no more: its head is to be admitted again.
  void (*again)(fc_exchange_t *exchange);
  // The exchange was answered outside of any call that the carrier made: the
  // carrier may go on with bytes it has kept.
  void (*resume)(fc_exchange_t *exchange);
} fc_carrier_t;

struct fc_exchange_t {
  fc_server_t *server;
  const fc_carrier_t *carrier;
  const fc_policy_t *policy;
  fc_job_t job;
  fc_place_t place;
  fc_generation_t *generation;  // of the place, held; NULL: it has none
  fc_act_t *act;                // NULL: the request asks for no act
  struct fc_draft_t *draft;     // its document is being written; NULL: none is
  fc_waiter_t waiter;           // waits for the generation
  fc_method_t method;
  const char *method_name;  // NULL until a head is read
  bool is_call;             // its body is wanted: a call, an act, or asking
  bool is_asking;           // a POST for a document
  bool waits;       // until the generation is loaded; then it is admitted again
  bool waited;      // it has waited, at least once
  uint8_t stage;    // fc_stage_t it is in
  uint8_t id_size;  // 0: it has none yet
  uint32_t retry_after;
  uint64_t began_ns;   // time of the first byte of the head; 0: no byte yet
  uint64_t marked_ns;  // end of the last stage
  uint64_t body_seen;  // bytes of the body that came, also those not kept
  uint64_t spent_ns[FC_STAGE_COUNT];
  fc_peer_t address;  // the other end of the stream, zero if it has none
  // Whose request it is: `address`, or the client that a trusted proxy names.
  fc_peer_t peer;
  fc_owner_t owner;  // of the memory of its bytes: the peer, once ROUTE was run
  char id[FC_LIMIT_REQUEST_ID];
  fc_trace_t trace;  // known: the request belongs to it
  uint32_t piece_count;
  fc_piece_t pieces[FC_PIECES_MAX];
};

// `exchange` is zeroed memory. `server`, `carrier` and `policy` are borrowed.
void fc_exchange_init(fc_exchange_t *exchange, fc_server_t *server,
                      const fc_carrier_t *carrier, const fc_policy_t *policy,
                      const fc_peer_t *address);
// Gives everything back. Its call must have ended or been dropped.
void fc_exchange_deinit(fc_exchange_t *exchange);

void fc_exchange_start(fc_exchange_t *exchange);
// A head was read. A head that could not be understood is passed too, as far as
// it was understood. `request` is not kept.
void fc_exchange_take(fc_exchange_t *exchange, const fc_request_t *request);
// Fails if the request may not be made; exchange->stage says where it failed.
// Sets is_call and waits.
fc_status_t fc_exchange_admit(fc_exchange_t *exchange,
                              const fc_request_t *request,
                              fc_error_t *err) FC_MUST_CHECK;
// Answers a request that was admitted and is no call. A long document is answered
// in a later turn of the loop: exchange->draft is set until then.
void fc_exchange_document(fc_exchange_t *exchange, const fc_request_t *request);
// Writes a part of one of the documents that are being written, server->drafts.
void fc_exchange_write_part(fc_server_t *server);
// Answers any request with an error. A request without a head is given an id.
// `stage` is where it failed; FC_STAGE_COUNT: the answer does not say.
void fc_exchange_fail(fc_exchange_t *exchange, const fc_error_t *error,
                      fc_stage_t stage);

// Where the next bytes of the body may be read to; `left` are still to come.
fc_span_t fc_exchange_room(const fc_exchange_t *exchange, uint64_t left);
// `bytes` of the body were read, to fc_exchange_room or anywhere else. `left`
// more are to come, 0 if that is not known.
fc_status_t fc_exchange_append(fc_exchange_t *exchange, fc_str_t bytes,
                               uint64_t left, fc_error_t *err) FC_MUST_CHECK;
// The body is complete: runs the call, or queues it.
void fc_exchange_submit(fc_exchange_t *exchange);

// Is the call with a worker, an act in progress, or a document being written?
bool fc_exchange_is_running(const fc_exchange_t *exchange);
// The client has gone while its call waits or runs: says so in log and metrics.
void fc_exchange_abandoned(fc_exchange_t *exchange);
// Nobody waits for the call any more: it is dropped.
void fc_exchange_drop(fc_exchange_t *exchange);

// The answer's pieces are not needed any more.
void fc_exchange_sent(fc_exchange_t *exchange);
void fc_exchange_reset(fc_exchange_t *exchange);

// ---------------------------------------------------------------------------

#define FC_EXCHANGE_ID_SIZE 16  // of ids that fc_exchange_make_id makes
#define FC_EXCHANGE_REFUSAL_MAX 1024

// For a client that gets no exchange: writes the body of an error, counts the
// answer, and returns its head. Needs no memory.
fc_answer_t fc_exchange_refusal(fc_server_t *server, const fc_error_t *error,
                                char body[FC_EXCHANGE_REFUSAL_MAX],
                                char out_id[FC_EXCHANGE_ID_SIZE]);

static inline fc_str_t fc_exchange_id(const fc_exchange_t *exchange) {
  return fc_str_make(exchange->id, exchange->id_size);
}

// The owner to whom the memory of a client's bytes is counted.
fc_owner_t fc_exchange_owner(const fc_peer_t *peer);

// Events of the pool.
void fc_exchange_on_done(void *context, fc_job_t *job);
void fc_exchange_on_expired(void *context, fc_job_t *job);

// ---------------------------------------------------------------------------
// Between the files of an exchange

// Makes an id of hex digits. It is not secret, but no two of a process are
// equal.
void fc_exchange_make_id(fc_server_t *server, char out[FC_EXCHANGE_ID_SIZE]);
// Answers a call that has ended: job.outcome says how.
void fc_exchange_answer_call(fc_exchange_t *exchange);
// Answers a call whose deadline has passed before a host took it.
void fc_exchange_answer_expired(fc_exchange_t *exchange);
// Answers an act that has ended: exchange->act says how.
void fc_exchange_answer_act(fc_exchange_t *exchange);
// Its document is not needed any more; nothing happens if none is being written.
void fc_exchange_drop_draft(fc_exchange_t *exchange);
// `stage` is over: adds the time since the last mark to it.
void fc_exchange_mark(fc_exchange_t *exchange, fc_stage_t stage);
void fc_exchange_names(const fc_exchange_t *exchange, fc_str_t *out_module,
                       fc_str_t *out_function);
// The head of a request is read: finds out which trace the request belongs to.
void fc_exchange_trace(fc_exchange_t *exchange, fc_str_t traceparent);
// The request is answered: notes what is exported of it, if it is sampled. `code` is an
// fc_code_t, or FC_SERIES_LEFT.
void fc_exchange_export(const fc_exchange_t *exchange, int status, int code,
                        uint64_t bytes_out);
// Counts an answer. `code` is an fc_code_t, or FC_SERIES_LEFT. `has_results`: it is that
// of a call, whose times were marked before.
void fc_exchange_count(fc_exchange_t *exchange, int status, int code,
                       uint64_t bytes_out, bool has_results);
// Counts a call that has failed in a worker, or whose deadline passed before. Its
// times were marked before.
void fc_exchange_count_failed(fc_exchange_t *exchange);
void fc_exchange_log(const fc_exchange_t *exchange, int status, fc_code_t code,
                     uint64_t bytes_out, bool is_call);

#endif  // FARCALL_SERVER_EXCHANGE_EXCHANGE_H_
