// SPDX-License-Identifier: Apache-2.0
//
// The head of one request as dialects see it, whatever the protocol, and small readers of
// field values. http1/parser.c and http2/head.c fill it in. Any thread; no allocation.
#ifndef FARCALL_SERVER_DIALECT_REQUEST_H_
#define FARCALL_SERVER_DIALECT_REQUEST_H_

#include "base/inflate.h"

// Methods that routes may allow. Any other is FC_METHOD_OTHER, and refused.
typedef enum fc_method_t {
  FC_METHOD_OTHER,
  FC_METHOD_GET,
  FC_METHOD_HEAD,
  FC_METHOD_POST,
  FC_METHOD_DELETE,
  FC_METHOD_PUT,
  // A GET that makes a call (exchange/source.h). Only checks of query parameters use
  // this.
  FC_METHOD_SOURCE,
} fc_method_t;

typedef enum fc_request_field_t {
#define FC_FIELD(name, text, once) FC_FIELD_##name,
#include "dialect/field.def"
#undef FC_FIELD
  FC_FIELD_COUNT
} fc_request_field_t;

// Texts point into the bytes that were parsed, or are static.
typedef struct fc_request_t {
  fc_method_t method;
  const char *method_name;  // "GET"; static
  bool has_body;            // one was announced, be it an empty one
  uint64_t length;          // of the body, 0 if it was not said
  fc_str_t lines;  // all field lines and the blank line, each with its CR LF
  fc_str_t authority;  // of a target in absolute form, else ""
  fc_str_t path;       // of the target, still percent-encoded; "*" is possible
  fc_str_t query;      // without the '?', "" if none
  fc_str_t fields[FC_FIELD_COUNT];  // trimmed; data is NULL when absent
  bool has_trailers;                // the answer may have fields after its body
  // The bytes of the body received so far, if its beginning names the model
  // (FC_ROUTE_PEEK).
  fc_str_t begin;
  bool begin_is_all;
  bool is_message;  // the body is one of a stream of messages (FC_ROUTE_STREAM)
  // The body of a POST that asks for a document. If it is set, only `method` and
  // `method_name` are set besides.
  fc_str_t body;
  // For a GET that calls (exchange/source.h): its document, still encoded. Otherwise data
  // is NULL.
  fc_str_t input;
} fc_request_t;

// Returns the text without surrounding blanks.
fc_str_t fc_request_trim(fc_str_t text);
// Are both texts equal, ignoring the case of ASCII letters?
bool fc_request_same_text(fc_str_t a, fc_str_t b);
// Returns how much an Accept field wants a media type, in thousandths; 0: not at all. An
// empty field wants every type.
uint32_t fc_request_weight(fc_str_t accept, fc_str_t type, fc_str_t subtype);
// Returns the content coding of this name; FC_CODING_NONE: it is not gzip, x-gzip or
// deflate.
fc_coding_t fc_request_coding(fc_str_t text);
// Returns the compression that an Accept-Encoding field wants for the answer;
// FC_CODING_NONE: none.
fc_coding_t fc_request_answer_coding(fc_str_t accept);
// Is the request gRPC? Its body is a series of messages, each after a head of
// FC_MESSAGE_HEAD bytes.
bool fc_request_is_grpc(const fc_request_t *request);
// One byte that says whether the message is compressed, and four bytes for its size.
#define FC_MESSAGE_HEAD 5
uint32_t fc_message_size(fc_str_t head);
// Returns the first value of `key` in a query string ("a=1&b=2"), undecoded; data is NULL
// if the key is missing.
fc_str_t fc_request_query(fc_str_t query, fc_str_t key);

#endif  // FARCALL_SERVER_DIALECT_REQUEST_H_
