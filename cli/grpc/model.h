// SPDX-License-Identifier: Apache-2.0
//
// A model on a server of the Open Inference Protocol, over gRPC: its name on the command
// line, its metadata, and requests. Functions that return an int return an exit code,
// after a complaint if it isn't 0.
#ifndef FARCALL_CLI_GRPC_MODEL_H_
#define FARCALL_CLI_GRPC_MODEL_H_

#include "grpc/rpc.h"
#include "marshal/message_client.h"
#include "remote.h"

typedef struct fc_rpc_model_t {
  const char *name;
  const char *version;  // "": not given
  // For each of these arrays: [0] for the inputs, [1] for the outputs.
  size_t counts[2];
  fc_echo_tensor_t *tensors[2];
  fc_echo_t echoes[2];
  fc_frame_t *frames[2];
  fc_text_t request;
} fc_rpc_model_t;

// Makes the call. Complains if the answer is an error.
int fc_rpc_get(const fc_args_t *args, const fc_remote_t *server,
               const char *method, fc_str_t message, fc_rpc_reply_t *out_reply);
// Complains about an answer that cannot be read.
int fc_rpc_strange(const fc_remote_t *server, const fc_error_t *err);
// Refuses options that work only over HTTP.
int fc_rpc_check_options(const fc_args_t *args);

// Opens the model that the only word of the command line names: NAME[@VERSION], or
// MODULE[@VERSION]/FUNCTION of a farcalld. The model must be closed, also after a
// failure.
int fc_rpc_model_open(const fc_args_t *args, const fc_remote_t *server,
                      fc_rpc_model_t *out_model);
void fc_rpc_model_close(fc_rpc_model_t *model);

// Makes model->request from the command line's arguments.
int fc_rpc_model_ask(const fc_args_t *args, fc_rpc_model_t *model);
// Makes model->request from zeros or empty texts, with 1 for each dynamic dim.
fc_status_t fc_rpc_model_fill(fc_rpc_model_t *model, fc_error_t *err);

#endif  // FARCALL_CLI_GRPC_MODEL_H_
