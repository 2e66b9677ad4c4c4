// SPDX-License-Identifier: Apache-2.0
//
// Verbs with --server=grpc://HOST:PORT, which may be any server of the Open Inference
// Protocol. Each returns an exit code, after a complaint if it isn't 0.
#ifndef FARCALL_CLI_GRPC_VERBS_H_
#define FARCALL_CLI_GRPC_VERBS_H_

#include "cli.h"
#include "client.h"

// Calls the model that the only word of the command line names: NAME[@VERSION], or
// MODULE[@VERSION]/FUNCTION of a farcalld.
int fc_rpc_call(const fc_args_t *args, const fc_remote_t *server);
int fc_rpc_ls(const fc_args_t *args, const fc_remote_t *server);

#endif  // FARCALL_CLI_GRPC_VERBS_H_
