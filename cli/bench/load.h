// SPDX-License-Identifier: Apache-2.0
//
// A load on a server: sends one request again and again over connections that stay open,
// and records the answers. One thread, one epoll. Once the connections are open, only TLS
// and HTTP/2 allocate.
//
// In a closed loop each connection sends again when its answer is there. If the server
// stalls, it gets fewer requests, and few of them measure the stall. In an open loop
// requests are due at constant intervals, whether or not earlier ones were answered. A
// latency counts from the time when the request was due, so it includes the wait for a
// free connection.
#ifndef FARCALL_CLI_BENCH_LOAD_H_
#define FARCALL_CLI_BENCH_LOAD_H_

#include "bench/histogram.h"
#include "grpc/rpc.h"

#define FC_LOAD_CONNECTIONS_MAX 10000u
#define FC_LOAD_SLICES_MAX 128u

// The answers that are compared with the expected one.
typedef enum fc_load_verify_t {
  FC_LOAD_VERIFY_FIRST,    // the first of each connection
  FC_LOAD_VERIFY_SAMPLED,  // every hundredth
  FC_LOAD_VERIFY_ALL,
} fc_load_verify_t;

// A slice of the load's time, and its answers.
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
  fc_str_t request;           // HTTP/1.1: head and body, sent unchanged
  const fc_rpc_call_t *call;  // gRPC; NULL: HTTP/1.1
  fc_str_t
      expected;  // the body of every answer; for gRPC with the message's head
  fc_load_verify_t verify;
  uint32_t connections;  // 1 to FC_LOAD_CONNECTIONS_MAX
  double rate;           // requests a second; 0: a closed loop
  uint64_t warmup_ns;    // requests due in this time are not measured
  uint64_t duration_ns;
  // Called at the end of each slice. May be NULL.
  void (*watch)(void *context, const fc_load_slice_t *slice);
  void *watch_context;
} fc_load_plan_t;

typedef struct fc_load_result_t {
  uint64_t duration_ns;  // shorter than planned after an interrupt
  uint64_t answers;  // with status 200 or OK, within the duration: for the rate
  fc_bench_histogram_t latency;  // from when a request was due
  fc_bench_histogram_t service;  // from when it was sent
  uint64_t compared;             // answers
  uint64_t different;            // of the compared answers
  uint64_t refused;              // answered with another status than 200 or OK
  uint64_t broken;      // connections refused or closed before the whole answer
  uint64_t unanswered;  // not sent before the duration ended, or never answered
  uint64_t late;        // sent over 1 ms too late because of this program
  int first_status;     // of the first refused request
  size_t first_size;
  char first_body[512];  // its first bytes
  size_t slice_count;
  fc_load_slice_t slices[FC_LOAD_SLICES_MAX];
  bool interrupted;  // by SIGINT
} fc_load_result_t;

// Runs the load. Fails if the first connections cannot be opened, or if there are not
// enough descriptors or memory. Later errors are in the result. SIGINT ends the load
// early, but only while the load runs; before and after that its handler is the caller's.
fc_status_t fc_load_run(const fc_load_plan_t *plan,
                        fc_load_result_t *out_result, fc_error_t *err);

#endif  // FARCALL_CLI_BENCH_LOAD_H_
