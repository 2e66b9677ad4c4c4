// SPDX-License-Identifier: Apache-2.0
//
// Formats the head of a response without printf. The head ends where the body begins, in
// room reserved there, so that one write sends both.
#ifndef FARCALL_SERVER_HTTP1_RESPONSE_H_
#define FARCALL_SERVER_HTTP1_RESPONSE_H_

#include "exchange/exchange.h"

// The data that HTTP/1 adds to the head of an answer.
typedef struct fc_response_head_t {
  const fc_answer_t *answer;
  // Size of the body. If the body is `in_chunks`, the size of the first chunk, whose
  // first line is written too.
  uint64_t length;
  bool no_length;  // no Content-Length: for 204, 304 and answers in parts
  bool in_chunks;
  bool close;
  bool keep_alive;  // write Connection: keep-alive, for a client of HTTP/1.0
  fc_str_t request_id;
  fc_str_t date;
} fc_response_head_t;

// How many fields a head can have.
enum {
  FC_RESPONSE_FIELDS = 0
#define FC_ANSWER_FIELD(name, read, when, value) +1
#include "http1/answer_field.def"
#undef FC_ANSWER_FIELD
};

// Writes the head so that it ends at `end`, which must have FC_LIMIT_HEAD bytes of room
// before it. Returns the head's first byte.
char *fc_response_head(const fc_response_head_t *head, char *end);
// Writes the first line of a chunk so that it ends at `end`, and returns its first byte.
char *fc_response_chunk(uint64_t size, char *end);
#define FC_RESPONSE_CHUNK 18  // the most bytes of this line
// Returns the reason phrase of a status, such as "Bad Request"; "Unknown" if kReasons
// lacks it.
fc_str_t fc_response_reason(int status);
// Writes a time as "Sun, 06 Nov 1994 08:49:37 GMT", NUL-terminated.
#define FC_RESPONSE_DATE_SIZE 30
void fc_response_date(int64_t unix_s, char out[FC_RESPONSE_DATE_SIZE]);

#endif  // FARCALL_SERVER_HTTP1_RESPONSE_H_
