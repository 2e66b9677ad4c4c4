// SPDX-License-Identifier: Apache-2.0
//
// gRPC's reflection: a program that does not know the services, such as grpcurl, asks
// the server for the .proto descriptors of its services. They are the same for all
// clients.
#ifndef FARCALL_SERVER_DIALECT_GRPC_REFLECTION_H_
#define FARCALL_SERVER_DIALECT_GRPC_REFLECTION_H_

#include "dialect/dialect.h"

// Writes the ServerReflectionResponse to a ServerReflectionRequest. If the request
// cannot be read, or asks for something that does not exist, the response is an
// error_response. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_grpc_reflect(fc_str_t body, fc_sink_t *sink, fc_error_t *err);

// Writes a response that is an error_response.
fc_status_t fc_grpc_reflect_error(fc_status_t status, fc_str_t text,
                                  fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_GRPC_REFLECTION_H_
