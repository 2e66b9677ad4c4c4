// SPDX-License-Identifier: Apache-2.0
//
// What exchange/values.c has of the dialect of sessions: which values a request is about,
// and how a session is made. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_STATE_H_
#define FARCALL_SERVER_DIALECT_STATE_H_

#include "dialect/dialect.h"
#include "pool/order.h"

// Reads what a GET or PUT of a value, or an export, asks for. FC_CODE_JSON_SCHEMA: no value
// can have the name. FC_CODE_UNKNOWN_FIELD: the slice cannot be one. The forms of body and
// answer are refused as by fc_native_admit.
fc_status_t fc_state_order(const fc_server_t *server,
                           const fc_request_t *request, const fc_place_t *place,
                           fc_admission_t *out_admission,
                           fc_value_order_t *out_order,
                           fc_error_t *err) FC_MUST_CHECK;
// Is the body of a POST that makes a session a file of its values?
bool fc_state_imports(const fc_request_t *request);
// The query of such a POST says what the session is to be: writes that into `order->slice`
// as the JSON that a body would have.
fc_status_t fc_state_read_query(const fc_request_t *request,
                                fc_value_order_t *order,
                                fc_error_t *err) FC_MUST_CHECK;
// FC_CODE_NOT_READY: the generation of the place is not loaded.
fc_status_t fc_state_check_ready(const fc_server_t *server,
                                 const fc_place_t *place,
                                 fc_error_t *err) FC_MUST_CHECK;
// Makes a session of the place's module, for its client. `body`: what the session is asked
// to be, "" for nothing. *out_fills: it has values, which are not read here.
fc_status_t fc_state_make(const fc_server_t *server, const fc_place_t *place,
                          fc_str_t body, fc_session_t **out_session,
                          bool *out_fills, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_DIALECT_STATE_H_
