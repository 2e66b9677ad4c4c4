// SPDX-License-Identifier: Apache-2.0
//
// The lexical layer that SIP and the raw ABI share: a text of fields. A field
// is a tag with a number (`k12`) or a tag with a counted span (`S9!…`, the
// count includes the '!'). This layer gives fields no meaning. Any thread.
#ifndef FARCALL_CORE_ABI_SPAN_H_
#define FARCALL_CORE_ABI_SPAN_H_

#include "farcall/base.h"

#define FC_SPAN_TEXT_MAX 65536  // bytes of one signature

// A window [at, end) of the whole text; offsets are those of the whole text.
typedef struct fc_span_reader_t {
  const char *text;
  size_t at;
  size_t end;
} fc_span_reader_t;

typedef struct fc_field_t {
  char tag;
  bool is_span;
  int32_t number;  // of a lower-case tag or '_'
  size_t offset;   // of the tag
  size_t begin;    // of a span's bytes
  size_t end;
} fc_field_t;

static inline fc_str_t fc_field_text(const fc_span_reader_t *reader,
                                     const fc_field_t *field) {
  return fc_str_make(reader->text + field->begin, field->end - field->begin);
}
static inline fc_span_reader_t fc_field_reader(const fc_span_reader_t *reader,
                                               const fc_field_t *field) {
  return (fc_span_reader_t){reader->text, field->begin, field->end};
}

// Reads the next field of a window that is not at its end. Strict: no leading zeros,
// no '+', 32 bits, and a span must lie inside the window.
fc_status_t fc_span_next(fc_span_reader_t *reader, fc_field_t *out_field,
                         fc_error_t *err);
// Opens a signature: exactly one `I` span, then one `R` span.
fc_status_t fc_span_open(fc_str_t text, fc_field_t *out_inputs,
                         fc_field_t *out_results, fc_error_t *err);

// Fails with FC_CODE_ABI_METADATA and the byte offset; appends "at byte N" to the
// message.
fc_status_t fc_abi_fail(fc_error_t *err, size_t offset, const char *format, ...)
    FC_PRINTF(3, 4);

// Writers. A span's size counts its '!'.
size_t fc_span_digits(uint64_t value);  // how many decimal digits it has
// Returns the size in bytes of a whole field whose span holds `content` bytes.
static inline size_t fc_span_size(size_t content) {
  return 1 + fc_span_digits(content + 1) + 1 + content;
}
fc_status_t fc_span_put_begin(fc_sink_t *sink, char tag, size_t content,
                              fc_error_t *err);
fc_status_t fc_span_put_number(fc_sink_t *sink, char tag, int64_t number,
                               fc_error_t *err);

#endif  // FARCALL_CORE_ABI_SPAN_H_
