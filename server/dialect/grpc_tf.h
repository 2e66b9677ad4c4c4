// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow Serving over gRPC: its PredictionService and ModelService (docs/grpc.md).
// They answer what /v1 answers over HTTP (tf.h). Heads of messages and errors are those
// of grpc.h.
#ifndef FARCALL_SERVER_DIALECT_GRPC_TF_H_
#define FARCALL_SERVER_DIALECT_GRPC_TF_H_

#include "dialect/grpc.h"

// Writes the message that answers a request about a model.
fc_status_t fc_grpc_tf_document(const fc_server_t *server,
                                const fc_request_t *request,
                                const fc_place_t *place,
                                fc_document_t *out_document, fc_sink_t *sink,
                                fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_GRPC_TF_H_
