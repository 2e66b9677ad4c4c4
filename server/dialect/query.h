// SPDX-License-Identifier: Apache-2.0
//
// Requests about a function: its forms (?format=), an example of a call, and
// preconditions (If-Match, If-None-Match). The entity tag is the digest of the function,
// which covers the module's file, or the digest of the module. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_QUERY_H_
#define FARCALL_SERVER_DIALECT_QUERY_H_

#include "dialect/dialect.h"

// Sets the head of a document's answer, and checks the preconditions of the request
// (fc_query_check).
fc_status_t fc_query_document(const fc_request_t *request,
                              const fc_place_t *place,
                              const fc_generations_t *generations,
                              fc_document_t *out_document, fc_error_t *err);

// Checks If-Match and If-None-Match against a digest (RFC 9110 13.1). If a field comes
// twice, the first counts. FC_CODE_PRECONDITION_FAILED: a precondition does not hold.
// Only If-None-Match of a GET or HEAD never fails: *out_not_modified is set instead.
// FC_CODE_NOT_READY: the digest is needed and is "", which means that it is not known
// yet.
fc_status_t fc_query_check(const fc_request_t *request, fc_str_t digest,
                           bool *out_not_modified, fc_error_t *err);

// Writes the form that `query` names; parameter.c has checked the name.
// FC_CODE_NOT_ACCEPTABLE: the function has no such form.
fc_status_t fc_query_write(const fc_function_t *function, fc_str_t query,
                           fc_sink_t *sink, fc_error_t *err);
// Writes an example of a call: the one that `query` names, or the default one.
// FC_CODE_UNSUPPORTED_TYPE: the function cannot be called. FC_CODE_UNKNOWN_FIELD: it has
// no example of that name. FC_CODE_TENSOR_TOO_LARGE: the example exceeds
// FC_EXAMPLE_SIZE_MAX.
fc_status_t fc_query_example(const fc_function_t *function, fc_str_t query,
                             fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_QUERY_H_
