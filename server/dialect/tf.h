// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow Serving's REST protocol, KServe's first, below /v1. Tensors by name, as
// oip.h's: an error's status and body are those of /v2.
#ifndef FARCALL_SERVER_DIALECT_TF_H_
#define FARCALL_SERVER_DIALECT_TF_H_

#include "dialect/dialect.h"

fc_status_t fc_tf_document(const fc_server_t *server,
                           const fc_request_t *request, const fc_place_t *place,
                           fc_document_t *out_document, fc_sink_t *sink,
                           fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_TF_H_
