// SPDX-License-Identifier: Apache-2.0
//
// Asking about a function: its forms (?format=), an example of a call, and the
// conditions that a request makes (If-Match, If-None-Match). The entity tag is the
// digest of the function, which covers the module's file, or that of the module. Loop
// thread.
#ifndef FARCALL_SERVER_DIALECT_QUERY_H_
#define FARCALL_SERVER_DIALECT_QUERY_H_

#include "dialect/dialect.h"

// Fills in what the head of a document's answer says, and checks the conditions
// that the request makes (fc_query_check).
fc_status_t fc_query_document(const fc_request_t *request,
                              const fc_place_t *place,
                              const fc_generations_t *generations,
                              fc_document_t *out_document, fc_error_t *err);

// RFC 9110 13.1: checks If-Match and If-None-Match against a digest. When a
// field comes twice the first counts. FC_CODE_PRECONDITION_FAILED if a
// condition does not hold; but if If-None-Match of GET or HEAD does not,
// *out_not_modified is set. FC_CODE_NOT_READY if the digest is "", not known
// yet, and is needed.
fc_status_t fc_query_check(const fc_request_t *request, fc_str_t digest,
                           bool *out_not_modified, fc_error_t *err);

// Writes the form that `query` names; parameter.c has checked the name.
// FC_CODE_NOT_ACCEPTABLE when the function has no such form.
fc_status_t fc_query_write(const fc_function_t *function, fc_str_t query,
                           fc_sink_t *sink, fc_error_t *err);
// Writes an example of a call, that of the name in `query` if one stands there.
// FC_CODE_UNSUPPORTED_TYPE when the function cannot be called, FC_CODE_UNKNOWN_FIELD when
// there is no such name, FC_CODE_TENSOR_TOO_LARGE above FC_EXAMPLE_SIZE_MAX.
fc_status_t fc_query_example(const fc_function_t *function, fc_str_t query,
                             fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_QUERY_H_
