// SPDX-License-Identifier: Apache-2.0
//
// Writes JSON into a sink: strings, base64, numbers, nested arrays. Text that is sure to
// fit is written straight into the sink's span. Other text goes through a small buffer,
// so that a sink can be filled to the last byte of its limit. One thread at a time.
#include "json/writer.h"

#include "base/hex.h"
#include "base/utf8.h"
#include "base/width.h"
#include "json/number.h"
#include "json/plain.h"

static fc_status_t put(fc_sink_t *sink, const char *data, const char *end,
                       fc_error_t *err) {
  return fc_sink_put(sink, fc_str_make(data, (size_t)(end - data)), err);
}

// ---------------------------------------------------------------------------
// Strings

static fc_str_t escape(unsigned char byte, char scratch[6]) {
  switch (byte) {
    case '"':
      return FC_STR("\\\"");
    case '\\':
      return FC_STR("\\\\");
    case '\b':
      return FC_STR("\\b");
    case '\f':
      return FC_STR("\\f");
    case '\n':
      return FC_STR("\\n");
    case '\r':
      return FC_STR("\\r");
    case '\t':
      return FC_STR("\\t");
    default:
      break;
  }
  if (byte >= 0x80) return FC_STR("\xEF\xBF\xBD");
  memcpy(scratch, "\\u00", 4);
  fc_hex_put(scratch + 4, byte);
  return fc_str_make(scratch, 6);
}

// Counts the bytes at the front of `text` that need no escape. It stops after
// FC_STOP_STEP bytes or a few more, even if further bytes need none. So the sink grows,
// and is checked, in between.
static size_t plain_size(fc_str_t text) {
  const char *p = text.data, *end = p + text.size;
  const char *pause = text.size > FC_STOP_STEP ? p + FC_STOP_STEP : end;
  while (p < pause) {
    p += fc_plain_size(p, pause);
    if (p == pause) break;
    unsigned char byte = (unsigned char)*p;
    if (byte < 0x20 || byte == '"' || byte == '\\') break;
    size_t length = fc_utf8_length(p, (size_t)(end - p));
    if (length == 0) break;
    p += length;
  }
  return (size_t)(p - text.data);
}

fc_status_t fc_json_write_string(fc_sink_t *sink, fc_str_t text,
                                 fc_error_t *err) {
  FC_TRY(fc_sink_put(sink, FC_STR("\""), err));
  while (text.size) {
    size_t plain = plain_size(text);
    FC_TRY(fc_sink_put(sink, fc_str_make(text.data, plain), err));
    text = fc_str_make(text.data + plain, text.size - plain);
    if (plain >= FC_STOP_STEP) continue;
    if (text.size == 0) break;
    char scratch[6];
    FC_TRY(fc_sink_put(sink, escape((unsigned char)*text.data, scratch), err));
    text = fc_str_make(text.data + 1, text.size - 1);
  }
  return fc_sink_put(sink, FC_STR("\""), err);
}

// ---------------------------------------------------------------------------
// Base64

static const char kBase64[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char *encode_group(const uint8_t *data, char *out) {
  unsigned group = (unsigned)data[0] << 16 | (unsigned)data[1] << 8 | data[2];
  *out++ = kBase64[group >> 18];
  *out++ = kBase64[group >> 12 & 63];
  *out++ = kBase64[group >> 6 & 63];
  *out++ = kBase64[group & 63];
  return out;
}

fc_status_t fc_json_write_base64(fc_sink_t *sink, const void *data, size_t size,
                                 fc_error_t *err) {
  const uint8_t *bytes = data;
  FC_TRY(fc_sink_put(sink, FC_STR("\""), err));
  while (size >= 3) {
    FC_TRY(fc_sink_reserve(sink, 4, err));
    size_t groups = (size_t)(sink->end - sink->cursor) / 4;
    if (groups > size / 3) groups = size / 3;
    size -= 3 * groups;
    for (; groups; groups--, bytes += 3) {
      sink->cursor = encode_group(bytes, sink->cursor);
    }
  }
  if (size) {
    uint8_t rest[3] = {bytes[0], size > 1 ? bytes[1] : 0, 0};
    FC_TRY(fc_sink_reserve(sink, 4, err));
    sink->cursor = encode_group(rest, sink->cursor);
    sink->cursor[-1] = '=';
    if (size == 1) sink->cursor[-2] = '=';
  }
  return fc_sink_put(sink, FC_STR("\""), err);
}

// The value of a base64 character plus 1; 0 for other characters.
// clang-format off
static const uint8_t kBase64Values[256] = {
    ['A'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
    20, 21, 22, 23, 24, 25, 26,
    ['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52,
    ['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62,
    ['+'] = 63,
    ['/'] = 64,
};
// clang-format on

// Returns the value of a base64 character; above 63 for other characters.
static inline uint32_t base64_value(char c) {
  return (uint32_t)kBase64Values[(unsigned char)c] - 1;
}

// Decodes groups of four characters, up to a group with a character that is not
// base64. Returns the number of characters decoded.
static size_t decode_groups(const char *text, size_t size, uint8_t **at) {
  size_t i = 0;
  for (; size - i >= 4; i += 4) {
    uint32_t a = base64_value(text[i]), b = base64_value(text[i + 1]);
    uint32_t c = base64_value(text[i + 2]), d = base64_value(text[i + 3]);
    if (FC_UNLIKELY((a | b | c | d) > 63)) break;
    uint32_t group = a << 18 | b << 12 | c << 6 | d;
    *(*at)++ = (uint8_t)(group >> 16);
    *(*at)++ = (uint8_t)(group >> 8);
    *(*at)++ = (uint8_t)group;
  }
  return i;
}

// Decodes groups like decode_groups, and checks whether the call must end.
// *out_count is the number of characters decoded.
static fc_status_t decode_text(fc_str_t text, uint8_t **at,
                               const fc_stop_t *stop, size_t *out_count,
                               fc_error_t *err) {
  _Static_assert(FC_STOP_STEP % 4 == 0, "whole groups");
  size_t count = 0, done;
  do {
    const size_t rest = text.size - count;
    if (count) FC_TRY(fc_stop_look(stop, err));
    done = decode_groups(text.data + count,
                         rest < FC_STOP_STEP ? rest : FC_STOP_STEP, at);
    count += done;
  } while (done == FC_STOP_STEP);
  *out_count = count;
  return FC_OK;
}

fc_status_t fc_base64_decode(fc_str_t text, uint8_t *out, const fc_stop_t *stop,
                             size_t *out_size, fc_error_t *err) {
  if (text.size % 4) {
    return fc_fail(err, FC_CODE_BASE64,
                   "base64 text has %zu characters, not a multiple of 4",
                   text.size);
  }
  size_t padding = 0;
  while (padding < 2 && padding < text.size &&
         text.data[text.size - 1 - padding] == '=') {
    padding++;
  }
  const size_t significant = text.size - padding;
  uint8_t *at = out;
  uint32_t group = 0;
  size_t i = 0;
  FC_TRY(decode_text(fc_str_make(text.data, significant), &at, stop, &i, err));
  // The rest is shorter than a group, or one of its first four characters is wrong.
  for (; i < significant; i++) {
    uint32_t value = base64_value(text.data[i]);
    if (value > 63) {
      char shown[16];
      fc_escape(shown, sizeof shown, 1, fc_str_make(text.data + i, 1));
      return fc_fail(err, FC_CODE_BASE64, "'%s' at %zu is not base64", shown,
                     i);
    }
    group = group << 6 | value;
  }
  // The last character has bits that belong to no byte. They must be 0, or two
  // different texts would decode to the same bytes (RFC 4648 3.5).
  unsigned spare = padding == 2 ? 4 : padding == 1 ? 2 : 0;
  if (group & ((1u << spare) - 1)) {
    return fc_fail(err, FC_CODE_BASE64,
                   "the last base64 character before the padding, at %zu, has "
                   "bits that no byte takes",
                   significant - 1);
  }
  group >>= spare;
  if (padding == 1) *at++ = (uint8_t)(group >> 8);
  if (padding) *at++ = (uint8_t)group;
  *out_size = (size_t)(at - out);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Numbers

fc_status_t fc_json_write_i64(fc_sink_t *sink, int64_t value, fc_error_t *err) {
  char text[FC_NUMBER_CHARS_MAX];
  return put(sink, text, fc_number_print_i64(value, text), err);
}

fc_status_t fc_json_write_u64(fc_sink_t *sink, uint64_t value,
                              fc_error_t *err) {
  char text[FC_NUMBER_CHARS_MAX];
  return put(sink, text, fc_number_print_u64(value, text), err);
}

static bool is_quoted(fc_dtype_t dtype, bool int_strings) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  return int_strings && fc_width_is_great(info);
}

fc_status_t fc_json_write_element(fc_sink_t *sink, fc_dtype_t dtype,
                                  const void *element, bool int_strings,
                                  fc_error_t *err) {
  char text[FC_NUMBER_CHARS_MAX + 2];
  char *end = text;
  bool quoted = is_quoted(dtype, int_strings);
  if (quoted) *end++ = '"';
  end = fc_number_print(dtype, element, end);
  if (quoted) *end++ = '"';
  return put(sink, text, end, err);
}

// ---------------------------------------------------------------------------
// Arrays

static inline fc_status_t put_char(fc_sink_t *sink, char c, fc_error_t *err) {
  if (FC_UNLIKELY(sink->cursor == sink->end)) {
    return fc_sink_put(sink, fc_str_make(&c, 1), err);
  }
  *sink->cursor++ = c;
  return FC_OK;
}

// Writes one array of the innermost dim; `stride` is in bytes.
static fc_status_t write_row(fc_sink_t *sink, fc_dtype_t dtype,
                             const char *elements, ptrdiff_t stride,
                             size_t count, bool int_strings, fc_error_t *err) {
  bool quoted = is_quoted(dtype, int_strings);
  FC_TRY(put_char(sink, '[', err));
  for (size_t i = 0; i < count;) {
    if (i) FC_TRY(put_char(sink, ',', err));
    size_t room = (size_t)(sink->end - sink->cursor) / FC_NUMBER_CHARS_MAX;
    const char *at = elements + (ptrdiff_t)i * stride;
    if (quoted || room == 0) {
      FC_TRY(fc_json_write_element(sink, dtype, at, int_strings, err));
      i++;
      continue;
    }
    size_t run = room < count - i ? room : count - i;
    sink->cursor = fc_number_print_run(dtype, at, stride, run, sink->cursor);
    i += run;
  }
  return put_char(sink, ']', err);
}

fc_status_t fc_json_write_array(fc_sink_t *sink, fc_dtype_t dtype, int32_t rank,
                                const int64_t *shape, const int64_t *strides,
                                const void *data, bool int_strings,
                                fc_error_t *err) {
  FC_ASSERT(rank >= 0 && rank <= FC_RANK_MAX);
  if (rank == 0) {
    return fc_json_write_element(sink, dtype, data, int_strings, err);
  }
  // The distance in bytes to the next element of each dim. Unsigned, because in
  // an array without elements the product of the other dims may overflow; for
  // such an array the distances are set to 0 below.
  const size_t element_size = fc_dtype_size(dtype);
  ptrdiff_t steps[FC_RANK_MAX];
  size_t dense = element_size;
  for (int32_t i = rank - 1; i >= 0; i--) {
    steps[i] = (ptrdiff_t)(strides ? (size_t)strides[i] * element_size : dense);
    dense *= (size_t)shape[i];
  }
  // A dim of 0 contains no arrays, so it is written as if it were the innermost one.
  int32_t last = 0;
  while (last < rank - 1 && shape[last] != 0) last++;
  if (shape[last] == 0) memset(steps, 0, sizeof steps);  // data may be NULL

  int64_t index[FC_RANK_MAX] = {0};
  const char *at = data;
  int32_t dim = 0;
  for (;;) {
    for (; dim < last; dim++) {
      index[dim] = 0;
      FC_TRY(put_char(sink, '[', err));
    }
    FC_TRY(write_row(sink, dtype, at, steps[last], (size_t)shape[last],
                     int_strings, err));
    // Close arrays until a dim has another element.
    while (dim > 0) {
      dim--;
      if (++index[dim] < shape[dim]) break;
      at -= (index[dim] - 1) * steps[dim];
      FC_TRY(put_char(sink, ']', err));
      if (dim == 0) return FC_OK;
    }
    if (last == 0) return FC_OK;
    at += steps[dim];
    FC_TRY(put_char(sink, ',', err));
    dim++;
  }
}
