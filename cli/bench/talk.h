// SPDX-License-Identifier: Apache-2.0
//
// What is said over one connection of a load: the same request again and again, one at a
// time, and what its answer was. Bytes in, bytes out: load.c has the sockets and the
// clock. talk.c speaks HTTP/1.1, grpc/talk.c gRPC. One thread.
#ifndef FARCALL_CLI_BENCH_TALK_H_
#define FARCALL_CLI_BENCH_TALK_H_

#include "bench/load.h"

// Begins that of each kind, which may have more behind it.
typedef struct fc_talk_t {
  const fc_load_plan_t *plan;
  fc_load_result_t *result;
  fc_str_t left;    // bytes to send; load.c takes from it what it has sent
  size_t received;  // bytes of the answer's body
  bool asked;       // a request has begun, and its answer is not whole
  bool good;        // the answer is no refusal
  bool compares;    // the answer with what is expected
  bool differs;
  bool captures;  // this answer is the first that is wrong: its body is kept
  bool done;      // the whole answer is there
  bool closes;    // the connection takes no other request
} fc_talk_t;

typedef struct fc_talk_kind_t {
  size_t size;  // of its fc_talk_t, which is zeroed but for plan and result
  // A connection is new, and there is no other. False: no memory.
  bool (*open)(fc_talk_t *talk);
  // It is closed; also when it was not opened.
  void (*close)(fc_talk_t *talk);
  // Begins the request. False: no memory.
  bool (*ask)(fc_talk_t *talk);
  // `left` is empty: fills it with what may be sent, if there is anything. False: the
  // connection is of no more use.
  bool (*next)(fc_talk_t *talk);
  // Bytes came, or the end of the connection: none. False: no answer begins so.
  bool (*take)(fc_talk_t *talk, fc_str_t bytes);
} fc_talk_kind_t;

extern const fc_talk_kind_t fc_talk_http, fc_talk_grpc;

// Before a request: `compares` is for its answer.
void fc_talk_begin(fc_talk_t *talk, bool compares);
// The next bytes of the answer's body.
void fc_talk_take_body(fc_talk_t *talk, fc_str_t bytes);
// The answer is a refusal: the first one's status and body are kept.
void fc_talk_refuse(fc_talk_t *talk, int status);

#endif  // FARCALL_CLI_BENCH_TALK_H_
