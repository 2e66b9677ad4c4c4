// SPDX-License-Identifier: Apache-2.0
//
// The head of a response, formatted without printf, right-aligned into the room
// kept in front of the body so that one write sends both.
#ifndef FARCALL_SERVER_HTTP1_RESPONSE_H_
#define FARCALL_SERVER_HTTP1_RESPONSE_H_

#include "base/inflate.h"
#include "config/limits.h"
#include "obs/trace.h"
#include "pool/slot.h"

typedef struct fc_response_head_t {
  int status;
  fc_str_t content_type;  // "" with an empty body
  uint64_t length;
  bool no_length;  // 204 and 304 have none, nor has an answer in parts
  bool
      in_chunks;  // `length` is that of the first chunk, whose first line is put, too
  bool as_it_comes;  // proxies are not to gather it
  fc_str_t request_id;
  fc_str_t etag;  // without its quotes, "" if none
  bool weak_etag;
  fc_str_t allow;        // "" if none
  fc_str_t code;         // of an error, "" if it is not said
  uint64_t document;     // bytes of JSON before raw bytes, 0: no raw bytes
  fc_coding_t coding;    // of the body
  bool is_page;          // for a browser: the head says what the page may load
  fc_str_t origin;       // of the page that may have the answer; "": of none
  bool by_origin;        // another Origin may get another answer
  bool is_preflight;     // it says what the page may ask for
  uint32_t retry_after;  // seconds, 0 = none
  // FC_STAGE_COUNT times for Server-Timing, or NULL.
  const uint64_t *spent_ns;
  const fc_trace_t *trace;  // NULL: the request belongs to none
  fc_str_t date;
  bool close;
  bool keep_alive;  // say so: the client speaks HTTP/1.0
} fc_response_head_t;

// Writes the head so that it ends at `end`, which has FC_LIMIT_HEAD bytes
// before it. Returns its first byte.
char *fc_response_head(const fc_response_head_t *head, char *end);
// Writes the first line of a chunk so that it ends at `end`, and returns its first byte.
char *fc_response_chunk(uint64_t size, char *end);
#define FC_RESPONSE_CHUNK 18  // its most bytes
// The reason phrase of a status, such as "Bad Request"; "Unknown" if kReasons lacks it.
fc_str_t fc_response_reason(int status);
// Writes a time as "Sun, 06 Nov 1994 08:49:37 GMT", NUL-terminated.
#define FC_RESPONSE_DATE_SIZE 30
void fc_response_date(int64_t unix_s, char out[FC_RESPONSE_DATE_SIZE]);

#endif  // FARCALL_SERVER_HTTP1_RESPONSE_H_
