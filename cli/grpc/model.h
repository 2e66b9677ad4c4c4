// SPDX-License-Identifier: Apache-2.0
//
// A model of a server of the Open Inference Protocol, asked by gRPC: its name on the
// command line, what its metadata say of it, and requests of it. Functions that return an
// int return an exit code, and have complained if it isn't 0.
#ifndef FARCALL_CLI_GRPC_MODEL_H_
#define FARCALL_CLI_GRPC_MODEL_H_

#include "grpc/rpc.h"
#include "marshal/message_client.h"
#include "remote.h"

typedef struct fc_rpc_model_t {
  const char *name;
  const char *version;  // "": none was given
  // Its inputs and its outputs.
  size_t counts[2];
  fc_echo_tensor_t *tensors[2];
  fc_echo_t echoes[2];
  fc_frame_t *frames[2];
  fc_text_t request;
} fc_rpc_model_t;

// Makes the call; an answer that is an error is complained about.
int fc_rpc_get(const fc_args_t *args, const fc_remote_t *server,
               const char *method, fc_str_t message, fc_rpc_reply_t *out_reply);
// Complains about an answer that cannot be read.
int fc_rpc_strange(const fc_remote_t *server, const fc_error_t *err);
// Refuses options that are of HTTP alone.
int fc_rpc_check_options(const fc_args_t *args);

// Opens the model that the one word names: NAME[@VERSION], or MODULE[@VERSION]/FUNCTION of
// a farcalld. Also after a failure it must be closed.
int fc_rpc_model_open(const fc_args_t *args, const fc_remote_t *server,
                      fc_rpc_model_t *out_model);
void fc_rpc_model_close(fc_rpc_model_t *model);

// Makes model->request of the command line's arguments.
int fc_rpc_model_ask(const fc_args_t *args, fc_rpc_model_t *model);
// Makes it of zeros, or of empty texts, with 1 for each dim that is not fixed.
fc_status_t fc_rpc_model_fill(fc_rpc_model_t *model, fc_error_t *err);

#endif  // FARCALL_CLI_GRPC_MODEL_H_
