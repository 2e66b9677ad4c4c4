// SPDX-License-Identifier: Apache-2.0
//
// What `farcall bench` sends: the request of a native call or of one by the Open
// Inference Protocol, by HTTP or gRPC, made once, and the answer that is expected.
#ifndef FARCALL_CLI_BENCH_REQUEST_H_
#define FARCALL_CLI_BENCH_REQUEST_H_

#include "grpc/rpc.h"
#include "remote.h"

typedef struct fc_bench_request_t {
  fc_remote_t server;
  const char *target;
  const char *protocol;  // "native", "oip" or "grpc"
  fc_str_t message;      // head and body
  fc_rpc_call_t call;    // of gRPC, in place of the message
  fc_str_t expected;     // the body of the answer
  const char *input;     // "given", or what was asked: "example" or "metadata"
  const char *example;   // its name; "": it has none, or none was sent
  size_t input_size;     // of the body
  char input_sha256[65];
} fc_bench_request_t;

// Makes the request for the function or model that the command line names, with its
// --input, --json, or arguments made from what the server says of it; and makes the
// call once, outside of any measurement. Returns an exit code, and has complained if
// it isn't 0.
int fc_bench_request_make(const fc_args_t *args,
                          fc_bench_request_t *out_request);

#endif  // FARCALL_CLI_BENCH_REQUEST_H_
