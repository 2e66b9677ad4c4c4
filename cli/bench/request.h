// SPDX-License-Identifier: Apache-2.0
//
// Makes the request that `farcall bench` sends, over HTTP or gRPC: a native call, or a
// call by the Open Inference Protocol. Also makes the expected answer.
#ifndef FARCALL_CLI_BENCH_REQUEST_H_
#define FARCALL_CLI_BENCH_REQUEST_H_

#include "grpc/rpc.h"
#include "remote.h"

typedef struct fc_bench_request_t {
  fc_remote_t server;
  const char *target;
  const char *protocol;  // "native", "oip" or "grpc"
  fc_str_t message;      // head and body
  fc_rpc_call_t call;    // for gRPC, instead of `message`
  fc_str_t expected;     // the body of the answer
  const char
      *input;  // source of the arguments: "given", "example" or "metadata"
  const char *example;  // the name of the example that is sent; "": none
  size_t input_size;    // of the body
  char input_sha256[65];
} fc_bench_request_t;

// Makes the request for the function or model of the command line. The arguments are
// those of --input or --json; without these they are made from the server's description.
// Also makes the call once, before any measurement. Returns an exit code, after a
// complaint if it isn't 0.
int fc_bench_request_make(const fc_args_t *args,
                          fc_bench_request_t *out_request);

#endif  // FARCALL_CLI_BENCH_REQUEST_H_
