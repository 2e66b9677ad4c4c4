// SPDX-License-Identifier: Apache-2.0
//
// scripts/make-descriptors has compressed the descriptors; each request inflates them
// anew.
// https://github.com/grpc/grpc/blob/master/doc/server-reflection.md
#include "dialect/grpc_reflection.h"

#include <stddef.h>

#include "base/proto.h"
#include "grpc_files.inc"

// The field numbers of the requests and of the answers to them.
enum {
  ASKS_FILE = 3,
  ASKS_SYMBOL,
  ASKS_EXTENSION,
  ASKS_EXTENSIONS,
  ASKS_SERVICES
};
enum {
  SAYS_HOST = 1,
  SAYS_REQUEST,
  SAYS_FILES = 4,
  SAYS_EXTENSIONS,
  SAYS_SERVICES,
  SAYS_ERROR
};

typedef struct asked_t {
  fc_str_t host;
  fc_str_t text;
  uint32_t what;  // ASKS_*; 0: nothing
} asked_t;

typedef struct answer_t {
  fc_str_t files;   // a FileDescriptorSet
  fc_text_t inner;  // the message inside the answer
} answer_t;

// ---------------------------------------------------------------------------
// Names. In every descriptor field 1 is the name; in a file's descriptor field 2 is the
// package.

#define BIT(number) (1u << (number))
// Fields whose descriptors have names. In a file: messages, enums and services. In a
// message or service: fields or methods, messages and enums.
enum {
  IN_FILE = BIT(4) | BIT(5) | BIT(6),
  IN_SCOPE = BIT(2) | BIT(3) | BIT(4),
  SERVICES = BIT(6),
};

typedef struct named_t {
  fc_str_t name;
  fc_str_t package;  // of a file
} named_t;

static named_t name_of(fc_str_t message, bool is_file) {
  static const fc_proto_row_t kRows[] = {
      {1, FC_PROTO_TEXT, offsetof(named_t, name)},
      {2, FC_PROTO_TEXT, offsetof(named_t, package)}};
  named_t named = {.name = FC_STR("")};
  if (fc_proto_read(message, kRows, is_file ? 2 : 1, &named, NULL) != FC_OK) {
    return (named_t){.name = FC_STR("")};  // no name: it is a range of numbers
  }
  return named;
}

// Finds the next field whose number is in `fields`. False: there is no further one.
static bool next(fc_proto_t *wire, uint32_t fields, fc_str_t *out_bytes) {
  fc_proto_field_t field;
  bool more;
  while (fc_proto_next(wire, &field, &more, NULL) == FC_OK && more) {
    if (field.number > 31 || !(fields & BIT(field.number)) ||
        field.type != FC_PROTO_BYTES) {
      continue;
    }
    *out_bytes = field.bytes;
    return true;
  }
  return false;
}

static bool find_child(fc_str_t scope, uint32_t fields, fc_str_t name,
                       fc_str_t *out_child) {
  fc_proto_t wire = fc_proto_begin(scope);
  while (next(&wire, fields, out_child)) {
    if (fc_str_equal(name_of(*out_child, false).name, name)) return true;
  }
  return false;
}

// Does the file declare the symbol?
static bool declares(fc_str_t file, fc_str_t symbol) {
  const fc_str_t package = name_of(file, true).package;
  if (symbol.size <= package.size || symbol.data[package.size] != '.' ||
      !fc_str_starts(symbol, package)) {
    return false;
  }
  fc_str_t rest = fc_str_make(symbol.data + package.size + 1,
                              symbol.size - package.size - 1);
  fc_str_t scope = file;
  for (uint32_t fields = IN_FILE; rest.size; fields = IN_SCOPE) {
    if (!find_child(scope, fields, fc_str_take(&rest, '.'), &scope)) {
      return false;
    }
  }
  return symbol.data[symbol.size - 1] != '.';
}

static bool find_file(const answer_t *answer, const asked_t *asked,
                      fc_str_t *out_file) {
  fc_proto_t wire = fc_proto_begin(answer->files);
  while (next(&wire, BIT(1), out_file)) {
    if (asked->what == ASKS_FILE
            ? fc_str_equal(name_of(*out_file, true).name, asked->text)
            : declares(*out_file, asked->text)) {
      return true;
    }
  }
  return false;
}

// ---------------------------------------------------------------------------
// Answers

static fc_status_t put_inner(answer_t *answer, uint32_t number, fc_sink_t *sink,
                             fc_error_t *err) {
  return fc_proto_put_bytes(sink, number, fc_text_str(&answer->inner), err);
}

fc_status_t fc_grpc_reflect_error(fc_status_t status, fc_str_t text,
                                  fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_proto_put_head(sink, SAYS_ERROR,
                           fc_proto_value_size(1, (uint64_t)status) +
                               fc_proto_bytes_size(2, text.size),
                           err));
  FC_TRY(fc_proto_put_value(sink, 1, (uint64_t)status, err));
  return fc_proto_put_bytes(sink, 2, text, err);
}

static fc_status_t say_services(answer_t *answer, fc_sink_t *sink,
                                fc_error_t *err) {
  fc_sink_t *inner = &answer->inner.sink;
  fc_proto_t files = fc_proto_begin(answer->files);
  fc_str_t file, service;
  while (next(&files, BIT(1), &file)) {
    const fc_str_t package = name_of(file, true).package;
    fc_proto_t wire = fc_proto_begin(file);
    while (next(&wire, SERVICES, &service)) {
      const fc_str_t name = name_of(service, false).name;
      const uint64_t size = package.size + 1 + name.size;
      FC_TRY(fc_proto_put_head(inner, 1, fc_proto_bytes_size(1, size), err));
      FC_TRY(fc_proto_put_head(inner, 1, size, err));
      FC_TRY(fc_sink_put(inner, package, err));
      FC_TRY(fc_sink_put(inner, FC_STR("."), err));
      FC_TRY(fc_sink_put(inner, name, err));
    }
  }
  return put_inner(answer, SAYS_SERVICES, sink, err);
}

// Writes the file that declares a symbol. For ASKS_EXTENSIONS, writes that the message
// has no extensions.
static fc_status_t say_found(answer_t *answer, const asked_t *asked,
                             fc_sink_t *sink, fc_error_t *err) {
  fc_str_t file;
  if (asked->what == ASKS_EXTENSION || !find_file(answer, asked, &file)) {
    return fc_grpc_reflect_error(
        FC_NOT_FOUND, FC_STR("there is no such thing here"), sink, err);
  }
  const bool is_file = asked->what != ASKS_EXTENSIONS;
  FC_TRY(fc_proto_put_bytes(&answer->inner.sink, 1,
                            is_file ? file : asked->text, err));
  return put_inner(answer, is_file ? SAYS_FILES : SAYS_EXTENSIONS, sink, err);
}

static fc_status_t say(answer_t *answer, const asked_t *asked, fc_sink_t *sink,
                       fc_error_t *err) {
  if (!asked->what) {
    return fc_grpc_reflect_error(FC_INVALID_ARGUMENT,
                                 FC_STR("no request that is known"), sink, err);
  }
  if (asked->what == ASKS_SERVICES) return say_services(answer, sink, err);
  return say_found(answer, asked, sink, err);
}

// ---------------------------------------------------------------------------
// Reading and answering a request

static fc_status_t read_request(fc_str_t body, asked_t *out_asked) {
  fc_proto_t wire = fc_proto_begin(body);
  fc_proto_field_t field;
  bool more;
  for (;;) {
    FC_TRY(fc_proto_next(&wire, &field, &more, NULL));
    if (!more) return FC_OK;
    if (field.type != FC_PROTO_BYTES) continue;
    if (field.number == 1) out_asked->host = field.bytes;
    if (field.number < ASKS_FILE || field.number > ASKS_SERVICES) continue;
    out_asked->what = field.number;
    out_asked->text = field.bytes;
  }
}

fc_status_t fc_grpc_reflect(fc_str_t body, fc_sink_t *sink, fc_error_t *err) {
  asked_t asked = {.what = 0};
  fc_text_t files;
  answer_t answer;
  if (read_request(body, &asked) == FC_OK) {
    FC_TRY(fc_proto_put_text(sink, SAYS_HOST, asked.host, err));
    FC_TRY(fc_proto_put_bytes(sink, SAYS_REQUEST, body, err));
  } else {
    asked.what = 0;
  }
  fc_text_init(&files, fc_allocator_system(), 2 * FILES_SIZE + 4096);
  fc_text_init(&answer.inner, fc_allocator_system(), SIZE_MAX);
  fc_status_t status = fc_inflate(
      FC_CODING_DEFLATE, fc_str_make((const char *)kFiles, sizeof kFiles),
      FILES_SIZE, &files, NULL, err);
  answer.files = fc_text_str(&files);
  if (status == FC_OK) status = say(&answer, &asked, sink, err);
  fc_text_deinit(&answer.inner);
  fc_text_deinit(&files);
  return status;
}
