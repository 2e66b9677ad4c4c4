// SPDX-License-Identifier: Apache-2.0
//
// How the files of an exchange make its answer: they write its body to blocks, and send
// it with what its head says. Loop thread.
#ifndef FARCALL_SERVER_EXCHANGE_ANSWER_H_
#define FARCALL_SERVER_EXCHANGE_ANSWER_H_

#include "exchange/exchange.h"

// What the head and the log say of an answer.
typedef struct fc_answer_facts_t {
  int status;
  fc_code_t code;
  fc_str_t detail;  // of an error, for the log
  fc_str_t content_type;
  fc_str_t digest;
  bool weak_digest;
  uint64_t document;
  fc_coding_t coding;
  bool is_page;
  bool is_call;  // log and head tell the times of all stages
  bool is_last;
  const fc_session_t *session;  // that it made
} fc_answer_facts_t;

// Opens a sink in a fresh block with room for the head. False: there is no memory.
bool fc_exchange_open_answer(fc_exchange_t *exchange, fc_block_sink_t *out);
// What was written is x->out.pieces from now on.
void fc_exchange_close_answer(fc_exchange_t *exchange, fc_block_sink_t *out);
// Counts, logs and sends the answer, whose body is x->out.pieces.
void fc_exchange_send(fc_exchange_t *exchange, const fc_answer_facts_t *what);
// The same for an answer whose length may not be known yet: x->out.pieces are its next
// part. If the first part is the last, the answer is sent as a whole. Else `what` says in
// the first part what the head says, and in each what the log says of an answer that ends
// with it. If the method is HEAD, the first part is the last one: the source is over.
void fc_exchange_send_part(fc_exchange_t *exchange,
                           const fc_answer_facts_t *what, fc_part_end_t part);
// Answers that there is no memory, without any.
void fc_exchange_answer_nothing(fc_exchange_t *exchange);

// ---------------------------------------------------------------------------
// Between answer.c and part.c

// The exchange has the pieces of an outcome from now on. Returns how many bytes they are.
uint64_t fc_exchange_take_pieces(fc_exchange_t *exchange,
                                 fc_outcome_t *outcome);
// Takes the last `size` bytes off the pieces, which have as many. They are copied before
// they are looked at: a worker may still write to a file.
void fc_exchange_take_off(fc_exchange_t *exchange, size_t size, void *out);
// Puts what was written behind the pieces: no more than FC_PIECES_MAX with these.
void fc_exchange_add_answer(fc_exchange_t *exchange, fc_block_sink_t *out);
// `out` is zeroed.
void fc_exchange_describe(const fc_exchange_t *exchange,
                          const fc_answer_facts_t *what, fc_answer_t *out);
// Counts, exports and logs an answer of so many bytes.
void fc_exchange_note(fc_exchange_t *exchange, const fc_answer_facts_t *what,
                      uint64_t size);

#endif  // FARCALL_SERVER_EXCHANGE_ANSWER_H_
