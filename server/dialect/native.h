// SPDX-License-Identifier: Apache-2.0
//
// The native dialect, /api/v1. It takes a JSON call document and answers {"results":[…]},
// or uses another form of native_form.def. Its worker half is libfarcall's codec.
#ifndef FARCALL_SERVER_DIALECT_NATIVE_H_
#define FARCALL_SERVER_DIALECT_NATIVE_H_

#include "dialect/dialect.h"

// Reads the head of a call. FC_CODE_UNSUPPORTED_MEDIA_TYPE, _NOT_ACCEPTABLE,
// _BINARY_FRAMING, _LENGTH_REQUIRED, _BODY_TOO_LARGE, _HTTP_SYNTAX (time),
// _UNKNOWN_FIELD (?profile= of a call that is only checked).
fc_status_t fc_native_admit(const fc_server_t *server,
                            const fc_request_t *request,
                            const fc_place_t *place,
                            fc_admission_t *out_admission, fc_error_t *err);

// Functions for calls about values of a session (state.c)

// Reads the coding and the form of body and answer into the parameters. This is the first
// part of fc_native_admit.
fc_status_t fc_native_read_forms(const fc_server_t *server,
                                 const fc_request_t *request,
                                 fc_admission_t *out_admission,
                                 fc_error_t *err);
// Makes the answer a safetensors file. FC_CODE_NOT_ACCEPTABLE: the client does not accept
// one.
fc_status_t fc_native_read_export(const fc_request_t *request,
                                  fc_admission_t *out_admission,
                                  fc_error_t *err);
// DECODE of one value of any type. FC_CODE_UNSUPPORTED_MEDIA_TYPE: raw bytes follow the
// document.
fc_status_t fc_native_decode_value(fc_frame_t *frame, fc_str_t body,
                                   const uint8_t *parameters, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_NATIVE_H_
