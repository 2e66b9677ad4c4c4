// SPDX-License-Identifier: Apache-2.0
//
// Parses the head of one request with llhttp, from bytes that the framing validator
// accepted, and applies the rules of HTTP that neither checks: hosts, codings, lengths,
// expectations. Also parses chunked bodies with llhttp. Used by receive.c on the loop
// thread.
#ifndef FARCALL_SERVER_HTTP1_PARSER_H_
#define FARCALL_SERVER_HTTP1_PARSER_H_

#include <llhttp.h>

#include "dialect/request.h"

// A head, with its statements about the connection and the body. Texts point into the
// parsed bytes or are static.
typedef struct fc_head_t {
  fc_request_t request;
  fc_str_t target;  // as received
  uint8_t minor;    // HTTP/1.minor
  bool keep_alive;
  bool chunked;
  bool has_length;
  bool expects_continue;
} fc_head_t;

// State of parsing besides llhttp_t. All connections of a loop can share one, because
// only `settings` is needed after a call returns.
typedef struct fc_parser_t {
  llhttp_settings_t settings;
  // For the head that is being parsed; `complete` and `err` also for a chunked body.
  fc_head_t *head;
  fc_str_t name;
  fc_str_t value;
  bool complete;
  fc_error_t *err;  // where the reason of a failure goes
  bool failed;      // the head has a field twice that may come once
  // Called with each piece of a chunked body. Returns false to stop the parser; it must
  // write the reason to `err` above first.
  bool (*on_body)(void *context, fc_str_t piece);
  void *context;
} fc_parser_t;

void fc_parser_init(fc_parser_t *parser);

// Parses a whole head with its blank line. Leaves `llhttp` at the beginning of the body.
// FC_CODE_HTTP_SYNTAX, FC_CODE_EXPECTATION_FAILED. FC_CODE_HOST_NOT_ALLOWED: the target
// names another host than Host.
fc_status_t fc_parser_read_head(fc_parser_t *parser, llhttp_t *llhttp,
                                fc_str_t bytes, fc_head_t *out_head,
                                fc_error_t *err);
// Does the head begin with a method of HTTP, served or not? Empty lines may precede it.
bool fc_parser_knows_method(fc_str_t head);
// Parses bytes of a chunked body. *out_complete: llhttp saw the body's end.
// FC_CODE_HTTP_SYNTAX, or the error that on_body stopped with.
fc_status_t fc_parser_read_body(fc_parser_t *parser, llhttp_t *llhttp,
                                fc_str_t bytes, bool *out_complete,
                                fc_error_t *err);

// For HTTP/2: stores a field in the request, if dialect/field.def has its name. False:
// FC_CODE_HTTP_SYNTAX, because the field may come only once and has come already.
bool fc_parser_take_field(fc_request_t *request, fc_str_t name, fc_str_t value,
                          fc_error_t *err) FC_MUST_CHECK;
// Applies the rules that do not depend on the protocol, to the target, the host and the
// expectations, and sets their results in `head`. `target`, `minor` and the fields must
// be set.
fc_status_t fc_parser_check_head(fc_head_t *head,
                                 fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_HTTP1_PARSER_H_
