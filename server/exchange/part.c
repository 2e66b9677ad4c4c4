// SPDX-License-Identifier: Apache-2.0
//
// Answers in parts: begin, part, end. When the carrier has sent a part, the source makes
// the next one: a draft (draft.c), a watcher (watcher.c), or the call's next turn.
#include "exchange/answer.h"
#include "json/writer.h"
#include "pool/turn.h"

static void count_end(fc_exchange_t *x, bool cut) {
  x->parted.ended = true;
  x->server->metrics.parts.open--;
  x->server->metrics.parts.cut += cut;
}

static void end(fc_exchange_t *x, const fc_answer_facts_t *what) {
  count_end(x, what->code != FC_CODE_NONE);
  fc_exchange_note(x, what, x->parted.size);
}

// Answers a HEAD request: sends the head of the first part only.
static void send_head(fc_exchange_t *x, const fc_answer_facts_t *what) {
  fc_answer_t answer = {0};
  fc_exchange_describe(x, what, &answer);
  answer.in_parts = true;
  fc_exchange_note(x, what, 0);
  x->carrier->begin(x, &answer);
}

static void begin(fc_exchange_t *x, const fc_answer_facts_t *what, bool cut) {
  fc_parts_counts_t *counts = &x->server->metrics.parts;
  fc_answer_t answer = {0};
  fc_exchange_describe(x, what, &answer);
  answer.in_parts = x->parted.begun = true;
  answer.as_it_comes = x->job.call.parts != FC_PART_FORM_NONE;
  answer.is_cut = cut;
  x->parted.first_ns = fc_clock_ns() - x->times.began_ns;
  counts->first_ns += x->parted.first_ns;
  counts->begun++;
  counts->open++;
  if (cut) end(x, what);
  x->carrier->begin(x, &answer);
}

static void count_part(fc_exchange_t *x) {
  fc_parts_counts_t *counts = &x->server->metrics.parts;
  uint64_t size = 0;
  for (uint32_t i = 0; i < x->out.count; i++) size += x->out.pieces[i].size;
  x->parted.sending = true;
  x->parted.count += size != 0;
  x->parted.size += size;
  counts->parts += size != 0;
  counts->bytes += size;
}

void fc_exchange_send_part(fc_exchange_t *x, const fc_answer_facts_t *what,
                           fc_part_end_t part) {
  if (!x->parted.begun && part == FC_PART_LAST) {
    fc_exchange_send(x, what);
    return;
  }
  if (x->asked.method == FC_METHOD_HEAD) {
    send_head(x, what);
    return;
  }
  count_part(x);
  if (!x->parted.begun) {
    begin(x, what, part == FC_PART_CUT);
    return;
  }
  if (part != FC_PART_MORE) end(x, what);
  x->carrier->part(x, part);
}

static const fc_answer_facts_t kStream = {
    .status = 200, .content_type = FC_STR("application/grpc")};

void fc_exchange_begin_stream(fc_exchange_t *x) {
  fc_exchange_send_part(x, &kStream, FC_PART_MORE);
  fc_exchange_part_sent(x);
}

void fc_exchange_end_stream(fc_exchange_t *x) {
  fc_exchange_send_part(x, &kStream, FC_PART_LAST);
}

// ---------------------------------------------------------------------------
// Turns of a call

static uint64_t after(uint64_t now_ns, uint64_t time_ns) {
  return time_ns ? now_ns + time_ns : 0;
}

// Queues the next turn, which may take as long as the first one.
static void go_on(fc_exchange_t *x) {
  fc_error_t *error = &x->server->error;
  fc_exchange_mark(x, FC_STAGE_WRITE);
  x->parted.paused = false;
  x->times.stage = FC_STAGE_QUEUE;
  x->job.call.deadline_ns = after(x->times.marked_ns, x->parted.deadline_ns);
  x->job.limit_ns = after(x->times.marked_ns, x->parted.limit_ns);
  if (fc_pool_go_on(x->server->pool, &x->job, &x->out.retry_after, error) !=
      FC_OK) {
    fc_exchange_count_failed(x);
    fc_exchange_fail(x, error, FC_STAGE_QUEUE);
  }
}

uint64_t fc_exchange_take_pieces(fc_exchange_t *x, fc_outcome_t *outcome) {
  uint64_t size = 0;
  x->out.count = outcome->piece_count;
  outcome->piece_count = 0;
  for (uint32_t i = 0; i < x->out.count; i++) {
    x->out.pieces[i] = outcome->pieces[i];
    size += x->out.pieces[i].size;
  }
  return size;
}

// Keeps the state that the turn leaves for the next one. False: it is too large, and the
// answer ends.
static bool keep(fc_exchange_t *x) {
  fc_error_t *error = &x->server->error;
  x->job.call.flags |= FC_CALL_LATER;
  if (fc_pool_pause(x->server->pool, &x->job, error) == FC_OK) return true;
  x->parted.paused = false;
  fc_pool_drop(x->server->pool, &x->job);
  fc_exchange_count_failed(x);
  fc_exchange_fail(x, error, FC_STAGE_ENCODE);
  return false;
}

// Writes ,"timing":{"read":0.021,…} in milliseconds, as in Server-Timing.
static fc_status_t put_timing(const uint64_t *spent_ns, fc_sink_t *sink) {
  static const char *const kNames[FC_STAGE_COUNT] = {
#define FC_STAGE(name, text) ",\"" text "\":",
#include "pool/stage.def"
#undef FC_STAGE
  };
  FC_TRY(fc_sink_put(sink, FC_STR(",\"timing\":{"), NULL));
  for (int i = 0; i < FC_STAGE_COUNT; i++) {
    const uint64_t us = spent_ns[i] / 1000;
    const char fraction[] = {'.', (char)('0' + us / 100 % 10),
                             (char)('0' + us / 10 % 10), (char)('0' + us % 10)};
    FC_TRY(fc_sink_put(sink, fc_str(kNames[i] + (i == 0)), NULL));
    FC_TRY(fc_json_write_u64(sink, us / 1000, NULL));
    FC_TRY(fc_sink_put(sink, fc_str_make(fraction, sizeof fraction), NULL));
  }
  return fc_sink_put(sink, FC_STR("}"), NULL);
}

// Inserts the times of the stages into the object that ends the answer. Without memory
// the object stays unchanged.
static void add_timing(fc_exchange_t *x, uint64_t size) {
  const fc_str_t after = fc_part_rows[x->job.call.parts].after;
  char end[FC_PART_AFTER_MAX + 1];
  fc_block_sink_t out;
  if (size <= after.size || x->out.count == FC_PIECES_MAX) return;
  if (!fc_exchange_open_answer(x, &out)) return;
  const size_t taken = after.size + 1;
  if (put_timing(x->times.spent_ns, &out.sink) != FC_OK ||
      fc_sink_put(&out.sink, FC_STR("}"), NULL) != FC_OK ||
      fc_sink_put(&out.sink, after, NULL) != FC_OK) {
    fc_block_sink_drop(&out);
    return;
  }
  fc_exchange_take_off(x, taken, end);
  fc_exchange_add_answer(x, &out);
}

void fc_exchange_answer_turn(fc_exchange_t *x) {
  fc_outcome_t *outcome = x->job.outcome;
  const bool more = outcome->more;
  const uint64_t size = fc_exchange_take_pieces(x, outcome);
  x->parted.turns++;
  x->parted.paused = more;
  if (!more) {
    fc_pool_finish(x->server->pool, &x->job);
    if (x->job.call.flags & FC_CALL_TIMED) add_timing(x, size);
  } else if (!keep(x)) {
    return;
  }
  if (more && !size) {
    fc_exchange_part_sent(x);
    return;
  }
  const fc_answer_facts_t what = {
      .status = 200,
      .content_type = fc_part_rows[x->job.call.parts].text,
      .is_call = !more};
  fc_exchange_send_part(x, &what, more ? FC_PART_MORE : FC_PART_LAST);
}

void fc_exchange_part_sent(fc_exchange_t *x) {
  fc_exchange_sent(x);
  x->parted.sending = false;
  if (x->draft) fc_exchange_go_on_draft(x);
  else if (FC_UNLIKELY(x->watcher)) fc_exchange_go_on_watch(x);
  else if (x->parted.paused) go_on(x);
}

void fc_exchange_note_cut(fc_exchange_t *x, const fc_error_t *error) {
  const fc_answer_facts_t what = {
      .status = 200, .code = error->code, .detail = fc_str(error->message)};
  x->parted.failed = fc_dialect_of(x->server, &x->place)->status_of(error);
  end(x, &what);
}

void fc_exchange_abandoned(fc_exchange_t *x) {
  if (x->parted.ended) return;
  if (x->parted.begun) count_end(x, true);
  fc_exchange_count(x, 499, FC_SERIES_LEFT, x->parted.size, false);
  fc_exchange_export(x, 499, FC_SERIES_LEFT, x->parted.size);
  fc_exchange_log(x, 499, FC_CODE_NONE, FC_STR(""), x->parted.size, false);
}
