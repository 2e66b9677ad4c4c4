// SPDX-License-Identifier: Apache-2.0
//
// What every dialect looks at in the head of a call. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_ADMISSION_H_
#define FARCALL_SERVER_DIALECT_ADMISSION_H_

#include "dialect/dialect.h"

// How the body is compressed, and how the answer may be.
// FC_CODE_UNSUPPORTED_MEDIA_TYPE when the body is coded in a way nobody decodes.
fc_status_t fc_admission_coding(const fc_request_t *request,
                                fc_admission_t *out_admission, fc_error_t *err);
// The text of an Inference-Header-Content-Length: below UINT64_MAX, else
// FC_CODE_BINARY_FRAMING.
fc_status_t fc_admission_document(fc_str_t text, uint64_t *out_length,
                                  fc_error_t *err);
// The time its client gives the call; unchanged if it says nothing.
// FC_CODE_HTTP_SYNTAX.
fc_status_t fc_admission_timeout(const fc_request_t *request, uint64_t *out_ms,
                                 fc_error_t *err);
// The length of the body, and the time its client gives the call.
// FC_CODE_LENGTH_REQUIRED, _BODY_TOO_LARGE, _HTTP_SYNTAX (time).
fc_status_t fc_admission_body(const fc_server_t *server,
                              const fc_request_t *request,
                              fc_admission_t *out_admission, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_ADMISSION_H_
