// SPDX-License-Identifier: Apache-2.0
//
// What several dialects read: fields of a call's head, members of other bodies. Loop
// thread.
#ifndef FARCALL_SERVER_DIALECT_ADMISSION_H_
#define FARCALL_SERVER_DIALECT_ADMISSION_H_

#include "config/priority.h"
#include "dialect/dialect.h"

// Reads how the body is compressed, and how the answer may be.
// FC_CODE_UNSUPPORTED_MEDIA_TYPE unless Content-Encoding is gzip, x-gzip, deflate or
// identity, or absent.
fc_status_t fc_admission_coding(const fc_request_t *request,
                                fc_admission_t *out_admission, fc_error_t *err);
// Reads the text of an Inference-Header-Content-Length: a number of bytes below
// UINT64_MAX, else FC_CODE_BINARY_FRAMING.
fc_status_t fc_admission_document(fc_str_t text, uint64_t *out_length,
                                  fc_error_t *err);
// Reads grpc-encoding: *out_coding is how a message that says it is compressed is so.
// FC_CODE_UNSUPPORTED_MEDIA_TYPE: neither gzip nor deflate.
fc_status_t fc_admission_message_coding(const fc_request_t *request,
                                        uint8_t *out_coding, fc_error_t *err);
// Reads Farcall-Timeout-Ms, the time that the client gives the call, or grpc-timeout of a
// request of gRPC; *out_ms stays as it is if the field is absent. FC_CODE_HTTP_SYNTAX
// unless the first is a number above 0 of at most 12 digits, or if the second is
// malformed.
fc_status_t fc_admission_timeout(const fc_request_t *request, uint64_t *out_ms,
                                 fc_error_t *err);
// Reads Farcall-Priority; without it the call has fc_priorities_default.
// FC_CODE_HTTP_SYNTAX unless it is a whole number from -4 to 4, FC_CODE_FORBIDDEN if it
// is not in the range.
fc_status_t fc_admission_priority(const fc_request_t *request,
                                  const fc_priorities_t *range,
                                  int8_t *out_priority, fc_error_t *err);
// Checks that a body is announced, and that its length, if the head says it, is at most
// --max-body; then reads the time as fc_admission_timeout does.
// FC_CODE_LENGTH_REQUIRED, _BODY_TOO_LARGE, _HTTP_SYNTAX (time).
fc_status_t fc_admission_body(const fc_server_t *server,
                              const fc_request_t *request,
                              fc_admission_t *out_admission, fc_error_t *err);

// Chooses the form of an answer in parts by Accept. FC_CODE_NOT_ACCEPTABLE.
fc_status_t fc_admission_parts(const fc_request_t *request,
                               fc_admission_t *out_admission,
                               fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_DIALECT_ADMISSION_H_
