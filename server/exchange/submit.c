// SPDX-License-Identifier: Apache-2.0
//
// Passes on a request whose body is complete: to its document, its act, or the pool.
#include "exchange/exchange.h"

static void on_acted(void *context, fc_act_t *act) {
  fc_exchange_t *x = context;
  (void)act;
  fc_exchange_answer_act(x);
  x->carrier->resume(x);
}

void fc_exchange_submit_act(fc_exchange_t *x, fc_str_t body) {
  fc_act_t *act = x->act;
  fc_error_t error;
  fc_status_t status =
      fc_dialect_of(x->server, &x->place)->read_act(act, body, &error);
  act->on_ended = on_acted;
  act->context = x;
  x->times.stage = FC_STAGE_CALL;
  if (status == FC_OK) status = fc_modules_act(x->server->modules, act, &error);
  if (status != FC_OK) fc_exchange_fail(x, &error, FC_STAGE_ADMIT);
  else if (act->ended) fc_exchange_answer_act(x);
}

// Answers with the document that the body asks for.
static void submit_asking(fc_exchange_t *x, fc_str_t body) {
  if (FC_UNLIKELY(fc_dialect_of(x->server, &x->place)->framed)) {
    fc_exchange_answer_message(x);
    return;
  }
  const fc_request_t request = {.method = FC_METHOD_POST,
                                .method_name = x->asked.method_name,
                                .body = body};
  fc_exchange_document(x, &request);
}

static void submit_act(fc_exchange_t *x, fc_str_t body) {
  if (FC_UNLIKELY(fc_dialect_of(x->server, &x->place)->framed)) {
    fc_exchange_answer_message(x);
  } else {
    fc_exchange_submit_act(x, body);
  }
}

static fc_status_t submit_call(fc_exchange_t *x, fc_str_t body,
                               fc_error_t *err) {
  fc_pool_t *pool = x->server->pool;
  if (FC_UNLIKELY(fc_dialect_of(x->server, &x->place)->find_sequence != NULL) &&
      !x->job.call.body_coding) {
    FC_TRY(fc_exchange_join_sequence(x, body, err));
  }
  // Another call may have used the session since the head came.
  if (FC_UNLIKELY(x->joined.session)) FC_TRY(fc_exchange_check_session(x, err));
  x->generation->calls++;
  fc_generations_touch(&x->server->modules->generations, x->generation,
                       x->times.marked_ns);
  if (FC_UNLIKELY(x->job.claim != NULL)) {
    fc_exchange_take_order(x);
  } else if (fc_pool_try_inline(pool, &x->job)) {
    fc_exchange_answer_call(x);
    return FC_OK;
  }
  FC_TRY(fc_pool_admit(pool, &x->job, x->times.marked_ns, &x->out.retry_after,
                       err));
  x->times.stage = FC_STAGE_QUEUE;
  fc_pool_enqueue(pool, &x->job);
  return FC_OK;
}

void fc_exchange_submit(fc_exchange_t *x) {
  const fc_piece_t *piece = &x->job.call.body;
  fc_error_t *error = &x->server->error;
  fc_exchange_mark(x, FC_STAGE_READ);
  if (FC_UNLIKELY(fc_dialect_of(x->server, &x->place)->framed) &&
      fc_exchange_open_message(x, error) != FC_OK) {
    fc_exchange_fail(x, error, FC_STAGE_READ);
    return;
  }
  // The decoder may read up to FC_BLOCK_TAIL bytes past the end.
  uint8_t *data =
      fc_block_data(x->server->blocks, piece->block) + piece->offset;
  memset(data + piece->size, 0, FC_BLOCK_TAIL);
  const fc_str_t body = fc_str_make((const char *)data, piece->size);
  const bool makes = x->asked.is_asking && x->place.route == FC_ROUTE_SESSIONS;
  if (makes && !fc_exchange_submit_making(x)) return;
  if (x->asked.is_asking && !makes) submit_asking(x, body);
  else if (x->act) submit_act(x, body);
  else if (submit_call(x, body, error) != FC_OK) {
    fc_exchange_fail(x, error, FC_STAGE_ADMIT);
  }
}

static fc_exchange_t *of_job(fc_job_t *job) {
  return (fc_exchange_t *)(void *)((char *)job - offsetof(fc_exchange_t, job));
}

void fc_exchange_on_done(void *context, fc_job_t *job) {
  (void)context;
  fc_exchange_t *x = of_job(job);
  fc_exchange_answer_call(x);
  x->carrier->resume(x);
}

void fc_exchange_on_expired(void *context, fc_job_t *job) {
  (void)context;
  fc_exchange_t *x = of_job(job);
  fc_exchange_answer_expired(x);
  x->carrier->resume(x);
}
