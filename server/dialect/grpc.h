// SPDX-License-Identifier: Apache-2.0
//
// gRPC: the Open Inference Protocol's service and those that every server of gRPC has
// (docs/grpc.md). The routes of route.def say which methods there are; a body here is a
// message without the bytes in front of it (exchange/message.h).
#ifndef FARCALL_SERVER_DIALECT_GRPC_H_
#define FARCALL_SERVER_DIALECT_GRPC_H_

#include "dialect/dialect.h"
#include "marshal/message.h"

// Reads the names of a model in a message (fc_message_names).
typedef fc_status_t fc_grpc_names_t(fc_str_t message, bool is_all,
                                    fc_message_names_t *out_names,
                                    fc_error_t *err);
// fc_dialect_t.peek, by such a reader.
fc_status_t fc_grpc_peek(fc_grpc_names_t *read, const fc_request_t *request,
                         char kept[FC_ROUTE_KEPT], fc_route_names_t *out_names,
                         bool *out_more, fc_error_t *err);
// Does the request of this place name the module alone, and no function of it?
bool fc_grpc_names_module(fc_grpc_names_t *read, const fc_server_t *server,
                          const fc_request_t *request, const fc_place_t *place);

// Writes the message that answers a request about the server or a model.
fc_status_t fc_grpc_document(const fc_server_t *server,
                             const fc_request_t *request,
                             const fc_place_t *place,
                             fc_document_t *out_document, fc_sink_t *sink,
                             fc_error_t *err);
// What grpc-status says of an error.
fc_status_t fc_grpc_status(const fc_error_t *error);
// Writes grpc-status, grpc-message and grpc-status-details-bin as lines of a head.
fc_status_t fc_grpc_write_error(const fc_problem_t *problem, fc_sink_t *sink,
                                fc_error_t *err);

// Writes a ModelStreamInferResponse, {1 error_message, 2 {3 id}}.
fc_status_t fc_grpc_write_failure(const fc_problem_t *problem, fc_sink_t *sink,
                                  fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_GRPC_H_
