// SPDX-License-Identifier: Apache-2.0
//
// Reflection: programs that know no service beforehand, such as grpcurl, ask the server for
// the files that describe what it answers. They are the same for all clients.
#ifndef FARCALL_SERVER_DIALECT_GRPC_REFLECTION_H_
#define FARCALL_SERVER_DIALECT_GRPC_REFLECTION_H_

#include "dialect/dialect.h"

// Writes the ServerReflectionResponse to a ServerReflectionRequest. A request
// for something that is not here, or that cannot be read, is answered by an
// error_response. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_grpc_reflect(fc_str_t body, fc_sink_t *sink, fc_error_t *err);

// Writes one that says an error.
fc_status_t fc_grpc_reflect_error(fc_status_t status, fc_str_t text,
                                  fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_GRPC_REFLECTION_H_
