// SPDX-License-Identifier: Apache-2.0
//
// Reflection: programs that know no service beforehand, such as grpcurl, ask the server for
// the files that describe what it answers. They are the same for all clients.
#ifndef FARCALL_SERVER_DIALECT_GRPC_REFLECTION_H_
#define FARCALL_SERVER_DIALECT_GRPC_REFLECTION_H_

#include "dialect/dialect.h"

// Writes the ServerReflectionResponse to a ServerReflectionRequest. What there is not is an
// answer, too, and so is what is no request. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_grpc_reflect(fc_str_t body, fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_GRPC_REFLECTION_H_
