// SPDX-License-Identifier: Apache-2.0
//
// The protocol on one connection of a load: the same request again and again, one at a
// time, and its answers. It works on bytes; load.c has the sockets and the clock. talk.c
// speaks HTTP/1.1, grpc/talk.c gRPC. One thread.
#ifndef FARCALL_CLI_BENCH_TALK_H_
#define FARCALL_CLI_BENCH_TALK_H_

#include "bench/load.h"

// The part that both protocols share. Each has a struct that begins with it.
typedef struct fc_talk_t {
  const fc_load_plan_t *plan;
  fc_load_result_t *result;
  fc_str_t left;    // bytes to send; load.c removes those that it has sent
  size_t received;  // bytes of the answer's body
  bool asked;       // a request has begun, its answer is not complete
  bool good;        // the answer is not a refusal
  bool compares;    // the answer is compared with the expected one
  bool differs;
  bool captures;  // this is the first wrong answer: its body is kept
  bool done;      // the answer is complete
  bool closes;    // no other request can be sent on this connection
} fc_talk_t;

typedef struct fc_talk_kind_t {
  size_t size;  // of its struct; `open` gets it zeroed, except plan and result
  // Called for a new connection. False: no memory.
  bool (*open)(fc_talk_t *talk);
  // Called when the connection is closed, also if `open` was not called.
  void (*close)(fc_talk_t *talk);
  // Begins a request. False: no memory.
  bool (*ask)(fc_talk_t *talk);
  // Called when `left` is empty. Puts the next bytes to send into `left`, if there are
  // any. False: the connection cannot be used any more.
  bool (*next)(fc_talk_t *talk);
  // Called with bytes that have arrived; none at the end of the connection. False: this
  // is not an answer.
  bool (*take)(fc_talk_t *talk, fc_str_t bytes);
} fc_talk_kind_t;

extern const fc_talk_kind_t fc_talk_http, fc_talk_grpc;

// Called before each request. `compares`: its answer is compared.
void fc_talk_begin(fc_talk_t *talk, bool compares);
// Called with the next bytes of the answer's body.
void fc_talk_take_body(fc_talk_t *talk, fc_str_t bytes);
// Called if the answer is a refusal. Keeps status and body of the first one.
void fc_talk_refuse(fc_talk_t *talk, int status);

#endif  // FARCALL_CLI_BENCH_TALK_H_
