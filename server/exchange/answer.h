// SPDX-License-Identifier: Apache-2.0
//
// How the files of an exchange make its answer: they write its body to blocks, and send
// it with what its head says. Loop thread.
#ifndef FARCALL_SERVER_EXCHANGE_ANSWER_H_
#define FARCALL_SERVER_EXCHANGE_ANSWER_H_

#include "exchange/exchange.h"

// What the head and the log say of an answer.
typedef struct fc_reply_t {
  int status;
  fc_code_t code;
  fc_str_t content_type;
  fc_str_t digest;
  bool weak_digest;
  uint64_t document;
  fc_coding_t coding;
  bool is_page;
  bool is_call;  // log and head tell the times of all stages
  bool is_last;
} fc_reply_t;

// Opens a sink in a fresh block with room for the head. False: there is no memory.
bool fc_exchange_open_answer(fc_exchange_t *exchange, fc_block_sink_t *out);
// What was written is x->pieces from now on.
void fc_exchange_close_answer(fc_exchange_t *exchange, fc_block_sink_t *out);
// Counts, logs and sends the answer, whose body is x->pieces.
void fc_exchange_send(fc_exchange_t *exchange, const fc_reply_t *what);
// Answers that there is no memory, without any.
void fc_exchange_answer_nothing(fc_exchange_t *exchange);

#endif  // FARCALL_SERVER_EXCHANGE_ANSWER_H_
