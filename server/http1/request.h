// SPDX-License-Identifier: Apache-2.0
//
// The head of one request, parsed by llhttp from bytes the framing let through,
// and the rules of HTTP that neither of them keeps: hosts, codings, lengths,
// expectations. Used by connection.c on the loop thread.
#ifndef FARCALL_SERVER_HTTP1_REQUEST_H_
#define FARCALL_SERVER_HTTP1_REQUEST_H_

#include <llhttp.h>

#include "farcall/base.h"

typedef enum fc_field_t {
#define FC_FIELD(name, text, once) FC_FIELD_##name,
#include "http1/field.def"
#undef FC_FIELD
  FC_FIELD_COUNT
} fc_field_t;

// Everything points into the bytes that were parsed.
typedef struct fc_request_t {
  uint8_t method;  // HTTP_GET, … of llhttp
  uint8_t minor;   // HTTP/1.minor
  bool keep_alive;
  bool chunked;
  bool has_length;
  bool expects_continue;
  uint64_t length;     // if has_length
  fc_str_t head;       // what was parsed
  fc_str_t target;     // as received
  fc_str_t authority;  // of a target in absolute form, else ""
  fc_str_t path;       // of the target, still percent-encoded; "*" is possible
  fc_str_t query;      // without the '?', "" if none
  fc_str_t fields[FC_FIELD_COUNT];  // trimmed; data is NULL when absent
} fc_request_t;

// What parsing needs beside the parser; zeroed once, may be shared by all
// parsers of a loop.
typedef struct fc_request_parser_t {
  llhttp_settings_t settings;
  // Of the head being parsed
  fc_request_t *request;
  fc_str_t name;
  fc_str_t value;
  bool complete;
  fc_error_t *err;
  bool failed;
  // Of a chunked body being parsed: told of each piece. Returns false to stop,
  // having described why in `err`.
  bool (*on_body)(void *context, fc_str_t piece);
  void *context;
} fc_request_parser_t;

void fc_request_parser_init(fc_request_parser_t *parser);

// `head` is a whole head, ended by its blank line. `llhttp` is left at the
// beginning of the body. FC_CODE_HTTP_SYNTAX, FC_CODE_HOST_NOT_ALLOWED (the
// target names another host than Host) or FC_CODE_EXPECTATION_FAILED.
fc_status_t fc_request_parse(fc_request_parser_t *parser, llhttp_t *llhttp,
                             fc_str_t head, fc_request_t *out_request,
                             fc_error_t *err);
// Feeds bytes of a chunked body. *out_complete is set when llhttp saw its end.
// FC_CODE_HTTP_SYNTAX, or what on_body stopped it with.
fc_status_t fc_request_parse_body(fc_request_parser_t *parser, llhttp_t *llhttp,
                                  fc_str_t bytes, bool *out_complete,
                                  fc_error_t *err);

// The host name of "name:port" or "[v6]:port", in brackets if it was; "" when
// it isn't one.
fc_str_t fc_request_host_name(fc_str_t host);
// ASCII case aside.
bool fc_request_same_text(fc_str_t a, fc_str_t b);
// Does an Accept field allow this media type ("application/json")? "" does.
bool fc_request_accepts(fc_str_t accept, fc_str_t type, fc_str_t subtype);
// The value of `key` in a query string ("a=1&b=2"); data NULL when it is not
// there.
fc_str_t fc_request_query(fc_str_t query, fc_str_t key);

#endif  // FARCALL_SERVER_HTTP1_REQUEST_H_
