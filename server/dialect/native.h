// SPDX-License-Identifier: Apache-2.0
//
// The native dialect, /api/v1: a JSON call document in, {"results":[…]} out, or one
// of the other forms of native_form.def. Its worker half is the codec of libfarcall.
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

// What calls about values of a session have of the native dialect (state.c)

// Reads how body and answer are coded, and in which forms they are, into the parameters:
// the first part of what fc_native_admit reads.
fc_status_t fc_native_read_forms(const fc_server_t *server,
                                 const fc_request_t *request,
                                 fc_admission_t *out_admission,
                                 fc_error_t *err);
// The answer is a safetensors file. FC_CODE_NOT_ACCEPTABLE.
fc_status_t fc_native_read_export(const fc_request_t *request,
                                  fc_admission_t *out_admission,
                                  fc_error_t *err);
// DECODE of one value of any type. FC_CODE_UNSUPPORTED_MEDIA_TYPE of raw bytes behind a
// document.
fc_status_t fc_native_decode_value(fc_frame_t *frame, fc_str_t body,
                                   const uint8_t *parameters, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_NATIVE_H_
