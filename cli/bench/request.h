// SPDX-License-Identifier: Apache-2.0
//
// What `farcall bench` sends: the request of a native call or of one by the Open
// Inference Protocol, made once, and the answer that is expected.
#ifndef FARCALL_CLI_BENCH_REQUEST_H_
#define FARCALL_CLI_BENCH_REQUEST_H_

#include "remote.h"

typedef struct fc_bench_request_t {
  fc_remote_t server;
  const char *target;
  fc_str_t message;     // head and body
  fc_str_t expected;    // the body of the answer
  const char *input;    // "given", or what was asked: "example" or "metadata"
  const char *example;  // its name; "": it has none, or none was sent
  size_t input_size;    // of the body
  char input_sha256[65];
} fc_bench_request_t;

// Makes the request for the function or model that the command line names, with its
// --input, --json, or arguments made from what the server says of it; and makes the
// call once, outside of any measurement. Returns an exit code, and has complained if
// it isn't 0.
int fc_bench_request_make(const fc_args_t *args,
                          fc_bench_request_t *out_request);

// The document of a call by the Open Inference Protocol, made from the metadata of a
// model: zeros, or empty texts, with 1 for each dim that is not fixed. data is NULL
// when this is no metadata, or the tensors would have more than 16 Mi elements.
fc_str_t fc_bench_oip_document(fc_arena_t *arena, yyjson_val *metadata);

#endif  // FARCALL_CLI_BENCH_REQUEST_H_
