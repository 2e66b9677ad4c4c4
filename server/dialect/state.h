// SPDX-License-Identifier: Apache-2.0
//
// What exchange/values.c uses of the sessions' dialect: reading which values a request is
// about, and making a session. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_STATE_H_
#define FARCALL_SERVER_DIALECT_STATE_H_

#include "dialect/dialect.h"
#include "pool/order.h"

// Reads what a GET or PUT of a value, or an export, asks for. FC_CODE_JSON_SCHEMA: no
// value can have the name. FC_CODE_UNKNOWN_FIELD: the slice is malformed. Errors about
// the forms of body and answer are those of fc_native_admit.
fc_status_t fc_state_order(const fc_server_t *server,
                           const fc_request_t *request, const fc_place_t *place,
                           fc_admission_t *out_admission,
                           fc_value_order_t *out_order,
                           fc_error_t *err) FC_MUST_CHECK;
// Is the body of a POST that makes a session a file of its values?
bool fc_state_imports(const fc_request_t *request);
// Reads the properties of the new session from the query of such a POST, and writes them
// to `order->slice` in the JSON form of a body.
fc_status_t fc_state_read_query(const fc_request_t *request,
                                fc_value_order_t *order,
                                fc_error_t *err) FC_MUST_CHECK;
// FC_CODE_NOT_READY: the generation of the place is not loaded.
fc_status_t fc_state_check_ready(const fc_server_t *server,
                                 const fc_place_t *place,
                                 fc_error_t *err) FC_MUST_CHECK;
// Makes a session of the place's module for its client. `body` has the properties of the
// session; "" for defaults. *out_fills: the body has values, which are not read here.
fc_status_t fc_state_make(const fc_server_t *server, const fc_place_t *place,
                          fc_str_t body, fc_session_t **out_session,
                          bool *out_fills, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_DIALECT_STATE_H_
