// SPDX-License-Identifier: Apache-2.0
//
// gRPC: the Open Inference Protocol's service, and the services that every gRPC server
// has (docs/grpc.md). route.def lists their methods, proto/ describes their messages for
// reflection (scripts/make-descriptors), and our clients are cli/grpc and
// python/farcall/_grpc.py. A body here is one message, without the bytes in front of it
// (exchange/message.h).
#ifndef FARCALL_SERVER_DIALECT_GRPC_H_
#define FARCALL_SERVER_DIALECT_GRPC_H_

#include "dialect/dialect.h"
#include "marshal/message.h"

// Reads the names of a model in a message (fc_message_names).
typedef fc_status_t fc_grpc_names_t(fc_str_t message, bool is_all,
                                    fc_message_names_t *out_names,
                                    fc_error_t *err);
// fc_dialect_t.peek: uses `read` to find the names in the message that the request
// begins with.
fc_status_t fc_grpc_peek(fc_grpc_names_t *read, const fc_request_t *request,
                         char kept[FC_ROUTE_KEPT], fc_route_names_t *out_names,
                         bool *out_more, fc_error_t *err);
// The place has a module. Does the request name only the module, and no function?
bool fc_grpc_names_module(fc_grpc_names_t *read, const fc_server_t *server,
                          const fc_request_t *request, const fc_place_t *place);

// Writes the message that answers a request about the server or a model.
fc_status_t fc_grpc_document(const fc_server_t *server,
                             const fc_request_t *request,
                             const fc_place_t *place,
                             fc_document_t *out_document, fc_sink_t *sink,
                             fc_error_t *err);
// Writes a field of ModelStatisticsResponse.
fc_status_t fc_grpc_write_statistics(const fc_server_t *server,
                                     const fc_generation_t *generation,
                                     const fc_function_t *function,
                                     fc_sink_t *sink, fc_error_t *err);

// Documents about all models, in parts, and acts (grpc_repository.c). `body` is the
// message.
fc_status_t fc_grpc_open_index(const fc_server_t *server, fc_str_t body,
                               fc_parts_t **out_parts, fc_error_t *err);
fc_status_t fc_grpc_open_statistics(const fc_server_t *server,
                                    fc_parts_t **out_parts, fc_error_t *err);
fc_status_t fc_grpc_begin_act(const fc_server_t *server,
                              const fc_request_t *request,
                              const fc_place_t *place, fc_str_t by,
                              fc_act_t **out_act, fc_error_t *err);
fc_status_t fc_grpc_read_act(fc_act_t *act, fc_str_t body, fc_error_t *err);
fc_status_t fc_grpc_tell_act(const fc_server_t *server, const fc_act_t *act,
                             fc_sink_t *sink, fc_error_t *err);
// Triton's settings. Those of traces are always the same. Those of the log are changed
// as `body` asks before they are written.
fc_status_t fc_grpc_write_trace(fc_sink_t *sink, fc_error_t *err);
fc_status_t fc_grpc_log(const fc_server_t *server, fc_str_t body,
                        fc_sink_t *sink, fc_error_t *err);

// Writes a HealthCheckResponse.
fc_status_t fc_grpc_tell(bool knows, bool ready, fc_sink_t *sink,
                         fc_error_t *err);

// Returns the grpc-status for an error.
fc_status_t fc_grpc_status(const fc_error_t *error);
// Writes grpc-status, grpc-message and grpc-status-details-bin as lines of a head.
fc_status_t fc_grpc_write_error(const fc_problem_t *problem, fc_sink_t *sink,
                                fc_error_t *err);

// Writes an error as a message: a ModelStreamInferResponse, {1 error_message, 2 {3
// id}}, or, for reflection, a ServerReflectionResponse.
fc_status_t fc_grpc_write_failure(const fc_problem_t *problem, fc_sink_t *sink,
                                  fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_GRPC_H_
