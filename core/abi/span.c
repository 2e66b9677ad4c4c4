// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the fields of SIP and raw signatures. The text comes from a module
// and is not trusted: every count is checked against the window that contains the span.
// Every step moves forward, so reading all fields of a text once takes linear time.
#include "abi/span.h"

#include <stdarg.h>
#include <stdio.h>

fc_status_t fc_abi_fail(fc_error_t *err, size_t offset, const char *format,
                        ...) {
  char reason[200];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  fc_status_t status =
      fc_fail(err, FC_CODE_ABI_METADATA, "%s at byte %zu", reason, offset);
  if (err) err->byte_offset = offset;
  return status;
}

// Reads a number: digits, with a '-' before them if it is negative. The grammar
// allows leading zeros, but no writer makes them.
static fc_status_t read_number(fc_span_reader_t *reader, int32_t *out_number,
                               fc_error_t *err) {
  const size_t begin = reader->at;
  const bool negative = begin < reader->end && reader->text[begin] == '-';
  size_t at = begin + negative;
  const size_t first = at;
  int64_t value = 0;
  for (; at < reader->end; at++) {
    const char c = reader->text[at];
    if (c < '0' || c > '9') break;
    value = value * 10 + (c - '0');
    if (value > (int64_t)INT32_MAX + negative) {
      return fc_abi_fail(err, begin, "number beyond 32 bits");
    }
  }
  if (at == first) return fc_abi_fail(err, begin, "a number is missing");
  reader->at = at;
  *out_number = (int32_t)(negative ? -value : value);
  return FC_OK;
}

static fc_status_t read_span(fc_span_reader_t *reader, fc_field_t *field,
                             fc_error_t *err) {
  const size_t length_at = reader->at;
  int32_t length = 0;
  FC_TRY(read_number(reader, &length, err));
  if (length < 1) {
    return fc_abi_fail(err, length_at, "span '%c' has length %d, at least 1",
                       field->tag, (int)length);
  }
  const size_t left = reader->end - reader->at;
  if ((size_t)length > left) {
    return fc_abi_fail(err, length_at,
                       "span '%c' claims %d bytes where %zu are left",
                       field->tag, (int)length, left);
  }
  if (reader->text[reader->at] != '!') {
    return fc_abi_fail(err, reader->at, "span '%c' lacks its '!'", field->tag);
  }
  field->begin = reader->at + 1;
  field->end = reader->at + (size_t)length;
  reader->at = field->end;
  return FC_OK;
}

fc_status_t fc_span_next(fc_span_reader_t *reader, fc_field_t *out_field,
                         fc_error_t *err) {
  fc_field_t field = {.tag = reader->text[reader->at], .offset = reader->at};
  field.is_span = field.tag >= 'A' && field.tag <= 'Z';
  const bool is_number =
      field.tag == '_' || (field.tag >= 'a' && field.tag <= 'z');
  if (!field.is_span && !is_number) {
    return fc_abi_fail(err, field.offset, "byte 0x%02x is no tag",
                       (unsigned)(unsigned char)field.tag);
  }
  reader->at++;
  if (field.is_span) FC_TRY(read_span(reader, &field, err));
  else FC_TRY(read_number(reader, &field.number, err));
  *out_field = field;
  return FC_OK;
}

static fc_status_t read_side(fc_span_reader_t *reader, char tag,
                             const char *what, fc_field_t *out_field,
                             fc_error_t *err) {
  if (reader->at == reader->end) {
    return fc_abi_fail(err, reader->at, "%s span '%c' not found", what, tag);
  }
  if (reader->text[reader->at] != tag) {
    return fc_abi_fail(err, reader->at, "%s span '%c' expected", what, tag);
  }
  return fc_span_next(reader, out_field, err);
}

fc_status_t fc_span_open(fc_str_t text, fc_field_t *out_inputs,
                         fc_field_t *out_results, fc_error_t *err) {
  if (text.size > FC_SPAN_TEXT_MAX) {
    return fc_abi_fail(err, FC_SPAN_TEXT_MAX,
                       "signature of %zu bytes is over the limit of %d",
                       text.size, FC_SPAN_TEXT_MAX);
  }
  fc_span_reader_t reader = {text.data, 0, text.size};
  FC_TRY(read_side(&reader, 'I', "inputs", out_inputs, err));
  FC_TRY(read_side(&reader, 'R', "results", out_results, err));
  if (reader.at == reader.end) return FC_OK;
  return fc_abi_fail(err, reader.at, "bytes after the results");
}

size_t fc_span_digits(uint64_t value) {
  size_t count = 1;
  for (; value >= 10; value /= 10) count++;
  return count;
}

static fc_status_t put_tagged(fc_sink_t *sink, char tag, long long number,
                              const char *tail, fc_error_t *err) {
  char text[32];
  int size = snprintf(text, sizeof text, "%c%lld%s", tag, number, tail);
  return fc_sink_put(sink, fc_str_make(text, (size_t)size), err);
}

fc_status_t fc_span_put_begin(fc_sink_t *sink, char tag, size_t content,
                              fc_error_t *err) {
  return put_tagged(sink, tag, (long long)(content + 1), "!", err);
}

fc_status_t fc_span_put_number(fc_sink_t *sink, char tag, int64_t number,
                               fc_error_t *err) {
  return put_tagged(sink, tag, (long long)number, "", err);
}
