// SPDX-License-Identifier: Apache-2.0
//
// Readers that several dialects share: they read fields of a request's head. Loop
// thread.
#ifndef FARCALL_SERVER_DIALECT_ADMISSION_H_
#define FARCALL_SERVER_DIALECT_ADMISSION_H_

#include "config/priority.h"
#include "dialect/dialect.h"

// Reads how the body is compressed, and how the answer may be compressed.
// FC_CODE_UNSUPPORTED_MEDIA_TYPE: Content-Encoding is present, and is not gzip, x-gzip,
// deflate or identity.
fc_status_t fc_admission_coding(const fc_request_t *request,
                                fc_admission_t *out_admission, fc_error_t *err);
// Reads the text of an Inference-Header-Content-Length: a number of bytes below
// UINT64_MAX, else FC_CODE_BINARY_FRAMING.
fc_status_t fc_admission_document(fc_str_t text, uint64_t *out_length,
                                  fc_error_t *err);
// Reads grpc-encoding: *out_coding is the coding of messages whose head says that they
// are compressed. FC_CODE_UNSUPPORTED_MEDIA_TYPE: neither gzip nor deflate.
fc_status_t fc_admission_message_coding(const fc_request_t *request,
                                        uint8_t *out_coding, fc_error_t *err);
// Reads how long the client gives the call, from Farcall-Timeout-Ms or, in gRPC, from
// grpc-timeout. *out_ms stays unchanged if the field is absent. FC_CODE_HTTP_SYNTAX:
// Farcall-Timeout-Ms is not a number above 0 of at most 12 digits, or grpc-timeout is
// malformed.
fc_status_t fc_admission_timeout(const fc_request_t *request, uint64_t *out_ms,
                                 fc_error_t *err);
// Reads Farcall-Priority; without it the call gets fc_priorities_default.
// FC_CODE_HTTP_SYNTAX: the value is not a whole number from -4 to 4. FC_CODE_FORBIDDEN:
// it is not in the range.
fc_status_t fc_admission_priority(const fc_request_t *request,
                                  const fc_priorities_t *range,
                                  int8_t *out_priority, fc_error_t *err);
// Checks that the head announces a body, and that its length, if given, is at most
// --max-body. Then reads the time as fc_admission_timeout does. FC_CODE_LENGTH_REQUIRED,
// _BODY_TOO_LARGE, _HTTP_SYNTAX (time).
fc_status_t fc_admission_body(const fc_server_t *server,
                              const fc_request_t *request,
                              fc_admission_t *out_admission, fc_error_t *err);

// Reads from Accept in which form parts are sent. FC_CODE_NOT_ACCEPTABLE.
fc_status_t fc_admission_parts(const fc_request_t *request,
                               fc_admission_t *out_admission,
                               fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_DIALECT_ADMISSION_H_
