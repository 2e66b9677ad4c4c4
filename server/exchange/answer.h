// SPDX-License-Identifier: Apache-2.0
//
// Functions with which the files of an exchange make the answer: they write its body to
// blocks, and send it with its head. Loop thread.
#ifndef FARCALL_SERVER_EXCHANGE_ANSWER_H_
#define FARCALL_SERVER_EXCHANGE_ANSWER_H_

#include "exchange/exchange.h"

// The data of an answer for the head and the log.
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
  bool is_call;  // the log and the head have the times of all stages
  bool is_last;
  const fc_session_t *session;  // that the request made; NULL: none
} fc_answer_facts_t;

// Opens a sink in a fresh block with room for the head. False: there is no memory.
bool fc_exchange_open_answer(fc_exchange_t *exchange, fc_block_sink_t *out);
// Makes the written bytes the answer: x->out.pieces.
void fc_exchange_close_answer(fc_exchange_t *exchange, fc_block_sink_t *out);
// Counts, logs and sends the answer, whose body is x->out.pieces.
void fc_exchange_send(fc_exchange_t *exchange, const fc_answer_facts_t *what);
// Does the same for an answer whose length may not be known yet: x->out.pieces are its
// next part. If the first part is the last, the answer is sent as a whole. Otherwise
// `what` of the first part gives the head, and `what` of each part gives the log line in
// case the answer ends with that part. If the method is HEAD, the first part is the last
// one, and no more parts are made.
void fc_exchange_send_part(fc_exchange_t *exchange,
                           const fc_answer_facts_t *what, fc_part_end_t part);
// Answers with an error because there is no memory. Allocates nothing.
void fc_exchange_answer_nothing(fc_exchange_t *exchange);

// ---------------------------------------------------------------------------
// Functions that answer.c and part.c share

// Moves the pieces of an outcome to the exchange. Returns their size in bytes.
uint64_t fc_exchange_take_pieces(fc_exchange_t *exchange,
                                 fc_outcome_t *outcome);
// Removes the last `size` bytes of the pieces, which must have that many, and copies them
// to `out`. The caller must look only at the copy: a worker may still write to a file.
void fc_exchange_take_off(fc_exchange_t *exchange, size_t size, void *out);
// Appends the written bytes to the pieces. Both together must be at most FC_PIECES_MAX.
void fc_exchange_add_answer(fc_exchange_t *exchange, fc_block_sink_t *out);
// `out` is zeroed.
void fc_exchange_describe(const fc_exchange_t *exchange,
                          const fc_answer_facts_t *what, fc_answer_t *out);
// Counts, exports and logs an answer of `size` bytes.
void fc_exchange_note(fc_exchange_t *exchange, const fc_answer_facts_t *what,
                      uint64_t size);

#endif  // FARCALL_SERVER_EXCHANGE_ANSWER_H_
