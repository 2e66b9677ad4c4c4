// SPDX-License-Identifier: Apache-2.0
//
// The REST protocol of TensorFlow Serving, which is also KServe's first protocol, below
// /v1. Tensors have names, as in oip.h, and errors have the status and body of /v2.
#ifndef FARCALL_SERVER_DIALECT_TF_H_
#define FARCALL_SERVER_DIALECT_TF_H_

#include "dialect/dialect.h"

fc_status_t fc_tf_document(const fc_server_t *server,
                           const fc_request_t *request, const fc_place_t *place,
                           fc_document_t *out_document, fc_sink_t *sink,
                           fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_TF_H_
