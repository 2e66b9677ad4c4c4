// SPDX-License-Identifier: Apache-2.0
//
// Answers: results of calls, documents, errors. Each is counted and logged here, once,
// and then given to the carrier. A client without an exchange gets a refusal, which is
// counted but not logged here.
#include "base/utf8.h"
#include "dialect/parts.h"
#include "exchange/exchange.h"

typedef struct outcome_t {
  int status;
  fc_code_t code;
  fc_str_t content_type;
  fc_str_t digest;
  bool weak_digest;
  uint64_t document;
  fc_coding_t coding;
  bool is_page;
  bool is_call;  // log and head tell the times of all stages
  bool is_last;
} outcome_t;

static fc_str_t code_in_head(const fc_dialect_t *dialect, fc_code_t code) {
  return fc_str(dialect->names_code ? fc_code_info(code)->text : "");
}

static void describe(const fc_exchange_t *x, const outcome_t *what,
                     fc_answer_t *out) {
  *out = (fc_answer_t){.status = what->status,
                       .content_type = what->content_type,
                       .digest = what->digest,
                       .weak_digest = what->weak_digest,
                       .document = what->document,
                       .coding = what->coding,
                       .is_page = what->is_page,
                       .spent_ns = what->is_call ? x->spent_ns : NULL,
                       .origin = x->origin,
                       .by_origin = x->policy->origins.size > 1,
                       .is_preflight = x->is_preflight,
                       .trace = x->trace.known ? &x->trace : NULL,
                       .is_last = what->is_last};
  for (uint32_t i = 0; i < x->piece_count; i++) {
    out->length += x->pieces[i].size;
  }
  if (what->code) {
    out->code = code_in_head(fc_dialect_of(x->server, &x->place), what->code);
  }
  if (what->code == FC_CODE_METHOD_NOT_ALLOWED) {
    out->allow = fc_str(fc_route_allow(x->server->routes, x->place.route));
  }
  if (what->status == 503 || what->status == 429) {
    out->retry_after = x->retry_after ? x->retry_after : FC_LIMIT_RETRY_AFTER;
  }
}

// The body is x->pieces.
static void send_answer(fc_exchange_t *x, const outcome_t *what) {
  fc_answer_t answer;
  describe(x, what, &answer);
  fc_exchange_count(x, what->status, (int)what->code, answer.length,
                    what->is_call);
  if (x->trace.sampled) {
    fc_exchange_export(x, what->status, (int)what->code, answer.length);
    x->dispatches = NULL;
  }
  fc_exchange_log(x, what->status, what->code, answer.length, what->is_call);
  x->carrier->answer(x, &answer);
}

// ---------------------------------------------------------------------------
// Answers when there is no memory

static fc_status_t fail_growth(fc_sink_t *sink, size_t need, fc_error_t *err) {
  (void)sink;
  return fc_fail(err, FC_CODE_RESULT_TOO_LARGE, "%zu bytes too many", need);
}

static fc_answer_t print_refusal(const fc_dialect_t *dialect,
                                 const fc_error_t *error, fc_str_t id,
                                 char body[FC_EXCHANGE_REFUSAL_MAX]) {
  fc_sink_t sink = {.cursor = body,
                    .end = body + FC_EXCHANGE_REFUSAL_MAX,
                    .grow = fail_growth};
  const fc_problem_t problem = {
      .error = error, .status = dialect->status_of(error), .request_id = id};
  fc_status_t status = dialect->encode_error(&problem, &sink, NULL);
  FC_ASSERT(status == FC_OK);
  return (fc_answer_t){.status = problem.status,
                       .length = (uint64_t)(sink.cursor - body),
                       .content_type = fc_str(dialect->error_type),
                       .code = code_in_head(dialect, error->code),
                       .retry_after = FC_LIMIT_RETRY_AFTER,
                       .is_last = true};
}

static void answer_nothing(fc_exchange_t *x) {
  char text[FC_LIMIT_HEAD + FC_EXCHANGE_REFUSAL_MAX];
  fc_error_t error;
  (void)fc_fail_memory(&error);
  const fc_answer_t answer =
      print_refusal(fc_dialect_of(x->server, &x->place), &error,
                    fc_exchange_id(x), text + FC_LIMIT_HEAD);
  fc_exchange_count(x, answer.status, (int)error.code, answer.length, false);
  fc_exchange_export(x, answer.status, (int)error.code, answer.length);
  fc_exchange_log(x, answer.status, error.code, answer.length, false);
  x->carrier->answer_at_once(x, &answer, text + FC_LIMIT_HEAD);
}

fc_answer_t fc_exchange_refusal(fc_server_t *server, const fc_error_t *error,
                                char body[FC_EXCHANGE_REFUSAL_MAX],
                                char out_id[FC_EXCHANGE_ID_SIZE]) {
  const fc_place_t nowhere = {.route = FC_ROUTE_NONE};
  fc_exchange_make_id(server, out_id);
  const fc_answer_t answer =
      print_refusal(fc_dialect_of(server, &nowhere), error,
                    fc_str_make(out_id, FC_EXCHANGE_ID_SIZE), body);
  fc_metrics_answer(&server->metrics, answer.status);
  return answer;
}

// ---------------------------------------------------------------------------
// Bodies written on the loop

// Opens a sink in a fresh block with room for the head. False: there is no
// memory.
static bool open_answer(fc_exchange_t *x, fc_block_sink_t *out) {
  fc_blocks_t *blocks = x->server->blocks;
  uint32_t block;
  if (fc_block_take(blocks, FC_LIMIT_HEAD, &block, NULL) != FC_OK) {
    return false;
  }
  fc_block_sink_init(out, blocks, block, FC_LIMIT_HEAD, UINT32_MAX);
  return true;
}

static void close_answer(fc_exchange_t *x, fc_block_sink_t *out) {
  fc_block_sink_finish(out);
  memcpy(x->pieces, out->pieces, out->count * sizeof *out->pieces);
  x->piece_count = out->count;
}

// Only the operator is told what an internal error is about.
static void tell_operator(fc_exchange_t *x, const fc_error_t *error) {
  fc_log_field_t field = FC_LOG_TEXT("request_id", fc_exchange_id(x));
  fc_log_fields(x->server->log, FC_LOG_ERROR, fc_str(error->message), &field,
                1);
}

static void fail(fc_exchange_t *x, const fc_error_t *error, fc_stage_t stage,
                 fc_str_t name) {
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  const bool is_ours = error->code == FC_CODE_INTERNAL;
  if (!x->id_size) {
    fc_exchange_make_id(x->server, x->id);
    x->id_size = FC_EXCHANGE_ID_SIZE;
  }
  fc_problem_t problem = {.error = error,
                          .status = dialect->status_of(error),
                          .name = name,
                          .request_id = fc_exchange_id(x)};
  fc_exchange_names(x, &problem.module, &problem.function);
  if (stage != FC_STAGE_COUNT) problem.stage = fc_stage_name(stage);
  if (is_ours) tell_operator(x, error);
  fc_block_sink_t out;
  if (!open_answer(x, &out)) {
    answer_nothing(x);
    return;
  }
  if (dialect->encode_error(&problem, &out.sink, NULL) != FC_OK) {
    fc_block_sink_drop(&out);
    answer_nothing(x);
    return;
  }
  close_answer(x, &out);
  send_answer(x, &(outcome_t){.status = problem.status,
                              .code = error->code,
                              .content_type = fc_str(dialect->error_type),
                              .is_last = is_ours});
}

void fc_exchange_fail(fc_exchange_t *x, const fc_error_t *error,
                      fc_stage_t stage) {
  fail(x, error, stage, FC_STR(""));
}

// The document is in `out`.
static void send_document(fc_exchange_t *x, const fc_document_t *document,
                          fc_block_sink_t *out) {
  const bool same = document->not_modified;
  close_answer(x, out);
  send_answer(x, &(outcome_t){
                     .status = same                    ? 304
                               : document->unavailable ? 503
                                                       : 200,
                     .content_type = same ? FC_STR("") : document->content_type,
                     .digest = document->digest,
                     .weak_digest = document->weak_digest,
                     .coding = document->coding,
                     .is_page = document->is_page});
}

// ---------------------------------------------------------------------------
// Documents in parts

// A document that is being written. All documents of a loop that are being written are in
// a ring, and each turn writes a part of the next one.
typedef struct fc_draft_t {
  fc_exchange_t *x;
  fc_document_t document;
  fc_block_sink_t out;
  struct fc_draft_t *next;
  struct fc_draft_t *previous;
} fc_draft_t;

static void enter_draft(fc_draft_t *w) {
  fc_draft_t *first = w->x->server->drafts;
  w->next = first ? first : w;
  w->previous = first ? first->previous : w;
  w->next->previous = w->previous->next = w;
  if (!first) w->x->server->drafts = w;
  w->x->server->draft_count++;
}

// Takes the draft out of the ring and frees it, but for `out`: what was written is
// the caller's.
static void leave_draft(fc_draft_t *w) {
  fc_server_t *server = w->x->server;
  w->next->previous = w->previous;
  w->previous->next = w->next;
  if (server->drafts == w) server->drafts = w->next == w ? NULL : w->next;
  w->x->draft = NULL;
  server->draft_count--;
  fc_parts_destroy(w->document.parts);
  fc_free(server->modules->generations.allocator, w);
}

void fc_exchange_drop_draft(fc_exchange_t *x) {
  if (!x->draft) return;
  fc_block_sink_drop(&x->draft->out);
  leave_draft(x->draft);
}

// Writes a part, and answers if it was the last one or failed. True: there is more.
static bool write_part(fc_draft_t *w) {
  fc_exchange_t *x = w->x;
  fc_error_t error;
  bool more;
  fc_error_reset(&error);
  if (fc_parts_write(w->document.parts, &w->out, &more, &error) != FC_OK) {
    fc_exchange_drop_draft(x);
    fc_exchange_fail(x, &error, FC_STAGE_COUNT);
    return false;
  }
  if (more) return true;
  const fc_document_t document = w->document;
  fc_block_sink_t out = w->out;
  w->document.parts = NULL;  // the digest is in a module that they retain
  leave_draft(w);
  send_document(x, &document, &out);
  fc_parts_destroy(document.parts);
  return false;
}

// Takes over `out` and the document's parts.
static void begin_draft(fc_exchange_t *x, const fc_document_t *document,
                        fc_block_sink_t *out) {
  fc_draft_t *w =
      fc_alloc(x->server->modules->generations.allocator, sizeof *w);
  if (!w) {
    fc_block_sink_drop(out);
    fc_parts_destroy(document->parts);
    answer_nothing(x);
    return;
  }
  *w = (fc_draft_t){.x = x, .document = *document, .out = *out};
  w->document.parts->owner = x->job.caller;
  fc_block_sink_own(&w->out, &w->document.parts->owner);
  x->draft = w;
  // The first part is written at once only if no other document is being written.
  // Otherwise many requests in one turn of the loop would make it a long one.
  const bool is_first = x->server->draft_count == 0;
  enter_draft(w);
  if (is_first) (void)write_part(w);
}

static fc_status_t check_drafts(const fc_server_t *server, fc_error_t *err) {
  if (server->draft_count < FC_LIMIT_DRAFTS) return FC_OK;
  return fc_fail(err, FC_CODE_OVERLOADED,
                 "%u documents about all modules are being written, the limit",
                 FC_LIMIT_DRAFTS);
}

void fc_exchange_write_part(fc_server_t *server) {
  fc_draft_t *w = server->drafts;
  if (!w) return;
  fc_exchange_t *x = w->x;
  server->drafts = w->next;
  if (!write_part(w)) x->carrier->resume(x);
}

void fc_exchange_document(fc_exchange_t *x, const fc_request_t *request) {
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  fc_block_sink_t out;
  fc_error_t error;
  fc_error_reset(&error);
  if (!open_answer(x, &out)) {
    answer_nothing(x);
    return;
  }
  if (x->is_preflight) {
    close_answer(x, &out);
    send_answer(x, &(outcome_t){.status = 204});
    return;
  }
  fc_document_t document;
  if (dialect->document(x->server, request, &x->place, &document, &out.sink,
                        &error) != FC_OK) {
    fc_block_sink_drop(&out);
    fc_exchange_fail(x, &error, FC_STAGE_COUNT);
    return;
  }
  if (!document.parts) {
    send_document(x, &document, &out);
  } else if (check_drafts(x->server, &error) != FC_OK) {
    fc_parts_destroy(document.parts);
    fc_block_sink_drop(&out);
    fc_exchange_fail(x, &error, FC_STAGE_COUNT);
  } else {
    begin_draft(x, &document, &out);
  }
}

void fc_exchange_answer_act(fc_exchange_t *x) {
  const fc_act_t *act = x->act;
  fc_error_t error;
  fc_block_sink_t out;
  if (act->status != FC_OK) {
    fc_exchange_fail(x, &act->error, FC_STAGE_CALL);
    return;
  }
  if (!open_answer(x, &out)) {
    answer_nothing(x);
    return;
  }
  if (fc_dialect_of(x->server, &x->place)
          ->tell_act(x->server, act, &out.sink, &error) != FC_OK) {
    fc_block_sink_drop(&out);
    fc_exchange_fail(x, &error, FC_STAGE_CALL);
    return;
  }
  close_answer(x, &out);
  send_answer(x, &(outcome_t){.status = 200,
                              .content_type = FC_STR("application/json")});
}

// ---------------------------------------------------------------------------
// Results

// Copies the times that the worker measured into the exchange.
static void take_times(fc_exchange_t *x, const fc_outcome_t *outcome) {
  x->spent_ns[FC_STAGE_QUEUE] += outcome->began_ns - x->marked_ns;
  uint64_t ended_ns = outcome->began_ns;
  for (int i = FC_STAGE_DECODE; i <= FC_STAGE_ENCODE; i++) {
    x->spent_ns[i] = outcome->spent_ns[i];
    ended_ns += outcome->spent_ns[i];
  }
  x->marked_ns = ended_ns;
  fc_exchange_mark(x, FC_STAGE_WRITE);
}

static void answer_failed(fc_exchange_t *x, const fc_outcome_t *outcome) {
  fc_error_t error = outcome->error;
  fc_stage_t stage = (fc_stage_t)outcome->stage;
  char name[FC_OUTCOME_NAME];
  const size_t name_size = outcome->name_size;
  memcpy(name, outcome->name, name_size);
  fc_pool_finish(x->server->pool, &x->job);
  if (x->job.retry_s) x->retry_after = x->job.retry_s;
  fail(x, &error, stage, fc_str_make(name, name_size));
}

// The arguments were only checked, so there is no body.
static void answer_validated(fc_exchange_t *x) {
  fc_block_sink_t out;
  fc_pool_finish(x->server->pool, &x->job);
  if (!open_answer(x, &out)) {
    answer_nothing(x);
    return;
  }
  close_answer(x, &out);
  send_answer(x, &(outcome_t){.status = 204, .is_call = true});
}

void fc_exchange_answer_expired(fc_exchange_t *x) {
  fc_error_t error;
  fc_exchange_mark(x, FC_STAGE_QUEUE);
  fc_exchange_count_failed(x);
  (void)fc_fail(&error, FC_CODE_DEADLINE_EXCEEDED,
                "the deadline passed in the queue");
  fc_exchange_fail(x, &error, FC_STAGE_QUEUE);
}

// A worker may have written anything: spans stay within their stage, and their names are
// text.
static void bound_span(fc_dispatch_span_t *span, uint64_t stage_ns) {
  if (span->began_ns > stage_ns) span->began_ns = stage_ns;
  if (span->took_ns > stage_ns - span->began_ns) {
    span->took_ns = stage_ns - span->began_ns;
  }
  if (span->name_size > sizeof span->name) span->name_size = 0;
  span->name_size =
      (uint32_t)fc_utf8_cut(fc_str_make(span->name, span->name_size),
                            sizeof span->name)
          .size;
  if (span->name_size) return;
  span->name[0] = '?';
  span->name_size = 1;
}

// Takes the last `size` bytes off the answer. They are copied before they are looked
// at: a worker may still write to a file.
static void take_spans(fc_exchange_t *x, uint32_t size,
                       fc_dispatch_span_t *out_spans) {
  char *out = (char *)out_spans;
  for (uint64_t left = size; left;) {
    fc_piece_t *piece = &x->pieces[x->piece_count - 1];
    const uint64_t taken = left < piece->size ? left : piece->size;
    const char *end =
        (const char *)fc_block_data(x->server->blocks, piece->block) +
        piece->offset + piece->size;
    left -= taken;
    memcpy(out + left, end - taken, (size_t)taken);
    piece->size -= taken;
    if (piece->size || x->piece_count == 1) continue;
    fc_block_give(x->server->blocks, piece->block);
    x->piece_count--;
  }
  for (uint32_t i = 0; i < size / sizeof *out_spans; i++) {
    bound_span(&out_spans[i], x->spent_ns[FC_STAGE_CALL]);
  }
}

static void send_traced(fc_exchange_t *x, uint32_t size,
                        const outcome_t *what) {
  fc_dispatch_span_t spans[FC_SPANS_DISPATCHES];
  take_spans(x, size, spans);
  x->dispatches = size ? spans : NULL;
  x->dispatch_count = size / (uint32_t)sizeof *spans;
  send_answer(x, what);
}

void fc_exchange_answer_call(fc_exchange_t *x) {
  fc_pool_t *pool = x->server->pool;
  fc_outcome_t *outcome = x->job.outcome;
  take_times(x, outcome);
  if (outcome->status != FC_OK) fc_exchange_count_failed(x);
  if (outcome->status != FC_OK) {
    answer_failed(x, outcome);
    return;
  }
  if (x->job.call.flags & FC_CALL_VALIDATE) {
    answer_validated(x);
    return;
  }
  memcpy(x->pieces, outcome->pieces,
         outcome->piece_count * sizeof *outcome->pieces);
  x->piece_count = outcome->piece_count;
  outcome->piece_count = 0;
  const bool coded =
      x->job.call.answer_coding && outcome->document == FC_OUTCOME_CODED;
  const uint64_t document = coded ? 0 : outcome->document;
  const uint32_t spans_size = outcome->spans_size;
  fc_pool_finish(pool, &x->job);
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  const outcome_t what = {
      .status = 200,
      .content_type = dialect->result_type(x->job.call.parameters, document),
      .document = document,
      .coding = coded ? x->job.call.answer_coding : FC_CODING_NONE,
      .is_call = true};
  if (FC_UNLIKELY(x->job.call.flags & FC_CALL_TRACED)) {
    send_traced(x, spans_size, &what);
  } else {
    send_answer(x, &what);
  }
}
