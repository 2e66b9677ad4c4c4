// SPDX-License-Identifier: Apache-2.0
//
// A stream of bytes read as requests, whole and cut in pieces: both must give
// the same verdicts, the same targets and the same bodies. The first byte of
// the input chooses the cuts. Reads as connection.c does, without sockets.
#include <stdlib.h>

#include "http1/framing.h"
#include "http1/parser.h"

#define BODY_MAX 4096
#define EVENTS_MAX 64

typedef struct event_t {
  fc_code_t code;  // NONE: a request
  uint8_t method;
  uint64_t length;  // or the offset of an error
  uint64_t hash;    // of target, query, fields and body
} event_t;

typedef struct reader_t {
  fc_framing_t framing;
  llhttp_t llhttp;
  fc_parser_t parser;
  bool in_chunks;
  bool stopped;
  uint64_t left;  // of a sized body
  uint64_t hash;
  uint64_t body;
  event_t events[EVENTS_MAX];
  size_t count;
} reader_t;

static uint64_t mix(uint64_t hash, fc_str_t text) {
  for (size_t i = 0; i < text.size; i++) {
    hash = (hash ^ (uint8_t)text.data[i]) * 0x100000001B3u;
  }
  return hash;
}

static bool on_body(void *context, fc_str_t piece) {
  reader_t *reader = context;
  reader->hash = mix(reader->hash, piece);
  reader->body += piece.size;
  return true;
}

static void note(reader_t *reader, event_t event) {
  if (reader->count < EVENTS_MAX) reader->events[reader->count++] = event;
  else reader->stopped = true;
}

static void note_error(reader_t *reader, const fc_error_t *error) {
  note(reader, (event_t){.code = error->code, .length = error->byte_offset});
  reader->stopped = true;
}

static void end_message(reader_t *reader) {
  event_t event = {.method = reader->llhttp.method,
                   .length = reader->body,
                   .hash = reader->hash};
  note(reader, event);
  reader->framing = (fc_framing_t){0};
  reader->in_chunks = false;
  reader->body = 0;
}

static size_t read_head(reader_t *reader, fc_str_t bytes) {
  size_t scanned = (size_t)reader->framing.offset, used;
  bool done;
  fc_error_t error;
  fc_error_reset(&error);
  fc_str_t rest = fc_str_make(bytes.data + scanned, bytes.size - scanned);
  fc_status_t status =
      fc_framing_head(&reader->framing, rest, &used, &done, &error);
  if (status == FC_OK && !done) return 0;
  fc_head_t head;
  const fc_request_t *request = &head.request;
  if (status == FC_OK) {
    status = fc_parser_read_head(&reader->parser, &reader->llhttp,
                                 fc_str_make(bytes.data, scanned + used), &head,
                                 &error);
  }
  if (status != FC_OK) {
    note_error(reader, &error);
    return bytes.size;
  }
  reader->hash = mix(mix(1, request->path), request->query);
  for (int i = 0; i < FC_FIELD_COUNT; i++) {
    reader->hash = mix(reader->hash, request->fields[i]);
  }
  reader->in_chunks = head.chunked;
  reader->left = request->length;
  if (head.chunked && head.has_length) abort();
  if (!head.chunked && request->length == 0) end_message(reader);
  if (!head.keep_alive) reader->stopped = true;
  return scanned + used;
}

static size_t read_chunks(reader_t *reader, fc_str_t bytes) {
  size_t used;
  bool done, complete = false;
  fc_error_t gate_error, error;
  fc_error_reset(&gate_error);
  fc_error_reset(&error);
  fc_status_t gate_status = fc_framing_chunked(
      &reader->framing, bytes, BODY_MAX, &used, &done, &gate_error);
  reader->parser.on_body = on_body;
  reader->parser.context = reader;
  reader->parser.err = &error;
  fc_status_t status =
      fc_parser_read_body(&reader->parser, &reader->llhttp,
                          fc_str_make(bytes.data, used), &complete, &error);
  if (status != FC_OK || gate_status != FC_OK) {
    note_error(reader, status != FC_OK ? &error : &gate_error);
    return bytes.size;
  }
  // Gate and llhttp must agree where the message ends and what it holds.
  if (complete != done) abort();
  if (done && reader->framing.body != reader->body) abort();
  if (reader->body > BODY_MAX) abort();
  if (done) end_message(reader);
  return used;
}

static size_t read_sized(reader_t *reader, fc_str_t bytes) {
  size_t size = bytes.size < reader->left ? bytes.size : (size_t)reader->left;
  on_body(reader, fc_str_make(bytes.data, size));
  reader->left -= size;
  if (reader->left == 0) end_message(reader);
  return size;
}

// `bytes` begins where the last call left off. Returns how many were used.
static size_t feed(reader_t *reader, fc_str_t bytes) {
  size_t used = 0;
  while (used < bytes.size && !reader->stopped) {
    fc_str_t rest = fc_str_make(bytes.data + used, bytes.size - used);
    size_t step;
    if (reader->in_chunks) step = read_chunks(reader, rest);
    else if (reader->left) step = read_sized(reader, rest);
    else step = read_head(reader, rest);
    if (step == 0) break;
    used += step;
  }
  return used;
}

static void start(reader_t *reader) {
  memset(reader, 0, sizeof *reader);
  fc_parser_init(&reader->parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  size_t step = (size_t)(data[0] % 31) + 1;
  fc_str_t bytes = fc_str_make((const char *)data + 1, size - 1);
  static reader_t whole, cut;
  start(&whole);
  feed(&whole, bytes);
  start(&cut);
  size_t done = 0, seen = 0;
  while (seen < bytes.size && !cut.stopped) {
    seen = bytes.size - seen < step ? bytes.size : seen + step;
    done += feed(&cut, fc_str_make(bytes.data + done, seen - done));
  }
  if (whole.count != cut.count) abort();
  for (size_t i = 0; i < whole.count; i++) {
    const event_t *a = &whole.events[i], *b = &cut.events[i];
    if (a->code != b->code || a->method != b->method ||
        a->length != b->length || a->hash != b->hash) {
      abort();
    }
  }
  return 0;
}
