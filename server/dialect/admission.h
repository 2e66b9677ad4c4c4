// SPDX-License-Identifier: Apache-2.0
//
// What every dialect looks at in the head of a call. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_ADMISSION_H_
#define FARCALL_SERVER_DIALECT_ADMISSION_H_

#include "dialect/dialect.h"

// Reads how the body is compressed, and how the answer may be.
// FC_CODE_UNSUPPORTED_MEDIA_TYPE when the body is coded in a way nobody
// decodes.
fc_status_t fc_admission_coding(const fc_request_t *request,
                                fc_admission_t *out_admission, fc_error_t *err);
// Reads the text of an Inference-Header-Content-Length: a number of bytes below
// UINT64_MAX, else FC_CODE_BINARY_FRAMING.
fc_status_t fc_admission_document(fc_str_t text, uint64_t *out_length,
                                  fc_error_t *err);
// Reads the time that the client gives the call, in milliseconds; *out_ms stays
// as it is if the client says nothing. FC_CODE_HTTP_SYNTAX.
fc_status_t fc_admission_timeout(const fc_request_t *request, uint64_t *out_ms,
                                 fc_error_t *err);
// Checks the length of the body, and reads the time that the client gives the
// call. FC_CODE_LENGTH_REQUIRED, _BODY_TOO_LARGE, _HTTP_SYNTAX (time).
fc_status_t fc_admission_body(const fc_server_t *server,
                              const fc_request_t *request,
                              fc_admission_t *out_admission, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_ADMISSION_H_
