// SPDX-License-Identifier: Apache-2.0
//
// Calls about a session that run no function, but an order (pool/order.h). The order
// lies in front of the body, in room reserved in the body's block. A session with
// values is made when its body is complete; then a call writes the values into it. If
// that call fails, or its client leaves, the session ends.
#include "dialect/admission.h"
#include "dialect/state.h"
#include "exchange/answer.h"
#include "exchange/body.h"

#define LEAD ((uint32_t)sizeof(fc_value_order_t))

static fc_value_order_t *order_of(const fc_exchange_t *x) {
  return (fc_value_order_t *)(void *)fc_block_data(x->server->blocks,
                                                   x->job.call.body.block);
}

// Opens the body after its order. `audience` may read the body in place; it is nobody if
// the loop reads the body.
static fc_status_t open_body(fc_exchange_t *x, const fc_request_t *request,
                             const fc_value_order_t *order, uint64_t audience,
                             fc_error_t *err) {
  fc_piece_t *body = &x->job.call.body;
  FC_TRY(fc_body_open(body, x->server->blocks, &x->job.caller, audience,
                      LEAD + request->length, err));
  memcpy(order_of(x), order, sizeof *order);
  body->offset = LEAD;
  return FC_OK;
}

static fc_admission_t begin(fc_exchange_t *x) {
  memset(x->job.call.parameters, 0, sizeof x->job.call.parameters);
  return (fc_admission_t){.parameters = x->job.call.parameters};
}

static fc_status_t fill(fc_exchange_t *x, const fc_request_t *request,
                        const fc_admission_t *admission, fc_error_t *err) {
  const size_t none = fc_module_function_count(x->generation->module);
  return fc_exchange_fill_call(x, request, admission, (uint32_t)none, err);
}

bool fc_exchange_is_order(const fc_exchange_t *x) {
  return x->place.route == FC_ROUTE_SESSION_EXPORT ||
         (x->place.route == FC_ROUTE_SESSION_VALUE &&
          x->asked.method != FC_METHOD_DELETE);
}

fc_status_t fc_exchange_admit_order(fc_exchange_t *x,
                                    const fc_request_t *request,
                                    fc_error_t *err) {
  fc_value_order_t order;
  fc_admission_t admission = begin(x);
  if (request->method != FC_METHOD_PUT &&
      (request->length || request->fields[FC_FIELD_TRANSFER_ENCODING].data)) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX, "%s here has no body",
                   request->method_name);
  }
  FC_TRY(
      fc_state_order(x->server, request, &x->place, &admission, &order, err));
  FC_TRY(fc_exchange_enter_session(x, request, err));
  FC_TRY(fill(x, request, &admission, err));
  FC_TRY(fc_pool_admit(x->server->pool, &x->job, x->times.marked_ns,
                       &x->out.retry_after, err));
  return open_body(x, request, &order,
                   fc_pool_audience(x->server->pool, x->place.module), err);
}

void fc_exchange_take_order(fc_exchange_t *x) {
  fc_piece_t *body = &x->job.call.body;
  if (!fc_exchange_is_order(x) && x->place.route != FC_ROUTE_SESSIONS) return;
  body->offset -= LEAD;
  body->size += LEAD;
}

// ---------------------------------------------------------------------------
// Making sessions

static fc_status_t check_size(uint64_t size, uint64_t most, fc_error_t *err) {
  if (size <= most) return FC_OK;
  return fc_fail(err, FC_CODE_BODY_TOO_LARGE,
                 "the body of %llu bytes exceeds %llu: larger values are put "
                 "later, or imported",
                 (unsigned long long)size, (unsigned long long)most);
}

static fc_status_t check_making(const fc_exchange_t *x, bool imports,
                                uint64_t size, fc_error_t *err) {
  const uint64_t most =
      imports ? x->server->options->max_body : FC_LIMIT_ASKING;
  return check_size(size, most, err);
}

fc_status_t fc_exchange_admit_making(fc_exchange_t *x,
                                     const fc_request_t *request,
                                     fc_error_t *err) {
  const bool imports = fc_state_imports(request);
  fc_value_order_t order = {.kind = imports ? FC_ORDER_IMPORT : FC_ORDER_FILL};
  fc_admission_t admission = begin(x);
  FC_TRY(check_making(x, imports, request->length, err));
  FC_TRY(fc_state_read_query(request, &order, err));
  FC_TRY(fc_admission_coding(request, &admission, err));
  admission.answer_coding = FC_CODING_NONE;
  if (admission.body_coding && !imports) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_MEDIA_TYPE,
                   "a document that makes a session comes uncompressed");
  }
  FC_TRY(fc_admission_timeout(request, &admission.timeout_ms, err));
  FC_TRY(fc_state_check_ready(x->server, &x->place, err));
  FC_TRY(fill(x, request, &admission, err));
  return open_body(x, request, &order, FC_AUDIENCE_NONE, err);
}

static fc_status_t make(fc_exchange_t *x, bool *out_fills, fc_error_t *err) {
  const fc_piece_t *body = &x->job.call.body;
  const bool imports = order_of(x)->kind == FC_ORDER_IMPORT;
  const fc_str_t text =
      fc_str_make((const char *)order_of(x) + body->offset, body->size);
  fc_session_t *session;
  const fc_value_order_t *order = order_of(x);
  const fc_str_t query = fc_str_make(order->slice, order->slice_size);
  FC_TRY(check_making(x, imports, body->size, err));
  const bool asks = body->size && !imports;
  if (asks && query.size) {
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                   "the document says what the session is to be, or the query "
                   "does: not both");
  }
  FC_TRY(fc_state_make(x->server, &x->place, asks ? text : query, &session,
                       out_fills, err));
  fc_session_pin(session);
  x->joined.session = session;
  *out_fills |= imports;
  return FC_OK;
}

static void tell(fc_exchange_t *x) {
  x->place.session = x->joined.session;
  fc_exchange_document(
      x, &(fc_request_t){.method = FC_METHOD_POST, .method_name = "POST"});
}

bool fc_exchange_submit_making(fc_exchange_t *x) {
  fc_error_t *error = &x->server->error;
  bool fills;
  if (make(x, &fills, error) != FC_OK) {
    fc_exchange_fail(x, error, FC_STAGE_COUNT);
    return false;
  }
  if (!fills) {
    tell(x);
    return false;
  }
  x->job.call.flags |= FC_CALL_SESSION;
  x->job.claim = &x->joined.session->claim;
  return true;
}

// The call that wrote the values has an empty answer, so the answer is made here.
void fc_exchange_answer_made(fc_exchange_t *x) {
  fc_outcome_t *outcome = x->job.outcome;
  memcpy(x->out.pieces, outcome->pieces,
         outcome->piece_count * sizeof *outcome->pieces);
  x->out.count = outcome->piece_count;
  outcome->piece_count = 0;
  fc_exchange_sent(x);
  fc_pool_finish(x->server->pool, &x->job);
  tell(x);
}
