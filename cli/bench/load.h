// SPDX-License-Identifier: Apache-2.0
//
// A load on a server: one request, sent again and again over connections that stay
// open, and what became of it. One thread, one epoll; after the connections are open
// only TLS and HTTP/2 allocate.
//
// In a closed loop each connection sends when its answer is there. A server that
// stalls is then asked less, and few requests see the stall. In an open loop requests
// are due by a schedule of constant distances, whether earlier ones were answered or
// not, and a latency counts from when the request was due: the wait for a free
// connection is part of it.
#ifndef FARCALL_CLI_BENCH_LOAD_H_
#define FARCALL_CLI_BENCH_LOAD_H_

#include "bench/histogram.h"
#include "grpc/rpc.h"

#define FC_LOAD_CONNECTIONS_MAX 10000u
#define FC_LOAD_SLICES_MAX 128u

// Which answers are compared with the expected one.
typedef enum fc_load_verify_t {
  FC_LOAD_VERIFY_FIRST,    // one for each connection
  FC_LOAD_VERIFY_SAMPLED,  // each hundredth
  FC_LOAD_VERIFY_ALL,
} fc_load_verify_t;

// A part of the time of a load: what was answered in it.
typedef struct fc_load_slice_t {
  uint64_t end_ns;  // since the measurement began
  uint64_t span_ns;
  uint64_t answers;
  uint64_t errors;
  uint64_t p50_ns;
  uint64_t p99_ns;
  uint64_t max_ns;
} fc_load_slice_t;

typedef struct fc_load_plan_t {
  const fc_remote_t *server;
  fc_str_t request;           // of HTTP/1.1: head and body, sent as they are
  const fc_rpc_call_t *call;  // of gRPC; NULL: HTTP/1.1 is spoken
  fc_str_t
      expected;  // the body of every answer; of gRPC with the message's head
  fc_load_verify_t verify;
  uint32_t connections;  // 1 to FC_LOAD_CONNECTIONS_MAX
  double rate;           // requests a second; 0: a closed loop
  uint64_t warmup_ns;    // requests due in this time are not measured
  uint64_t duration_ns;
  // Called at the end of each slice; NULL: nobody watches.
  void (*watch)(void *context, const fc_load_slice_t *slice);
  void *watch_context;
} fc_load_plan_t;

typedef struct fc_load_result_t {
  uint64_t duration_ns;  // shorter than planned after an interrupt
  uint64_t answers;      // 200 or OK within the duration: what the rate counts
  fc_bench_histogram_t latency;  // from when a request was due
  fc_bench_histogram_t service;  // from when it was sent
  uint64_t compared;             // answers
  uint64_t different;            // of those
  uint64_t refused;              // answered with another status than these
  uint64_t broken;  // connections refused or closed before the whole answer
  uint64_t
      unanswered;  // not sent when the duration was over, or never answered
  uint64_t
      late;  // sent over 1 ms after they were due by the fault of this program
  int first_status;  // of the first refused
  size_t first_size;
  char first_body[512];  // the beginning of it
  size_t slice_count;
  fc_load_slice_t slices[FC_LOAD_SLICES_MAX];
  bool interrupted;  // by SIGINT
} fc_load_result_t;

// Runs the load. Fails when the server cannot be connected to at the beginning, or
// there are not enough descriptors or memory; what happens later is in the result.
// SIGINT ends the load early; before the connections are open and afterwards it does
// what it did before.
fc_status_t fc_load_run(const fc_load_plan_t *plan,
                        fc_load_result_t *out_result, fc_error_t *err);

#endif  // FARCALL_CLI_BENCH_LOAD_H_
