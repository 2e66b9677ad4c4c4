// SPDX-License-Identifier: Apache-2.0
#include "bench/talk.h"

#include <llhttp.h>

typedef struct fc_http_t {
  fc_talk_t talk;
  llhttp_t parser;
} fc_http_t;

// ---------------------------------------------------------------------------
// For both protocols

void fc_talk_begin(fc_talk_t *talk, bool compares) {
  talk->received = 0;
  talk->asked = talk->good = true;
  talk->compares = compares;
  talk->differs = talk->captures = talk->done = false;
}

void fc_talk_refuse(fc_talk_t *talk, int status) {
  fc_load_result_t *result = talk->result;
  talk->good = false;
  if (result->first_status) return;
  result->first_status = status;
  result->first_size = 0;
  talk->captures = true;
}

static void capture(fc_load_result_t *result, fc_str_t bytes) {
  const size_t room = sizeof result->first_body - result->first_size;
  const size_t taken = bytes.size < room ? bytes.size : room;
  memcpy(result->first_body + result->first_size, bytes.data, taken);
  result->first_size += taken;
}

void fc_talk_take_body(fc_talk_t *talk, fc_str_t bytes) {
  const fc_str_t expected = talk->plan->expected;
  if (talk->captures) {
    capture(talk->result, bytes);
  } else if (talk->compares && talk->good && !talk->differs) {
    talk->differs =
        bytes.size > expected.size - talk->received ||
        memcmp(expected.data + talk->received, bytes.data, bytes.size) != 0;
  }
  talk->received += bytes.size;
}

// ---------------------------------------------------------------------------
// HTTP/1.1

static int on_begin(llhttp_t *parser) {
  const fc_talk_t *talk = parser->data;
  return talk->asked ? 0 : -1;
}

static int on_head(llhttp_t *parser) {
  fc_talk_t *talk = parser->data;
  talk->received = 0;
  if (parser->status_code > 200) fc_talk_refuse(talk, parser->status_code);
  return 0;
}

static int on_body(llhttp_t *parser, const char *data, size_t size) {
  fc_talk_take_body(parser->data, fc_str_make(data, size));
  return 0;
}

static int on_complete(llhttp_t *parser) {
  fc_talk_t *talk = parser->data;
  if (parser->status_code < 200) return 0;  // 100 Continue and the like
  talk->done = true;
  talk->asked = false;
  // If the server answered before it had the whole request, the rest is not sent.
  talk->closes = !llhttp_should_keep_alive(parser) || talk->left.size;
  return 0;
}

static const llhttp_settings_t kSettings = {.on_message_begin = on_begin,
                                            .on_headers_complete = on_head,
                                            .on_body = on_body,
                                            .on_message_complete = on_complete};

static bool open_http(fc_talk_t *talk) {
  llhttp_t *parser = &((fc_http_t *)talk)->parser;
  llhttp_init(parser, HTTP_RESPONSE, &kSettings);
  parser->data = talk;
  return true;
}

static void close_http(fc_talk_t *talk) { (void)talk; }

static bool ask_http(fc_talk_t *talk) {
  talk->left = talk->plan->request;
  return true;
}

static bool next_http(fc_talk_t *talk) {
  (void)talk;
  return true;
}

static bool take_http(fc_talk_t *talk, fc_str_t bytes) {
  llhttp_t *parser = &((fc_http_t *)talk)->parser;
  const llhttp_errno_t code =
      bytes.size ? llhttp_execute(parser, bytes.data, bytes.size)
                 : llhttp_finish(parser);
  if (!bytes.size) talk->closes = true;
  return code == HPE_OK && (bytes.size || talk->done);
}

const fc_talk_kind_t fc_talk_http = {sizeof(fc_http_t), open_http, close_http,
                                     ask_http,          next_http, take_http};
