// SPDX-License-Identifier: Apache-2.0
//
// Answers: results of calls, documents, errors. Each is counted and logged here, once,
// and then given to the carrier. A client without an exchange gets a refusal, which is
// counted but not logged here.
#include "exchange/answer.h"

#include "base/utf8.h"
#include "pool/turn.h"

static fc_str_t code_in_head(const fc_dialect_t *dialect, fc_code_t code) {
  return fc_str(dialect->names_code ? fc_code_info(code)->text : "");
}

// The successor of a leaving server is expected when this server has ended.
static uint32_t retry_after(const fc_server_t *server, fc_code_t code) {
  const uint64_t now_ns = fc_clock_ns();
  if (code != FC_CODE_SHUTTING_DOWN || server->ends_ns <= now_ns) {
    return FC_LIMIT_RETRY_AFTER;
  }
  const uint64_t left_s = (server->ends_ns - now_ns) / 1000000000u + 1;
  return left_s < UINT32_MAX ? (uint32_t)left_s : UINT32_MAX;
}

void fc_exchange_describe(const fc_exchange_t *x, const fc_answer_facts_t *what,
                          fc_answer_t *out) {
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  out->status = what->status;
  out->content_type = what->content_type;
  out->digest = what->digest;
  out->weak_digest = what->weak_digest;
  out->document = what->document;
  out->coding = what->coding;
  out->is_page = what->is_page;
  if (what->is_call) out->spent_ns = x->times.spent_ns;
  if (x->times.batch.computed > 1) out->batch = &x->times.batch;
  out->origin = x->asked.origin;
  out->by_origin = x->policy->origins.size > 1;
  out->is_preflight = x->asked.is_preflight;
  out->no_store = x->asked.is_source;
  if (x->traced.trace.known) out->trace = &x->traced.trace;
  out->session = what->session ? what->session : x->joined.session;
  out->is_last = what->is_last;
  for (uint32_t i = 0; i < x->out.count; i++) {
    out->length += x->out.pieces[i].size;
  }
  if (what->code) out->code = code_in_head(dialect, what->code);
  if (what->code == FC_CODE_METHOD_NOT_ALLOWED) {
    out->allow = fc_str(fc_route_allow(x->server->routes, x->place.route));
  }
  if (FC_UNLIKELY(dialect->framed)) {
    out->status = 200;
    out->is_tail = what->code != FC_CODE_NONE && !x->asked.is_message;
    out->tail = FC_STR("grpc-status: 0\r\n");
  }
  if (what->status == 503 || what->status == 429) {
    out->retry_after = x->out.retry_after ? x->out.retry_after
                                          : retry_after(x->server, what->code);
  }
}

void fc_exchange_note(fc_exchange_t *x, const fc_answer_facts_t *what,
                      uint64_t size) {
  fc_exchange_count(x, what->status, (int)what->code, size, what->is_call);
  if (x->traced.trace.sampled) {
    fc_exchange_export(x, what->status, (int)what->code, size);
    x->traced.dispatches = NULL;
  }
  fc_exchange_log(x, what->status, what->code, what->detail, size,
                  what->is_call);
}

void fc_exchange_send(fc_exchange_t *x, const fc_answer_facts_t *what) {
  const bool is_error = what->code != FC_CODE_NONE;
  if (FC_UNLIKELY(fc_dialect_of(x->server, &x->place)->framed) &&
      (!is_error || x->asked.is_message)) {
    fc_exchange_close_message(x, is_error);
  }
  fc_answer_t answer = {0};
  fc_exchange_describe(x, what, &answer);
  fc_exchange_note(x, what, answer.length);
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

void fc_exchange_answer_nothing(fc_exchange_t *x) {
  char text[FC_LIMIT_HEAD + FC_EXCHANGE_REFUSAL_MAX];
  fc_error_t error;
  (void)fc_fail_memory(&error);
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  fc_answer_t answer =
      print_refusal(dialect, &error, fc_exchange_id(x), text + FC_LIMIT_HEAD);
  fc_exchange_count(x, answer.status, (int)error.code, answer.length, false);
  fc_exchange_export(x, answer.status, (int)error.code, answer.length);
  fc_exchange_log(x, answer.status, error.code, fc_str(error.message),
                  answer.length, false);
  answer.is_tail = dialect->framed;
  if (answer.is_tail) answer.status = 200;
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

bool fc_exchange_open_answer(fc_exchange_t *x, fc_block_sink_t *out) {
  fc_blocks_t *blocks = x->server->blocks;
  uint32_t block;
  if (fc_block_take(blocks, FC_LIMIT_HEAD, &block, NULL) != FC_OK) {
    return false;
  }
  fc_block_sink_init(out, blocks, block, FC_LIMIT_HEAD, UINT32_MAX);
  return true;
}

void fc_exchange_close_answer(fc_exchange_t *x, fc_block_sink_t *out) {
  fc_block_sink_finish(out);
  memcpy(x->out.pieces, out->pieces, out->count * sizeof *out->pieces);
  x->out.count = out->count;
}

void fc_exchange_add_answer(fc_exchange_t *x, fc_block_sink_t *out) {
  fc_block_sink_finish(out);
  memcpy(x->out.pieces + x->out.count, out->pieces,
         out->count * sizeof *out->pieces);
  x->out.count += out->count;
}

void fc_exchange_take_off(fc_exchange_t *x, size_t size, void *out) {
  for (size_t left = size; left;) {
    fc_piece_t *piece = &x->out.pieces[x->out.count - 1];
    const size_t taken = left < piece->size ? left : (size_t)piece->size;
    const char *end =
        (const char *)fc_block_data(x->server->blocks, piece->block) +
        piece->offset + piece->size;
    left -= taken;
    memcpy((char *)out + left, end - taken, taken);
    piece->size -= taken;
    if (piece->size || x->out.count == 1) continue;
    fc_block_give(x->server->blocks, piece->block);
    x->out.count--;
  }
}

// Returns the text of an error for the access log. An internal error has a line of its
// own.
static fc_str_t detail_of(const fc_error_t *error) {
  return fc_str(error->code == FC_CODE_INTERNAL ? "" : error->message);
}

// Logs the reason of an internal error, which only the operator may know.
static void tell_operator(fc_exchange_t *x, const fc_error_t *error) {
  fc_log_field_t field = FC_LOG_TEXT("request_id", fc_exchange_id(x));
  fc_log_fields(x->server->log, FC_LOG_ERROR, fc_str(error->message), &field,
                1);
}

// Appends the error to the parts of the call. False: there is no memory for it.
static bool add_error(fc_exchange_t *x, const fc_problem_t *problem) {
  static const fc_part_row_t kNone = {.last = FC_STR(""), .after = FC_STR("")};
  const fc_part_row_t *form =
      x->job.call.parts ? &fc_part_rows[x->job.call.parts] : &kNone;
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  fc_block_sink_t out;
  if (!fc_exchange_open_answer(x, &out)) return false;
  if (fc_sink_put(&out.sink, form->last, NULL) != FC_OK ||
      dialect->encode_error(problem, &out.sink, NULL) != FC_OK ||
      fc_sink_put(&out.sink, form->after, NULL) != FC_OK ||
      x->out.count + out.count > FC_PIECES_MAX) {
    fc_block_sink_drop(&out);
    return false;
  }
  fc_exchange_add_answer(x, &out);
  return true;
}

// Ends an answer in parts with an error. In a call's answer the error is the last part;
// in a stream of messages it is the fields after the stream. A document just ends. What
// ends regularly after the error, and not by a cut, is a column of part_form.def.
static void cut(fc_exchange_t *x, const fc_problem_t *problem) {
  const fc_part_row_t *form = &fc_part_rows[x->job.call.parts];
  const bool framed = fc_dialect_of(x->server, &x->place)->framed;
  const bool told = (x->job.call.parts || framed) && add_error(x, problem);
  const bool whole = told && form->error == FC_PART_ERROR_ENDS;
  const fc_answer_facts_t what = {.status = 200,
                                  .code = problem->error->code,
                                  .detail = detail_of(problem->error),
                                  .content_type = form->text};
  x->parted.failed = problem->status;
  fc_exchange_send_part(x, &what,
                        told && framed ? FC_PART_TAIL
                        : whole        ? FC_PART_LAST
                                       : FC_PART_CUT);
}

static void fail(fc_exchange_t *x, const fc_error_t *error, fc_stage_t stage,
                 fc_str_t name) {
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  const bool is_ours = error->code == FC_CODE_INTERNAL;
  if (!x->asked.id_size) {
    fc_exchange_make_id(x->server, x->asked.id);
    x->asked.id_size = FC_EXCHANGE_ID_SIZE;
  }
  if (!name.size && x->carrier->name) name = x->carrier->name(x);
  fc_problem_t problem = {.error = error,
                          .status = dialect->status_of(error),
                          .name = name,
                          .is_asking = x->asked.is_asking,
                          .request_id = fc_exchange_id(x)};
  fc_exchange_names(x, &problem.module, &problem.function);
  if (stage != FC_STAGE_COUNT) problem.stage = fc_stage_name(stage);
  if (is_ours) tell_operator(x, error);
  const bool later = x->job.call.flags & FC_CALL_LATER;
  if (x->job.call.parts && (later || stage >= FC_STAGE_CALL)) {
    problem.step = x->job.call.steps + 1;
  }
  if (x->parted.begun || x->out.count) {
    cut(x, &problem);
    return;
  }
  fc_block_sink_t out;
  if (!fc_exchange_open_answer(x, &out)) {
    fc_exchange_answer_nothing(x);
    return;
  }
  if ((x->asked.is_message ? dialect->encode_failure : dialect->encode_error)(
          &problem, &out.sink, NULL) != FC_OK) {
    fc_block_sink_drop(&out);
    fc_exchange_answer_nothing(x);
    return;
  }
  fc_exchange_close_answer(x, &out);
  fc_exchange_send(
      x, &(fc_answer_facts_t){.status = problem.status,
                              .code = error->code,
                              .detail = detail_of(error),
                              .content_type = fc_str(dialect->error_type),
                              .is_last = is_ours});
}

void fc_exchange_fail(fc_exchange_t *x, const fc_error_t *error,
                      fc_stage_t stage) {
  fail(x, error, stage, FC_STR(""));
}

void fc_exchange_answer_act(fc_exchange_t *x) {
  const fc_act_t *act = x->act;
  fc_error_t error;
  fc_block_sink_t out;
  if (act->status != FC_OK) {
    fc_exchange_fail(x, &act->error, FC_STAGE_CALL);
    return;
  }
  if (!fc_exchange_open_answer(x, &out)) {
    fc_exchange_answer_nothing(x);
    return;
  }
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  if (dialect->tell_act(x->server, act, &out.sink, &error) != FC_OK) {
    fc_block_sink_drop(&out);
    fc_exchange_fail(x, &error, FC_STAGE_CALL);
    return;
  }
  fc_exchange_close_answer(x, &out);
  fc_exchange_send(
      x, &(fc_answer_facts_t){
             .status = 200,
             .content_type = dialect->framed ? fc_str(dialect->error_type)
                                             : FC_STR("application/json")});
}

// ---------------------------------------------------------------------------
// Results of calls

// Copies the worker's times of the stages into the exchange.
static void take_times(fc_exchange_t *x, const fc_outcome_t *outcome) {
  x->times.spent_ns[FC_STAGE_QUEUE] += outcome->began_ns - x->times.marked_ns;
  uint64_t ended_ns = outcome->began_ns;
  for (int i = FC_STAGE_DECODE; i <= FC_STAGE_ENCODE; i++) {
    x->times.spent_ns[i] += outcome->spent_ns[i];
    ended_ns += outcome->spent_ns[i];
  }
  x->times.batch = outcome->batch;
  x->times.marked_ns = ended_ns;
  fc_exchange_mark(x, FC_STAGE_WRITE);
}

static void answer_failed(fc_exchange_t *x, fc_outcome_t *outcome) {
  fc_error_t error = outcome->error;
  fc_stage_t stage = (fc_stage_t)outcome->stage;
  char name[FC_OUTCOME_NAME];
  const size_t name_size = outcome->name_size;
  memcpy(name, outcome->name, name_size);
  if (x->job.call.parts) fc_exchange_take_pieces(x, outcome);
  fc_pool_finish(x->server->pool, &x->job);
  if (x->job.retry_s) x->out.retry_after = x->job.retry_s;
  fail(x, &error, stage, fc_str_make(name, name_size));
}

// Answers a call that was only validated: there is no body.
static void answer_validated(fc_exchange_t *x) {
  fc_block_sink_t out;
  fc_pool_finish(x->server->pool, &x->job);
  if (!fc_exchange_open_answer(x, &out)) {
    fc_exchange_answer_nothing(x);
    return;
  }
  fc_exchange_close_answer(x, &out);
  fc_exchange_send(x, &(fc_answer_facts_t){.status = 204, .is_call = true});
}

void fc_exchange_answer_expired(fc_exchange_t *x) {
  fc_error_t error;
  fc_exchange_mark(x, FC_STAGE_QUEUE);
  fc_exchange_count_failed(x);
  (void)fc_fail(&error, FC_CODE_DEADLINE_EXCEEDED,
                "the deadline passed in the queue");
  fc_exchange_fail(x, &error, FC_STAGE_QUEUE);
}

// The worker's memory may contain anything: keeps spans within their stage, and makes
// their names valid text.
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

static void take_spans(fc_exchange_t *x, uint32_t size,
                       fc_dispatch_span_t *out_spans) {
  fc_exchange_take_off(x, size, out_spans);
  for (uint32_t i = 0; i < size / sizeof *out_spans; i++) {
    bound_span(&out_spans[i], x->times.spent_ns[FC_STAGE_CALL]);
  }
}

static void send_traced(fc_exchange_t *x, uint32_t size,
                        const fc_answer_facts_t *what) {
  fc_dispatch_span_t spans[FC_SPANS_DISPATCHES];
  take_spans(x, size, spans);
  x->traced.dispatches = size ? spans : NULL;
  x->traced.dispatch_count = size / (uint32_t)sizeof *spans;
  fc_exchange_send(x, what);
}

void fc_exchange_answer_call(fc_exchange_t *x) {
  fc_pool_t *pool = x->server->pool;
  fc_outcome_t *outcome = x->job.outcome;
  take_times(x, outcome);
  if (FC_UNLIKELY(x->joined.session)) fc_exchange_note_sequence(x, outcome);
  if (outcome->status != FC_OK) fc_exchange_count_failed(x);
  if (outcome->status != FC_OK) {
    answer_failed(x, outcome);
    return;
  }
  if (x->job.call.flags & FC_CALL_VALIDATE) {
    answer_validated(x);
    return;
  }
  if (FC_UNLIKELY(x->joined.session && x->place.route == FC_ROUTE_SESSIONS)) {
    fc_exchange_answer_made(x);
    return;
  }
  if (FC_UNLIKELY(x->job.call.parts)) {
    fc_exchange_answer_turn(x);
    return;
  }
  memcpy(x->out.pieces, outcome->pieces,
         outcome->piece_count * sizeof *outcome->pieces);
  x->out.count = outcome->piece_count;
  outcome->piece_count = 0;
  const bool coded =
      x->job.call.answer_coding && outcome->document == FC_OUTCOME_CODED;
  const uint64_t document = coded ? 0 : outcome->document;
  const uint32_t spans_size = outcome->spans_size;
  fc_pool_finish(pool, &x->job);
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  const fc_answer_facts_t what = {
      .status = 200,
      .content_type = dialect->result_type(x->job.call.parameters, document),
      .document = document,
      .coding = coded ? x->job.call.answer_coding : FC_CODING_NONE,
      .is_call = true};
  if (FC_UNLIKELY(x->job.call.flags & FC_CALL_TRACED)) {
    send_traced(x, spans_size, &what);
  } else {
    fc_exchange_send(x, &what);
  }
}
