// SPDX-License-Identifier: Apache-2.0
//
// The head of one request, parsed by llhttp from bytes that the framing validator
// let through, and the rules of HTTP that neither of them keeps: hosts, codings,
// lengths, expectations. Also chunked bodies, which llhttp takes apart. Used by receive.c
// on the loop thread.
#ifndef FARCALL_SERVER_HTTP1_PARSER_H_
#define FARCALL_SERVER_HTTP1_PARSER_H_

#include <llhttp.h>

#include "dialect/request.h"

// A head, and what it says of the connection and the body. Texts point into the bytes
// that were parsed, or are static.
typedef struct fc_head_t {
  fc_request_t request;
  fc_str_t target;  // as received
  uint8_t minor;    // HTTP/1.minor
  bool keep_alive;
  bool chunked;
  bool has_length;
  bool expects_continue;
} fc_head_t;

// What parsing needs besides llhttp_t. All connections of a loop may share one, because
// no member but `settings` is needed from call to call.
typedef struct fc_parser_t {
  llhttp_settings_t settings;
  // Of the head being parsed; `complete` and `err` also of a chunked body.
  fc_head_t *head;
  fc_str_t name;
  fc_str_t value;
  bool complete;
  fc_error_t *err;  // where the reason of a failure goes
  bool failed;      // the head has a field twice that may come once
  // While a chunked body is parsed, this is called with each piece. It returns
  // false to stop the parser; before that it writes the reason to `err` above.
  bool (*on_body)(void *context, fc_str_t piece);
  void *context;
} fc_parser_t;

void fc_parser_init(fc_parser_t *parser);

// `bytes` are a whole head, ended by its blank line. `llhttp` is left at the
// beginning of the body. FC_CODE_HTTP_SYNTAX, FC_CODE_HOST_NOT_ALLOWED (the
// target names another host than Host) or FC_CODE_EXPECTATION_FAILED.
fc_status_t fc_parser_read_head(fc_parser_t *parser, llhttp_t *llhttp,
                                fc_str_t bytes, fc_head_t *out_head,
                                fc_error_t *err);
// Feeds bytes of a chunked body. *out_complete: llhttp saw the body's end.
// FC_CODE_HTTP_SYNTAX, or what on_body stopped it with.
fc_status_t fc_parser_read_body(fc_parser_t *parser, llhttp_t *llhttp,
                                fc_str_t bytes, bool *out_complete,
                                fc_error_t *err);

// For HTTP/2
// Takes a field into the request, if it is looked up by name. False, with
// FC_CODE_HTTP_SYNTAX: it is there already, and may come once.
bool fc_parser_take_field(fc_request_t *request, fc_str_t name, fc_str_t value,
                          fc_error_t *err) FC_MUST_CHECK;
// The rules that do not depend on how the head came: its target, its host and what it
// expects. Sets what `head` says of them. `target`, `minor` and the fields are set.
fc_status_t fc_parser_check_head(fc_head_t *head,
                                 fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_HTTP1_PARSER_H_
