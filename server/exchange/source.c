// SPDX-License-Identifier: Apache-2.0
//
// https://html.spec.whatwg.org/#server-sent-events: when a stream ends, the browser
// requests it again, with the id of the last event that had one. Status 204 makes it
// stop.
#include "exchange/source.h"

#include "exchange/forwarded.h"
#include "pool/turn.h"

// Does the request ask for an iteration by GET?
static bool asks(const fc_exchange_t *x, const fc_request_t *request) {
  fc_place_t place;
  fc_error_t ignored;
  return request->method == FC_METHOD_GET && !request->has_body &&
         fc_request_query(request->query, FC_STR("iterate")).data &&
         fc_route_match(x->server->routes, request, &place, &ignored) ==
             FC_OK &&
         place.route == FC_ROUTE_FUNCTION;
}

// Returns the POST that the GET stands for. `input` is still encoded. Borrows from
// `request`.
static fc_request_t call_of(const fc_request_t *request) {
  fc_request_t call = *request;
  const fc_str_t input = fc_request_query(request->query, FC_STR("input"));
  call.method = FC_METHOD_POST;
  call.has_body = true;
  call.input = input.data ? input : FC_STR("");
  call.length = call.input.size;
  call.fields[FC_FIELD_CONTENT_TYPE] = FC_STR("application/json");
  call.fields[FC_FIELD_CONTENT_ENCODING] = (fc_str_t){0};
  call.fields[FC_FIELD_DOCUMENT] = (fc_str_t){0};
  return call;
}

// Was the Origin checked, or does the browser say that the page is from this server?
// Browsers say so over https, and to this machine.
static bool is_of_page(const fc_request_t *call) {
  fc_str_t site;
  return call->fields[FC_FIELD_ORIGIN].size ||
         (fc_forwarded_last(call, FC_STR("sec-fetch-site"), &site) &&
          fc_str_equal(site, FC_STR("same-origin")));
}

static fc_status_t check(const fc_request_t *call, fc_error_t *err) {
  const fc_part_row_t *form = &fc_part_rows[FC_PART_FORM_SOURCE];
  const fc_str_t accept = call->fields[FC_FIELD_ACCEPT];
  if (!fc_request_same_text(accept, form->text)) {
    fc_status_t status =
        fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                "a GET with 'iterate' is answered with %.*s alone",
                FC_STR_ARG(form->text));
    fc_error_expected(err, "%.*s", FC_STR_ARG(form->text));
    fc_error_got(err, accept);
    return status;
  }
  if (is_of_page(call)) return FC_OK;
  return fc_fail(err, FC_CODE_ORIGIN_NOT_ALLOWED,
                 "a GET with 'iterate' has an Origin, or 'Sec-Fetch-Site: "
                 "same-origin', which browsers send by https or to this "
                 "machine: else it is a POST");
}

fc_status_t fc_source_check(fc_exchange_t *x, const fc_request_t *call,
                            fc_status_t status, fc_error_t *err) {
  fc_str_t last;
  // For a module that is not loaded yet, it is not known whether it has the function.
  const bool found = status == FC_OK || err->code == FC_CODE_NOT_READY;
  if (!found || x->place.route != FC_ROUTE_FUNCTION) return status;
  fc_error_t error;
  fc_error_reset(&error);
  if (check(call, &error) != FC_OK) {
    *err = error;
    return error.status;
  }
  x->asked.is_over = fc_forwarded_last(call, FC_STR("last-event-id"), &last) &&
                     fc_str_equal(last, FC_STR(FC_PART_LAST_ID));
  return x->asked.is_over ? FC_OK : status;
}

// Replaces '+' by a space, which forms encode as '+'.
static size_t unplus(fc_str_t text, char *out) {
  for (size_t i = 0; i < text.size; i++) {
    out[i] = text.data[i] == '+' ? ' ' : text.data[i];
  }
  return text.size;
}

// Takes `input` as the body of the admitted call.
static fc_status_t take(fc_exchange_t *x, const fc_request_t *call,
                        fc_error_t *err) {
  char text[FC_LIMIT_TARGET];
  size_t size = unplus(call->input, text);
  if (!size || !fc_percent_decode(fc_str_make(text, size), text, &size)) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX,
                   size ? "'input' has a wrong percent-encoding"
                        : "a GET with 'iterate' has its document in 'input'");
  }
  x->job.call.parts = FC_PART_FORM_SOURCE;
  return fc_exchange_append(x, fc_str_make(text, size), 0, err);
}

// A GET for an iteration becomes a POST here, and counts as a call.
fc_status_t fc_exchange_admit(fc_exchange_t *x, const fc_request_t *request,
                              fc_error_t *err) {
  if (FC_UNLIKELY(request->method == FC_METHOD_GET) && asks(x, request)) {
    const fc_request_t call = call_of(request);
    x->asked.method = FC_METHOD_POST;
    x->asked.is_source = true;
    FC_TRY(fc_exchange_admit_as(x, &call, err));
    return x->asked.is_call ? take(x, &call, err) : FC_OK;
  }
  return fc_exchange_admit_as(x, request, err);
}
